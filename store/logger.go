package store

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A logger receives Pebble's messages.
//
// Pebble calls Fatalf when a write has failed that it cannot take back (to the MANIFEST, for one),
// on whatever goroutine that was, and relies on the call not to return; its own default ends the
// process. A library has no right to do that. So ours records the failure and holds the goroutine,
// with whatever locks of Pebble's it has. Everything that waits for Pebble does so through do, and
// learns of it at once. The store then refuses writes.
//
// Close lets these goroutines continue, once nothing that they do reaches the disk: see
// Store.giveUp.
type logger struct {
	log  func(line string)
	told func(error) // Options.Failed
	fail atomic.Pointer[failure]
	dead chan struct{} // closed when fail is set

	hasManifest atomic.Bool   // Pebble has written a MANIFEST since the store was opened
	over        chan struct{} // closed when the store's files can no longer be changed

	calls sync.WaitGroup // running calls to Pebble

	mu    sync.Mutex
	tries int           // flushes and compactions that failed since the last success
	last  error         // the error of the latest of them
	next  chan struct{} // closed at the next failure
}

func newLogger(log func(string), told func(error)) *logger {
	return &logger{log: log, told: told, dead: make(chan struct{}), over: make(chan struct{}), next: make(chan struct{})}
}

// Pebble retries a failed flush or compaction at once, and forever. On a full disk that would take
// a core, and callers that wait for the flush would wait as long. So the n-th failure in a row adds
// a pause of 2^n milliseconds, up to a second. Callers give up after stuckTries failures, an eighth
// of a second in all, and if that many have already happened, after stuckMore.
const (
	stuckTries    = 6
	stuckMore     = 2
	maxPauseShift = 10
)

func (l *logger) Infof(string, ...any) {}

func (l *logger) Errorf(format string, args ...any) { l.log(fmt.Sprintf(format, args...)) }

// Fatalf returns only after the store has been given up, and only where Pebble continues with an
// error or as if nothing had happened. Pebble's other calls report bugs of its own, after which
// anything may follow.
func (l *logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.log(l.failed(err).Error())
	<-l.over
	for _, known := range []string{"MANIFEST", "directory sync failed", "pebble: fatal commit error"} {
		if strings.HasPrefix(err.Error(), known) {
			return
		}
	}
	select {}
}

// failed makes err the store's failure, unless it already has one, and returns the failure.
func (l *logger) failed(err error) *failure {
	if l.fail.CompareAndSwap(nil, &failure{cause: err}) {
		close(l.dead)
	}
	return l.fail.Load()
}

// do makes a call to Pebble and returns its error, or the store's failure if the store fails
// meanwhile: then the call may never return.
func (l *logger) do(call func() error) error {
	done := l.start(call)
	select {
	case err := <-done:
		return err
	case <-l.dead:
		return l.fail.Load()
	}
}

// write is do for a call that may wait for a flush. A flush that keeps failing is a failure of the
// store, because the outcome of the call is unknown.
func (l *logger) write(call func() error) error {
	done, err := l.startFlush(call)
	if err != nil {
		return l.failed(err)
	}
	return <-done
}

// startFlush starts a call that may wait for a flush. It returns when the call has ended and done
// has its error, or with the error that makes waiting pointless.
func (l *logger) startFlush(call func() error) (done <-chan error, stalled error) {
	ended := make(chan struct{})
	done = l.start(func() error {
		defer close(ended)
		return call()
	})
	return done, l.stall(ended)
}

// start makes a call on a goroutine of its own.
func (l *logger) start(call func() error) <-chan error {
	done := make(chan error, 1)
	l.calls.Go(func() {
		defer func() {
			r := recover()
			err, isError := r.(error)
			_, isBug := r.(runtime.Error)
			switch {
			case r == nil:
			case l.fail.Load() != nil:
				// No caller waits any longer. Pebble has continued from an error that it does not
				// expect to survive.
				l.log(fmt.Sprintf("panic in a failed store: %v", r))
				done <- l.fail.Load()
			case isBug || !isError:
				panic(r)
			default: // Pebble panics like this when its log cannot be written
				done <- l.failed(err)
			}
		}()
		done <- call()
	})
	return done
}

// stall waits until ended is closed and returns nil. It returns an error if so
// many flushes in a row have failed that waiting is pointless, or if the store fails.
func (l *logger) stall(ended <-chan struct{}) error {
	first := -1
	for {
		l.mu.Lock()
		tries, last, next := l.tries, l.last, l.next
		l.mu.Unlock()
		if first < 0 || tries < first {
			first = tries
		}
		if tries >= max(stuckTries, first+stuckMore) {
			return last
		}
		select {
		case <-ended:
			return nil
		case <-l.dead:
			return l.fail.Load()
		case <-next:
		}
	}
}

// events handles errors that no call returns. DataCorruption must be set: Pebble's default for it
// is Fatalf, but the reader of the damaged block gets the error anyway.
func (l *logger) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: l.backgroundError,
		FlushEnd:        func(info pebble.FlushInfo) { l.ended(info.Err) },
		CompactionEnd:   func(info pebble.CompactionInfo) { l.ended(info.Err) },
		ManifestCreated: func(info pebble.ManifestCreateInfo) {
			if info.Err == nil {
				l.hasManifest.Store(true)
			}
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) { l.log(info.String()) },
	}
}

func (l *logger) ended(err error) {
	if err == nil {
		l.mu.Lock()
		l.tries = 0
		l.mu.Unlock()
	}
}

// backgroundError runs under Pebble's lock, so the pause delays writers too; they could not proceed
// anyway.
func (l *logger) backgroundError(err error) {
	l.log("background error: " + err.Error())
	l.mu.Lock()
	l.tries++
	n := l.tries
	l.last = err
	close(l.next)
	l.next = make(chan struct{})
	l.mu.Unlock()
	if n%stuckTries == 0 && bits.OnesCount(uint(n/stuckTries)) == 1 {
		// On another goroutine, because Pebble's locks are held here.
		go l.told(fmt.Errorf("store: flush or compaction: %d failures in a row, the last one: %w", n, err))
	}
	time.Sleep(time.Millisecond << min(n, maxPauseShift))
	select {
	case <-l.over:
		if n > maxPauseShift {
			select {} // what fails even in memory keeps failing; Pebble would retry forever
		}
	default:
	}
}
