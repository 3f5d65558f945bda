package riffle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// functionSchema declares fields for functions of all kinds of values.
var functionSchema = &Schema{Fields: map[string]Field{
	"n": {Type: FieldNumber}, "mixed": {Type: FieldNumber}, "f": {Type: FieldNumber}, "at": {Type: FieldDate}, "tag": {Type: FieldKeyword},
	"place": {Type: FieldPlace},
}}

var functionNow = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// functionDocs makes documents with one, several or no values in each field.
func functionDocs(r *rand.Rand, n int) map[string]map[string]any {
	docs := map[string]map[string]any{}
	words := []string{"alpha", "beta", "gamma", "delta"}
	for i := range n {
		d := map[string]any{"tag": words[r.IntN(4)], "id": fmt.Sprint(i % 7)}
		text := []string{"all"}
		for range 1 + r.IntN(6) {
			text = append(text, words[r.IntN(4)])
		}
		d["text"] = strings.Join(text, " ")
		several := func(name string, make func() any) {
			switch k := r.IntN(8); {
			case k == 0:
			case k == 1:
				d[name] = []any{make(), make(), make()}
			default:
				d[name] = make()
			}
		}
		several("n", func() any { return int64(r.IntN(2000) - 200) })
		several("f", func() any {
			return []float64{0, -1e300, -3.5, 0.25, 1e-9, r.Float64() * 100, 4e6}[r.IntN(7)]
		})
		several("mixed", func() any { return []any{int64(1<<53 + 1), 0.5, int64(-3), 12, uint64(math.MaxUint64)}[r.IntN(5)] })
		several("at", func() any { return functionNow.Add(-time.Duration(r.Int64N(int64(60 * 24 * time.Hour)))) })
		docs[fmt.Sprintf("d%03d", i)] = d
	}
	return docs
}

// numbersIn returns the numbers of a field of a document.
func numbersIn(d map[string]any, field string) (out []float64) {
	all, ok := d[field].([]any)
	if !ok && d[field] != nil {
		all = []any{d[field]}
	}
	for _, v := range all {
		switch v := v.(type) {
		case int:
			out = append(out, float64(v))
		case int64:
			out = append(out, float64(v))
		case uint64:
			out = append(out, float64(v))
		case float64:
			out = append(out, v)
		case time.Time:
			out = append(out, float64(v.UnixNano()))
		}
	}
	return out
}

// wantValue is the value of a function, without its weight, by its documentation.
func wantValue(f ScoreFunction, d map[string]any) float64 {
	switch f := f.(type) {
	case FieldFactor:
		v := f.Missing
		if all := numbersIn(d, f.Field); len(all) > 0 {
			v = slices.Min(all)
		}
		if f.Factor != 0 {
			v *= f.Factor
		}
		v = max(v, 0)
		switch f.Modifier {
		case ModifierLog1p:
			v = math.Log(1 + v)
		case ModifierSqrt:
			v = math.Sqrt(v)
		case ModifierReciprocal:
			v = 1 / (1 + v)
		}
		return v
	case Decay:
		all := numbersIn(d, f.Field)
		if len(all) == 0 {
			return 1
		}
		number := func(x any) float64 {
			switch x := x.(type) {
			case time.Duration:
				return float64(x)
			case string:
				switch x {
				case "now":
					return float64(functionNow.UnixNano())
				case "10d":
					return float64(240 * time.Hour)
				}
			case time.Time:
				return float64(x.UnixNano())
			case nil:
				return 0
			case int:
				return float64(x)
			case float64:
				return x
			}
			panic(fmt.Sprint(x))
		}
		origin := float64(functionNow.UnixNano())
		if f.Origin != nil {
			origin = number(f.Origin)
		}
		decay := f.Decay
		if decay == 0 {
			decay = 0.5
		}
		best := 0.0
		for _, v := range all {
			x := max(0, math.Abs(v-origin)-number(f.Offset)) / number(f.Scale)
			switch f.Shape {
			case DecayExp:
				x = math.Pow(decay, x)
			case DecayLinear:
				x = max(0, 1-(1-decay)*x)
			default:
				x = math.Pow(decay, x*x)
			}
			best = max(best, x)
		}
		return best
	}
	return 1 // Fixed
}

// wantFunctions combines the values of the functions that apply, or returns false if none does.
func wantFunctions(q FunctionScore, d map[string]any) (v float64, ok bool) {
	var values, weights []float64
	for _, f := range q.Functions {
		if t, isTerm := f.filter().(Term); isTerm && d["tag"] != t.Value {
			continue
		}
		w := 1.0
		switch f := f.(type) {
		case FieldFactor:
			w = f.Weight
		case Decay:
			w = f.Weight
		case Fixed:
			w = f.Weight
		}
		if w == 0 {
			w = 1
		}
		values, weights = append(values, wantValue(f, d)*w), append(weights, w)
	}
	if len(values) == 0 {
		return 0, false
	}
	sum := func(xs []float64) (s float64) {
		for _, x := range xs {
			s += x
		}
		return s
	}
	switch q.Combine {
	case FunctionsProduct:
		v = 1
		for _, x := range values {
			v *= x
		}
	case FunctionsMax:
		v = slices.Max(values)
	case FunctionsMin:
		v = slices.Min(values)
	case FunctionsAverage:
		v = sum(values) / sum(weights)
	default:
		v = sum(values)
	}
	return v, true
}

// randomFunction makes a function, with a weight and perhaps a filter.
func randomFunction(r *rand.Rand) ScoreFunction {
	weight := []float64{0, 0.5, 1, 3}[r.IntN(4)]
	var filter Query
	if r.IntN(3) == 0 {
		filter = Term{"tag", []string{"alpha", "beta", "gamma"}[r.IntN(3)]}
	}
	shape := DecayShape(r.IntN(3))
	switch r.IntN(6) {
	case 0:
		return Fixed{weight, filter}
	case 1, 2:
		field := []string{"n", "f", "mixed", "nowhere"}[r.IntN(4)]
		return FieldFactor{Field: field, Modifier: Modifier(r.IntN(4)), Factor: []float64{0, 2, 0.01}[r.IntN(3)], Missing: float64(r.IntN(2)), Weight: weight, Filter: filter}
	case 3:
		return Decay{Field: []string{"n", "f", "mixed"}[r.IntN(3)], Origin: []any{0, 500, 12.5}[r.IntN(3)], Scale: []any{1, 100.0}[r.IntN(2)],
			Offset: []any{nil, 50}[r.IntN(2)], Decay: []float64{0, 0.1, 0.9}[r.IntN(3)], Shape: shape, Weight: weight, Filter: filter}
	}
	return Decay{Field: "at", Origin: []any{nil, "now", functionNow.AddDate(0, 0, -20)}[r.IntN(3)], Scale: []any{"10d", 48 * time.Hour}[r.IntN(2)],
		Offset: []any{nil, time.Hour}[r.IntN(2)], Shape: shape, Weight: weight, Filter: filter}
}

func randomFunctionScore(r *rand.Rand, inner Query) FunctionScore {
	q := FunctionScore{Query: inner, Combine: FunctionCombine(r.IntN(5)), Mode: FunctionMode(r.IntN(4))}
	for range 1 + r.IntN(3) {
		q.Functions = append(q.Functions, randomFunction(r))
	}
	return q
}

// functionIndex puts documents into several segments, of which some are deleted or put again.
func functionIndex(t testing.TB, r *rand.Rand, n int) (*testIndex, map[string]map[string]any) {
	schema := *functionSchema
	ix := newIndex(t, &Options{Schema: &schema, AllowUnknownFields: true, Durability: SyncNone, Merge: MergeOptions{Disabled: true}})
	docs := functionDocs(r, n)
	i := 0
	for _, id := range slices.Sorted(keysOf(docs)) {
		ix.put(id, docs[id])
		if i++; i%97 == 0 {
			ix.flush()
		}
		if i%11 == 0 {
			ix.must(ix.Delete(t.Context(), id))
			delete(docs, id)
		}
	}
	return ix, docs
}

func keysOf[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestFunctionScore compares scores with the formulas of the documentation: those of the query alone come
// from a search of their own. All hits are asked for, and then pages of few, which must be a prefix.
func TestFunctionScore(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 5))
	ix, docs := functionIndex(t, r, 300)
	inner := []Query{
		Match{Field: "text", Text: "alpha beta"}, Match{Field: "text", Text: "alpha gamma", Mode: ModeAnd}, nil,
		Phrase{Field: "text", Text: "alpha beta"}, Bool{Must: []Query{Term{"tag", "alpha"}}, Should: []Query{Match{Field: "text", Text: "delta"}}},
		ConstantScore{Match{Field: "text", Text: "gamma"}, 2}, Match{Field: "text", Text: "gamma delta", Mode: ModeAndOr},
	}
	rounds := 70
	if testing.Short() {
		rounds = 25
	}
	for round := range rounds {
		q := randomFunctionScore(r, inner[r.IntN(len(inner))])
		boost := []float64{1, 2}[r.IntN(2)]
		all := &SearchOptions{K: 1000, Now: functionNow}
		plain, err := ix.Search(t.Context(), q.inner(), all)
		ix.must(err)
		got, err := ix.Search(t.Context(), Boost{q, boost}, all)
		ix.must(err)
		if len(got.Hits) != len(plain.Hits) {
			t.Fatalf("round %d: %v: %d hits, without the function %d", round, q, len(got.Hits), len(plain.Hits))
		}
		want, greatest := map[string]float64{}, 0.0
		for _, h := range plain.Hits {
			v, applies := wantFunctions(q, docs[h.ID])
			greatest = max(greatest, v)
			score := h.Score
			switch {
			case !applies && q.Mode == FunctionReplace:
				score = 0
			case !applies:
			case q.Mode == FunctionAdd:
				score += v
			case q.Mode == FunctionMultiply:
				score *= v
			case q.Mode == FunctionMax:
				score = max(score, v)
			default:
				score = v
			}
			want[h.ID] = boost * score
		}
		most := 1.0 // bounds what the greatest value of the index can be, which deleted documents have, too
		for _, f := range q.Functions {
			most = max(most, 1e3)
			if f, ok := f.(FieldFactor); ok {
				most = max(most, 1e8)
				if f.Field == "mixed" {
					most = max(most, []float64{1e23, 1e3, 1e12, 1e3}[f.Modifier])
				}
			}
		}
		for i, h := range got.Hits {
			slack := 1e-3*want[h.ID] + boost*2e-3
			if most > 1e3 {
				slack += boost * most * math.Pow(most, float64(len(q.Functions)-1)) / (1 << 30)
			}
			if math.Abs(h.Score-want[h.ID]) > slack {
				t.Fatalf("round %d: %v: %s scores %v, want %v", round, q, h.ID, h.Score, want[h.ID])
			}
			if i > 0 && h.Score > got.Hits[i-1].Score {
				t.Fatalf("round %d: %v: hit %d scores more than the one before", round, q, i)
			}
		}
		checkFunctionHits(t, ix, Boost{q, boost}, got, round)
	}
}

// TestFunctionScoreAgain: searches that have a function again find its numbers, and bounds by word, as they
// were. Segments are large enough for the index to keep them.
func TestFunctionScoreAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	schema := *functionSchema
	ix := newIndex(t, &Options{Schema: &schema, AllowUnknownFields: true, Durability: SyncNone})
	var b Batch
	for id, d := range functionDocs(r, 9000) {
		b.Put(id, d)
	}
	ix.must(ix.Apply(t.Context(), &b))
	ix.must(ix.Compact(t.Context()))
	before, err := ix.Stats()
	ix.must(err)
	for round := range 8 {
		q := randomFunctionScore(r, Match{Field: "text", Text: "alpha beta", Mode: Mode(round % 2)})
		q.Mode = FunctionMode(round % 4)
		for range 3 {
			all, err := ix.Search(t.Context(), q, &SearchOptions{K: 9000, Now: functionNow})
			ix.must(err)
			checkFunctionHits(t, ix, q, all, round)
		}
	}
	after, err := ix.Stats()
	ix.must(err)
	if hits := after.Filters.Hits - before.Filters.Hits; hits < 8 {
		t.Errorf("%d searches found numbers, want 8 at least", hits)
	}
}

// checkFunctionHits holds other ways to the hits of a search.
func checkFunctionHits(t *testing.T, ix *testIndex, q Query, all *Result, round int) {
	same := func(what string, got []Hit, from int) {
		t.Helper()
		for i, h := range got {
			if w := all.Hits[from+i]; h.ID != w.ID || h.Score != w.Score {
				t.Fatalf("round %d: %v: %s: hit %d is %s with %v, want %s with %v", round, q, what, from+i, h.ID, h.Score, w.ID, w.Score)
			}
		}
	}
	o := &SearchOptions{K: 3, Now: functionNow}
	if q.dependsOnK() {
		return
	}
	first, err := ix.Search(t.Context(), q, o)
	ix.must(err)
	same("3 hits", first.Hits, 0)
	if want := min(3, len(all.Hits)); len(first.Hits) != want {
		t.Fatalf("round %d: %v: %d hits, want %d", round, q, len(first.Hits), want)
	}
	if len(first.Hits) == 0 {
		return
	}
	o.After = first.Hits[len(first.Hits)-1].Cursor
	second, err := ix.Search(t.Context(), q, o)
	ix.must(err)
	same("the next page", second.Hits, len(first.Hits))
	h := all.Hits[round%len(all.Hits)]
	x, err := ix.Explain(t.Context(), q, h.ID, &SearchOptions{Now: functionNow})
	ix.must(err)
	if x.Score != h.Score {
		t.Fatalf("round %d: %v: %s scores %v, explained as\n%v", round, q, h.ID, h.Score, x)
	}
	exhaustive := &SearchOptions{K: 5, Now: functionNow, Exec: &Exec{Algorithm: AlgorithmExhaustive}}
	slow, err := ix.Search(t.Context(), q, exhaustive)
	ix.must(err)
	same("exhaustive", slow.Hits, 0)
	if n, err := ix.Count(t.Context(), q); err != nil || n != len(all.Hits) {
		t.Fatalf("round %d: %v: count %d, want %d: %v", round, q, n, len(all.Hits), err)
	}
}

// TestFunctionNested compares functions of parts of a query with those parts alone.
func TestFunctionNested(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	ix, _ := functionIndex(t, r, 150)
	word := Match{Field: "text", Text: "beta gamma"}
	scores := func(q Query) map[string]float64 {
		of := map[string]float64{}
		for _, h := range ix.search(q, &SearchOptions{K: 1000, Now: functionNow}).Hits {
			of[h.ID] = h.Score
		}
		return of
	}
	for round := range 6 {
		f := randomFunctionScore(r, Match{Field: "text", Text: "alpha delta"})
		f.Functions = []ScoreFunction{Decay{Field: "at", Scale: "10d", Weight: 1 + float64(r.IntN(3))}, FieldFactor{Field: "n", Modifier: ModifierLog1p}}[r.IntN(2):]
		alone, plain := scores(f), scores(word)
		for name, q := range map[string]Query{
			"should": Bool{Should: []Query{f, word}}, "must": Bool{Must: []Query{f, Term{"text", "all"}}, Should: []Query{word}},
			"inside": FunctionScore{Query: Bool{Should: []Query{f, word}}, Functions: []ScoreFunction{Fixed{}}, Mode: FunctionMultiply},
			"best":   DisMax{Queries: []Query{f, word}}, "boosting": Boosting{f, Term{"tag", "alpha"}, 0.5},
		} {
			got := scores(q)
			if len(got) == 0 {
				t.Fatalf("%s: no hits", name)
			}
			all := scores(Term{"text", "all"})
			demoted := scores(Term{"tag", "alpha"})
			for id, score := range got {
				want := alone[id] + plain[id]
				switch name {
				case "must":
					want += all[id]
				case "best":
					want = max(alone[id], plain[id])
				case "boosting":
					if want = alone[id]; demoted[id] > 0 {
						want /= 2
					}
				}
				if math.Abs(score-want) > 2e-3*(1+want) {
					t.Fatalf("round %d, %s: %v: %s scores %v, want %v", round, name, q, id, score, want)
				}
			}
			res := ix.search(q, &SearchOptions{K: 1000, Now: functionNow})
			checkFunctionHits(t, ix, q, res, round)
		}
	}
}

// TestFunctionElsewhere: filters, sorting, aggregations, batches, snapshots, highlights and static ranks know
// functions, and documents that are merged keep their scores.
func TestFunctionElsewhere(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 7))
	ix, docs := functionIndex(t, r, 200)
	text := Match{Field: "text", Text: "alpha"}
	q := FunctionScore{Query: text, Mode: FunctionMultiply, Functions: []ScoreFunction{Decay{Field: "at", Scale: "10d"}, Random{Seed: 4, Weight: 0.5}}}
	o := &SearchOptions{K: 20, Now: functionNow}
	want := ix.search(q, o)
	ids := hitIDs(want)

	sorted := ix.search(q, &SearchOptions{K: 20, Now: functionNow, Sort: []SortKey{{Score: true, Desc: true}, {Field: "n"}}})
	if got := hitIDs(sorted); sorted.Hits[0].Sort[0] != want.Hits[0].Score || len(got) != 20 {
		t.Errorf("sorted by score: %v, want %v", got, ids)
	}
	top := ix.search(q, &SearchOptions{K: 1, Now: functionNow, Aggregations: map[string]Aggregation{"top": TopHitsAggregation{Size: 5}}})
	if hits := top.Aggregations["top"].Hits; len(hits) != 5 || hits[4].ID != ids[4] || hits[4].Score != want.Hits[4].Score {
		t.Errorf("top hits %v, want %v", hits, want.Hits[:5])
	}
	batch, err := ix.SearchBatch(t.Context(), []Query{q, text, q}, o)
	ix.must(err)
	if !slices.Equal(hitIDs(batch[2]), ids) || slices.Equal(hitIDs(batch[1]), ids) {
		t.Errorf("batch: %v and %v, want %v first", hitIDs(batch[2]), hitIDs(batch[1]), ids)
	}
	filtered := ix.search(Bool{Must: []Query{q}, Filter: []Query{Term{"tag", "beta"}}}, o)
	for _, h := range filtered.Hits {
		if at := slices.Index(ids, h.ID); docs[h.ID]["tag"] != "beta" || at >= 0 && want.Hits[at].Score != h.Score {
			t.Errorf("filtered: %v", h)
		}
	}
	none := ix.search(Bool{Must: []Query{text}, Filter: []Query{q}}, &SearchOptions{ExactTotal: true})
	if n, err := ix.Count(t.Context(), text); err != nil || none.Total != n {
		t.Errorf("as a filter: %d hits, want %d: %v", none.Total, n, err)
	}
	lit := ix.search(q, &SearchOptions{K: 1, Now: functionNow, Highlight: &HighlightOptions{Fields: []string{"text"}}})
	if f := lit.Hits[0].Fragments["text"]; len(f) == 0 || len(f[0].Matches) == 0 {
		t.Errorf("no words are highlighted: %v", lit.Hits[0].Fragments)
	}
	snap, err := ix.Snapshot()
	ix.must(err)
	defer snap.Close()
	ix.put("new", map[string]any{"text": "alpha", "at": functionNow, "n": 5})
	ix.must(ix.Delete(t.Context(), ids[0]))
	old, err := snap.Search(t.Context(), q, o)
	ix.must(err)
	if !slices.Equal(hitIDs(old), ids) || old.Hits[0].Score != want.Hits[0].Score {
		t.Errorf("the snapshot finds %v, want %v", hitIDs(old), ids)
	}
	q.Query = ConstantScore{text, 1} // BM25 changes with the number of documents
	before := ix.search(q, o)
	ix.flush()
	ix.must(ix.Compact(t.Context()))
	after := ix.search(q, o)
	for i, h := range after.Hits {
		if w := before.Hits[i]; w.ID != h.ID || w.Score != h.Score {
			t.Fatalf("after a merge hit %d is %v with %v, was %v with %v", i, h.ID, h.Score, w.ID, w.Score)
		}
	}
}

// TestFunctionAcrossEngines: a Multi and engines with shared statistics score as one index does, to the bit.
func TestFunctionAcrossEngines(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 8))
	docs := functionDocs(r, 200)
	o := &Options{Schema: functionSchema, AllowUnknownFields: true, Durability: SyncNone, Merge: MergeOptions{Disabled: true}}
	whole, parts := newIndex(t, o), []*testIndex{newIndex(t, o), newIndex(t, o)}
	for i, id := range slices.Sorted(keysOf(docs)) {
		whole.put(id, docs[id])
		parts[i%3/2].put(id, docs[id])
	}
	m, err := NewMulti(Member{"a", parts[0].Engine}, Member{"b", parts[1].Engine})
	whole.must(err)
	for range 8 {
		q := randomFunctionScore(r, Match{Field: "text", Text: "alpha beta"})
		q.Functions = append(q.Functions[:1], Random{Seed: r.Uint64(), Weight: 3}, FieldFactor{Field: "n", Modifier: ModifierSqrt})
		want := whole.search(q, &SearchOptions{K: 200, Now: functionNow})
		scores := map[string]float64{}
		for _, h := range want.Hits {
			scores[h.ID] = h.Score
		}
		check := func(what string, res *Result, err error) {
			t.Helper()
			whole.must(err)
			for _, h := range res.Hits {
				if h.Score != scores[h.ID] {
					t.Fatalf("%s: %v: %s scores %v, want %v", what, q, h.ID, h.Score, scores[h.ID])
				}
			}
		}
		res, err := m.Search(t.Context(), q, &SearchOptions{K: 200, Now: functionNow})
		check("multi", res, err)
		if len(res.Hits) != len(want.Hits) {
			t.Fatalf("multi: %d hits, want %d", len(res.Hits), len(want.Hits))
		}
		var stats Statistics
		for _, p := range parts {
			s, err := p.Statistics(t.Context(), q, nil)
			whole.must(err)
			stats.Add(s)
		}
		for _, p := range parts {
			res, err := p.Search(t.Context(), q, &SearchOptions{K: 200, Now: functionNow, Statistics: &stats})
			check("statistics", res, err)
		}
		stats.Functions = nil
		if _, err := parts[0].Search(t.Context(), q, &SearchOptions{Statistics: &stats}); err == nil || !strings.Contains(err.Error(), "lack the greatest value of function 0") {
			t.Fatalf("statistics without functions: %v", err)
		}
	}
}

// TestFunctionSkips: with values that rise by document, functions of all modes leave most tiles unseen.
func TestFunctionSkips(t *testing.T) {
	const n = 12_500
	ix := newIndex(t, &Options{Schema: functionSchema, Durability: SyncNone})
	b := new(Batch)
	for i := range n {
		b.Put(fmt.Sprint(i), map[string]any{"text": "alpha", "n": i, "at": functionNow.Add(time.Duration(i-n) * time.Minute),
			"place": Point{Lat: 10, Lon: float64(i) / 1000}})
	}
	ix.must(ix.Apply(t.Context(), b))
	ix.flush()
	for mode := range FunctionMode(4) {
		for _, f := range []ScoreFunction{
			Decay{Field: "at", Scale: "2d"}, FieldFactor{Field: "n", Modifier: ModifierLog1p},
			Decay{Field: "place", Origin: Point{Lat: 10, Lon: float64(n) / 1000}, Scale: 20_000},
		} {
			q := FunctionScore{Query: Match{Field: "text", Text: "alpha"}, Functions: []ScoreFunction{f}, Mode: mode}
			res := ix.search(q, &SearchOptions{Now: functionNow})
			if at, _ := strconv.Atoi(res.Hits[0].ID); at < n-50 && mode != FunctionMax { // the last ones score almost the same
				t.Errorf("%v: the best is %s", q, res.Hits[0].ID)
			}
			if res.Work.DocsScored > n/2 && mode != FunctionMax {
				t.Errorf("%v: %d of %d documents scored", q, res.Work.DocsScored, n)
			}
		}
	}
}

// TestFunctionErrors: an error names the part of the query.
func TestFunctionErrors(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"n": {Type: FieldNumber}, "at": {Type: FieldDate}, "tag": {Type: FieldKeyword}, "t": {Type: FieldText},
		"bare": {Type: FieldNumber, Column: ColumnNone}, "place": {Type: FieldPlace},
	}}})
	ix.put("a", map[string]any{"place": Point{Lat: 1, Lon: 2}, "n": 1, "at": functionNow, "tag": "x", "t": "x", "bare": 1})
	one := func(f ScoreFunction) Query { return FunctionScore{Functions: []ScoreFunction{f}} }
	for want, q := range map[string]Query{
		"FunctionScore.Functions: is empty":                          FunctionScore{},
		"FunctionScore.Functions: function 0 is nil":                 one(nil),
		"FunctionScore.Mode: there is no 9":                          FunctionScore{Functions: []ScoreFunction{Fixed{}}, Mode: 9},
		"FunctionScore.Combine: there is no 9":                       FunctionScore{Functions: []ScoreFunction{Fixed{}}, Combine: 9},
		"Fixed.Weight: must lie in 0 to 1e+30, not -1":               one(Fixed{Weight: -1}),
		"FieldFactor.Field: is empty":                                one(FieldFactor{}),
		"FieldFactor.Modifier: there is no 9":                        one(FieldFactor{Field: "n", Modifier: 9}),
		"FieldFactor.Factor: must lie in 0 to 1e+30, not NaN":        one(FieldFactor{Field: "n", Factor: math.NaN()}),
		"FieldFactor.Missing: must lie in 0 to 1e+30, not -2":        one(FieldFactor{Field: "n", Missing: -2}),
		"Decay.Scale: is missing":                                    one(Decay{Field: "n", Origin: 1}),
		"Decay.Scale: must be above 0, not 0":                        one(Decay{Field: "n", Origin: 1, Scale: 0}),
		"Decay.Scale: \"long\" is no duration":                       one(Decay{Field: "at", Scale: "long"}),
		"Decay.Decay: must lie between 0 and 1, not 1":               one(Decay{Field: "n", Origin: 1, Scale: 1, Decay: 1}),
		"Decay.Offset: must not be below 0, as -1 is":                one(Decay{Field: "n", Origin: 1, Scale: 1, Offset: -1}),
		"Decay.Offset: is 1, and Scale 1d: both must be durations":   one(Decay{Field: "at", Scale: "1d", Offset: 1}),
		"Decay.Scale: must be a duration if Origin is a time":        one(Decay{Field: "at", Origin: functionNow, Scale: 5}),
		"Decay.Origin: true is no number, no time and no place":      one(Decay{Field: "n", Origin: true, Scale: 5}),
		"Decay.Origin: latitude 91 is not within -90 to 90":          one(Decay{Field: "place", Origin: Point{Lat: 91, Lon: 0}, Scale: 5}),
		"Decay.Scale: must be a number of metres if Origin":          one(Decay{Field: "place", Origin: Point{Lat: 1, Lon: 0}, Scale: "5d"}),
		"index:Decay.Scale: must be a number of metres for":          one(Decay{Field: "place", Origin: "1,0", Scale: "5d"}),
		"index:Decay.Origin: field \"place\": ":                      one(Decay{Field: "place", Origin: 5, Scale: 5}),
		"index:Decay.Origin: field \"n\": ":                          one(Decay{Field: "n", Origin: Point{Lat: 1, Lon: 0}, Scale: 5}),
		"index:Decay.Origin: is missing, and field \"place\"":        one(Decay{Field: "place", Scale: 5}),
		"index:FieldFactor.Field: field \"place\" has places, not n": one(FieldFactor{Field: "place"}),
		"Decay.TimeZone": one(Decay{Field: "at", Scale: "1d", TimeZone: "Mars/Base"}),
		"Boost.By":       one(Fixed{Filter: Boost{All{}, -1}}),
		"index:FieldFactor.Field: field \"at\" has times, not numbers; Decay": one(FieldFactor{Field: "at"}),
		"index:FieldFactor.Field: field \"tag\" has keywords, not numbers":    one(FieldFactor{Field: "tag"}),
		"index:FieldFactor.Field: field \"t\" is text, which has no column":   one(FieldFactor{Field: "t"}),
		"index:FieldFactor.Field: field \"bare\" has no column: ask for one":  one(FieldFactor{Field: "bare"}),
		"index:FieldFactor.Field: the index has no field \"nowhere\"":         one(FieldFactor{Field: "nowhere"}),
		"index:Decay.Origin: is missing, and field \"n\" has no times":        one(Decay{Field: "n", Scale: 1}),
		"index:Decay.Scale: must be a duration for the times of field \"at\"": one(Decay{Field: "at", Origin: "now-1d", Scale: 1}),
		"index:Decay.Origin: field \"at\": ":                                  one(Decay{Field: "at", Origin: "yesterday", Scale: "1d"}),
	} {
		want, needsIndex := strings.CutPrefix(want, "index:")
		if err := q.Validate(); !needsIndex && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: Validate: %v, want %s", q, err, want)
		} else if needsIndex && err != nil {
			t.Errorf("%v: Validate: %v, want none without an index", q, err)
		}
		if _, err := ix.Search(t.Context(), q, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", q, err, want)
		}
	}
	if res := ix.search(FunctionScore{Functions: []ScoreFunction{FieldFactor{Field: "n"}}}, nil); len(res.Hits) != 1 || res.Hits[0].Score < 0.999 {
		t.Errorf("all documents: %v", res.Hits)
	}
}
