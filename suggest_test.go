package riffle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCompletionsAreTheMostFrequentTerms: over segments that disagree about which terms are frequent,
// on disk and in memory, Suggest completes with the terms that Terms has, those in most documents first.
func TestCompletionsAreTheMostFrequentTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 4))
	for round := range 6 {
		ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}}) // a merge drops replaced documents
		for range 1 + rng.IntN(5) {
			shift := rng.IntN(40)
			var b Batch
			for range 1 + rng.IntN(300) {
				var words []string
				for range 5 {
					n := int(rng.ExpFloat64()*10) + shift
					words = append(words, fmt.Sprintf("%c%d", 'a'+n%2, n))
				}
				b.Put(fmt.Sprint(rng.IntN(1000)), map[string]any{"text": strings.Join(words, " "), "mixed": []any{words[0], 7}})
			}
			ix.must(ix.Apply(t.Context(), &b))
			if rng.IntN(3) > 0 {
				ix.flush()
			}
		}
		for _, field := range []string{"text", "mixed"} {
			for _, word := range []string{"", "A", "b", "b1", "a2", "b77", "c"} {
				var all []Suggestion
				for c, err := range ix.Terms(t.Context(), field, word) {
					ix.must(err)
					all = append(all, Suggestion{c.Term, c.Documents, 0})
				}
				slices.SortFunc(all, func(a, b Suggestion) int {
					return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Term, b.Term))
				})
				for _, limit := range []int{1, 2, 3, 10, 1000} {
					got, err := ix.Suggest(t.Context(), field, word, &SuggestOptions{Limit: limit, Edits: NoEdits})
					ix.must(err)
					if want := all[:min(limit, len(all))]; !slices.Equal(got, want) {
						t.Fatalf("round %d, %s, %q: the best %d are\n%v, want\n%v", round, field, word, limit, got, want)
					}
				}
			}
		}
	}
}
