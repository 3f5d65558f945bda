package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// versionsOf has the version of each document of a model: of its map, which the models share. It keeps the
// maps alive, so that none takes the place of another in memory.
type versionsOf map[uintptr]datedDoc

type datedDoc struct {
	doc     modelDoc
	version uint64
}

func (v versionsOf) of(d modelDoc) uint64 { return v[reflect.ValueOf(d).Pointer()].version }

// date notes the version of what the last batch has put into a model. It is above all others.
func (w *world) date(m model) {
	s, err := w.e.Snapshot()
	w.must(err)
	defer s.Close()
	version, err := s.Version()
	w.must(err)
	for id, d := range m {
		if p := reflect.ValueOf(d).Pointer(); w.dates[p].doc == nil {
			w.dates[p] = datedDoc{d, version}
		} else if w.dates[p].version >= version {
			w.t.Fatalf("the last batch has version %d, and an earlier one put %q with %d", version, id, w.dates[p].version)
		}
	}
}

// versionIn returns the version of a document in a model, 0 for none. It is not known for documents of a
// batch that is being made.
func (w *world) versionIn(m model, id string) (version uint64, known bool) {
	d, ok := m[id]
	if !ok {
		return 0, true
	}
	version = w.dates.of(d)
	return version, version > 0
}

// same reports a difference between a snapshot and a model, in documents or their versions.
func (w *world) same(s *Snapshot, m model) error {
	if err := sameDocuments(s, m); err != nil {
		return err
	}
	for d, err := range s.Documents("") {
		if err != nil {
			return err
		}
		if want := w.dates.of(m[d.ID]); d.Version != want {
			return fmt.Errorf("document %q has version %d, want %d", d.ID, d.Version, want)
		}
	}
	r, err := s.Search(ctx, All{}, &SearchOptions{K: 50, Versions: true})
	if err != nil {
		return err
	}
	for _, h := range r.Hits {
		if want := w.dates.of(m[h.ID]); h.Version != want {
			return fmt.Errorf("hit %q has version %d, want %d", h.ID, h.Version, want)
		}
	}
	return nil
}

// conflict applies a batch whose last change depends on a version that its document does not have.
func (w *world) conflict() {
	var b Batch
	b.Put("before", map[string]any(w.doc()))
	id := w.id()
	have, _ := w.versionIn(w.now, id)
	want := []uint64{0, 1, have + 1, have - 1, 1 << 63}[w.IntN(5)]
	if want == have {
		want++
	}
	switch w.IntN(3) {
	case 0:
		b.PutIf(id, map[string]any(w.doc()), want)
	case 1:
		b.UpdateIf(id, w.changes(), want)
	default:
		b.DeleteIf(id, want)
	}
	var ce *ConflictError
	if err := w.e.Apply(ctx, &b); !errors.As(err, &ce) || !errors.Is(err, ErrConflict) || *ce != conflictOf(id, want, have) {
		w.t.Fatalf("document %q at version %d, if it has %d: %v", id, have, want, err)
	}
}

func conflictOf(id string, want, have uint64) ConflictError {
	return ConflictError{ID: id, Want: want, Have: have}
}

// TestVersions walks a document through its versions.
func TestVersions(t *testing.T) {
	ix := newIndex(t, nil)
	apply := func(fill func(b *Batch)) error {
		var b Batch
		fill(&b)
		return ix.Apply(ctx, &b)
	}
	doc := func(n int) map[string]any { return map[string]any{"n": n} }
	version := func(id string) uint64 {
		d, err := ix.Document(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return d.Version
	}
	refused := func(err error, want ...ConflictError) {
		t.Helper()
		var got []ConflictError
		if all, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range all.Unwrap() {
				var ce *ConflictError
				if errors.As(err, &ce) {
					got = append(got, *ce)
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if v := version("a"); v != 0 {
		t.Errorf("no document has version %d", v)
	}
	ix.must(apply(func(b *Batch) { b.PutIf("a", doc(1), 0) }))
	first := version("a")
	refused(apply(func(b *Batch) { b.PutIf("a", doc(2), 0) }), conflictOf("a", 0, first))
	snap, err := ix.Snapshot()
	ix.must(err)
	defer snap.Close()
	ix.must(apply(func(b *Batch) { b.PutIf("a", doc(2), first); b.Put("b", doc(1)) }))
	second := version("a")
	if second <= first || version("b") != second {
		t.Errorf("versions %d, then %d and %d", first, second, version("b"))
	}
	if d, err := snap.Document(ctx, "a"); err != nil || d.Version != first || d.Fields["n"] != int64(1) {
		t.Errorf("in a snapshot: %+v, %v", d, err)
	}

	// A batch sees its own changes, and everything of it or nothing happens.
	refused(apply(func(b *Batch) {
		b.DeleteIf("a", second)
		b.PutIf("a", doc(3), second)
		b.PutIf("b", doc(3), first)
		b.Put("c", doc(3))
	}), conflictOf("a", second, 0), conflictOf("b", first, second))
	if version("a") != second || version("c") != 0 {
		t.Errorf("a batch with a conflict was applied")
	}
	ix.must(apply(func(b *Batch) { b.DeleteIf("a", second); b.PutIf("a", doc(3), 0); b.DeleteIf("none", 0) }))
	third := version("a")

	// The conditions of batches that wait for the log see each other.
	var pending []*Pending
	for i := range 5 {
		var b Batch
		b.PutIf(fmt.Sprint("p", i), doc(i), 0)
		if i > 0 {
			b.PutIf("q", doc(i), 0)
		}
		p, err := ix.Submit(ctx, &b)
		if (i > 1) != errors.Is(err, ErrConflict) {
			t.Errorf("batch %d: %v", i, err)
		}
		if err == nil {
			pending = append(pending, p)
		}
	}
	for _, p := range pending {
		ix.must(p.Wait(ctx))
	}

	for name, step := range map[string]func() error{"sealed": func() error { return ix.Flush(ctx) }, "compacted": func() error { return ix.Compact(ctx) }} {
		ix.must(step())
		if version("a") != third {
			t.Errorf("%s: version %d, want %d", name, version("a"), third)
		}
	}
	ix.must(ix.Delete(ctx, "a"))
	refused(apply(func(b *Batch) { b.DeleteIf("a", third) }), conflictOf("a", third, 0))
	ix.must(ix.Put(ctx, "a", doc(4)))
	fourth := version("a")
	ix.must(ix.Close())
	ix.open(nil)
	if version("a") != fourth || fourth <= third {
		t.Errorf("after Open: version %d, want %d, above %d", version("a"), fourth, third)
	}
	res, err := ix.Search(ctx, Term{"n", 4}, &SearchOptions{Versions: true})
	ix.must(err)
	if len(res.Hits) != 1 || res.Hits[0].Version != fourth {
		t.Errorf("hits %+v", res.Hits)
	}
	var b Batch
	b.PutIf("", doc(1), 0)
	b.DeleteIf(strings.Repeat("x", MaxIDBytes+1), 0)
	if err := ix.Apply(ctx, &b); !errors.As(err, new(*DocumentError)) {
		t.Errorf("ids that are none: %v", err)
	}
}

// TestVersionsJSON: a batch in JSON keeps its conditions.
func TestVersionsJSON(t *testing.T) {
	const text = `[{"put":"a","if_version":7,"fields":{"n":1}},{"put":"b","if_version":0,"fields":{}},{"delete":"c","if_version":18446744073709551615},{"delete":"d"}]`
	var b, want Batch
	want.PutIf("a", map[string]any{"n": 1}, 7)
	want.PutIf("b", map[string]any{}, 0)
	want.DeleteIf("c", 1<<64-1)
	want.Delete("d")
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	for _, b := range []Batch{b, want} {
		if got, err := json.Marshal(b); err != nil || string(got) != text {
			t.Errorf("%s, %v", got, err)
		}
	}
	for _, bad := range []string{`[{"delete":"a","if_version":-1}]`, `[{"delete":"a","if_version":"7"}]`, `[{"put":"a","if_version":1.5}]`} {
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s is understood", bad)
		}
	}
}

// TestVersionsOfBuild: documents of Build have version 1, and later ones have others.
func TestVersionsOfBuild(t *testing.T) {
	dir := t.TempDir() + "/index"
	_, err := Build(ctx, dir, yieldAll([]modelPut{{"a", modelDoc{"n": 1}}, {"b", modelDoc{"n": 2}}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	ix := &testIndex{t: t, dir: dir}
	ix.open(nil)
	defer ix.Close()
	var b Batch
	b.PutIf("a", map[string]any{"n": 3}, 1)
	ix.must(ix.Apply(ctx, &b))
	for range 2 {
		for id, want := range map[string]uint64{"a": 2, "b": 1} {
			if d, err := ix.Document(ctx, id); err != nil || d.Version != want {
				t.Errorf("%q: %+v, %v, want version %d", id, d, err, want)
			}
		}
		ix.must(ix.Compact(ctx)) // one segment of documents with and without a version in a column
	}
	if err := ix.Apply(ctx, &b); !errors.Is(err, ErrConflict) {
		t.Errorf("twice: %v", err)
	}
}

// TestVersionsOfRecords: the documents of a batch that takes several records of the log have the same
// versions after the log is read back, and conditions within the batch hold.
func TestVersionsOfRecords(t *testing.T) {
	ix := newIndex(t, nil)
	ix.must(ix.Put(ctx, "before", map[string]any{}))
	var b Batch
	text := strings.Repeat("some words ", 30<<10)
	for i := range 7 {
		b.Put(fmt.Sprint(i), map[string]any{"text": text})
	}
	b.PutIf("before", map[string]any{}, 2)
	ix.must(ix.Apply(ctx, &b))
	ix.must(ix.Put(ctx, "behind", map[string]any{}))
	versions := func() (all []uint64) {
		s, err := ix.Snapshot()
		ix.must(err)
		defer s.Close()
		for d, err := range s.Documents("") {
			ix.must(err)
			all = append(all, d.Version)
		}
		return all
	}
	was := versions() // 0 to 6, before, behind
	if want := []uint64{3, 3, 3, 3, 4, 4, 4, 4, 5}; !reflect.DeepEqual(was, want) {
		t.Errorf("versions %d, want %d", was, want)
	}
	ix.must(ix.Close())
	ix.open(nil)
	if now := versions(); !reflect.DeepEqual(now, was) {
		t.Errorf("after Open versions %d, want %d", now, was)
	}
}

// TestVersionsConcurrent counts in documents from many goroutines, while memory is sealed and segments
// are merged: each change that succeeds counts once, and the others are conflicts.
func TestVersionsConcurrent(t *testing.T) {
	tu := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2}, Durability: SyncNone}}
	e, err := tu.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rounds, docs := 60, 3
	if brief() {
		rounds = 15
	}
	var wg sync.WaitGroup
	var conflicts, sum atomic.Int64
	for worker := range 8 {
		wg.Go(func() {
			for round := range rounds {
				id := fmt.Sprint("counter", (worker+round)%docs)
				d, err := e.Document(ctx, id)
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
					return
				}
				n, _ := d.Fields["n"].(int64)
				var b Batch
				b.PutIf(id, map[string]any{"n": n + 1}, d.Version)
				b.Put(fmt.Sprint("other", worker), map[string]any{"text": strings.Repeat("word ", 50)})
				if worker%2 == 0 {
					err = e.Apply(ctx, &b)
				} else if p, perr := e.Submit(ctx, &b); perr != nil {
					err = perr
				} else {
					err = p.Wait(ctx)
				}
				switch {
				case err == nil:
					sum.Add(1)
				case errors.Is(err, ErrConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	total := int64(0)
	for i := range docs {
		d, err := e.Document(ctx, fmt.Sprint("counter", i))
		if err != nil {
			t.Fatal(err)
		}
		total += d.Fields["n"].(int64)
	}
	t.Logf("%d changes, %d conflicts", sum.Load(), conflicts.Load())
	if total != sum.Load() || sum.Load()+conflicts.Load() != int64(8*rounds) {
		t.Errorf("%d changes succeeded, %d are counted, %d conflicts", sum.Load(), total, conflicts.Load())
	}
}
