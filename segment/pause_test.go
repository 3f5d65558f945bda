package segment

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestMergePauses checks that a merge calls MergeOptions.Pause in all its phases that take long, and
// writes the same without it.
func TestMergePauses(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(8, 9)), 3000, "m")
	for i := range m {
		m[i].stored = string(bytes.Repeat([]byte{byte(i)}, 500))
	}
	for _, workers := range []int{1, 3} {
		plain, paused := newMapStore(t), newMapStore(t)
		if _, err := Merge(t.Context(), plain, []Input{{Reader: m.memory().View()}}, MergeOptions{Workers: workers}); err != nil {
			t.Fatal(err)
		}
		var pauses atomic.Int64
		opts := MergeOptions{Workers: workers, Pause: func() { pauses.Add(1) }}
		if _, err := Merge(t.Context(), paused, []Input{{Reader: m.memory().View()}}, opts); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(plain.values, paused.values, bytes.Equal) {
			t.Error("another segment")
		}
		if least := int64(len(m) * paceTerm / paceWork); pauses.Load() < least {
			t.Errorf("%d pauses for %d documents, want at least %d", pauses.Load(), len(m), least)
		}
	}
}
