package proximity_test

import (
	"fmt"
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
