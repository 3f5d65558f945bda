package dispatch

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long the calling thread has been on a core, and processTime how long all
// threads have been.
var (
	threadTime  = func(*Plan) time.Duration { return thread() }
	processTime = clock(unix.CLOCK_PROCESS_CPUTIME_ID)

	thread = clock(unix.CLOCK_THREAD_CPUTIME_ID)
)

func clock(id int32) func() time.Duration {
	return func() time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(id, &t) != nil {
			return 0
		}
		return time.Duration(t.Nano())
	}
}
