package riffle_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/riffle-search/riffle"
)

// The words of the reviews of boots that begin with "wa", and how many reviews use them.
func ExampleSnapshot_CountTerms() {
	dir, err := os.MkdirTemp("", "counts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	b.Put("1", map[string]any{"product": "red boots", "review": "warm, waterproof and comfortable"})
	b.Put("2", map[string]any{"product": "blue boots", "review": "warm but heavy"})
	b.Put("3", map[string]any{"product": "rain coat", "review": "waterproof, not warm"})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	s, err := e.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	// A term that is in several segments is visited in each of them: its numbers add up.
	type count struct{ boots, all int }
	counts := map[string]count{}
	boots := riffle.Match{Field: "product", Text: "boots"}
	err = s.CountTerms(ctx, boots, "review", "wa", func(term []byte, matching, all int) error {
		c := counts[string(term)]
		counts[string(term)] = count{c.boots + matching, c.all + all}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%s: %d of boots, %d of all reviews\n", word, counts[word].boots, counts[word].all)
	}
	// Output:
	// warm: 2 of boots, 3 of all reviews
	// waterproof: 1 of boots, 2 of all reviews
}
