package riffle_test

import (
	"context"
	"fmt"
	"log"

	"github.com/riffle-search/riffle"
)

// Two libraries, of which each has an engine, are searched as one. The words "whale" and "house" weigh
// what they would in one index of all books.
func ExampleMulti() {
	old, done := library(nil)
	defer done()
	recent, done := library(nil)
	defer done()
	ctx := context.Background()
	if err := recent.Put(ctx, "moby", map[string]any{"title": "Moby Dick, abridged", "text": "The white whale"}); err != nil {
		log.Fatal(err)
	}
	all, err := riffle.NewMulti(
		riffle.Member{Name: "old", Engine: old},
		riffle.Member{Name: "recent", Engine: recent},
	)
	if err != nil {
		log.Fatal(err)
	}
	res, err := all.Search(ctx, riffle.Match{Field: "text", Text: "white whale", Mode: riffle.ModeAnd}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fields, err := all.GetIn(ctx, hit.Engine, hit.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s in %s: %s\n", hit.ID, hit.Engine, fields["title"])
	}
	// Output:
	// moby in recent: Moby Dick, abridged
	// moby in old: Moby Dick
}
