package riffle

import (
	"path/filepath"
	"slices"
	"testing"
)

// A testIndex is an Engine with methods that fail the test instead of returning
// errors.
type testIndex struct {
	*Engine
	t   testing.TB
	dir string
}

// newIndex opens a new index that is closed at the end of the test.
func newIndex(t testing.TB, opts *Options) *testIndex {
	t.Helper()
	ix := &testIndex{t: t, dir: filepath.Join(t.TempDir(), "index")}
	ix.open(opts)
	t.Cleanup(func() {
		if err := ix.Close(); err != nil && err != ErrClosed {
			t.Error(err)
		}
	})
	return ix
}

func (ix *testIndex) open(opts *Options) {
	ix.t.Helper()
	e, err := Open(ix.dir, opts)
	ix.must(err)
	ix.Engine = e
}

func (ix *testIndex) must(err error) {
	ix.t.Helper()
	if err != nil {
		ix.t.Fatal(err)
	}
}

func (ix *testIndex) reopen(opts *Options) {
	ix.t.Helper()
	ix.must(ix.Close())
	ix.open(opts)
}

func (ix *testIndex) put(id string, doc any) {
	ix.t.Helper()
	ix.must(ix.Put(ix.t.Context(), id, doc))
}

func (ix *testIndex) flush() {
	ix.t.Helper()
	ix.must(ix.Flush(ix.t.Context()))
}

func (ix *testIndex) search(q Query, o *SearchOptions) *Result {
	ix.t.Helper()
	res, err := ix.Search(ix.t.Context(), q, o)
	if err != nil {
		ix.t.Fatalf("%v: %v", q, err)
	}
	return res
}

// ids returns the ids of all hits in the order of their rank.
func (ix *testIndex) ids(q Query) []string {
	ix.t.Helper()
	return hitIDs(ix.search(q, &SearchOptions{K: 1000}))
}

// sortedIDs returns the ids of all hits in byte order.
func (ix *testIndex) sortedIDs(q Query) []string {
	ix.t.Helper()
	ids := ix.ids(q)
	slices.Sort(ids)
	return ids
}

func hitIDs(res *Result) []string {
	ids := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		ids[i] = h.ID
	}
	return ids
}
