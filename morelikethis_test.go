package riffle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestMoreLikeThis compares hits and scores with those of a Bool of the terms that the definition
// chooses, on random indexes of several segments with deleted documents.
func TestMoreLikeThis(t *testing.T) {
	rng, found := rand.New(rand.NewPCG(seedOf(t), 15)), 0
	for range 3 {
		ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}, Schema: &Schema{Fields: map[string]Field{
			"both": {CopyFrom: []string{"title", "text"}}, "tag": {Type: FieldKeyword},
		}}})
		docs := map[string]modelDoc{}
		r := modelQueries{rng}
		for i := range 120 {
			id := fmt.Sprint(rng.IntN(80))
			docs[id] = modelDoc{"title": r.words(1 + rng.IntN(4)), "text": []string{r.words(rng.IntN(9)), r.words(1 + rng.IntN(30))}, "tag": r.tag()}
			ix.put(id, map[string]any(docs[id]))
			if i%50 == 49 {
				ix.flush()
			}
		}
		for range 40 {
			q := MoreLikeThis{
				Fields: [][]string{{"text"}, {"both", "title"}, {"tag", "text", "text"}}[rng.IntN(3)], Texts: []string{"", r.words(30), "w1 w1 w39"}[:rng.IntN(4)],
				MinTermFreq: rng.IntN(4), MinDocFreq: rng.IntN(12), MaxDocFreq: []int{0, 0, 60}[rng.IntN(3)], MaxTerms: rng.IntN(30),
				MinShould: []int{0, 2, -1, Percent(30)}[rng.IntN(4)], Include: rng.IntN(3) == 0,
			}
			for _, id := range sortedKeysOf(docs)[:len(docs)/4] {
				if rng.IntN(8) == 0 || len(q.Texts)+len(q.IDs) == 0 {
					q.IDs = append(q.IDs, id)
				}
			}
			want := ix.likeBool(q, docs)
			for _, a := range []Algorithm{AlgorithmAuto, AlgorithmExhaustive, AlgorithmWAND} {
				o := &SearchOptions{K: 1 + rng.IntN(90), ExactTotal: true, Exec: &Exec{Algorithm: a}}
				got, res := ix.search(q, o), ix.search(want, o)
				if !sameHits(got.Hits, res.Hits) || got.Total != res.Total {
					t.Fatalf("%v finds %v, want %v as\n%v", q, got.Hits, res.Hits, want)
				}
				found += len(got.Hits)
				for _, h := range got.Hits[:min(3, len(got.Hits))] {
					x, err := ix.Explain(t.Context(), q, h.ID, nil)
					if ix.must(err); x.Score != h.Score {
						t.Fatalf("%v: %s scores %v, explained as\n%v", q, h.ID, h.Score, x)
					}
				}
			}
			filtered := Bool{Must: []Query{match("title", "w1")}, Filter: []Query{q}}
			wantFiltered := Bool{Must: []Query{match("title", "w1")}, Filter: []Query{want}}
			if got, res := ix.search(filtered, nil), ix.search(wantFiltered, nil); !sameHits(got.Hits, res.Hits) {
				t.Fatalf("%v finds %v, want %v", filtered, got.Hits, res.Hits)
			}
		}
	}
	if found == 0 {
		t.Error("no query has found anything")
	}
}

func sortedKeysOf(docs map[string]modelDoc) []string { return model(docs).ids() }

// likeBool chooses the terms of a more-like-this, by the numbers of documents that Terms counts.
func (ix *testIndex) likeBool(q MoreLikeThis, docs map[string]modelDoc) Query {
	type scored struct {
		term  Term
		score float64
	}
	var all []scored
	counted := map[string]bool{}
	for _, field := range q.Fields {
		if counted[field] {
			continue
		}
		counted[field] = true
		freqs := map[string]int{}
		for _, text := range q.Texts {
			for _, w := range modelTerms(field, text) {
				freqs[w]++
			}
		}
		for _, id := range q.IDs {
			for _, source := range map[bool][]string{true: {"title", "text"}, false: {field}}[field == "both"] {
				for _, w := range modelTerms(source, docs[id][source]) {
					freqs[w]++
				}
			}
		}
		with := 0.0
		st, err := ix.Statistics(ix.t.Context(), Term{field, "w1"}, nil)
		ix.must(err)
		with = float64(st.Fields[field].Documents)
		for c, err := range ix.Terms(ix.t.Context(), field, "") {
			ix.must(err)
			n := int(c.Documents)
			if freqs[c.Term] < cmp.Or(q.MinTermFreq, 2) || n < cmp.Or(q.MinDocFreq, 5) || q.MaxDocFreq > 0 && n > q.MaxDocFreq {
				continue
			}
			all = append(all, scored{Term{field, c.Term}, float64(freqs[c.Term]) * (1 + math.Log((with+1)/float64(n+1)))})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.term.Field, b.term.Field), cmp.Compare(a.term.Value.(string), b.term.Value.(string)))
	})
	all = all[:min(len(all), cmp.Or(q.MaxTerms, 25))]
	if len(all) == 0 {
		return IDs{}
	}
	b := Bool{}
	for _, s := range all {
		b.Should = append(b.Should, s.term)
	}
	b.MinShould = max(-len(all), min(q.MinShould, len(all)))
	if q.MinShould == Percent(30) {
		b.MinShould = len(all) * 30 / 100
	}
	if !q.Include && len(q.IDs) > 0 {
		b.MustNot = []Query{IDs{q.IDs}}
	}
	return b
}

func TestMoreLikeThisErrors(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"text": {Type: FieldText}, "lost": {Type: FieldText, NoStore: true}, "n": {Type: FieldNumber},
	}}})
	ix.put("a", map[string]any{"text": "white whale", "lost": "white whale", "n": 1})
	for _, c := range []struct {
		q    MoreLikeThis
		want string
	}{
		{MoreLikeThis{Texts: []string{"x"}}, "MoreLikeThis.Fields: is empty"},
		{MoreLikeThis{Fields: []string{"text", ""}, Texts: []string{"x"}}, "has an empty name"},
		{MoreLikeThis{Fields: []string{"text"}}, "neither Texts nor IDs"},
		{MoreLikeThis{Fields: []string{"text"}, Texts: []string{"x"}, MinTermFreq: -1}, "MinTermFreq: must not be negative"},
		{MoreLikeThis{Fields: []string{"text"}, Texts: []string{"x"}, MaxTerms: 1025}, "must lie in 0 to 1024"},
		{MoreLikeThis{Fields: []string{"text"}, Texts: []string{"x"}, MinShould: Percent(200)}, "MoreLikeThis.MinShould"},
		{MoreLikeThis{Fields: []string{"none"}, Texts: []string{"x"}}, `no field "none"`},
		{MoreLikeThis{Fields: []string{"n"}, Texts: []string{"x"}}, "values of type number"},
		{MoreLikeThis{Fields: []string{"text"}, IDs: []string{"b"}}, `there is no document "b"`},
		{MoreLikeThis{Fields: []string{"lost"}, IDs: []string{"a"}}, `field "lost" is not stored`},
	} {
		var qe *QueryError
		if _, err := ix.Search(t.Context(), c.q, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
	q := MoreLikeThis{Fields: []string{"lost"}, Texts: []string{"whale whale"}, MinDocFreq: 1}
	ix.wantIDs(q, "a")
	ix.wantIDs(MoreLikeThis{Fields: []string{"text"}, IDs: []string{"a"}, MinTermFreq: 1, MinDocFreq: 1})
}
