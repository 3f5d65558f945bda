package riffle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMulti compares a Multi with one index of the same documents, in everything that a caller sees.
func TestMulti(t *testing.T) {
	seed := seedOf(t)
	rounds, queries := 6, 40
	if brief() {
		rounds, queries = 4, 20
	}
	for round := range rounds {
		w := newMultiWorld(t, rand.New(rand.NewPCG(seed, uint64(round))))
		for range queries {
			w.compare()
		}
		w.compareTerms()
		w.close()
	}
}

// A multiWorld is documents in several engines, and in one.
type multiWorld struct {
	modelQueries
	t     *testing.T
	whole *testIndex
	parts []*testIndex
	multi *Multi
	home  map[string]string // name of the engine, by id
	puts  int
}

func newMultiWorld(t *testing.T, rng *rand.Rand) *multiWorld {
	w := &multiWorld{t: t, modelQueries: modelQueries{rng}, home: map[string]string{}}
	alpha := []float64{0, 0.3}[rng.IntN(2)]
	open := func() *testIndex {
		o := &Options{Schema: modelSchema, AllowUnknownFields: true, MaxTerms: 12, Rank: Rank{Field: "rank", Alpha: alpha}, Durability: SyncNone}
		o.private.memoryBytes = []int64{tinyMemory, 1 << 20}[rng.IntN(2)]
		o.Merge.Disabled = rng.IntN(2) == 0
		o.SearchWorkers = 1 + rng.IntN(2)
		return newIndex(t, o)
	}
	w.whole = open()
	var members []Member
	var deleted []string
	for i := range 1 + rng.IntN(4) {
		ix, name := open(), fmt.Sprint("engine", i)
		w.parts, members = append(w.parts, ix), append(members, Member{name, ix.Engine})
		if rng.IntN(6) == 0 {
			continue // an engine without documents
		}
		w.fill(ix, name, rng.IntN(80))
		if rng.IntN(2) == 0 {
			for _, id := range w.ids(name) {
				if rng.IntN(4) == 0 {
					ix.must(ix.Delete(t.Context(), id))
					deleted = append(deleted, id)
					delete(w.home, id)
				}
			}
			ix.must(ix.Compact(t.Context()))
			w.fill(ix, name, rng.IntN(10))
		}
	}
	for _, id := range deleted {
		w.whole.must(w.whole.Delete(t.Context(), id))
	}
	if len(deleted) > 0 {
		w.whole.must(w.whole.Compact(t.Context()))
	}
	var err error
	w.multi, err = NewMulti(members...)
	w.whole.must(err)
	return w
}

// ids returns the ids of an engine, in order.
func (w *multiWorld) ids(name string) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(w.home)) {
		if w.home[id] == name {
			ids = append(ids, id)
		}
	}
	return ids
}

// fill adds documents to an engine, and to the whole.
func (w *multiWorld) fill(ix *testIndex, name string, docs int) {
	for range docs {
		var b Batch
		for range 1 + w.IntN(3) {
			w.puts++
			id := fmt.Sprintf("%s-%d", name, w.puts)
			w.home[id] = name
			b.Put(id, w.doc())
		}
		ix.must(ix.Apply(w.t.Context(), &b))
		w.whole.must(w.whole.Apply(w.t.Context(), &b))
	}
}

func (w *multiWorld) close() {
	w.whole.must(w.whole.Close())
	for _, ix := range w.parts {
		ix.must(ix.Close())
	}
}

func (w *multiWorld) randomQuery() Query {
	switch w.IntN(6) {
	case 0:
		return Match{Field: "text", Text: w.words(1 + w.IntN(3)), Mode: ModeAndOr}
	case 1:
		return Match{Fields: []string{"title", "text"}, Text: w.words(1 + w.IntN(3)), Mode: Mode(w.IntN(3)), Combine: Combine(w.IntN(4))}
	case 2:
		return Fuzzy{Field: "text", Term: w.word(), Edits: 1 + w.IntN(2), Expansions: 1 + w.IntN(6)}
	case 3:
		return Near{Field: "text", Phrases: []string{w.word(), w.words(1 + w.IntN(2))}, Distance: w.IntN(5)}
	}
	return w.query(2)
}

// compare compares the answers to a query.
func (w *multiWorld) compare() {
	q := w.randomQuery()
	o := SearchOptions{K: 1 + w.IntN(20), Partial: w.IntN(3) > 0, ExactTotal: w.IntN(2) == 0}
	if w.IntN(3) == 0 {
		o.Exec = &Exec{Algorithm: Algorithm(w.IntN(int(AlgorithmBMM) + 1))}
	}
	if w.IntN(4) == 0 {
		o.From = w.IntN(10)
	}
	ctx := w.t.Context()
	s, err := w.multi.Snapshot()
	w.whole.must(err)
	defer s.Close()
	for _, multi := range []Searcher{w.multi, s} {
		want, wantErr := w.whole.Search(ctx, q, &o)
		got, err := multi.Search(ctx, q, &o)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			w.t.Fatalf("%v %+v: error %v, in one index %v", q, o, err, wantErr)
		}
		if err != nil {
			return
		}
		w.same(q, got.Hits, want.Hits)
		profiled := o
		profiled.Profile = &ProfileOptions{Lists: w.IntN(4), Runs: w.IntN(10)}
		again, err := multi.Search(ctx, q, &profiled)
		w.whole.must(err)
		w.same(q, again.Hits, got.Hits)
		if err := checkProfile(again, &profiled); err != nil {
			w.t.Fatalf("%v %+v: %v", q, o, err)
		}
		if got.Incomplete != want.Incomplete || o.ExactTotal && (got.Total != want.Total || !got.TotalExact) {
			w.t.Fatalf("%v: total %d %v, in one index %d %v", q, got.Total, got.Incomplete, want.Total, want.Incomplete)
		}
		batch, err := multi.SearchBatch(ctx, []Query{All{}, q}, &o)
		w.whole.must(err)
		w.same(q, batch[1].Hits, want.Hits)
		for _, h := range want.Hits {
			x, err := multi.Explain(ctx, q, h.ID, &o)
			w.whole.must(err)
			if y, err := w.whole.Explain(ctx, q, h.ID, &o); err != nil || x.String() != y.String() || x.Score != h.Score {
				w.t.Fatalf("%v: %s explained as\n%sin one index as\n%v%v", q, h.ID, x, y, err)
			}
		}
		if o.Partial {
			continue // Count and Statistics have no options
		}
		n, err := multi.Count(ctx, q)
		w.whole.must(err)
		if m, err := w.whole.Count(ctx, q); err != nil || n != m {
			w.t.Fatalf("%v: %d documents, in one index %d %v", q, n, m, err)
		}
		if x, y := sharedStatistics(w.t, q, multi), sharedStatistics(w.t, q, w.whole); !reflect.DeepEqual(x, y) {
			w.t.Fatalf("%v: statistics %+v, in one index %+v", q, x, y)
		}
	}
	w.comparePages(s, q, o)
}

// same compares hits, and says where they come from.
func (w *multiWorld) same(q Query, got, want []Hit) {
	w.t.Helper()
	same := func(a, b Hit) bool { return a.ID == b.ID && a.Score == b.Score }
	if !slices.EqualFunc(got, want, same) {
		w.t.Fatalf("%v:\n%v, in one index\n%v", q, got, want)
	}
	for _, h := range got {
		if h.Engine != w.home[h.ID] {
			w.t.Fatalf("%v: %s of engine %q is said to be of %q", q, h.ID, w.home[h.ID], h.Engine)
		}
	}
}

// comparePages turns the pages to the end, with cursors that have passed through their text.
func (w *multiWorld) comparePages(s *MultiSnapshot, q Query, o SearchOptions) {
	o.From = 0
	all := o
	if all.K = MaxK; dependsOnK(q) {
		return // its answer is of K
	}
	want, err := w.whole.Search(w.t.Context(), q, &all)
	w.whole.must(err)
	var got []Hit
	for {
		res, err := s.Search(w.t.Context(), q, &o)
		w.whole.must(err)
		got = append(got, res.Hits...)
		if len(res.Hits) < o.K {
			break
		}
		o.After = throughText(w.t, res.Hits[o.K-1])
	}
	w.same(q, got, want.Hits)
}

// compareTerms compares what is known of terms.
func (w *multiWorld) compareTerms() {
	ctx := w.t.Context()
	collect := func(x interface {
		Searcher
		Suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error)
		Terms(ctx context.Context, field, prefix string) iter.Seq2[TermCount, error]
	}) (out []string) {
		for _, prefix := range []string{"", "w", "w1"} {
			for term, err := range x.Terms(ctx, "text", prefix) {
				out = append(out, fmt.Sprint(prefix, term, err))
			}
		}
		for _, word := range []string{"w", "w1", "w22", "x3"} {
			found, err := x.Suggest(ctx, "text", word, &SuggestOptions{Limit: 5})
			out = append(out, fmt.Sprint(word, found, err))
		}
		return out
	}
	s, err := w.multi.Snapshot()
	w.whole.must(err)
	defer s.Close()
	want := collect(w.whole.Engine)
	if got := collect(w.multi); !slices.Equal(got, want) {
		w.t.Errorf("terms\n%v, in one index\n%v", got, want)
	}
	if got := collect(s); !slices.Equal(got, want) {
		w.t.Errorf("terms of a snapshot\n%v, in one index\n%v", got, want)
	}
	if n := lenOf(w.t, w.multi); n != len(w.home) || lenOf(w.t, s) != n || w.whole.Len() != n {
		w.t.Errorf("%d documents, %d were put", n, len(w.home))
	}
}

// TestMultiExpansions: the terms that a query stands for are chosen over all engines, by the sum of
// their documents, and not in each engine by its own.
func TestMultiExpansions(t *testing.T) {
	a, b := newIndex(t, &Options{MaxTerms: 6}), newIndex(t, nil)
	put := func(ix *testIndex, word string, documents int) {
		for range documents {
			ix.put(fmt.Sprint(word, lenOf(t, ix.Engine)), map[string]any{"text": word})
		}
	}
	// Words of one edit from whale. Of three, each engine by itself would take its own first ones.
	for word, documents := range map[string][2]int{
		"whalf": {9, 0}, "whalg": {8, 0}, "whalh": {7, 0},
		"whali": {0, 9}, "whalj": {0, 8}, "whalk": {0, 7},
		"whall": {6, 6}, "whalm": {5, 6}, "whaln": {5, 5},
	} {
		put(a, word, documents[0])
		put(b, word, documents[1])
	}
	a.flush()
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	a.must(err)
	ctx := t.Context()
	q := Fuzzy{Field: "text", Term: "whale", Edits: 1, Expansions: 3}
	if n, err := m.Count(ctx, q); err != nil || n != 12+11+10 {
		t.Errorf("fuzzy: %d documents %v, want 33", n, err)
	}
	stats := sharedStatistics(t, q, m)
	if got := stats.Fields["text"].Terms; !maps.Equal(got, map[string]uint64{"whall": 12, "whalm": 11, "whaln": 10}) {
		t.Errorf("fuzzy: terms %v", got)
	}
	found, err := m.Suggest(ctx, "text", "whal", &SuggestOptions{Limit: 3})
	a.must(err)
	if got := fmt.Sprint(found); got != "[{whall 12 0} {whalm 11 0} {whaln 10 0}]" {
		t.Errorf("Suggest: %v", got)
	}
	// Each engine has six of the terms, which is the limit; together they have nine, of which the first
	// six count.
	for _, q := range []Query{Prefix{"text", "whal", false}, Wildcard{"text", "*al?", false}, Regexp{"text", ".*al[f-n]", false}} {
		if _, err := m.Search(ctx, q, nil); err == nil || !strings.Contains(err.Error(), "MaxTerms") {
			t.Errorf("%v: error %v", q, err)
		}
		res, err := m.Search(ctx, q, &SearchOptions{K: 100, Partial: true, ExactTotal: true})
		a.must(err)
		if !res.Incomplete || res.Total != 9+8+7+9+8+7 {
			t.Errorf("%v: %d documents, incomplete %v, want 48", q, res.Total, res.Incomplete)
		}
	}
}

// TestMultiFuzzy: a word with more neighbours than Fuzzy picks has the same ones in several engines as
// in one index, and so the same hits with the same scores.
func TestMultiFuzzy(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 3))
	o := &Options{MaxTerms: 40, Durability: SyncNone}
	w := &multiWorld{t: t, whole: newIndex(t, o), home: map[string]string{}}
	word := func() string {
		b := make([]byte, 4+rng.IntN(2))
		for i := range b {
			b[i] = "abcd"[min(rng.IntN(4), rng.IntN(4))]
		}
		return string(b)
	}
	var members []Member
	for i := range 3 {
		ix, name := newIndex(t, o), fmt.Sprint("engine", i)
		w.parts, members = append(w.parts, ix), append(members, Member{name, ix.Engine})
		for round := range 3 {
			var b Batch
			for n := range 100 {
				id := fmt.Sprintf("%s-%d-%d", name, round, n)
				w.home[id] = name
				b.Put(id, map[string]any{"text": strings.Join([]string{word(), word(), word()}, " ")})
			}
			for _, ix := range []*testIndex{ix, w.whole} {
				ix.must(ix.Apply(t.Context(), &b))
				if round != i {
					ix.flush() // the rest stays in memory
				}
			}
		}
	}
	var err error
	w.multi, err = NewMulti(members...)
	w.whole.must(err)
	crowded := 0
	for range 30 {
		term := word()
		near, err := w.whole.Suggest(t.Context(), "text", term, &SuggestOptions{Edits: 2, Limit: 1000})
		w.whole.must(err)
		if len(near) > 64 {
			crowded++
		}
		for _, q := range []Query{
			Fuzzy{Field: "text", Term: term, Edits: 1 + rng.IntN(2), Prefix: rng.IntN(2)},
			Fuzzy{Field: "text", Term: term, Edits: 2, Expansions: 1 + rng.IntN(80)},
			PhrasePrefix{Field: "text", Text: term + " " + term[:1]},
			Wildcard{"text", "*" + term[1:3] + "*", false},
			Regexp{"text", ".*" + term[:2] + "[bc]?", false},
		} {
			for _, o := range []*SearchOptions{{K: 20, ExactTotal: true, Partial: true}, {K: 20, ExactTotal: true}} {
				want, wantErr := w.whole.Search(t.Context(), q, o)
				got, err := w.multi.Search(t.Context(), q, o)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%v: error %v, in one index %v", q, err, wantErr)
				}
				if err != nil {
					continue
				}
				w.same(q, got.Hits, want.Hits)
				if got.Total != want.Total || got.Incomplete != want.Incomplete {
					t.Fatalf("%v: %d documents, incomplete %v, in one index %d, %v", q, got.Total, got.Incomplete, want.Total, want.Incomplete)
				}
			}
		}
	}
	if crowded < 10 {
		t.Errorf("%d of 30 words have more neighbours than Fuzzy picks", crowded)
	}
}

// TestMultiDocuments: documents of one id in two engines are two, which Hit.Engine tells apart.
func TestMultiDocuments(t *testing.T) {
	a, b := newIndex(t, nil), newIndex(t, nil)
	a.put("1", map[string]any{"t": "red whale"})
	a.put("2", map[string]any{"t": "blue"})
	b.put("1", map[string]any{"t": "white whale"})
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	a.must(err)
	q := match("t", "whale")
	res, err := m.Search(t.Context(), q, &SearchOptions{Load: []string{"t"}, ExactTotal: true})
	a.must(err)
	if len(res.Hits) != 2 || res.Total != 2 || res.Hits[0].Score != res.Hits[1].Score {
		t.Fatalf("%+v", res)
	}
	for i, name := range []string{"a", "b"} {
		h := res.Hits[i]
		fields, err := m.GetIn(t.Context(), h.Engine, h.ID)
		if h.Engine != name || h.ID != "1" || err != nil || !reflect.DeepEqual(fields, h.Fields) {
			t.Errorf("hit %d is %+v, and has %v %v", i, h, fields, err)
		}
		if x, err := m.ExplainIn(t.Context(), q, h.Engine, h.ID, nil); err != nil || x.Score != h.Score {
			t.Errorf("hit %d scores %v, explained:\n%v%v", i, h.Score, x, err)
		}
	}
	if n, err := m.Count(t.Context(), IDs{[]string{"1"}}); n != 2 || err != nil {
		t.Errorf("%d documents have the id, %v", n, err)
	}
	if fields, err := m.Get(t.Context(), "2"); err != nil || fields["t"] != "blue" {
		t.Errorf("a document of one engine: %v %v", fields, err)
	}
	requireError := func(what string, err, want error, text string) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %v with %s", what, err, want, text)
		}
	}
	_, err = m.Get(t.Context(), "1")
	requireError("an id of two engines", err, ErrAmbiguous, `"1" is in "a", "b"`)
	_, err = m.Explain(t.Context(), q, "1", nil)
	requireError("an id of two engines, explained", err, ErrAmbiguous, `"1" is in "a", "b"`)
	_, err = m.Get(t.Context(), "3")
	requireError("an id of none", err, ErrNotFound, "")
	_, err = m.GetIn(t.Context(), "b", "2")
	requireError("an id that another engine has", err, ErrNotFound, `engine "b"`)
	if _, err = m.GetIn(t.Context(), "c", "2"); err == nil || !strings.Contains(err.Error(), `no engine "c"`) {
		t.Errorf("an engine that there is not: %v", err)
	}
}

// TestMultiSnapshot: a snapshot stays the same, while the Multi has what was put.
func TestMultiSnapshot(t *testing.T) {
	a, b := newIndex(t, nil), newIndex(t, nil)
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	a.must(err)
	a.put("1", map[string]any{"t": "whale"})
	s, err := m.Snapshot()
	a.must(err)
	b.put("2", map[string]any{"t": "whale"})
	q := match("t", "whale")
	n, err := m.Count(t.Context(), q)
	a.must(err)
	if held, err := s.Count(t.Context(), q); n != 2 || held != 1 || err != nil {
		t.Errorf("%d documents, %d in the snapshot, %v", n, held, err)
	}
	if _, err := s.Get(t.Context(), "2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a later document: %v", err)
	}
	s.Close()
	s.Close()
	if _, err := s.Count(t.Context(), q); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), `engine "a"`) {
		t.Errorf("closed: %v", err)
	}
	a.must(b.Close())
	if _, err := m.Search(t.Context(), q, nil); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), `engine "b"`) {
		t.Errorf("an engine is closed: %v", err)
	}
	if _, err := m.Snapshot(); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), `engine "b"`) {
		t.Errorf("a snapshot with a closed engine: %v", err)
	}
	a.must(a.Close()) // would wait for a view that is still held
}

// TestMultiCursor: pages fit together while engines change, and a cursor belongs to its engines.
func TestMultiCursor(t *testing.T) {
	a, b := newIndex(t, nil), newIndex(t, nil)
	for i := range 20 {
		a.put(fmt.Sprint("a", i), map[string]any{"t": "whale"})
		b.put(fmt.Sprint("b", i), map[string]any{"t": "whale"})
	}
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	a.must(err)
	q, o := match("t", "whale"), &SearchOptions{K: 7}
	seen := map[string]bool{}
	for page := 0; ; page++ {
		res, err := m.Search(t.Context(), q, o)
		a.must(err)
		for _, h := range res.Hits {
			if seen[h.ID] {
				t.Errorf("%s comes twice", h.ID)
			}
			seen[h.ID] = true
		}
		if len(res.Hits) < o.K {
			break
		}
		o.After = throughText(t, res.Hits[o.K-1])
		a.put(fmt.Sprint("later", page), map[string]any{"t": "a whale of another score"})
	}
	for i := range 20 {
		if !seen[fmt.Sprint("a", i)] || !seen[fmt.Sprint("b", i)] {
			t.Errorf("document %d is on no page", i)
		}
	}
	var qe *QueryError
	one, err := NewMulti(Member{"a", a.Engine})
	a.must(err)
	if _, err := one.Search(t.Context(), q, o); !errors.As(err, &qe) || qe.Part != "SearchOptions.After" {
		t.Errorf("the cursor of other engines: %v", err)
	}
	if _, err := a.Search(t.Context(), q, o); !errors.As(err, &qe) || qe.Part != "SearchOptions.After" {
		t.Errorf("the cursor of a Multi, for an Engine: %v", err)
	}
	res, err := a.Search(t.Context(), q, &SearchOptions{K: 1})
	a.must(err)
	if _, err := m.Search(t.Context(), q, &SearchOptions{After: res.Hits[0].Cursor}); !errors.As(err, &qe) {
		t.Errorf("the cursor of an Engine, for a Multi: %v", err)
	}
}

// TestMultiMaxDocs: the documents of all engines are numbered through, so they are bounded together.
func TestMultiMaxDocs(t *testing.T) {
	var o Options
	o.private.maxDocs = 3
	a, b := newIndex(t, &o), newIndex(t, &o)
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	a.must(err)
	for i, ix := range []*testIndex{a, b, a, b} {
		n, err := m.Count(t.Context(), All{})
		if n != i || err != nil {
			t.Errorf("%d documents, want %d, %v", n, i, err)
		}
		ix.put(fmt.Sprint(i), map[string]any{"t": "x"})
	}
	if _, err := m.Count(t.Context(), All{}); err == nil || !strings.Contains(err.Error(), "more than 3 documents together") {
		t.Errorf("4 documents of 3: %v", err)
	}
}

// TestNewMulti: what cannot be searched as one.
func TestNewMulti(t *testing.T) {
	schema := func(f Field) *Options {
		return &Options{Schema: &Schema{Fields: map[string]Field{"t": f}}}
	}
	plain, text := newIndex(t, nil).Engine, newIndex(t, schema(Field{})).Engine
	for _, c := range []struct {
		members []Member
		want    string
	}{
		{nil, "needs an engine"},
		{[]Member{{"", plain}}, "Member 0 of a Multi lacks a name"},
		{[]Member{{"a", plain}, {"b", nil}}, "Member 1 of a Multi lacks"},
		{[]Member{{"a", plain}, {"a", text}}, `two engines of a Multi are named "a"`},
		{[]Member{{"a", plain}, {"b", plain}}, `"a" and "b" are the same engine`},
		{[]Member{{"a", plain}, {"b", text}}, `engines "a" and "b" cannot be searched as one: only one of their schemas declares the field "t"`},
		{[]Member{{"a", text}, {"b", newIndex(t, schema(Field{Type: FieldKeyword})).Engine}}, `declare the field "t" differently`},
		{[]Member{{"a", plain}, {"b", newIndex(t, &Options{Schema: &Schema{Analyzer: "english"}}).Engine}}, `analyzers of text are "standard" and "english"`},
		{[]Member{{"a", plain}, {"b", newIndex(t, &Options{Similarity: &BM25{K1: 2}}).Engine}}, `Options.Similarity`},
		{[]Member{{"a", plain}, {"b", newIndex(t, &Options{Rank: Rank{Field: "pr"}}).Engine}}, `Options.Rank`},
	} {
		if _, err := NewMulti(c.members...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	alike := newIndex(t, schema(Field{NoStore: true, Analyzer: "standard"})).Engine
	m, err := NewMulti(Member{"a", text}, Member{"b", alike})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Search(t.Context(), All{}, &SearchOptions{K: -1}); err == nil {
		t.Error("an invalid K is accepted")
	}
	var qe *QueryError
	if _, err := m.Search(t.Context(), match("nowhere", "x"), nil); err != nil && !errors.As(err, &qe) {
		t.Errorf("an unknown field: %v", err)
	}
}
