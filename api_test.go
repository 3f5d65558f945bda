package riffle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/internal/live"
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

// Len returns the number of documents.
func (ix *testIndex) Len() int {
	ix.t.Helper()
	n, err := ix.Engine.Len()
	ix.must(err)
	return n
}

// lenOf returns the number of documents of an Engine or a Snapshot.
func lenOf(t testing.TB, x interface{ Len() (int, error) }) int {
	t.Helper()
	n, err := x.Len()
	if err != nil {
		t.Fatal(err)
	}
	return n
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

// TestBadDocuments: the error names document and field for each of them, and
// nothing of the batch is applied.
func TestBadDocuments(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"n": {Type: FieldNumber}, "k": {Type: FieldKeyword}, "both": {CopyFrom: []string{"a", "b"}},
	}}})
	ix.put("kept", map[string]any{"a": "x"})
	long := strings.Repeat("k", MaxTermBytes+1)
	for _, c := range []struct {
		id    string
		doc   any
		field string
		want  string
	}{
		{"1", map[string]any{"n": "five"}, "n", "the schema wants number, not text"},
		{"1", map[string]any{"n": []any{1, true}}, "n", "the schema wants number, not bool"},
		{"1", map[string]any{"k": 1}, "k", "the schema wants keyword, not number"},
		{"1", map[string]any{"k": long}, "k", fmt.Sprintf("a keyword of %d bytes, at most %d are allowed", len(long), MaxTermBytes)},
		{"1", map[string]any{"both": "x"}, "both", "the field is a copy of others and cannot be set"},
		{"1", map[string]any{"o": map[string]any{"p": func() {}}}, "o.p", "a func() cannot be indexed"},
		{"1", nil, "", "the document is nil"},
		{"", map[string]any{}, "", "an id must not be empty"},
		{strings.Repeat("i", MaxIDBytes+1), map[string]any{}, "", "an id of 1025 bytes, at most 1024 are allowed"},
	} {
		var b Batch
		b.Put("good", map[string]any{"a": "y"})
		b.Delete("kept")
		b.Put(c.id, c.doc)
		refused := ix.Validate(t.Context(), &b)
		err := ix.Apply(t.Context(), &b)
		if err == nil || refused == nil || err.Error() != refused.Error() {
			t.Errorf("%v: Validate says %v, Apply %v", c.want, refused, err)
		}
		var de *DocumentError
		if !errors.As(err, &de) || de.Field != c.field || !strings.HasPrefix(c.id, strings.TrimSuffix(de.ID, "…")) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q %v: %v, want field %q: %s", c.id, c.doc, err, c.field, c.want)
		}
		if got := ix.sortedIDs(All{}); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("%v: a part of the batch was applied: %v", c.want, got)
		}
	}
	// One error reports all faults of a batch.
	var b Batch
	for i := range 20 {
		b.Put(fmt.Sprint("d", i), map[string]any{"n": "x", "a": "y"})
	}
	refused := ix.Validate(t.Context(), &b)
	err := ix.Apply(t.Context(), &b)
	if refused == nil || err == nil || err.Error() != refused.Error() {
		t.Errorf("of 20 documents, Validate says %v, Apply %v", refused, err)
	}
	for i := range 20 {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`document "d%d": field "n"`, i)) {
			t.Fatalf("document d%d is not named: %v", i, err)
		}
	}
	// Delete checks ids as Put does.
	if err := ix.Delete(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "must not be empty") {
		t.Errorf("deleting no id: %v", err)
	}
	ix.put(strings.Repeat("i", MaxIDBytes), map[string]any{"k": long[1:]})
	if got := ix.ids(Term{"k", long[1:]}); len(got) != 1 {
		t.Errorf("the longest id and keyword: %d hits", len(got))
	}
}

// TestBatchOrder: changes happen in the order in which they were made.
func TestBatchOrder(t *testing.T) {
	ix := newIndex(t, nil)
	var b Batch
	b.Put("a", map[string]any{"t": "one"})
	b.Put("a", map[string]any{"t": "two"})
	b.Delete("b")
	b.Put("b", map[string]any{"t": "two"})
	b.Put("c", map[string]any{"t": "two"})
	b.Delete("c")
	b.Delete("never there")
	if b.Len() != 7 || b.Size() < 20 {
		t.Errorf("a batch of %d changes and %d bytes", b.Len(), b.Size())
	}
	ix.must(ix.Apply(t.Context(), &b))
	b.Reset()
	if b.Len() != 0 || b.Size() != 0 {
		t.Errorf("after Reset %d changes and %d bytes", b.Len(), b.Size())
	}
	ix.must(ix.Apply(t.Context(), &b)) // nothing
	for _, state := range []string{"in memory", "reopened", "sealed"} {
		switch state {
		case "reopened":
			ix.reopen(nil)
		case "sealed":
			ix.flush()
		}
		if got := ix.sortedIDs(match("t", "one two")); !slices.Equal(got, []string{"a", "b"}) || ix.Len() != 2 {
			t.Errorf("%s: %v, %d documents", state, got, ix.Len())
		}
		if got := ix.ids(match("t", "one")); len(got) != 0 {
			t.Errorf("%s: a replaced document is found", state)
		}
	}
}

func TestSearchOptionErrors(t *testing.T) {
	ix := newIndex(t, nil)
	bad := 2.0
	_, err := ix.Search(t.Context(), All{}, &SearchOptions{K: MaxK + 1, Similarity: &BM25{K1: -1}, Alpha: &bad, Exec: &Exec{Algorithm: 77}, Processor: ProcessorGPU})
	for _, want := range []string{
		"SearchOptions.K: must lie in 1 to 10000, not 10001", "SearchOptions.Similarity: k1 is -1",
		"SearchOptions.Alpha: must lie in [0, 1], not 2", "SearchOptions.Exec: Algorithm", "no GPU device",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if !errors.Is(err, ErrNoDevice) {
		t.Errorf("a GPU was demanded: %v", err)
	}
	var qe *QueryError
	if _, err := ix.Search(t.Context(), All{}, &SearchOptions{K: -1}); !errors.As(err, &qe) || qe.Part != "SearchOptions.K" {
		t.Errorf("K = -1: %v", err)
	}
	for _, p := range []Processor{ProcessorAuto, ProcessorCPU} {
		if res := ix.search(All{}, &SearchOptions{Processor: p, K: MaxK}); len(res.Hits) != 0 || !strings.HasPrefix(res.Executor, "cpu") {
			t.Errorf("processor %v: %+v", p, res)
		}
	}
}

// TestKAndPages: a search returns K hits and After continues after them, over segments, ties and
// every algorithm.
func TestKAndPages(t *testing.T) {
	ix := newIndex(t, &Options{Durability: SyncNone, Merge: MergeOptions{Disabled: true}})
	var b Batch
	const n = 1200
	for i := range n {
		b.Put(fmt.Sprintf("%04d", i), map[string]any{"t": strings.Repeat("x ", 1+i%3) + strings.Repeat("y ", i%2)})
		if i%500 == 250 {
			ix.must(ix.Apply(t.Context(), &b))
			ix.flush()
			b.Reset()
		}
	}
	ix.must(ix.Apply(t.Context(), &b))
	if got := len(ix.search(match("t", "x"), nil).Hits); got != DefaultK {
		t.Errorf("%d hits by default", got)
	}
	for _, q := range []Query{match("t", "x y"), all("t", "x y"), All{}, Bool{Must: []Query{match("t", "x")}, MustNot: []Query{match("t", "y")}}} {
		whole := ix.search(q, &SearchOptions{K: MaxK})
		if len(whole.Hits) < n/2 {
			t.Fatalf("%v: %d hits", q, len(whole.Hits))
		}
		for a := AlgorithmAuto; a <= AlgorithmBMM; a++ {
			k := 97
			o := &SearchOptions{K: k, Exec: &Exec{Algorithm: a}, ExactTotal: true}
			var pages []Hit
			for {
				res := ix.search(q, o)
				if res.Total != len(whole.Hits) || !res.TotalExact {
					t.Fatalf("%v, %v: total %d, exact %v, want %d whatever the page", q, a, res.Total, res.TotalExact, len(whole.Hits))
				}
				pages = append(pages, res.Hits...)
				if len(res.Hits) < k {
					break
				}
				o.After = res.Hits[k-1].Cursor
			}
			if !sameHits(pages, whole.Hits) {
				t.Errorf("%v, %v: %d hits in pages, %d at once, or in another order", q, a, len(pages), len(whole.Hits))
			}
		}
	}
	loose := ix.search(match("t", "x y"), &SearchOptions{K: 5})
	if loose.Total > n || loose.Total < 5 || loose.TotalExact && loose.Total != n {
		t.Errorf("total %d, exact %v, of %d", loose.Total, loose.TotalExact, n)
	}
}

func TestLoad(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"t": "x", "n": []int{1, 2}, "o": map[string]any{"p": true}})
	for _, c := range []struct {
		load []string
		want map[string]any
	}{
		{nil, nil},
		{[]string{"nothing"}, map[string]any{}},
		{[]string{"n"}, map[string]any{"n": []any{int64(1), int64(2)}}},
		{[]string{"o.p", "t"}, map[string]any{"t": "x", "o.p": true}},
		{[]string{"*"}, map[string]any{"t": "x", "n": []any{int64(1), int64(2)}, "o.p": true}},
	} {
		got := ix.search(match("t", "x"), &SearchOptions{Load: c.load}).Hits[0].Fields
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("load %q: %v, want %v", c.load, got, c.want)
		}
	}
}

// TestSnapshots: a snapshot stays the same through puts, deletes, seals and merges.
func TestSnapshots(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("a", map[string]any{"t": "old"})
	ix.put("b", map[string]any{"t": "old"})
	s, err := ix.Snapshot()
	ix.must(err)
	change := []func(){
		func() { ix.put("a", map[string]any{"t": "new"}) },
		func() { ix.must(ix.Delete(t.Context(), "b")) },
		func() { ix.flush() },
		func() { ix.put("c", map[string]any{"t": "old"}) },
		func() { ix.must(ix.Compact(t.Context())) },
	}
	for i, f := range change {
		f()
		res, err := s.Search(t.Context(), match("t", "old"), nil)
		ix.must(err)
		fields, err := s.Get(t.Context(), "a")
		ix.must(err)
		n, err := s.Count(t.Context(), All{})
		ix.must(err)
		var docs []Document
		for d, err := range s.Documents("") {
			ix.must(err)
			docs = append(docs, d)
		}
		want := []Document{{ID: "a", Fields: map[string]any{"t": "old"}, Version: 2}, {ID: "b", Fields: map[string]any{"t": "old"}, Version: 3}}
		if !slices.Equal(hitIDs(res), []string{"a", "b"}) || fields["t"] != "old" || n != 2 || lenOf(t, s) != 2 || !reflect.DeepEqual(docs, want) {
			t.Errorf("after change %d: hits %v, a is %v, %d documents: %v", i, hitIDs(res), fields, n, docs)
		}
	}
	s.Close()
	s.Close() // does nothing
	if got := ix.sortedIDs(match("t", "old new")); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("now %v", got)
	}
	if _, err := s.Search(t.Context(), All{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed snapshot: %v", err)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed snapshot: %v", err)
	}
	for _, err := range s.IDs("") {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a closed snapshot: %v", err)
		}
	}
	if n, err := s.Len(); n != 0 || !errors.Is(err, ErrClosed) {
		t.Errorf("Len of a closed snapshot: %d, %v", n, err)
	}
}

// TestIDs walks ids in order, from anywhere, over segments and pages.
func TestIDs(t *testing.T) {
	ix := newIndex(t, &Options{Durability: SyncNone, Merge: MergeOptions{Disabled: true}})
	var want []string
	for part := range 3 {
		var b Batch
		for i := range 400 {
			id := fmt.Sprintf("%04d", i*3+part)
			b.Put(id, map[string]any{"i": i})
			if i%10 != part {
				want = append(want, id)
			}
		}
		for i := part; i < 400; i += 10 {
			b.Delete(fmt.Sprintf("%04d", i*3+part))
		}
		ix.must(ix.Apply(t.Context(), &b))
		if part < 2 {
			ix.flush()
		}
	}
	slices.Sort(want)
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	for _, from := range []string{"", "0", "0500", "0500x", "1199", "2"} {
		var got []string
		for id, err := range s.IDs(from) {
			ix.must(err)
			got = append(got, id)
		}
		at, _ := slices.BinarySearch(want, from)
		if !slices.Equal(got, want[at:]) {
			t.Errorf("from %q: %d ids, want %d", from, len(got), len(want)-at)
		}
	}
	for range s.IDs("") { // leaving early is fine
		break
	}
}

// TestClosedEngine: every method of a closed Engine says so.
func TestClosedEngine(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("a", map[string]any{"t": "x"})
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	ix.must(ix.Close())
	_, searchErr := ix.Search(t.Context(), All{}, nil)
	_, countErr := ix.Count(t.Context(), All{})
	_, getErr := ix.Get(t.Context(), "a")
	_, snapErr := ix.Snapshot()
	_, statsErr := ix.Stats()
	_, explainErr := ix.Explain(t.Context(), All{}, "a", nil)
	_, heldErr := s.Search(t.Context(), All{}, nil)
	for name, err := range map[string]error{
		"Put": ix.Put(t.Context(), "b", map[string]any{}), "Delete": ix.Delete(t.Context(), "a"),
		"Flush": ix.Flush(t.Context()), "Compact": ix.Compact(t.Context()), "Sync": ix.Sync(t.Context()),
		"Checkpoint": ix.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "c")), "Check": ix.Check(t.Context(), func(error) {}),
		"Search": searchErr, "Count": countErr, "Get": getErr, "Snapshot": snapErr, "Stats": statsErr,
		"Explain": explainErr, "a search on a held snapshot": heldErr,
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := ix.Engine.Len(); n != 0 || !errors.Is(err, ErrClosed) {
		t.Errorf("Len: %d, %v", n, err)
	}
	if n, err := s.Len(); n != 0 || !errors.Is(err, ErrClosed) {
		t.Errorf("Len of a held snapshot: %d, %v", n, err)
	}
	ix.must(ix.Close()) // again
}

func TestLocked(t *testing.T) {
	ix := newIndex(t, nil)
	for _, o := range []*Options{nil, {ReadOnly: true}} {
		if _, err := Open(ix.dir, o); !errors.Is(err, ErrLocked) {
			t.Errorf("a second open with %v: %v", o, err)
		}
	}
	ix.reopen(nil)
}

// TestReadOnly: a checkpoint opened read-only answers, and refuses every change.
func TestReadOnly(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("sealed", map[string]any{"t": "x"})
	ix.flush()
	ix.put("logged", map[string]any{"t": "x y"})
	copied := filepath.Join(t.TempDir(), "copy")
	ix.must(ix.Checkpoint(t.Context(), copied))
	ix.put("later", map[string]any{"t": "x"})
	if err := ix.Checkpoint(t.Context(), copied); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a checkpoint over another: %v", err)
	}

	before := dirText(t, copied)
	ro := &testIndex{t: t, dir: copied}
	ro.open(&Options{ReadOnly: true})
	if got := ro.sortedIDs(match("t", "x")); !slices.Equal(got, []string{"logged", "sealed"}) || ro.Len() != 2 {
		t.Errorf("the copy has %v", got)
	}
	if fields, err := ro.Get(t.Context(), "logged"); err != nil || fields["t"] != "x y" {
		t.Errorf("the copy's document: %v, %v", fields, err)
	}
	for name, err := range map[string]error{
		"Put": ro.Put(t.Context(), "b", map[string]any{}), "Delete": ro.Delete(t.Context(), "sealed"), "Apply": ro.Apply(t.Context(), new(Batch)),
		"Flush": ro.Flush(t.Context()), "Compact": ro.Compact(t.Context()), "Sync": ro.Sync(t.Context()), "Checkpoint": ro.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "c")),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ro.must(ro.Check(t.Context(), func(err error) { t.Errorf("check: %v", err) }))
	ro.must(ro.Close())
	if after := dirText(t, copied); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	if _, err := Open(nothing, &Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a read-only open of nothing: %v", err)
	}
}

// dirText lists the files of a directory with their sizes and times, except the lock, which a
// reader takes too.
func dirText(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "LOCK" {
			fmt.Fprintln(&out, e.Name(), info.Size(), info.ModTime())
		}
	}
	return out.String()
}

// TestCancellation: an ended context stops every call that takes one, and nothing has happened.
func TestCancellation(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("a", map[string]any{"t": "x"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, searchErr := ix.Search(ctx, match("t", "x"), nil)
	_, treeErr := ix.Search(ctx, Bool{MustNot: []Query{match("t", "y")}}, nil)
	_, countErr := ix.Count(ctx, match("t", "x"))
	_, getErr := ix.Get(ctx, "a")
	for name, err := range map[string]error{
		"Put": ix.Put(ctx, "b", map[string]any{"t": "x"}), "Delete": ix.Delete(ctx, "a"),
		"Flush": ix.Flush(ctx), "Compact": ix.Compact(ctx), "Check": ix.Check(ctx, func(error) {}),
		"Search": searchErr, "Search of a tree": treeErr, "Count": countErr, "Get": getErr,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := ix.ids(match("t", "x")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after calls that were cancelled: %v", got)
	}
}

// TestListener counts the events of a known run of calls.
func TestListener(t *testing.T) {
	var mu sync.Mutex
	var events []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, fmt.Sprintf(format, args...))
	}
	ix := newIndex(t, &Options{
		Merge: MergeOptions{Disabled: true},
		Listener: &Listener{
			Applied: func(e ApplyEvent) { note("applied +%d -%d %v", e.Puts, e.Deletes, e.Duration > 0) },
			Searched: func(e SearchEvent) {
				note("searched %v k=%d hits=%d failed=%v %s", e.Query, e.K, e.Hits, e.Err != nil, strings.SplitN(e.Executor+"/", "/", 2)[0])
			},
			Sealed: func(e SealEvent) { note("sealed %d docs, bytes %v, number %v", e.Docs, e.Bytes > 0, e.Segment > 0) },
			Merged: func(e MergeEvent) {
				note("merged %d segments, %d of %d docs, bytes %v", len(e.Inputs), e.Docs, e.InputDocs, e.InputBytes > e.Bytes)
			},
			Failed: func(err error) { note("failed %v", err) },
		},
	})
	var b Batch
	b.Put("a", map[string]any{"t": "x"})
	b.Put("b", map[string]any{"t": "x"})
	b.Delete("c")
	ix.must(ix.Apply(t.Context(), &b))
	ix.search(match("t", "x"), &SearchOptions{K: 7})
	if _, err := ix.Search(t.Context(), Bool{}, nil); err == nil {
		t.Error("an empty Bool is accepted")
	}
	ix.flush()
	ix.must(ix.Delete(t.Context(), "a"))
	ix.put("d", map[string]any{"t": "x"})
	ix.must(ix.Compact(t.Context()))
	ix.must(ix.Close())
	want := []string{
		"applied +2 -1 true",
		"searched t:x k=7 hits=2 failed=false cpu",
		"searched {\"bool\":{}} k=0 hits=0 failed=true ",
		"sealed 2 docs, bytes true, number true",
		"applied +0 -1 true",
		"applied +1 -0 true",
		"sealed 1 docs, bytes true, number true",
		"merged 2 segments, 2 of 3 docs, bytes true",
	}
	if !slices.Equal(events, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

// TestStats checks figures throughout an index's life.
func TestStats(t *testing.T) {
	ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}})
	stats := func() *Stats {
		t.Helper()
		st, err := ix.Stats()
		ix.must(err)
		if fields, err := ix.Fields(); err != nil || !slices.Equal(fields, st.Fields) {
			t.Errorf("Fields: %+v, %v, want %+v", fields, err, st.Fields)
		}
		return st
	}
	if st := stats(); st.Docs != 0 || len(st.Segments) != 0 || len(st.Fields) != 0 || st.LogRecords != 0 {
		t.Errorf("empty: %+v", st)
	}
	ix.put("a", map[string]any{"t": "x y x", "n": 1})
	ix.put("b", map[string]any{"t": "x"})
	st := stats()
	want := []FieldStats{{Name: "n", Docs: 1, Terms: 1, Postings: 1, Tokens: 1}, {Name: "t", Docs: 2, Terms: 2, Postings: 3, Tokens: 4, Norms: true}}
	if st.Docs != 2 || !reflect.DeepEqual(st.Fields, want) || st.LogRecords != 2 || st.MemoryBytes <= 0 || len(st.Segments) != 1 || st.Segments[0].Sealed {
		t.Errorf("in memory: %+v", st)
	}
	ix.flush()
	ix.put("b", map[string]any{"t": "z"})
	st = stats()
	if st.Docs != 2 || st.Deleted != 1 || st.LogRecords != 1 || len(st.Segments) != 2 || !st.Segments[0].Sealed || st.Segments[0].Bytes <= 0 || st.Segments[0].Deleted != 1 {
		t.Errorf("sealed: %+v", st)
	}
	ix.must(ix.Compact(t.Context()))
	if st = stats(); st.Docs != 2 || st.Deleted != 0 || st.LogRecords != 0 || len(st.Segments) != 1 {
		t.Errorf("compacted: %+v", st)
	}
	ix.must(ix.Delete(t.Context(), "a"))
	ix.must(ix.Delete(t.Context(), "b"))
	ix.must(ix.Compact(t.Context()))
	if st = stats(); st.Docs != 0 || len(st.Segments) != 0 {
		t.Errorf("all deleted: %+v", st)
	}
}

// TestOddTexts: unusual texts are indexed all the same.
func TestOddTexts(t *testing.T) {
	ix := newIndex(t, nil)
	texts := map[string]string{
		"empty":   "",
		"nul":     "before\x00after \x00 \x00",
		"invalid": "caf\xe9 \xff\xfe ok \xc3",
		"long":    strings.Repeat("a", 100_000),
		"marks":   "...!? ——",
		"mixed":   "Ærø 東京 שלום 🎉 ÉCOLE",
	}
	for id, text := range texts {
		ix.put(id, map[string]any{"t": text})
	}
	ix.put("no fields", map[string]any{})
	for _, state := range []string{"in memory", "reopened", "sealed"} {
		switch state {
		case "reopened":
			ix.reopen(nil)
		case "sealed":
			ix.flush()
		}
		if ix.Len() != len(texts)+1 {
			t.Errorf("%s: %d documents", state, ix.Len())
		}
		for id, text := range texts {
			fields, err := ix.Get(t.Context(), id)
			if err != nil || fields["t"] != text {
				t.Errorf("%s: %s has become %.40q, %v", state, id, fields["t"], err)
			}
		}
		for q, want := range map[string]string{
			"before": "nul", "after": "nul", "ok": "invalid", "ÆRØ": "mixed", "école": "mixed", "京": "mixed",
			strings.Repeat("A", 255): "long", "caf\xe9": "invalid",
		} {
			if got := ix.ids(all("t", q)); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %.30q finds %v, want %s", state, q, got, want)
			}
		}
	}
	ix.must(ix.Check(t.Context(), func(err error) { t.Error(err) }))
}

// TestHugeDocument puts one text of 100 MB through the whole pipeline.
func TestHugeDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 2 GB and some seconds")
	}
	ix := newIndex(t, &Options{Durability: SyncNone})
	text := strings.Repeat("needle in a haystack of straw; ", 100<<20/31)
	ix.put("huge", map[string]any{"t": text})
	ix.put("small", map[string]any{"t": "a needle"})
	for _, state := range []string{"in memory", "sealed", "reopened"} {
		switch state {
		case "sealed":
			ix.flush()
		case "reopened":
			ix.reopen(nil)
		}
		if got := ix.ids(all("t", "needle a")); !slices.Equal(got, []string{"small", "huge"}) && !slices.Equal(got, []string{"huge", "small"}) {
			t.Errorf("%s: %v", state, got)
		}
		fields, err := ix.Get(t.Context(), "huge")
		ix.must(err)
		if fields["t"] != text {
			t.Errorf("%s: the text has changed", state)
		}
		x, err := ix.Explain(t.Context(), match("t", "haystack"), "huge", nil)
		ix.must(err)
		if want := fmt.Sprintf("tf = %d", 100<<20/31); !strings.Contains(x.String(), want) {
			t.Errorf("%s: %s is not in\n%v", state, want, x)
		}
	}
}

// probe gives access to the internals of an engine.
func (e *Engine) probe() live.Probe { return live.Probe{Index: e.index} }
