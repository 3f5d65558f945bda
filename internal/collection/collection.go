// Package collection holds posting lists and queries in memory, ready for any executor. It serves
// to compare executors without an engine around them.
//
// A Collection is one segment. Generated ones come from package gov2, others from text (FromText).
// Each can be written to a file and read again (Write, Read), for machines without the text or the
// time to index it:
//
//	c, err := collection.FromText("gutenberg-a", []string{"gutenberg-a.jsonl.zst"}, topics, 0)
//	plan := c.Plan(7, blockmax.Or, 10)             // query 7
//	top, err := cpuexec.Executor{}.TopK(ctx, plan)
//
// It has only the lists that queries need. Measure describes a collection (Statistics), in the same
// way for text and for generated collections that should resemble it.
package collection

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

// A Term is one posting list with the data needed to score it.
type Term = blockmax.Term

// A Collection is documents 0 to Docs-1, of which only length codes and the postings of some terms
// are known.
type Collection struct {
	Name    string
	Docs    uint32
	Average float64 // length of a document in tokens
	Norms   []uint8 // length code of each document
	Lists   []Term  // with keys from 1 on
	Queries [][]int // lists of each query: at least one, none twice
}

// New completes the terms of lists: length codes, similarity (BM25 as in Lucene), bounds, keys.
func New(name string, norms []uint8, average float64, lists []*postings.List, queries [][]int) *Collection {
	c := &Collection{Name: name, Docs: uint32(len(norms)), Average: average, Norms: norms, Queries: queries}
	table := blockmax.NewTable(blockmax.DefaultBM25, blockmax.RoundAvg(average))
	c.Lists = make([]Term, len(lists))
	InParallel(len(lists), 0, func(i int) {
		l := lists[i]
		l.Number = uint64(i + 1)
		c.Lists[i] = Term{List: l, Norms: norms, Table: table, Bounds: segment.Bounds(l, table), Key: l.Number}
	})
	return c
}

// Plan returns the plan of query q.
func (c *Collection) Plan(q int, mode blockmax.Mode, k int) *Plan {
	return c.PlanOf(c.Queries[q], mode, k)
}

// PlanOf returns the plan of a query with the lists of those numbers.
func (c *Collection) PlanOf(lists []int, mode blockmax.Mode, k int) *Plan {
	s := blockmax.Segment{Docs: c.Docs, Terms: make([]Term, len(lists))}
	weights := make([]float64, len(lists))
	for i, l := range lists {
		s.Terms[i] = c.Lists[l]
		weights[i] = blockmax.Lucene.Weight(uint64(c.Docs), uint64(s.Terms[i].List.Count))
	}
	p := &Plan{Segments: []blockmax.Segment{s}, Mode: mode, K: k}
	p.Weights, _ = blockmax.Scale(weights)
	return p
}

// Plans returns the plans of all queries.
func (c *Collection) Plans(mode blockmax.Mode, k int) []*Plan {
	plans := make([]*Plan, len(c.Queries))
	for q := range plans {
		plans[q] = c.Plan(q, mode, k)
	}
	return plans
}

// Postings returns how many postings the lists of query q have.
func (c *Collection) Postings(q int) (n int64) {
	for _, l := range c.Queries[q] {
		n += int64(c.Lists[l].List.Count)
	}
	return n
}

// PayloadBytes returns how many bytes the blocks of list l take, which is what must be copied to a
// device.
func (c *Collection) PayloadBytes(l int) int64 {
	return postings.RowBytes * int64(c.Lists[l].List.PayloadRows())
}

// InParallel calls do with 0 to n-1, on a number of goroutines; 0 stands for one a core.
func InParallel(n, goroutines int, do func(i int)) {
	if goroutines == 0 {
		goroutines = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, goroutines) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
