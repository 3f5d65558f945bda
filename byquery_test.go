package riffle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// byQuery deletes or changes the documents that match a query, in one batch.
func (w *world) byQuery() {
	q := w.query(1)
	ids := w.now.matches(q, DefaultK)
	next := maps.Clone(w.now)
	o := &ByQueryOptions{BatchDocs: MaxK, Conflicts: ConflictAbort}
	var done *ByQueryProgress
	var err error
	if remove := w.IntN(3) == 0 && len(ids) < 60; remove {
		w.log("  delete %v", q)
		for _, id := range ids {
			delete(next, id)
		}
		done, err = w.e.DeleteByQuery(ctx, q, o)
	} else {
		title, num := w.words(2), w.IntN(9)
		w.log("  put %v and %q without a tag into %v", num, title, q)
		for _, id := range ids {
			d := maps.Clone(next[id])
			d["num"], d["title"] = num, title
			delete(d, modelKeyword)
			next[id] = d
		}
		change := func(Document) (map[string]any, error) {
			return map[string]any{"num": num, "title": title, modelKeyword: nil}, nil
		}
		done, err = w.e.UpdateByQuery(ctx, q, change, o)
	}
	w.must(err)
	if done.Total != len(ids) || done.Changed != len(ids) || done.Unchanged+done.Skipped > 0 {
		w.t.Fatalf("%v: %+v, want %d documents", q, *done, len(ids))
	}
	if len(ids) == 0 {
		return
	}
	w.date(next)
	if w.opts.Durability == SyncNone {
		w.maybe = append(w.maybe, w.now)
	}
	w.now = next
}

// counters fills an index with n documents that count from 0, in several segments and in memory.
func counters(t *testing.T, e *Engine, n int) {
	t.Helper()
	for from := 0; from < n; from += 25 {
		var b Batch
		for i := from; i < min(from+25, n); i++ {
			b.Put(fmt.Sprintf("d%03d", i), map[string]any{"n": 0, "even": i%2 == 0, "text": "word " + strings.Repeat("x", i%7)})
		}
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
		if from%50 == 0 {
			if err := e.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// countUp adds one to n.
func countUp(d Document) (map[string]any, error) {
	return map[string]any{"n": d.Fields["n"].(int64) + 1}, nil
}

// counted returns how many documents have counted to which number.
func counted(t *testing.T, e *Engine) map[int64]int {
	t.Helper()
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	by := map[int64]int{}
	for d, err := range s.Documents("") {
		if err != nil {
			t.Fatal(err)
		}
		n, ok := d.Fields["n"].(int64)
		if !ok || !strings.HasPrefix(d.Fields["text"].(string), "word ") {
			t.Fatalf("%+v", d)
		}
		by[n]++
	}
	return by
}

// TestByQueryResume breaks off calls after each number of batches, by their context and by a crash, and
// resumes them with the first token. Each document is changed once, whatever the token knows of it, and
// what others put meanwhile stays.
func TestByQueryResume(t *testing.T) {
	const docs, batch = 110, 10
	q := Term{"even", true} // of 55
	for stop := 0; stop <= 6; stop++ {
		for _, crash := range []bool{false, true} {
			if brief() && stop%3 != 0 {
				continue
			}
			fsys := newCrashFS()
			tu := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2}}}
			e, err := tu.open(worldDir, fsys)
			if err != nil {
				t.Fatal(err)
			}
			counters(t, e, docs)
			var last ByQueryProgress
			token := ""
			interrupted := func(call func(context.Context, *ByQueryOptions) (*ByQueryProgress, error)) {
				t.Helper()
				token = ""
				within, cancel := context.WithCancel(ctx)
				defer cancel()
				batches := 0
				_, err := call(within, &ByQueryOptions{BatchDocs: batch, Progress: func(p ByQueryProgress) {
					if token == "" {
						token = p.Token
					}
					last = p
					if batches == stop {
						cancel()
					}
					batches++
				}})
				if ended := stop >= 6; ended != (err == nil) || !ended && !errors.Is(err, context.Canceled) {
					t.Errorf("stopped after %d batches: %v", stop, err)
				}
				if want := min(stop*batch, 55); last.Changed != want || last.Total != 55 || last.Token != token {
					t.Errorf("stopped after %d batches: %+v", stop, last)
				}
				if crash {
					left := fsys.crash(0, rand.New(rand.NewPCG(1, 1)))
					_ = e.Close()
					fsys = left
					if e, err = tu.open(worldDir, fsys); err != nil {
						t.Fatal(err)
					}
				}
			}
			interrupted(func(ctx context.Context, o *ByQueryOptions) (*ByQueryProgress, error) {
				return e.UpdateByQuery(ctx, q, countUp, o)
			})
			if err := e.Put(ctx, "late", map[string]any{"n": 0, "even": true, "text": "word "}); err != nil {
				t.Fatal(err)
			}
			p, err := e.UpdateByQuery(ctx, q, countUp, &ByQueryOptions{BatchDocs: batch, Resume: token})
			if err != nil || p.Changed+last.Changed != 55 || p.Skipped != last.Changed+1 || p.Token != token {
				t.Errorf("after %d batches %+v, resumed to %+v, %v", stop, last, p, err)
			}
			if by := counted(t, e); by[0] != 56 || by[1] != 55 {
				t.Errorf("after %d batches: documents that have counted to 0, 1: %v, want 56, 55", stop, by)
			}
			if _, err := e.DeleteByQuery(ctx, q, &ByQueryOptions{Resume: token}); !errors.As(err, new(*QueryError)) {
				t.Errorf("a token of another call: %v", err)
			}

			if err := e.Delete(ctx, "late"); err != nil {
				t.Fatal(err)
			}
			interrupted(func(ctx context.Context, o *ByQueryOptions) (*ByQueryProgress, error) {
				return e.DeleteByQuery(ctx, q, o)
			})
			if err := e.Put(ctx, "late", map[string]any{"n": 7, "even": true, "text": "word "}); err != nil {
				t.Fatal(err)
			}
			p, err = e.DeleteByQuery(ctx, q, &ByQueryOptions{Resume: token})
			if err != nil || p.Changed+last.Changed != 55 || p.Skipped != 1 {
				t.Errorf("after %d batches %+v, resumed to %+v, %v", stop, last, p, err)
			}
			if by := counted(t, e); by[0] != 55 || by[7] != 1 || by[1] != 0 {
				t.Errorf("after %d batches: documents that have counted to 0, 7: %v, want 55, 1", stop, by)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestByQueryConflicts changes documents between the moment at which a call finds them and their turn.
func TestByQueryConflicts(t *testing.T) {
	for _, policy := range []ConflictPolicy{ConflictRetry, ConflictSkip, ConflictAbort} {
		t.Run(policy.String(), func(t *testing.T) {
			ix := newIndex(t, nil)
			counters(t, ix.Engine, 30)
			others := func() {
				var b Batch
				b.Put("d004", map[string]any{"n": 10, "even": true, "text": "word "})  // still matches
				b.Put("d008", map[string]any{"n": 20, "even": false, "text": "word "}) // no longer
				b.Delete("d012")
				ix.must(ix.Apply(ctx, &b))
			}
			first := true
			o := &ByQueryOptions{BatchDocs: 10, Conflicts: policy}
			p, err := ix.UpdateByQuery(ctx, Term{"even", true}, func(d Document) (map[string]any, error) {
				if first {
					first = false
					others()
				}
				return countUp(d)
			}, o)
			got, want := counted(t, ix.Engine), map[int64]int{}
			switch policy {
			case ConflictRetry:
				want = map[int64]int{0: 15, 1: 12, 11: 1, 20: 1}
				if err != nil || p.Changed != 13 || p.Skipped != 2 {
					t.Errorf("%+v, %v", p, err)
				}
			case ConflictSkip:
				want = map[int64]int{0: 15, 1: 12, 10: 1, 20: 1}
				if err != nil || p.Changed != 12 || p.Skipped != 3 {
					t.Errorf("%+v, %v", p, err)
				}
			case ConflictAbort:
				want = map[int64]int{0: 27, 10: 1, 20: 1}
				if !errors.Is(err, ErrConflict) || p.Changed != 0 {
					t.Errorf("%+v, %v", p, err)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("documents have counted to %v, want %v", got, want)
			}

			o.Progress = func(p ByQueryProgress) {
				if p.Changed == 0 {
					others()
				}
			}
			_, err = ix.DeleteByQuery(ctx, Term{"even", true}, o)
			if (err == nil) != (policy != ConflictAbort) {
				t.Error(err)
			}
			left, err := ix.Count(ctx, Term{"even", true})
			if want := map[ConflictPolicy]int{ConflictRetry: 0, ConflictSkip: 1, ConflictAbort: 3}[policy]; left != want || err != nil {
				t.Errorf("%d documents are left, want %d; %v", left, want, err)
			}
		})
	}
}

// TestUpdateByQuery changes fields of several kinds, which leaves the others and their rules alone.
func TestUpdateByQuery(t *testing.T) {
	ix := newIndex(t, nil)
	type author struct {
		Name string
		Born int
	}
	type book struct {
		Title  string
		Code   string `riffle:"Code,keyword"`
		Author author
		Tags   []string
	}
	ix.must(ix.Put(ctx, "moby", book{"Moby Dick", "QA 76", author{"Melville", 1819}, []string{"sea", "whale"}}))
	ix.must(ix.Put(ctx, "omoo", book{"Omoo", "QA 77", author{"Melville", 1819}, nil}))
	seen := 0
	p, err := ix.UpdateByQuery(ctx, All{}, func(d Document) (map[string]any, error) {
		if seen++; d.ID == "omoo" || d.Version == 0 || d.Fields["Author.Name"] != "Melville" {
			return nil, nil
		}
		return map[string]any{"Author": nil, "Tags": []string{"ship"}, "Author2.Name": "Herman"}, nil
	}, &ByQueryOptions{DocsPerSecond: 1e6})
	if err != nil || p.Changed != 1 || p.Unchanged != 1 || seen != 2 {
		t.Errorf("%+v, %v, %d documents seen", p, err, seen)
	}
	d, err := ix.Document(ctx, "moby")
	if want := "map[Author2.Name:Herman Code:QA 76 Tags:ship Title:Moby Dick]"; err != nil || fmt.Sprint(d.Fields) != want {
		t.Errorf("%v, %v, want %s", d.Fields, err, want)
	}
	if n, err := ix.Count(ctx, Term{"Code", "QA 76"}); n != 1 || err != nil {
		t.Errorf("%d documents have the keyword, %v", n, err)
	}

	broken := errors.New("no")
	if _, err := ix.UpdateByQuery(ctx, All{}, func(Document) (map[string]any, error) { return nil, broken }, nil); !errors.Is(err, broken) {
		t.Error(err)
	}
	_, err = ix.UpdateByQuery(ctx, All{}, func(Document) (map[string]any, error) { return map[string]any{"x": make(chan int)}, nil }, nil)
	var de *DocumentError
	if !errors.As(err, &de) || de.ID != "omoo" || de.Field != "x" {
		t.Error(err)
	}
	for _, o := range []*ByQueryOptions{{BatchDocs: -1}, {BatchDocs: MaxK + 1}, {DocsPerSecond: -1}, {Conflicts: 9}, {Resume: "x"}, {Resume: "1.2.3.4"}} {
		if _, err := ix.DeleteByQuery(ctx, All{}, o); !errors.As(err, new(*QueryError)) {
			t.Errorf("%+v: %v", *o, err)
		}
	}
	if _, err := ix.DeleteByQuery(ctx, nil, nil); !errors.As(err, new(*QueryError)) {
		t.Errorf("without a query: %v", err)
	}

	apart := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"secret": {Type: FieldKeyword, NoStore: true}}}})
	_, err = apart.UpdateByQuery(ctx, All{}, countUp, nil)
	if err == nil || !strings.Contains(err.Error(), `UpdateByQuery: field "secret" is not stored`) {
		t.Error(err)
	}
}
