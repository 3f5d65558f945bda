package dispatch

import (
	"testing"
	"time"
)

// TestTimeline: a batch takes the time since the one before was done, or since it began itself. If they
// are seen to be done in another order, it is not known what each took, but what all of them did.
func TestTimeline(t *testing.T) {
	const ms = time.Millisecond
	start := time.Now()
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * 1e6)) }
	var line timeline
	a, b, c, d := &batch{cost: 3 * ms}, &batch{cost: 3 * ms}, &batch{cost: 3 * ms}, &batch{cost: 3 * ms}
	line.begin(a, at(0))
	line.begin(b, at(1))
	line.begin(c, at(2))
	if left := line.left(at(2)); left != 7*ms {
		t.Errorf("three batches, one of which began 2 ms ago: %v left, want 7ms", left)
	}
	ends := func(name string, x *batch, seen float64, want time.Duration, wantKnown bool, wantLeft time.Duration) {
		t.Helper()
		if took, known := line.end(x, at(seen)); took != want || known != wantKnown {
			t.Errorf("%s took %v, known %v; want %v, %v", name, took, known, want, wantKnown)
		}
		if left := line.left(at(seen)); left != wantLeft {
			t.Errorf("after %s, %v left, want %v", name, left, wantLeft)
		}
	}
	ends("the first batch", a, 3, 3*ms, true, 6*ms)
	ends("the third batch, seen before the second", c, 9, 6*ms, false, 0)
	line.begin(d, at(9.2))
	ends("the second batch", b, 9.2, 0, false, 3*ms)
	ends("the fourth batch", d, 12, 14*ms/5, true, 0)

	// A small batch that reaches the device before a large one.
	large, small, next := &batch{cost: 10 * ms}, &batch{cost: ms}, &batch{cost: 2 * ms}
	line.begin(large, at(20))
	line.begin(small, at(20))
	line.begin(next, at(20))
	ends("the small batch", small, 21, ms, false, 12*ms)
	ends("the large batch", large, 31, 10*ms, true, 2*ms)
	ends("the next batch", next, 33, 2*ms, true, 0)

	// One that fails says nothing of those before.
	e, f := &batch{cost: 3 * ms}, &batch{cost: 3 * ms}
	line.begin(e, at(40))
	line.begin(f, at(40))
	line.fail(f, at(42))
	ends("a batch before one that failed", e, 43, 3*ms, true, 0)

	// One that fails as the oldest gives way to the next.
	g, h := &batch{cost: 3 * ms}, &batch{cost: 3 * ms}
	line.begin(g, at(50))
	line.begin(h, at(50))
	line.fail(g, at(58))
	if left := line.left(at(59)); left != 2*ms {
		t.Errorf("a batch whose predecessor failed 1 ms ago: %v left, want 2ms", left)
	}
	ends("a batch behind one that failed", h, 61, 3*ms, true, 0)
}
