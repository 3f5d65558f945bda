package store

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// A logger is Pebble's way to talk to us. Pebble calls Fatalf when a write that
// it cannot take back has failed (to the MANIFEST, to the WAL) and counts on the
// call not to return; its own default ends the process. A library has no right
// to do that, so ours panics: where the failing write ran on behalf of a call to
// the store, guard turns the panic into that call's error and the store refuses
// writes from then on. In a goroutine of Pebble's own nobody can catch it and the
// process ends after all, with the cause in the panic: going on would leave
// locks held, and a hang says less than a crash.
type logger struct {
	log  func(line string)
	fail atomic.Pointer[failure]
}

func (l *logger) Infof(string, ...any) {}

func (l *logger) Errorf(format string, args ...any) { l.log(fmt.Sprintf(format, args...)) }

func (l *logger) Fatalf(format string, args ...any) {
	f := l.failed(fmt.Errorf(format, args...))
	l.log(f.Error())
	panic(f)
}

// failed makes err the store's failure, unless it has one, and returns that.
func (l *logger) failed(err error) *failure {
	l.fail.CompareAndSwap(nil, &failure{cause: err})
	return l.fail.Load()
}

// guard, deferred, turns a Fatalf in the calling goroutine into an error.
func (l *logger) guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case *failure:
		*err = r
	default:
		panic(r)
	}
}

// events listens to what has no caller to return to. DataCorruption must be set:
// Pebble's default for it is Fatalf, but whoever read the damaged block gets the
// error anyway.
func (l *logger) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { l.log("background error: " + err.Error()) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { l.log(info.String()) },
	}
}
