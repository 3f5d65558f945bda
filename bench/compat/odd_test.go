package compat

import (
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// oddRequests are requests at the borders of what bleve accepts: members that are null, empty, of another kind, too
// large or too many, and unknown ones; one a line.
//
//go:embed testdata/odd.jsonl
var oddRequests string

// TestOddRequests compares the answers to them, errors included.
func TestOddRequests(t *testing.T) {
	found := 0
	for number, mapping := range mappings {
		theirs, ours := both(t, mapping, rand.New(rand.NewPCG(77, uint64(number))), 40)
		for line := range strings.Lines(oddRequests) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%s is not JSON", line)
			}
			n, _ := compare(t, theirs, ours, mapping, []byte(line))
			found += n
		}
	}
	if t.Logf("%d documents found", found); found < 5_000 {
		t.Error("too few to compare")
	}
}
