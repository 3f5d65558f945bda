package dispatch

import (
	"testing"
	"time"
)

// TestTailsByLength: that brief queries are interrupted for several times what they take says nothing about
// long ones, nor do long ones that are punctual say that brief ones are.
func TestTailsByLength(t *testing.T) {
	a := usualAnswers
	for i := range 20_000 {
		took := 10 * time.Microsecond
		if i%20 == 0 {
			took = 60 * time.Microsecond
		}
		a.learnCPU(&run{took: took}, 10e3)
		a.learnCPU(&run{took: 110 * time.Microsecond}, 100e3)
	}
	if short := *a.alone.of(10e3); short < 5 {
		t.Errorf("one in twenty brief queries takes 6 times its estimate, and the tail is %.1f", short)
	}
	if long := *a.alone.of(100e3); long > 1.2 {
		t.Errorf("all long queries take 1.1 times their estimates, and the tail is %.1f", long)
	}
}
