package store

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A logger is Pebble's way to talk to us.
//
// Pebble calls Fatalf when a write has failed that it cannot take back (to the
// MANIFEST, for one), in whatever goroutine that was, and relies on the call not
// to return; its own default ends the process. A library has no right to do
// that. So ours notes the failure and puts the goroutine to sleep for good, with
// whatever locks of Pebble's it holds, and everybody who waits for Pebble, which
// is what Store.do is for, is told at once. The store then refuses writes.
type logger struct {
	log   func(line string)
	fail  atomic.Pointer[failure]
	dead  chan struct{} // closed when fail is set
	tries atomic.Int64  // flushes and compactions that failed, since the last one that did not
	stuck chan error    // gets the error of the stuckTries-th; capacity 1
}

func newLogger(log func(string)) *logger {
	return &logger{log: log, dead: make(chan struct{}), stuck: make(chan error, 1)}
}

// Pebble tries a flush or a compaction that failed again at once, and for ever.
// On a full disk that would take a core, and Pebble's Open would not return. So
// the n-th failure in a row costs a pause of 2^n milliseconds, up to a second,
// and Open gives up after stuckTries of them, an eighth of a second in all.
const (
	stuckTries    = 6
	maxPauseShift = 10
)

func (l *logger) Infof(string, ...any) {}

func (l *logger) Errorf(format string, args ...any) { l.log(fmt.Sprintf(format, args...)) }

func (l *logger) Fatalf(format string, args ...any) {
	l.log(l.failed(fmt.Errorf(format, args...)).Error())
	select {}
}

// failed makes err the store's failure, unless it has one, and returns that.
func (l *logger) failed(err error) *failure {
	if l.fail.CompareAndSwap(nil, &failure{cause: err}) {
		close(l.dead)
	}
	return l.fail.Load()
}

// do makes a call to Pebble and returns its error, or the store's failure should
// it fail meanwhile: then the call may never return.
func (l *logger) do(call func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case runtime.Error:
				panic(r)
			case error: // Pebble panics so when a directory cannot be synced
				done <- l.failed(r)
			default:
				panic(r)
			}
		}()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-l.dead:
		return l.fail.Load()
	}
}

// events listens to what has no caller to return to. DataCorruption must be set:
// Pebble's default for it is Fatalf, but whoever read the damaged block gets the
// error anyway.
func (l *logger) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: l.backgroundError,
		FlushEnd:        func(info pebble.FlushInfo) { l.ended(info.Err) },
		CompactionEnd:   func(info pebble.CompactionInfo) { l.ended(info.Err) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { l.log(info.String()) },
	}
}

func (l *logger) ended(err error) {
	if err == nil {
		l.tries.Store(0)
	}
}

// backgroundError runs under Pebble's lock, so the pause holds up writers too;
// they could not go far anyway.
func (l *logger) backgroundError(err error) {
	l.log("background error: " + err.Error())
	n := l.tries.Add(1)
	if n >= stuckTries {
		select {
		case l.stuck <- err:
		default:
		}
	}
	time.Sleep(time.Millisecond << min(n, maxPauseShift))
}
