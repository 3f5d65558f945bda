package proximity_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/proximity"
)

// TestAgainstAllWays compares the matcher with trying all ways to match, on random expressions and
// documents of few positions, and its bound on the number of matches with their number.
func TestAgainstAllWays(t *testing.T) {
	rounds := 200_000
	if testing.Short() {
		rounds = 20_000
	}
	var m proximity.Matcher
	found := map[proximity.Op]int{}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		const terms = 4
		e := exectest.NewExpr(rng, terms)
		if err := e.Check(terms); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		positions, tfs := make([][]uint32, terms), make([]uint32, terms)
		for i := range positions {
			positions[i] = exectest.NewPositions(rng, rng.Uint32N(5))
			tfs[i] = uint32(len(positions[i]))
		}
		m.Reset(e)
		got, want := m.Freq(positions), exectest.Frequency(e, positions)
		matches := slices.Clone(m.Matches(positions))
		wanted := exectest.Matches(e, positions)
		sloppy := e.Op == proximity.Phrase && e.Max > 0
		if got != want || !sloppy && !slices.Equal(matches, wanted) {
			t.Fatalf("round %d: %v of %v: frequency %d in %v, want %d in %v", round, describe(e), positions, got, matches, want, wanted)
		}
		if most := e.Most(tfs); uint64(len(matches)) > most {
			t.Fatalf("round %d: %v of %v: %d matches, bound %d", round, describe(e), positions, len(matches), most)
		}
		if len(matches) > 1 {
			found[e.Op]++
		}
	}
	for op := proximity.Word; op <= proximity.First; op++ {
		if found[op] < rounds/1000 {
			t.Errorf("only %d documents with several matches of %v", found[op], op)
		}
	}
}

func describe(e *proximity.Expr) string {
	if e.Op == proximity.Word {
		return fmt.Sprint(e.Terms)
	}
	s := fmt.Sprintf("(%v/%d %v", e.Op, e.Max, e.Offsets)
	for i := range e.Parts {
		s += " " + describe(&e.Parts[i])
	}
	return s + ")"
}

// TestWords compares the words that take part in matches with those of all ways to match.
func TestWords(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 10_000
	}
	var m proximity.Matcher
	left := map[proximity.Op]int{} // documents of which words within matches take no part in one
	for round := range rounds {
		rng := rand.New(rand.NewPCG(3, uint64(round)))
		const terms = 4
		e := exectest.NewExpr(rng, terms)
		positions := make([][]uint32, terms)
		for i := range positions {
			positions[i] = exectest.NewPositions(rng, rng.Uint32N(5))
		}
		m.Reset(e)
		got := map[exectest.Word]bool{}
		m.Words(positions, func(term int, position uint32) { got[exectest.Word{Term: term, Position: position}] = true })
		if want := exectest.Words(e, positions); !maps.Equal(got, want) {
			t.Fatalf("round %d: %v of %v: words %v, want %v", round, describe(e), positions, got, want)
		}
		for _, v := range m.Matches(positions) {
			for term, at := range positions {
				if slices.ContainsFunc(at, func(p uint32) bool {
					return p >= v.Start && p <= v.End && !got[exectest.Word{Term: term, Position: p}]
				}) {
					left[e.Op]++
				}
			}
		}
	}
	for _, op := range []proximity.Op{proximity.Phrase, proximity.Ordered, proximity.Unordered, proximity.Near} {
		if left[op] < rounds/1000 {
			t.Errorf("%v: in only %d documents a match has other words inside", op, left[op])
		}
	}
}

// BenchmarkWords finds the words of one match after another in documents of different lengths: the time
// of a position stays the same.
func BenchmarkWords(b *testing.B) {
	word := func(t int) proximity.Expr { return proximity.Expr{Op: proximity.Word, Terms: []int{t}} }
	e := &proximity.Expr{Op: proximity.Unordered, Max: proximity.NoLimit, Parts: []proximity.Expr{
		word(0), {Op: proximity.Ordered, Max: proximity.NoLimit, Parts: []proximity.Expr{word(1), word(2)}},
	}}
	for _, n := range []int{1 << 10, 1 << 14, 1 << 18} {
		b.Run(fmt.Sprintf("positions=%d", n), func(b *testing.B) {
			positions := make([][]uint32, 3)
			for i := range n {
				positions[i%3] = append(positions[i%3], uint32(i))
			}
			var m proximity.Matcher
			m.Reset(e)
			for b.Loop() {
				m.Words(positions, func(int, uint32) {})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/position")
		})
	}
}
