package analysis

import "testing"

// TestConsecutiveTerms compares the positions of terms with those of tokens.
func TestConsecutiveTerms(t *testing.T) {
	const text = "The quick brown foxes, O'Neil's 1,024 naïve 東京都 and 👍🏽 words_of_all kinds."
	for _, a := range []Analyzer{
		New("words", Words{}, Lowercase{}), New("short", Words{MaxBytes: 5}), New("spaces", Whitespace{}), New("all", Keyword{}),
		New("grams", NGrams{Min: 1, Max: 3}), New("edges", EdgeNGrams{Min: 1, Max: 3}), New("fewer", Words{}, Stop("and", "the")),
	} {
		consecutive, next := true, 0
		for tok := range Tokens(a, text) {
			consecutive = consecutive && tok.Position == next
			next++
		}
		if got := ConsecutiveTerms(a); got && !consecutive || got != (a.Name() != "grams" && a.Name() != "edges" && a.Name() != "fewer") {
			t.Errorf("%s: %v, positions are consecutive: %v", a.Name(), got, consecutive)
		}
	}
}
