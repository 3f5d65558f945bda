package proximity

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// somePositions returns rising positions of a term, some of them twice.
func somePositions(rng *rand.Rand) (wide []uint32, narrow []uint16) {
	at := uint32(rng.IntN(6))
	for range 1 + rng.IntN(6) {
		wide, narrow = append(wide, at), append(narrow, uint16(at))
		at += uint32(rng.IntN(5))
	}
	return wide, narrow
}

func someWords(rng *rand.Rand, op Op, parts, terms int) *Expr {
	e := &Expr{Op: op, Max: rng.IntN(5)}
	offset := uint32(0)
	for range parts {
		e.Parts = append(e.Parts, Expr{Op: Word, Terms: []int{rng.IntN(terms)}})
		if op == Phrase {
			e.Offsets = append(e.Offsets, offset)
			offset += uint32(rng.IntN(3))
		}
	}
	return e
}

// TestPairFreq compares pairs with the Matcher.
func TestPairFreq(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var m Matcher
	matched := 0
	for range 100_000 {
		e := someWords(rng, []Op{Phrase, Ordered, Unordered, Near}[rng.IntN(4)], 2, 2)
		if e.Parts[0].Terms[0] == e.Parts[1].Terms[0] {
			if e.IsPair() {
				t.Fatalf("%+v: a pair of one term", e)
			}
			continue
		}
		if !e.IsPair() || e.Check(2) != nil {
			t.Fatalf("%+v: not a pair", e)
		}
		var wide [2][]uint32
		var narrow [2][]uint16
		for i := range wide {
			wide[i], narrow[i] = somePositions(rng)
		}
		m.Reset(e)
		want := m.Freq(wide[:])
		got := e.PairFreq(narrow[e.Parts[0].Terms[0]], narrow[e.Parts[1].Terms[0]])
		if got != want {
			t.Fatalf("%+v of %v: %d, want %d", e, wide, got, want)
		}
		if want > 0 {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d pairs matched", matched)
	}
}

// TestDistance: two terms whose positions are never within the distance have no match, and most without
// a match are found by that.
func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var m Matcher
	matched, told := 0, 0
	for range 100_000 {
		const terms = 3
		e := someWords(rng, []Op{Phrase, Ordered, Unordered, Near}[rng.IntN(4)], 2+rng.IntN(3), terms)
		var wide [terms][]uint32
		var narrow [terms][]uint16
		for i := range wide {
			wide[i], narrow[i] = somePositions(rng)
		}
		a, b := e.Parts[0].Terms[0], e.Parts[1].Terms[0]
		if a == b {
			continue
		}
		if rng.IntN(2) == 0 {
			a, b = b, a
		}
		lo, hi, ok := e.Distance(a, b)
		if !ok {
			t.Fatalf("%+v: no distance of %d and %d", e, a, b)
		}
		far := make([]uint16, len(narrow[b])) // the same positions, moved by some
		move := uint32(rng.IntN(12))
		for i, at := range narrow[b] {
			far[i] = at + uint16(move)
			wide[b][i] += move
		}
		m.Reset(e)
		freq := m.Freq(wide[:])
		within := Within(narrow[a], far, lo, hi)
		if freq > 0 && !within {
			t.Fatalf("%+v of %v matches, but not within %d to %d", e, wide, lo, hi)
		}
		if near := slices.ContainsFunc(narrow[a], func(x uint16) bool {
			return slices.ContainsFunc(far, func(y uint16) bool { return int(y)-int(x) >= lo && int(y)-int(x) <= hi })
		}); near != within {
			t.Fatalf("%v and %v within %d to %d: %v", narrow[a], far, lo, hi, within)
		}
		if freq > 0 {
			matched++
		} else if !within {
			told++
		}
	}
	if matched < 1000 || told < 1000 {
		t.Errorf("%d matched, of %d the distance told", matched, told)
	}
}
