package riffle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestMaxDocs fills an index up to its last document number. Apply refuses further documents, since
// no search could number them, until deleted documents are gone.
func TestMaxDocs(t *testing.T) {
	ix := newIndex(t, &Options{private: privateOptions{maxDocs: 10}})
	for i := range 10 {
		ix.put(fmt.Sprint(i), map[string]any{"t": "x"})
	}
	var b Batch
	b.Delete("1")
	b.Put("2", map[string]any{"t": "y"})
	err := ix.Apply(ctx, &b)
	if err == nil || !strings.Contains(err.Error(), "1 documents more than the 10 there are (0 of them deleted) exceed the limit of 10; Compact") {
		t.Errorf("one document too many: %v", err)
	}
	if st, err := ix.Stats(); err != nil || st.LogRecords != 10 {
		t.Errorf("%d records: %v", st.LogRecords, err)
	}
	ix.must(ix.Delete(ctx, "1"))
	if err := ix.Apply(ctx, &b); err == nil {
		t.Error("a deleted document still has its number")
	}
	ix.must(ix.Compact(ctx))
	ix.must(ix.Apply(ctx, &b))
	if got := ix.ids(Match{Field: "t", Text: "x y"}); len(got) != 9 {
		t.Errorf("found %v", got)
	}
}

// TestMaxDocsAtOnce: concurrent batches count together, because each may fit by itself, but not all
// of them. Documents of a failed batch do not count.
func TestMaxDocsAtOnce(t *testing.T) {
	ix := newIndex(t, &Options{private: privateOptions{maxDocs: 10}})
	ix.put("first", map[string]any{"t": "x"})
	six := func(name string) (b Batch) {
		for i := range 6 {
			b.Put(fmt.Sprint(name, i), map[string]any{"t": "y"})
		}
		return b
	}
	a, b := six("a"), six("b")
	finish, err := ix.probe().Locate(ctx, a.ops, "")
	ix.must(err)
	err = ix.Apply(ctx, &b)
	if err == nil || !strings.Contains(err.Error(), "6 documents more than the 1 there are (0 of them deleted) and the 6 of other batches exceed the limit of 10") {
		t.Errorf("beside a batch under way: %v", err)
	}
	ix.must(finish())
	if err := ix.Apply(ctx, &b); err == nil || strings.Contains(err.Error(), "other batches") {
		t.Errorf("behind it: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	three := Batch{ops: b.ops[:3]}
	for range 3 {
		if err := ix.Apply(done, &three); !errors.Is(err, context.Canceled) {
			t.Errorf("broken off: %v", err)
		}
		var bad Batch
		bad.Put("c", map[string]any{"t": strings.Repeat("x", MaxDocumentBytes)})
		if err := ix.Apply(ctx, &bad); err == nil {
			t.Error("a document that cannot be indexed is taken")
		}
	}
	ix.must(ix.Apply(ctx, &three))
	if n := ix.Len(); n != 10 {
		t.Errorf("%d documents, want 10", n)
	}
}

// TestSegmentDocs merges more documents than a segment may have into as few segments as possible,
// by Compact and in the background, which then stops.
func TestSegmentDocs(t *testing.T) {
	ix := newPacedIndex(t, tuning{opts: Options{private: privateOptions{segmentDocs: 4}, Merge: MergeOptions{SegmentsPerTier: 3, Disabled: true}}})
	sizes := func() (docs []uint64) {
		st, err := ix.Stats()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range st.Segments {
			if s.Sealed {
				docs = append(docs, uint64(s.Docs)-s.Deleted)
			}
		}
		return docs
	}
	compact := func(want string) {
		t.Helper()
		if err := ix.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(sizes()); got != want {
			t.Errorf("after Compact: %s, want %s", got, want)
		}
	}
	ix.addSegments(7)
	compact("[4 3]")
	compact("[4 3]") // there is nothing to do
	ix.addSegments(2)
	compact("[4 4 1]")
	ix.addSegments(6)
	ix.want("merges", ix.merges(), 2)
	if got := fmt.Sprint(sizes()); got != "[4 4 3 4]" {
		t.Errorf("after merges: %s", got)
	}
	ix.want("failures", int(ix.told.Load()), 0)
}
