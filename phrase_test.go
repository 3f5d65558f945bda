package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// phraseCorpus is documents few enough to check phrases by eye.
var phraseCorpus = map[string]any{
	"0": "the white whale",
	"1": "a whale, white and huge",
	"2": "white was the whale; the white whale swam",
	"3": []string{"the white", "whale hunt"},
	"4": "to be or not to be",
	"5": "be or be not",
	"6": "white white whale",
	"7": "moby dick is a white, very big whale",
}

func newPhraseIndex(t testing.TB, schema *Schema) *testIndex {
	ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}, Schema: schema})
	for i := range 8 {
		id := fmt.Sprint(i)
		ix.put("gone", map[string]any{"text": "the white whale"})
		ix.put(id, map[string]any{"text": phraseCorpus[id]})
		if i%3 == 2 {
			ix.flush()
		}
	}
	var b Batch
	b.Delete("gone")
	ix.must(ix.Apply(t.Context(), &b))
	return ix
}

func phrase(text string, slop int) Phrase { return Phrase{Field: "text", Text: text, Slop: slop} }

func nearby(distance int, phrases ...string) Near {
	return Near{Field: "text", Phrases: phrases, Distance: distance}
}

func intervals(rule Interval) Intervals { return Intervals{Field: "text", Rule: rule} }

// TestPhrases runs every kind of proximity and compares the ids of all matches.
func TestPhrases(t *testing.T) {
	ix := newPhraseIndex(t, nil)
	white, whale := IntervalText{Text: "white"}, IntervalText{Text: "whale"}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{phrase("white whale", 0), "0 2 6"},
		{phrase("White WHALE!", 0), "0 2 6"},
		{phrase("the white whale", 0), "0 2"},
		{phrase("whale white", 0), "1"},
		{phrase("whale white", 2), "0 1 2 6"},
		{phrase("white whale", 1), "0 2 6"},
		{phrase("white whale", 2), "0 1 2 6 7"},
		{phrase("white whale", 200), "0 1 2 3 6 7"},
		{phrase("to be or not to be", 0), "4"},
		{phrase("be be", 0), ""},
		{phrase("be be", 1), "5"},
		{phrase("be be", 3), "4 5"},
		{phrase("whale", 3), "0 1 2 3 6 7"},
		{phrase("", 0), ""},
		{phrase("white nowhere", 5), ""},
		{Phrase{Field: "text", Terms: [][]string{{"white"}, {"whale", "white"}}}, "0 2 6"},
		{Phrase{Field: "text", Terms: [][]string{{"white"}, {}, {"the", "whale"}}}, "2 6"},
		{nearby(0, "whale", "white"), "0 1 2 6"},
		{nearby(2, "whale", "white"), "0 1 2 6 7"},
		{nearby(2, "the white whale", "swam"), "2"},
		{nearby(1, "to be", "or not"), "4"},
		{intervals(IntervalText{Text: "white whale", Ordered: true, MaxGaps: NoGaps}), "0 2 6"},
		{intervals(IntervalText{Text: "white whale", Ordered: true, MaxGaps: 2}), "0 2 6 7"},
		{intervals(IntervalText{Text: "whale white"}), "0 1 2 3 6 7"},
		{intervals(IntervalText{Text: "be be", MaxGaps: 1}), "5"},
		{intervals(IntervalAll{Of: []Interval{whale, white}, MaxGaps: NoGaps}), "0 1 2 6"},
		{intervals(IntervalAny{Of: []Interval{IntervalText{Text: "not"}, IntervalText{Text: "big whale", Ordered: true, MaxGaps: NoGaps}}}), "4 5 7"},
		{intervals(IntervalWhere{IntervalText{Text: "be be", Ordered: true}, Containing, IntervalText{Text: "not"}}), "4"},
		{intervals(IntervalWhere{IntervalText{Text: "not"}, ContainedBy, IntervalText{Text: "be be", Ordered: true}}), "4"},
		{intervals(IntervalWhere{IntervalText{Text: "be be", Ordered: true}, NotContaining, IntervalText{Text: "not"}}), "5"},
		{intervals(IntervalFirst{whale, 2}), "1"},
		{intervals(IntervalFirst{IntervalText{Text: "white whale"}, 3}), "0 1 6"},
		{Bool{Must: []Query{phrase("white whale", 0)}, MustNot: []Query{match("text", "swam")}}, "0 6"},
		{Bool{Must: []Query{match("text", "the"), phrase("white whale", 0)}}, "0 2"},
		{Bool{Should: []Query{phrase("white whale", 0), match("text", "or")}}, "0 2 4 5 6"},
		{Bool{MustNot: []Query{phrase("white whale", 2)}}, "3 4 5"},
		{Bool{Must: []Query{match("text", "whale")}, Filter: []Query{phrase("the white", 0)}}, "0 2 3"},
		{Bool{Must: []Query{match("text", "whale")}, MustNot: []Query{phrase("the white", 0)}}, "1 6 7"},
	} {
		ids, scores := ix.hits(c.q)
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%v matches %q, want %q", c.q, got, c.want)
		}
		n, err := ix.Count(t.Context(), c.q)
		ix.must(err)
		if n != len(ids) {
			t.Errorf("%v: counted %d, found %d", c.q, n, len(ids))
		}
		for id, score := range scores {
			x, err := ix.Explain(t.Context(), c.q, id, nil)
			ix.must(err)
			if !x.Matches || x.Score != score {
				t.Errorf("%v: document %s scores %v, explained as\n%v", c.q, id, score, x)
			}
		}
		data, err := json.Marshal(c.q)
		ix.must(err)
		back, err := UnmarshalQuery(data)
		if err != nil || !reflect.DeepEqual(back, c.q) {
			t.Errorf("%s is read as %#v, want %#v (%v)", data, back, c.q, err)
		}
	}
}

// hits returns the ids of all hits of a query in order, and their scores.
func (ix *testIndex) hits(q Query) (ids []string, scores map[string]float64) {
	ix.t.Helper()
	res, err := ix.Search(ix.t.Context(), q, &SearchOptions{K: 1000})
	ix.must(err)
	scores = map[string]float64{}
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
		scores[h.ID] = h.Score
	}
	slices.Sort(ids)
	return ids, scores
}

// TestPhraseScores compares the score of a phrase with BM25 by hand, and that of a sloppy one.
func TestPhraseScores(t *testing.T) {
	ix := newPhraseIndex(t, nil)
	x, err := ix.Explain(t.Context(), phrase("white whale", 4), "2", nil)
	ix.must(err)
	for _, want := range []string{"at 0-3, 5-6", "freq = 1.33333", `"white whale"~4`} {
		if !strings.Contains(x.String(), want) {
			t.Errorf("the explanation lacks %q:\n%v", want, x)
		}
	}
}

// TestPhraseWithoutPositions searches a field whose positions are not stored.
func TestPhraseWithoutPositions(t *testing.T) {
	ix := newPhraseIndex(t, &Schema{Positions: PositionsNone})
	for _, q := range []Query{phrase("white whale", 0), nearby(3, "white", "whale"), intervals(IntervalText{Text: "white whale"})} {
		_, err := ix.Search(t.Context(), q, nil)
		var qe *QueryError
		if !errors.As(err, &qe) || !strings.Contains(err.Error(), `"text"`) || !strings.Contains(err.Error(), "positions") {
			t.Errorf("%v: the error is %v", q, err)
		}
	}
	if ids, _ := ix.hits(phrase("whale", 0)); len(ids) != 6 { // one word needs none
		t.Errorf("a phrase of one word matches %v", ids)
	}
}

func TestInvalidPhrases(t *testing.T) {
	for _, q := range []Query{
		Phrase{Text: "a"}, Phrase{Field: "text", Text: "a", Terms: [][]string{{"a"}}}, Phrase{Field: "text", Slop: -1},
		Phrase{Field: "text", Terms: [][]string{{""}}}, Near{Field: "text"}, nearby(-1, "a"), Near{Phrases: []string{"a"}},
		Intervals{Rule: IntervalText{}}, intervals(nil), intervals(IntervalAll{}), intervals(IntervalFirst{IntervalText{Text: "a"}, 0}),
		intervals(IntervalText{MaxGaps: -2}), intervals(IntervalWhere{IntervalText{}, 9, IntervalText{}}),
	} {
		var qe *QueryError
		if err := q.Validate(); !errors.As(err, &qe) {
			t.Errorf("%v: the error is %v", q, err)
		}
	}
}

// TestRandomPhrases compares phrases, and what stands near each other, with the words of random
// documents in several segments and in memory, some of them deleted.
func TestRandomPhrases(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(3, uint64(round)))
		ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}, SearchWorkers: 1 + rng.IntN(2)})
		docs := map[string][]string{}
		words := strings.Fields("a b c d e f")[:2+rng.IntN(5)]
		for range 1 + rng.IntN(4) {
			var b Batch
			for range 1 + rng.IntN(60) {
				id := fmt.Sprint(rng.IntN(150))
				if rng.IntN(10) == 0 {
					b.Delete(id)
					delete(docs, id)
					continue
				}
				text := make([]string, 1+rng.IntN(14))
				for i := range text {
					text[i] = words[rng.IntN(len(words))]
				}
				b.Put(id, map[string]any{"text": strings.Join(text, " "), "other": strings.Join(text[:1], " ")})
				docs[id] = text
			}
			ix.must(ix.Apply(t.Context(), &b))
			if rng.IntN(3) > 0 {
				ix.flush()
			}
		}
		if rng.IntN(3) == 0 {
			ix.must(ix.Compact(t.Context()))
		}
		for range 40 {
			p := make([]string, 2+rng.IntN(3))
			for i := range p {
				p[i] = words[rng.IntN(len(words))]
			}
			q := phrase(strings.Join(p, " "), 0)
			var want []string
			for id, text := range docs {
				for at := range text {
					if at+len(p) <= len(text) && slices.Equal(text[at:at+len(p)], p) {
						want = append(want, id)
						break
					}
				}
			}
			slices.Sort(want)
			ids, scores := ix.hits(q)
			if !slices.Equal(ids, want) {
				t.Fatalf("round %d: %v matches %v, want %v", round, q, ids, want)
			}
			for _, o := range []Query{q, phrase(q.Text, 1+rng.IntN(3)), Bool{Must: []Query{match("other", words[0]), q}}, Bool{Should: []Query{match("text", words[0]), q}}} {
				ids, scores := ix.hits(o)
				top, err := ix.Search(t.Context(), o, &SearchOptions{K: 3})
				ix.must(err)
				for _, h := range top.Hits {
					if h.Score != scores[h.ID] {
						x, _ := ix.Explain(t.Context(), o, h.ID, nil)
						t.Fatalf("round %d: %v: %s scores %v among the best 3, and %v among all:\n%v", round, o, h.ID, h.Score, scores[h.ID], x)
					}
				}
				if len(top.Hits) != min(3, len(ids)) {
					t.Fatalf("round %d: %v has %d of %d hits", round, o, len(top.Hits), len(ids))
				}
			}
			for id, score := range scores {
				x, err := ix.Explain(t.Context(), q, id, nil)
				ix.must(err)
				if x.Score != score {
					t.Fatalf("round %d: %v: %s scores %v, explained as\n%v", round, q, id, score, x)
				}
				break
			}
		}
		ix.must(ix.Close())
	}
}
