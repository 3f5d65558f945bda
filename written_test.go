package riffle

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestWrittenStats: what the log, seals and merges have written is what events say about them, the
// log is hardly larger than its compressed records, and little else is written.
func TestWrittenStats(t *testing.T) {
	var seals, merges atomic.Uint64
	o := Options{Schema: &Schema{NoStore: true}, Merge: MergeOptions{Disabled: true}, Listener: &Listener{
		Sealed: func(ev SealEvent) { seals.Add(uint64(ev.Bytes)) },
		Merged: func(ev MergeEvent) { merges.Add(uint64(ev.Bytes)) },
	}}
	e, err := tuning{opts: o, memory: 1 << 20}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rng := rand.New(rand.NewPCG(3, 3))
	const text = 100_000 // of a batch, and does not compress below a half: digits of 16
	for i := range 20 {
		var b Batch
		for j := range 100 {
			b.Put(fmt.Sprint(100*i+j), map[string]any{"t": noise(rng, text/100)})
		}
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	st, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	w := st.Written
	if w.Seals == 0 || w.Seals != seals.Load() || w.Merges == 0 || w.Merges != merges.Load() {
		t.Errorf("written %+v, events say %d by seals and %d by merges", w, seals.Load(), merges.Load())
	}
	if w.Log < 20*text/2 || w.Log > 20*text*11/10 {
		t.Errorf("the log of %d bytes of text wrote %d", 20*text, w.Log)
	}
	if rest := st.Store.WrittenBytes - w.Log - w.Seals - w.Merges; rest > 200<<10 {
		t.Errorf("%d bytes were written by nothing that counts: %+v of %d", rest, w, st.Store.WrittenBytes)
	}
}
