package gov2

import (
	"fmt"
	"math/rand/v2"

	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/postings"
)

// Options of Generate. Comments name the defaults, which zero values stand for.
type Options struct {
	Docs    uint32 // 25,000,000
	Queries int    // 1,000
	// Of a query on average, as a share of Docs; 0.148, which is 3.7 million in 25 million.
	Postings   float64
	StopWords  bool          // queries also have words in more than a third of a text's documents
	Codec      postings.Kind // of the lists, Packed
	Seed       uint64        // 1
	Goroutines int           // one per core

	// Progress, if not nil, is called after each list, by several goroutines at a time, with its
	// postings.
	Progress func(postings int)
}

// DefaultPostings is GOV2's.
const DefaultPostings = 0.148

func (o Options) withDefaults() Options {
	if o.Docs == 0 {
		o.Docs = 25_000_000
	}
	if o.Queries == 0 {
		o.Queries = 1000
	}
	if o.Postings == 0 {
		o.Postings = DefaultPostings
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	return o
}

// Generate makes a collection. It takes some 50 to 100 ns a posting on one core. For 1,000 queries,
// with 1.4 billion postings in lists that they share, it takes two minutes on one core or ten
// seconds on 16, and 3 GB of memory. In the end there are 1.7 bytes a posting; how much more there is
// meanwhile depends on the garbage collector (debug.SetGCPercent).
func Generate(o Options) *collection.Collection {
	o = o.withDefaults()
	words, queries := newQueries(&o)
	d := newDocuments(&o)
	lists := make([]*postings.List, len(words))
	collection.InParallel(len(words), o.Goroutines, func(i int) { // the longest lists first
		lists[i] = d.list(words[i], &o)
		if o.Progress != nil {
			o.Progress(lists[i].Count)
		}
	})
	name := fmt.Sprintf("gov2-shaped/%d docs/%d queries/seed %d", o.Docs, o.Queries, o.Seed)
	return collection.New(name, d.norms, d.average, lists, queries)
}

// random is a separate source for each thing that is drawn, so that order does not matter.
func random(o *Options, what, number uint64) *rand.PCG {
	return rand.NewPCG(o.Seed<<8|what, number)
}

// What is drawn.
const (
	drawWords = iota + 1
	drawQueries
	drawDocuments
	drawLengths
	drawList
)

// unit is uniform in (0, 1).
func unit(r *rand.PCG) float64 { return (float64(r.Uint64()>>11) + 0.5) / (1 << 53) }
