package compat

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var tooManyEdits = regexp.MustCompile(`~ *[0-9]*([3-9]|\d\d)`)

// TestQueryStrings sends query strings that are made of pieces at random: of signs, escapes and operators in all
// places, so that most are errors.
func TestQueryStrings(t *testing.T) {
	theirs, ours := both(t, mappings[0], rand.New(rand.NewPCG(15, 6)), 40)
	pieces := strings.Split("whale sea SHIP ti wor 5 3.0 42 . + - = & | > < ! ( ) { } [ ] ^ \" ~ * ? : \\ / AND TO , é ٣ café 2001-02-11 東京", " ")
	pieces = append(pieces, " ", " ", " ", "\t", "\\ ", "title:", "n:", "n:>", "at:<", "ok:", "~1", "~2", "^2", `"the sea"`, `"2001-02-11"`, `"2001`, ":", "_all:", "\n", "\xff")
	strings, found := 8_000, 0
	if testing.Short() {
		strings = 1_000
	}
	rng := rand.New(rand.NewPCG(15, 7))
	for range strings {
		text := ""
		for range 1 + rng.IntN(8) {
			text += pieces[rng.IntN(len(pieces))]
		}
		if tooManyEdits.MatchString(text) {
			continue // bleve's search refuses it, unless what comes before has no words
		}
		r, err := json.Marshal(map[string]any{"query": map[string]any{"query": text}, "size": 50, "sort": []string{"_id"}, "includeLocations": true})
		if err != nil {
			t.Fatal(err)
		}
		n, _ := compare(t, theirs, ours, mappings[0], r)
		if found += n; t.Failed() {
			t.FailNow()
		}
	}
	if t.Logf("%d documents found", found); found < strings {
		t.Error("too few to compare")
	}
}
