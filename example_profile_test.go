package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/riffle-search/riffle"
)

// A profile says what a search did with each block of its lists. Of 20,000 pages nearly all have "the", and
// few have "whale": once there are hits, most blocks of "the" are passed over.
func ExampleProfile() {
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Durability: riffle.SyncNone, SearchWorkers: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	for i := range 20_000 {
		text := "the sea and the ship"
		if i%1000 == 500 {
			text = "the whale"
		}
		b.Put(fmt.Sprint(i), map[string]any{"text": text})
	}
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	res, err := e.Search(ctx, riffle.Match{Field: "text", Text: "the whale"}, &riffle.SearchOptions{
		K: 5, Exec: &riffle.Exec{Algorithm: riffle.AlgorithmBMW}, Profile: &riffle.ProfileOptions{Runs: 4},
	})
	if err != nil {
		log.Fatal(err)
	}
	p := res.Profile
	fmt.Println(p.Choice.Why)
	for _, pass := range p.Passes {
		fmt.Printf("%s: %s\n", pass.Algorithm, pass.Why)
	}
	for _, l := range p.Lists {
		fmt.Printf("%s: of %d postings, %d blocks decoded, %d bounded, %d skipped\n", l.Term, l.Postings, l.Blocks.Decoded, l.Blocks.Bounded, l.Blocks.Skipped)
		for _, r := range l.Runs {
			fmt.Printf("  documents %d to %d: %d of %d blocks decoded\n", r.First, r.Last, r.Decoded, r.Blocks)
		}
	}
	// Output:
	// the engine uses no GPU (Options.GPU)
	// bmw: block-max WAND: goes from pivot to pivot by the bounds of blocks; Exec.Algorithm asks for it
	// the: of 20000 postings, 21 blocks decoded, 0 bounded, 136 skipped
	//   documents 0 to 8191: 9 of 64 blocks decoded
	//   documents 8192 to 16383: 8 of 64 blocks decoded
	//   documents 16384 to 19999: 4 of 29 blocks decoded
	// whale: of 20 postings, 1 blocks decoded, 0 bounded, 0 skipped
	//   documents 0 to 19500: 1 of 1 blocks decoded
}
