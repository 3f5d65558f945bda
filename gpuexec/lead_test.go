package gpuexec

import (
	"testing"
	"time"
)

// TestLeadOf: what batches take follows the latest ones, and their size.
func TestLeadOf(t *testing.T) {
	var l lead
	if got := l.of(10); got != 0 {
		t.Errorf("%v before the first batch, want 0", got)
	}
	for range 50 {
		l.note(time.Millisecond, 100)
	}
	for _, test := range []struct {
		plans int
		want  time.Duration
	}{{100, time.Millisecond}, {150, 3 * time.Millisecond / 2}, {1, time.Millisecond / 2}, {1000, 2 * time.Millisecond}} {
		if got := l.of(test.plans); got < test.want*99/100 || got > test.want*101/100 {
			t.Errorf("%v for %d plans, want %v", got, test.plans, test.want)
		}
	}
	for range 50 {
		l.note(4*time.Millisecond, 100)
	}
	if got := l.of(100); got < 3900*time.Microsecond {
		t.Errorf("%v, want nearly 4ms", got)
	}
}
