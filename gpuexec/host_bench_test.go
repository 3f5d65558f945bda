package gpuexec

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/gov2"
	"github.com/riffle-search/riffle/postings"
)

// BenchmarkHost measures what the host does for a batch of 2,048 queries whose lists are all on the device: making the
// batch, and reading the answers. Queries and the lengths of lists are those of 25 million documents of the shape of GOV2
// (package gov2). Lists have directories only: nobody looks at the postings of what is on the device. It needs no device.
func BenchmarkHost(b *testing.B) {
	h := newHostLoad()
	for _, a := range []Algorithm{MaxScore, Exhaustive} {
		for _, k := range []int{10, 1000} {
			b.Run(fmt.Sprintf("algorithm=%v/k=%d", a, k), func(b *testing.B) { h.run(b, a, k) })
		}
	}
}

const (
	hostDocs    = 25_000_000
	hostScale   = 1000 // documents for one that is generated
	hostQueries = 2048
)

// A hostLoad is queries over lists that have directories only.
type hostLoad struct {
	terms   []term
	queries [][]int
}

func newHostLoad() *hostLoad {
	c := gov2.Generate(gov2.Options{Docs: hostDocs / hostScale, Queries: hostQueries})
	norms := make([]uint8, hostDocs)
	table := c.Lists[0].Table
	h := &hostLoad{queries: c.Queries}
	for i := range c.Lists {
		l, bounds := directory(c.Lists[i].List.Count * hostScale)
		h.terms = append(h.terms, term{List: l, Norms: norms, Table: table, Bounds: bounds, Key: uint64(i + 1)})
	}
	return h
}

// directory is a list of so many evenly spread postings, without the postings.
func directory(count int) (*postings.List, *blockmax.Bounds) {
	blocks := (count + postings.BlockSize - 1) / postings.BlockSize
	l := &postings.List{Count: count, BlockSize: postings.BlockSize, Last: make([]uint32, blocks), Enc: make([]postings.Encoding, blocks), Off: make([]uint32, blocks)}
	bounds := &blockmax.Bounds{List: 60_000, Block: make([]uint16, blocks), Best: blockmax.Best{60_000, 59_000, 58_000, 57_000, 56_000, 55_000, 54_000, 53_000, 52_000, 51_000}}
	for block := range blocks {
		l.Last[block] = uint32(uint64(hostDocs-1) * uint64(block+1) / uint64(blocks))
		l.Off[block] = uint32(8 * block)
		bounds.Block[block] = uint16(40_000 + block%20_000)
		if block%extentBlocks == extentBlocks-1 || block == blocks-1 {
			l.ExtLast = append(l.ExtLast, l.Last[block])
			bounds.Extent = append(bounds.Extent, 60_000)
		}
	}
	return l, bounds
}

// plans are new ones each time, as those of an engine are.
func (h *hostLoad) plans(k int) (plans []*Plan) {
	for _, q := range h.queries {
		p := &Plan{Mode: blockmax.Or, K: k}
		s := blockmax.Segment[*postings.List]{Docs: hostDocs}
		var weights []float64
		for _, i := range q {
			s.Terms = append(s.Terms, h.terms[i])
			weights = append(weights, blockmax.Lucene.Weight(hostDocs, uint64(h.terms[i].List.Count)))
		}
		p.Weights, _ = blockmax.Scale(weights)
		p.Segments = []blockmax.Segment[*postings.List]{s}
		plans = append(plans, p)
	}
	return plans
}

func (h *hostLoad) run(b *testing.B, a Algorithm, k int) {
	x := &Executor{options: Options{Algorithm: a}}
	x.tables = tables{address: 3 << 40, rows: 1 << 20}
	answers := make([]Answer, hostQueries)
	bt := batch{algorithm: a, shape: Shape{}.withDefaults(), columns: &columns{address: 2 << 40, rows: 1 << 24}, resultRoom: 64 << 20}
	bt.staging = staging{host: make([]byte, 128<<20), address: 1 << 40, size: 1 << 30}
	var err error
	if x.cache, err = listcache.New(listcache.Config{Region: listcache.Region{First: 1 << 28, Rows: 1 << 30}}); err != nil {
		b.Fatal(err)
	}
	bt.lists.known, bt.lists.tables = &x.known, &x.tables
	plans := h.plans(k)
	taken := make([]int, len(plans))
	warm := false
	iters := 0
	makeBatch := func() {
		for i, p := range plans {
			taken[i] = i
			if x.refuse(p) != "" {
				b.Fatal("refused")
			}
		}
		x.gather(&bt, plans, taken, answers)
		if !bt.fill() {
			b.Fatal("too big")
		}
		for !warm { // the postings come to the device, and nobody writes them
			bt.lists.ask(false, true)
			x.cache.Place(bt.lists.needs, listcache.Region{First: 1 << 31, Rows: 1 << 30}, &bt.lists.placed)
			warm = bt.lists.placed.Rows == 0
			iters++
			if iters%100==0 { st:=x.cache.Stats(); println(iters, bt.lists.placed.Rows, len(bt.lists.placed.Copies), st.UsedBytes, st.Extents, st.Lists, len(bt.lists.entries)) }
			if iters > 1000 { b.Fatal() }
		}
		if !bt.place(x.cache, false) {
			b.Fatal("not usable")
		}
	}
	makeBatch()
	bt.forget()
	makeBatch()
	read := results20(&bt, k)
	bt.forget()
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			makeBatch()
			b.StopTimer()
			bt.forget()
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3/hostQueries, "µs/query")
		b.ReportMetric(float64(bt.copied())/hostQueries, "copied-B/query")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		makeBatch()
		for b.Loop() {
			answers := make([]Answer, len(plans))
			bt.answers(read, nil, 0, answers)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3/hostQueries, "µs/query")
	})
}

// results20 are the results of a batch, as the device writes them.
func results20(bt *batch, k int) []byte {
	read := make([]byte, bt.results.bytes)
	states := unsafe.Slice(view[devState](read), len(bt.queries))
	for i := range states {
		states[i] = devState{matched: 1000, scored: 1000, decoded: 100, held: uint32(k), pruned: 1}
		keys := unsafe.Slice((*uint64)(unsafe.Pointer(&read[bt.results.keysAt[i]])), k)
		for j := range keys {
			keys[j] = uint64(k-j)<<32 | uint64(^uint32(j*1000+i))
		}
	}
	return read
}
