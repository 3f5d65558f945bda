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

// BenchmarkHost measures the host's work for a batch of 2,048 queries whose lists are all resident:
// making the batch (make), and reading its answers (read). Queries and the lengths of lists are
// those of 25 million documents of the shape of GOV2 (package gov2): 3,359 lists, 557,000 extents.
// Lists have directories only, since the host does not read resident postings. It needs no device.
func BenchmarkHost(b *testing.B) {
	load := newHostLoad()
	for _, a := range []Algorithm{MaxScore, Exhaustive} {
		for _, k := range []int{10, 1000} {
			b.Run(fmt.Sprintf("algorithm=%v/k=%d", a, k), func(b *testing.B) {
				h := newHost(b, load.plans(k), a)
				b.Run("make", h.benchMake)
				b.Run("read", h.benchRead)
			})
		}
	}
}

const (
	hostDocs    = 25_000_000
	hostScale   = 1000 // documents for each generated one
	hostQueries = 2048
)

// A hostLoad is queries over lists that have directories only.
type hostLoad struct {
	docs    int
	terms   []term
	queries [][]int
}

func newHostLoad() *hostLoad {
	c := gov2.Generate(gov2.Options{Docs: hostDocs / hostScale, Queries: hostQueries})
	norms := make([]uint8, hostDocs)
	h := &hostLoad{docs: hostDocs, queries: c.Queries}
	for i := range c.Lists {
		l, bounds := directory(c.Lists[i].List.Count*hostScale, hostDocs)
		h.terms = append(h.terms, term{List: l, Norms: norms, Table: c.Lists[i].Table, Bounds: bounds, Key: uint64(i + 1)})
	}
	return h
}

// directory is a list of count evenly spread postings in docs documents, without the postings.
func directory(count, docs int) (*postings.List, *blockmax.Bounds) {
	blocks := (count + postings.BlockSize - 1) / postings.BlockSize
	l := &postings.List{
		Count: count, BlockSize: postings.BlockSize,
		Last: make([]uint32, blocks), Enc: make([]postings.Encoding, blocks), Off: make([]uint32, blocks),
	}
	const highest = 60_000
	bounds := &blockmax.Bounds{List: highest, Block: make([]uint16, blocks)}
	for i := range 10 { // what 1, 2, 5, ... 1,000 postings reach
		bounds.Best = append(bounds.Best, uint16(highest-1000*i))
	}
	for block := range blocks {
		l.Last[block] = uint32(uint64(docs-1) * uint64(block+1) / uint64(blocks))
		l.Off[block] = uint32(8 * block)
		bounds.Block[block] = uint16(40_000 + block%20_000)
		if block%extentBlocks == extentBlocks-1 || block == blocks-1 {
			l.ExtLast = append(l.ExtLast, l.Last[block])
			bounds.Extent = append(bounds.Extent, highest)
		}
	}
	return l, bounds
}

func (h *hostLoad) plans(k int) (plans []*Plan) {
	for _, q := range h.queries {
		p := &Plan{Mode: blockmax.Or, K: k}
		s := blockmax.Segment{Docs: uint32(h.docs)}
		var weights []float64
		for _, i := range q {
			s.Terms = append(s.Terms, h.terms[i])
			weights = append(weights, blockmax.Lucene.Weight(uint64(h.docs), uint64(h.terms[i].List.Count)))
		}
		p.Weights, _ = blockmax.Scale(weights)
		p.Segments = []blockmax.Segment{s}
		plans = append(plans, p)
	}
	return plans
}

// A host is an executor without a device, and one of its batches.
type host struct {
	executor Executor
	batch    batch
	plans    []*Plan
	taken    []int
	answers  []Answer
}

func newHost(b *testing.B, plans []*Plan, a Algorithm) *host {
	h := &host{plans: plans, taken: make([]int, len(plans)), answers: make([]Answer, len(plans))}
	x, bt := &h.executor, &h.batch
	x.options.Algorithm = a
	x.columns = columns{address: 2 << 40, rows: 1 << 24}
	x.tables = tables{address: 3 << 40, rows: 1 << 20}
	var err error
	if x.cache, err = listcache.New(listcache.Config{Region: listcache.Region{First: 1 << 28, Rows: 1 << 30}}); err != nil {
		b.Fatal(err)
	}
	bt.algorithm, bt.shape, bt.placed.columns, bt.resultRoom = a, Shape{}.withDefaults(), &x.columns, 64<<20
	bt.staging = staging{host: make([]byte, 128<<20), address: 1 << 40, size: 1 << 30}
	bt.lists.known, bt.lists.tables, bt.flat.flats = &x.known, &x.tables, &x.flats
	x.gather(bt, plans, h.choose(b), h.answers)
	bt.chooseStrips()
	for bringing := true; bringing; bringing = bt.lists.placed.Rows > 0 { // without the bytes
		bt.lists.ask(false, true)
		x.cache.Place(bt.lists.needs, listcache.Region{First: 1 << 31, Rows: 1 << 30}, &bt.lists.placed)
	}
	bt.forget()
	return h
}

// choose does what Run does before it makes a batch.
func (h *host) choose(b *testing.B) []int {
	for i, p := range h.plans {
		h.taken[i] = i
		if err := h.executor.check(p); err != nil {
			b.Fatal(err)
		}
	}
	return h.taken
}

// make makes a batch.
func (h *host) make(b *testing.B) {
	h.executor.gather(&h.batch, h.plans, h.choose(b), h.answers)
	if !h.batch.fill() || !h.batch.place(h.executor.cache, false) {
		b.Fatal("the batch is too big, or a list cannot be used")
	}
}

func (h *host) benchMake(b *testing.B) {
	for range 3 { // until columns and tables are resident
		h.make(b)
		h.batch.forget()
	}
	b.ReportAllocs()
	for b.Loop() {
		h.make(b)
		h.batch.forget()
	}
	h.report(b)
	b.ReportMetric(float64(h.batch.copied())/float64(len(h.plans)), "copied-B/query")
}

func (h *host) benchRead(b *testing.B) {
	h.make(b)
	read := h.results()
	b.ReportAllocs()
	for b.Loop() {
		h.batch.answers(read, nil, 0, h.answers)
	}
	h.batch.forget()
	h.report(b)
}

func (h *host) report(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3/float64(len(h.plans)), "µs/query")
	b.ReportMetric(0, "ns/op")
}

// results are those of a batch, as the device writes them.
func (h *host) results() []byte {
	read := make([]byte, h.batch.results.bytes)
	states := unsafe.Slice(view[devState](read), len(h.batch.queries))
	for i := range states {
		k := h.batch.queries[i].plan.K
		states[i] = devState{matched: 10_000, scored: 10_000, decoded: 100, held: uint32(k), pruned: 1}
		keys := unsafe.Slice((*uint64)(unsafe.Pointer(&read[h.batch.results.keysAt[i]])), k)
		for j := range keys {
			keys[j] = uint64(k-j)<<32 | uint64(^uint32(1000*j+i))
		}
	}
	return read
}

// BenchmarkPieces measures the host's work for a batch whose lists must all be copied, since the
// cache has no memory.
func BenchmarkPieces(b *testing.B) {
	c := gov2.Generate(gov2.Options{Docs: 500_000, Queries: 300})
	h := newHost(b, c.Plans(blockmax.Or, 10), Exhaustive)
	var err error
	if h.executor.cache, err = listcache.New(listcache.Config{}); err != nil {
		b.Fatal(err)
	}
	h.make(b)
	h.batch.forget()
	b.SetBytes(int64(h.batch.copied()))
	for b.Loop() {
		h.make(b)
		h.batch.forget()
	}
}

// BenchmarkGather measures what a batch costs before the lock when no list is fully resident: the
// host must find out which extents queries want.
func BenchmarkGather(b *testing.B) {
	load := newHostLoad()
	for _, k := range []int{10, 1000} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			h := newHost(b, load.plans(k), MaxScore)
			taken := h.choose(b)
			for b.Loop() {
				h.executor.gather(&h.batch, h.plans, taken, h.answers)
				h.batch.forget()
			}
			h.report(b)
		})
	}
}
