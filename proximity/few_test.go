package proximity

import (
	"math/rand/v2"
	"testing"
)

// TestWordsFreq compares expressions of a few words with the Matcher.
func TestWordsFreq(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var m Matcher
	matched := 0
	for range 100_000 {
		const terms = 5
		e := someWords(rng, []Op{Phrase, Ordered, Unordered, Near}[rng.IntN(4)], 2+rng.IntN(4), terms)
		var wide [terms][]uint32
		var narrow [terms][]uint16
		for i := range wide {
			wide[i], narrow[i] = somePositions(rng)
		}
		seen, twice := [terms]bool{}, false
		var parts [][]uint16
		for i := range e.Parts {
			term := e.Parts[i].Terms[0]
			twice = twice || seen[term]
			seen[term] = true
			parts = append(parts, narrow[term])
		}
		if e.AreWords() == (twice || e.Op == Ordered) {
			t.Fatalf("%+v: AreWords is %v", e, e.AreWords())
		}
		if !e.AreWords() {
			continue
		}
		m.Reset(e)
		want := m.Freq(wide[:])
		if got := e.WordsFreq(parts); got != want {
			t.Fatalf("%+v of %v: %d, want %d", e, wide, got, want)
		}
		if want > 0 {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d expressions matched", matched)
	}
}
