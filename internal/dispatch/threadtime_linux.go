package dispatch

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long the calling thread has been on a core.
var threadTime = func(*Plan) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
