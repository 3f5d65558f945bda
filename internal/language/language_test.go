package language

import (
	"strings"
	"testing"
)

// TestLinear counts how often characters are looked at, in texts that tempt a parser to look again.
func TestLinear(t *testing.T) {
	for _, piece := range []string{
		"a ", "(", "(a ", "a)", `"`, `"a `, `\"`, `["`, `["a `, "[a TO ", "{", `{"`, `{"a `, `{"a":`, "a,", "a,b^", "a:", "a:(", "NEAR(", "NEAR(a", "NEAR(a, ",
		"AND ", "a AND ", "a OR NOT ", "NOT ", "AND          ", "+", "-", "++", "~", "a~1^2^3 ", "^", ":", "f:>", "f:[1 ", "/", "/a", "*", "\\", " ", "\xff", "é,",
	} {
		for _, lenient := range []bool{false, true} {
			for _, syntax := range []Syntax{0, Additions} {
				steps := func(n int) int {
					text := strings.Repeat(piece, n)
					p := &parser{Options: Options{Syntax: syntax, Lenient: lenient, MaxDepth: 100, MaxClauses: 1 << 30}, text: text}
					p.clauses()
					return p.Steps
				}
				few, many := steps(500), steps(2000)
				if many > 6*few+1000 || many > 30*2000*len(piece) {
					t.Errorf("%q (lenient %t, syntax %#x): %d steps for 500, %d for 2,000", piece, lenient, syntax, few, many)
				}
			}
		}
	}
}

// TestOffsets: every node knows where it stands.
func TestOffsets(t *testing.T) {
	text := `+title:"a b"~2  (c OR d)^3 body:wor*`
	res, err := Parse(text, Options{Syntax: Additions, MaxDepth: 9, MaxClauses: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`title:"a b"~2`, "(c OR d)^3", "body:wor*"}
	if len(res.Query.Clauses) != len(want) {
		t.Fatalf("%d clauses", len(res.Query.Clauses))
	}
	for i, c := range res.Query.Clauses {
		if got := strings.TrimSpace(text[c.Node.Start:c.Node.End]); got != want[i] {
			t.Errorf("clause %d is %q, want %q", i, got, want[i])
		}
	}
}
