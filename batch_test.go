package riffle

import (
	"context"
	"fmt"
	"testing"
)

// TestBatchOfOneID puts one document tens of thousands of times in one batch, like a program that
// logs every change of a counter, and deletes it in between. The last change counts. Time must not
// be quadratic: a change must not step back over all earlier ones.
func TestBatchOfOneID(t *testing.T) {
	ix := newIndex(t, nil)
	ix.must(ix.Put(context.Background(), "a", map[string]any{"t": "before"}))
	b := new(Batch)
	const puts = 50_000
	for i := range puts {
		b.Put("a", map[string]any{"t": fmt.Sprint("v", i%7)})
		if i%1000 == 0 {
			b.Delete("a")
			b.Put("b", map[string]any{"t": "other"})
		}
	}
	ix.must(ix.Apply(context.Background(), b))
	for range 2 {
		for word, want := range map[string]int{"before": 0, "v0": 0, fmt.Sprint("v", (puts-1)%7): 1, "other": 1} {
			if n, err := ix.Count(context.Background(), match("t", word)); err != nil || n != want {
				t.Errorf("%d documents have %s, %v; want %d", n, word, err, want)
			}
		}
		ix.must(ix.Flush(context.Background()))
	}
}
