package riffle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/gov2"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/search"
	"github.com/riffle-search/riffle/postings"
)

// simBatch is how many queries of the simulation make a batch.
const simBatch = 256

// A simLog is what the queries of a log need of their lists. The first half of the log fills a
// cache, and the second half measures it.
type simLog struct {
	visits [][]listcache.Need // of each query, with the final threshold
	wants  [][]listcache.Need // with the one known in advance
	rows   int                // of all lists together
	seen   map[uint64]bool    // lists included in rows
}

// simHead is a head of 12 bytes a block, in parts of 64 extents.
func simHead(l *postings.List) (parts []uint32) {
	const most = 64 * postings.ExtentBlocks
	for first := 0; first < l.Blocks(); first += most {
		parts = append(parts, uint32(12*min(most, l.Blocks()-first)+listcache.RowBytes-1)/listcache.RowBytes)
	}
	return parts
}

// simIndex makes an index of gutenberg-a as one segment. With an alpha above 0 it is like the paper's:
// every document has a static rank, few a high one, and a score is so much of it.
func simIndex(order DocOrder, alpha float64) (*Engine, error) {
	dir, err := os.MkdirTemp("", "riffle-sim")
	if err != nil {
		return nil, err
	}
	r, err := jsonl.Open(filepath.Join(corporaDir(), "gutenberg-a.jsonl.zst"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o := &Options{Durability: SyncNone, MemoryBytes: 1 << 30, Schema: &Schema{NoStore: true}}
	o.Merge.Order = order
	if alpha > 0 {
		o.Rank = Rank{Field: "rank", Alpha: alpha}
	}
	e, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	var b Batch
	var doc jsonl.Document
	ranks := rand.New(rand.NewPCG(1, 2))
	for err = r.Next(&doc); err == nil; err = r.Next(&doc) {
		fields := map[string]any{}
		for _, f := range doc.Fields {
			if f.Name == "text" {
				fields[f.Name] = f.Value
			}
		}
		if alpha > 0 {
			fields["rank"] = math.Pow(ranks.Float64(), 8)
		}
		if b.Put(doc.ID, fields); b.Len() == 10_000 {
			if err := e.Apply(context.Background(), &b); err != nil {
				return nil, err
			}
			b.Reset()
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return e, errors.Join(e.Apply(context.Background(), &b), e.Compact(context.Background()))
}

func corporaDir() string {
	if dir := os.Getenv("RIFFLE_CORPORA"); dir != "" {
		return dir
	}
	return "../shared/corpora"
}

// newSimLog runs the queries of a file on the CPU and notes what they visit.
func newSimLog(b *testing.B, mode Mode, order DocOrder, alpha float64) *simLog {
	e, err := simIndex(order, alpha)
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	f, err := os.Open(filepath.Join(corporaDir(), "queries", "terabyte05.tsv"))
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	v, err := e.acquire()
	if err != nil {
		b.Fatal(err)
	}
	defer v.Release()
	set, err := e.settings(&SearchOptions{K: 10})
	if err != nil {
		b.Fatal(err)
	}
	log := &simLog{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		x, err := v.plan(context.Background(), Match{Field: "text", Text: text, Mode: mode}, &set)
		if err != nil {
			b.Fatal(err)
		}
		if c := search.Compiled(x); c.Plan.Tree == nil {
			log.add(b, &c.Plan)
		}
		x.End()
	}
	return log
}

// newGov2Log is newSimLog for a generated collection of a million documents, whose longest lists
// have 244 extents.
func newGov2Log(b *testing.B, mode Mode) *simLog {
	c := gov2.Generate(gov2.Options{Docs: 1_000_000, Queries: 10_000})
	log := &simLog{}
	for i := range c.Queries {
		log.add(b, c.Plan(i, mode, 10))
	}
	return log
}

// add runs a query and records what it visits.
func (log *simLog) add(b *testing.B, p *blockmax.Plan) {
	before, after := thresholds(b, p)
	var f demand.Finder
	log.wants = append(log.wants, long(f.Needs(nil, p, p.Mode, before, simHead)))
	log.visits = append(log.visits, long(f.Needs(nil, p, p.Mode, after, simHead)))
	if log.seen == nil {
		log.seen = map[uint64]bool{}
	}
	for _, n := range log.wants[len(log.wants)-1] {
		for _, rows := range slices.Concat(n.Head, n.Extents) {
			if !log.seen[n.Key] {
				log.rows += int(rows)
			}
		}
		log.seen[n.Key] = true
	}
}

// thresholds returns the score needed before the first document, and after the last.
func thresholds(b *testing.B, p *blockmax.Plan) (before, after uint32) {
	if p.Mode == blockmax.Or {
		before = p.Seed()
	}
	top, err := cpuexec.Executor{}.TopK(context.Background(), p)
	if err != nil {
		b.Fatal(err)
	}
	if len(top.Hits) == p.K {
		after = top.Hits[p.K-1].Score
	}
	return before, after
}

// long keeps lists that have a key: shorter ones are one block, and travel with the batch.
func long(needs []listcache.Need) []listcache.Need {
	return slices.DeleteFunc(needs, func(n listcache.Need) bool { return n.Key == 0 })
}

// together merges the needs of a batch's queries: each list once.
func together(queries [][]listcache.Need) (needs []listcache.Need) {
	at := map[uint64]int{}
	for _, query := range queries {
		for _, n := range query {
			i, ok := at[n.Key]
			if !ok {
				at[n.Key] = len(needs)
				n.Wanted = slices.Clone(n.Wanted)
				needs = append(needs, n)
				continue
			}
			needs[i].Queries++
			for w := range n.Wanted {
				needs[i].Wanted[w] |= n.Wanted[w]
			}
		}
	}
	return needs
}

// An outcome is the second half of a log, averaged per query.
type outcome struct {
	hitRate float64 // of the bytes of extents that batches wanted
	copied  float64 // bytes
	left    float64 // bytes of extents that the CPU must read, since the device lacks them
}

// simulate runs the second half of a log. The first half fills a static cache, or trains another.
// With leave, the CPU completes what a pruned list lacks.
func (log *simLog) simulate(b *testing.B, config listcache.Config, leave bool) outcome {
	c, err := listcache.New(config)
	if err != nil {
		b.Fatal(err)
	}
	buffer := listcache.Region{First: config.Region.Rows, Rows: 1 << 30}
	half := len(log.wants) / 2
	if config.Static {
		for i := range half {
			if leave {
				c.Count(log.visits[i])
			} else {
				c.Count(log.wants[i])
			}
		}
		c.Admit()
		log.load(c, buffer)
	} else {
		log.run(c, buffer, 0, half, leave)
	}
	before := c.Stats()
	left := log.run(c, buffer, half, len(log.wants), leave)
	after := c.Stats()
	queries := float64(len(log.wants) - half)
	return outcome{
		hitRate: float64(after.HitBytes-before.HitBytes) / float64(after.WantedBytes-before.WantedBytes),
		copied:  float64(after.CopiedBytes-before.CopiedBytes) / queries,
		left:    left / queries,
	}
}

// load copies every piece that has a place.
func (log *simLog) load(c *listcache.Cache, buffer listcache.Region) {
	lists := map[uint64]listcache.Need{}
	for _, n := range slices.Concat(log.wants...) {
		lists[n.Key] = n
	}
	var b listcache.Batch
	for key, extents := range c.Pending {
		n := lists[key]
		n.Wanted = extents
		c.Place([]listcache.Need{n}, buffer, &b)
	}
}

// run runs queries in batches. It returns the bytes left to the CPU.
func (log *simLog) run(c *listcache.Cache, buffer listcache.Region, from, to int, leave bool) (left float64) {
	var b listcache.Batch
	for ; from < to; from += simBatch {
		end := min(from+simBatch, to)
		needs := together(log.wants[from:end])
		placed := map[uint64]*listcache.Placed{}
		for i := range needs {
			needs[i].Leave = leave
		}
		c.Place(needs, buffer, &b)
		for i := range needs {
			placed[needs[i].Key] = &b.Lists[i]
		}
		for _, query := range log.visits[from:end] {
			for _, n := range query {
				for x, rows := range n.Extents {
					if n.Wanted[x/64]>>(x%64)&1 == 1 && placed[n.Key].Extents[x] == listcache.Missing {
						left += listcache.RowBytes * float64(rows)
					}
				}
			}
		}
	}
	return left
}

// BenchmarkListCache reproduces figures 6 to 9 of Wang 2017 without a device: what must be copied,
// and what is left to the CPU, by policy, λ and memory. Memory is in hundredths of all lists of the
// log. RIFFLE_SIM names the one set of queries to run. See bench/results/2026-11-20-list-cache.md.
func BenchmarkListCache(b *testing.B) {
	for _, set := range []struct {
		name string
		log  func() *simLog
	}{
		{"or", func() *simLog { return newSimLog(b, ModeOr, OrderByArrival, 0) }},
		{"and", func() *simLog { return newSimLog(b, ModeAnd, OrderByArrival, 0) }},
		{"and-ranked", func() *simLog { return newSimLog(b, ModeAnd, OrderByGlobalScore, 0.3) }},
		{"or-graph", func() *simLog { return newSimLog(b, ModeOr, OrderByGraph, 0) }},
		{"or-ranked", func() *simLog { return newSimLog(b, ModeOr, OrderByGlobalScore, 0.3) }},
		{"or-ranked-60", func() *simLog { return newSimLog(b, ModeOr, OrderByGlobalScore, 0.6) }},
		{"or-ranked-90", func() *simLog { return newSimLog(b, ModeOr, OrderByGlobalScore, 0.9) }},
		{"and-ranked-90", func() *simLog { return newSimLog(b, ModeAnd, OrderByGlobalScore, 0.9) }},
		{"gov2-or", func() *simLog { return newGov2Log(b, ModeOr) }},
		{"gov2-and", func() *simLog { return newGov2Log(b, ModeAnd) }},
	} {
		if only := os.Getenv("RIFFLE_SIM"); only != "" && only != set.name {
			continue
		}
		log := set.log()
		try := func(name string, percent int, config listcache.Config, leave bool) {
			config.Region.Rows = uint32(log.rows * percent / 100)
			b.Run(fmt.Sprintf("%s/%s/memory=%d", set.name, name, percent), func(b *testing.B) {
				var o outcome
				for b.Loop() {
					o = log.simulate(b, config, leave)
				}
				b.ReportMetric(100*o.hitRate, "hit-%")
				b.ReportMetric(o.copied/1000, "kB-copied/query")
				b.ReportMetric(o.left/1000, "kB-left/query")
				b.ReportMetric(0, "ns/op")
			})
		}
		for _, percent := range []int{5, 10, 20, 40, 60, 80, 100} {
			for policy := listcache.VFB; policy <= listcache.QtfDf; policy++ {
				try(fmt.Sprintf("static/%v", policy), percent, listcache.Config{Policy: policy, Static: true}, false)
				try(fmt.Sprintf("dynamic/%v", policy), percent, listcache.Config{Policy: policy, HalfLife: 20_000}, false)
			}
		}
		for _, percent := range []int{5, 10, 20, 40, 60, 80} {
			try("left/qtf", percent, listcache.Config{Policy: listcache.Qtf, Static: true}, true)
			for _, lambda := range []float64{0.75, 0.8, 0.85, 0.9, 0.95, 1} {
				try(fmt.Sprintf("pruned/lambda=%v", lambda), percent, listcache.Config{Lambda: lambda, Static: true}, true)
			}
		}
	}
}
