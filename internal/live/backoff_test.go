package live

import (
	"testing"
	"time"
)

// TestPausesAreCapped: a pause does not grow beyond its cap, nor overflow.
func TestPausesAreCapped(t *testing.T) {
	var b backoff
	now := time.Unix(0, 0)
	for i := range 100 {
		b.fail(now)
		want := mostPause
		if i < 10 {
			want = min(mostPause, leastPause<<i)
		}
		if b.next != now.Add(want) || b.due(now) || !b.due(now.Add(want)) {
			t.Fatalf("failure %d: until %v, want %v", i, b.next, want)
		}
	}
	if b.reset(); !b.due(now) || b.tries != 0 {
		t.Errorf("%+v after a reset", b)
	}
}
