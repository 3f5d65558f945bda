package scattertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// leaf is a query without others in it, of the kinds that most documents have something for.
func leaf(rng *rand.Rand) riffle.Query {
	field := pick(rng, "title", "body")
	switch rng.IntN(22) {
	case 0, 1:
		return riffle.Match{Field: field, Text: text(rng, 4), Mode: riffle.Mode(rng.IntN(3))}
	case 2:
		return riffle.Match{Fields: []string{"title", "body"}, Text: text(rng, 3), Boosts: map[string]float64{"title": 2.5}, Combine: riffle.Combine(rng.IntN(4))}
	case 3:
		return riffle.Phrase{Field: field, Text: word(rng) + " " + word(rng), Slop: rng.IntN(3)}
	case 4:
		return riffle.Near{Field: field, Phrases: []string{word(rng), word(rng)}, Distance: 1 + rng.IntN(4)}
	case 5:
		return riffle.PhrasePrefix{Field: "body", Text: word(rng) + " " + word(rng)[:2]}
	case 6:
		return riffle.Prefix{Field: "body", Prefix: word(rng)[:1+rng.IntN(2)]}
	case 7:
		return riffle.Range{Field: "year", From: 1800 + rng.IntN(60), To: 1850 + rng.IntN(60)}
	case 8:
		return riffle.Term{Field: "tag", Value: fmt.Sprint("t", rng.IntN(8))}
	case 9:
		return riffle.Exists{Field: pick(rng, "year", "tag", "at")}
	case 10:
		return riffle.IDs{Values: []string{fmt.Sprint("d", rng.IntN(200)), fmt.Sprint("d", rng.IntN(200))}}
	case 11:
		return riffle.MatchBoolPrefix{Field: "body", Text: word(rng) + " " + word(rng)[:1], Mode: riffle.Mode(rng.IntN(3))}
	case 12:
		return fuzzy(rng, field)
	case 13:
		return moreLikeThis(rng)
	case 14:
		w := word(rng)
		return pick[riffle.Query](rng, riffle.Wildcard{Field: "body", Pattern: "*" + w[1:2] + "*"}, riffle.Regexp{Field: "body", Expr: "[a-" + w[:1] + "].*"},
			riffle.TermRange{Field: "body", From: w, To: word(rng), IncludeTo: true}, riffle.TermRange{Field: "tag", From: "t2", To: "t5"})
	case 15:
		return riffle.Intervals{Field: field, Rule: rule(rng, 2)}
	case 16:
		return riffle.Terms{Field: "tag", Values: []any{"t1", fmt.Sprint("t", rng.IntN(8))}}
	case 17:
		return pick[riffle.Query](rng, riffle.Range{Field: "at", From: "now-10d", To: "now"}, riffle.Terms{Field: "year", Values: []any{1850, 1851.5, 1860}},
			riffle.Term{Field: "flag", Value: rng.IntN(2) == 0}, riffle.Term{Field: "year", Value: 1800 + rng.IntN(100)})
	case 18:
		return riffle.Match{Field: "body", Text: text(rng, 6), MinShould: pick(rng, 2, 3, -1, riffle.Percent(50))}
	case 19:
		return riffle.Match{Fields: []string{"title", "tag", "year"}, Text: pick(rng, "t1 whale", "1850", "ship"), Combine: riffle.CombineBest, Tie: 0.3}
	}
	return riffle.Match{Field: "body", Text: text(rng, 6)}
}

// fuzzy returns a word with an error in it.
func fuzzy(rng *rand.Rand, field string) riffle.Query {
	w := []byte(word(rng))
	i := rng.IntN(len(w))
	w[i] = "abcdehlnors"[rng.IntN(11)]
	return riffle.Fuzzy{Field: field, Term: string(w), Edits: rng.IntN(3), Prefix: rng.IntN(2), Expansions: rng.IntN(4)}
}

func moreLikeThis(rng *rand.Rand) riffle.Query {
	q := riffle.MoreLikeThis{Fields: pick(rng, []string{"body"}, []string{"body", "title"}, []string{"title"}), MinTermFreq: 1 + rng.IntN(2), MinDocFreq: 1 + rng.IntN(3), MaxTerms: 1 + rng.IntN(8)}
	if rng.IntN(2) == 0 {
		q.Texts = []string{text(rng, 20), "whale ship"}
	}
	for range rng.IntN(3) {
		q.IDs = append(q.IDs, fmt.Sprint("d", rng.IntN(190)))
	}
	if len(q.Texts)+len(q.IDs) == 0 {
		q.Texts = []string{text(rng, 9)}
	}
	if rng.IntN(2) == 0 {
		q.MaxDocFreq = 10 + rng.IntN(200)
	}
	q.Include, q.MinShould = rng.IntN(2) == 0, pick(rng, 0, 2, riffle.Percent(30))
	return q
}

func rule(rng *rand.Rand, depth int) riffle.Interval {
	if depth == 0 || rng.IntN(2) == 0 {
		return riffle.IntervalText{Text: word(rng) + " " + word(rng), Ordered: rng.IntN(2) == 0, MaxGaps: rng.IntN(4)}
	}
	a, b := rule(rng, depth-1), rule(rng, depth-1)
	switch rng.IntN(4) {
	case 0:
		return riffle.IntervalAll{Of: []riffle.Interval{a, b}, Ordered: rng.IntN(2) == 0, MaxGaps: rng.IntN(4)}
	case 1:
		return riffle.IntervalAny{Of: []riffle.Interval{a, b}}
	case 2:
		return riffle.IntervalWhere{Rule: a, Is: riffle.Relation(rng.IntN(3)), Of: b}
	}
	return riffle.IntervalFirst{Rule: a, Positions: 1 + rng.IntN(8)}
}

// wideLeaf is leaf, and queries of places and of fields that the schema does not declare: some shards have
// them, and one that none has.
func wideLeaf(rng *rand.Rand) riffle.Query {
	at := riffle.Point{Lat: 50 + 2*rng.Float64(), Lon: 10 + 2*rng.Float64()}
	switch rng.IntN(30) {
	case 0:
		return riffle.WithinDistance{Field: "place", Point: at, Metres: 1000 * float64(10+rng.IntN(100))}
	case 1:
		return riffle.WithinBox{Field: "place", South: at.Lat - 1, West: at.Lon - 1, North: at.Lat, East: at.Lon}
	case 2:
		return riffle.WithinPolygon{Field: "place", Points: []riffle.Point{{Lat: 50, Lon: 10}, {Lat: 52, Lon: 10}, at}}
	case 3:
		return riffle.Match{Field: "rare", Text: text(rng, 3), Mode: riffle.Mode(rng.IntN(3))}
	case 4:
		return pick[riffle.Query](rng, riffle.Match{Fields: []string{"body", "rare", "loose"}, Text: "whale ship", Combine: riffle.Combine(rng.IntN(4))},
			riffle.Phrase{Field: "rare", Text: word(rng) + " " + word(rng)}, riffle.Prefix{Field: "rare", Prefix: "s"})
	case 5:
		return pick[riffle.Query](rng, riffle.Term{Field: "loose", Value: fmt.Sprint(rng.IntN(20))}, riffle.Term{Field: "loose", Value: word(rng)},
			riffle.Term{Field: "exact", Value: fmt.Sprint(rng.IntN(20))}, riffle.Match{Field: "exact", Text: pick(rng, "true", "7", "whale")},
			riffle.Terms{Field: "exact", Values: []any{5, 6, true}}, riffle.Exists{Field: "exact"})
	case 6:
		if rng.IntN(4) == 0 {
			return riffle.Match{Field: "nowhere", Text: word(rng)}
		}
	case 7, 8:
		return functions(rng, leaf(rng))
	}
	return leaf(rng)
}

// functions returns a query whose scores functions change.
func functions(rng *rand.Rand, q riffle.Query) riffle.Query {
	f := riffle.FunctionScore{Query: q, Combine: riffle.FunctionCombine(rng.IntN(5)), Mode: riffle.FunctionMode(rng.IntN(4))}
	for range 1 + rng.IntN(2) {
		f.Functions = append(f.Functions, pick[riffle.ScoreFunction](rng,
			riffle.FieldFactor{Field: "pop", Modifier: riffle.ModifierLog1p, Missing: 1, Weight: 0.5},
			riffle.FieldFactor{Field: pick(rng, "pop", "loose"), Weight: 0.01, Filter: riffle.Term{Field: "tag", Value: "t1"}},
			riffle.Decay{Field: "at", Scale: "5d", Weight: 1 + rng.Float64()},
			riffle.Decay{Field: "place", Origin: riffle.Point{Lat: 51, Lon: 11}, Scale: 20000, Shape: riffle.DecayExp},
			riffle.Decay{Field: "year", Origin: 1850, Scale: 20, Offset: 5, Shape: riffle.DecayLinear},
			riffle.Random{Seed: 7}, riffle.Fixed{Weight: 3, Filter: riffle.Match{Field: "title", Text: "whale"}}))
	}
	return f
}

// Query returns a random query with so many levels below it, at most.
func Query(rng *rand.Rand, depth int) riffle.Query { return query(rng, depth, leaf) }

// AnyQuery is Query for all kinds of queries.
func AnyQuery(rng *rand.Rand, depth int) riffle.Query { return query(rng, depth, wideLeaf) }

func query(rng *rand.Rand, depth int, leaf func(*rand.Rand) riffle.Query) riffle.Query {
	if depth == 0 || rng.IntN(3) == 0 {
		return leaf(rng)
	}
	some := func(most int) (list []riffle.Query) {
		for range rng.IntN(most + 1) {
			list = append(list, query(rng, depth-1, leaf))
		}
		return list
	}
	switch rng.IntN(8) {
	case 0:
		return riffle.Boost{Query: query(rng, depth-1, leaf), By: 0.5 + float64(rng.IntN(4))}
	case 1:
		return riffle.ConstantScore{Query: without(rng, leaf), Score: 1.5}
	case 2:
		return riffle.DisMax{Queries: append(some(2), query(rng, depth-1, leaf)), Tie: 0.3}
	case 3:
		return boostings(rng, query(rng, depth-1, leaf), leaf)
	}
	b := riffle.Bool{Must: some(2), Should: some(3)}
	if rng.IntN(2) == 0 {
		b.Filter = []riffle.Query{without(rng, leaf)}
	}
	if rng.IntN(4) == 0 {
		b.MustNot = []riffle.Query{without(rng, leaf)}
	}
	if len(b.Must)+len(b.Should)+len(b.Filter) == 0 {
		b.Must = []riffle.Query{riffle.All{}}
	}
	if len(b.Should) > 1 && rng.IntN(3) == 0 {
		b.MinShould = 2
	}
	return b
}

// boostings demotes documents of a query, up to three times, and perhaps changes its scores by functions first.
func boostings(rng *rand.Rand, q riffle.Query, leaf func(*rand.Rand) riffle.Query) riffle.Query {
	if rng.IntN(2) == 0 {
		q = functions(rng, q)
	}
	factor := pick(rng, 0, 0.25, 0.5, 1)
	for range 1 + rng.IntN(3) {
		if rng.IntN(3) == 0 {
			factor = rng.Float64()
		}
		q = riffle.Boosting{Positive: q, Negative: without(rng, leaf), Factor: factor}
	}
	return q
}

// withoutAndOr is for places where ModeAndOr cannot stand.
func withoutAndOr(rng *rand.Rand) riffle.Query { return without(rng, leaf) }

func without(rng *rand.Rand, leaf func(*rand.Rand) riffle.Query) riffle.Query {
	for {
		switch q := leaf(rng).(type) {
		case riffle.Match:
			if q.Mode != riffle.ModeAndOr {
				return q
			}
		case riffle.MatchBoolPrefix:
			if q.Mode != riffle.ModeAndOr {
				return q
			}
		default:
			return q
		}
	}
}

// RunPatterns compares queries for patterns in indexes that admit few terms of one, with those of a Multi: the
// terms of all shards count.
func RunPatterns(t *testing.T, rounds int, make Make) {
	rounds *= *more
	rng := rand.New(rand.NewPCG(*seed, 17))
	x, m := openWith(t, make, rng, 3, 60, &riffle.Options{Schema: Schema, MaxTerms: 4}, Document)
	refused, incomplete := 0, 0
	for n := range rounds {
		w := word(rng)
		q := pick[riffle.Query](rng, riffle.Prefix{Field: "body", Prefix: w[:1]}, riffle.Wildcard{Field: "body", Pattern: "*" + w[1:2] + "*"},
			riffle.Regexp{Field: "body", Expr: "[a-" + w[:1] + "].*"}, riffle.TermRange{Field: "body", From: w, To: "zz"},
			riffle.PhrasePrefix{Field: "body", Text: "ship " + w[:1]}, riffle.MatchBoolPrefix{Field: "body", Text: "whale " + w[:1]})
		q = riffle.Bool{Should: []riffle.Query{q, riffle.Match{Field: "title", Text: text(rng, 2)}}}
		o := riffle.SearchOptions{K: 20, ExactTotal: true, Partial: rng.IntN(2) == 0}
		want, wantErr := m.Search(t.Context(), q, &o)
		got, err := x.Search(t.Context(), q, &scatter.Options{SearchOptions: o})
		if (err == nil) != (wantErr == nil) || err != nil && reason(err) != reason(wantErr) {
			t.Fatalf("query %d: %v, the Multi says %v: %#v", n, err, wantErr, q)
		}
		if err != nil {
			refused++
			continue
		}
		Compare(t, fmt.Sprintf("query %d: %#v", n, q), got, want)
		if got.Incomplete != want.Incomplete {
			t.Errorf("query %d: incomplete: %v, the Multi says %v: %#v", n, got.Incomplete, want.Incomplete, q)
		}
		if got.Incomplete {
			incomplete++
		}
	}
	if refused == 0 || incomplete == 0 {
		t.Errorf("%d queries refused, %d incomplete", refused, incomplete)
	}
}
