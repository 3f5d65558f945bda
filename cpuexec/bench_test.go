package cpuexec_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/segment"
)

// BenchmarkTopK measures executors alone, on gutenberg-a (200,000 passages of
// prose, one segment, lower-cased words, k1 = 1.2, b = 0.75) and the first 300
// queries of a file: 2 to 8 words cut out of the text in gutenberg-dev, web
// queries in terabyte05, questions in msmarco-dev. One operation is one query, its
// lists open and loaded. "scored" is documents scored, "decoded" blocks decoded.
//
// Microseconds per query (the mean over queries of the best of 12 runs each) and documents scored,
// on one core of a 2-core EPYC (Zen 5), AVX-512:
//
//	                    gutenberg-dev            terabyte05              msmarco-dev
//	OR              k=10        k=1000       k=10       k=1000       k=10        k=1000
//	exhaustive     484 130,594    594      110 34,946     171       464 149,029    625
//	wand           565   5,007  1,745       75  1,048     380       588   3,393  2,089
//	bmw            578   1,665  2,087       72    423     378       588   1,720  2,518
//	maxscore       274  10,083  1,065       46  1,803     317       242   9,302  1,332
//	bmm             37   2,904    267       14    455      99        42   2,576    307
//	AND (bmm)       15   1,050     58      1.2     79     2.0       1.2      19    1.3
//	Count of OR    2.3                     1.9                      2.9
//	Count of AND   1.8                     0.8                      0.9
//
// So Auto is bmm. WAND and BMW score the fewest documents, but each takes a pivot. With k = 1,000,
// where bounds prune little, they are slower than exhaustive.
//
// On gutenberg-dev, OR takes 56 and Count of OR 76 while lists have no bitmaps; while they have no
// ranges, OR takes 91 and AND 37. Count of OR takes 2.5 with AVX2 and 5.8 in Go alone.
func BenchmarkTopK(b *testing.B) {
	ix := gutenberg(b)
	for _, file := range []string{"gutenberg-dev", "terabyte05", "msmarco-dev"} {
		queries := ix.queries(b, file, 300)
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			for _, k := range []int{10, 1000} {
				for _, e := range algorithms()[1:] {
					if mode == blockmax.And && e.Algorithm != cpuexec.Exhaustive && e.Algorithm != cpuexec.BMM {
						continue // AND is the same for all algorithms that prune
					}
					name := fmt.Sprintf("queries=%s/mode=%s/k=%d/algo=%v", file, []string{"or", "and"}[mode], k, e.Algorithm)
					b.Run(name, func(b *testing.B) { runQueries(b, e, queries, mode, k) })
				}
			}
		}
	}
}

// BenchmarkCount counts the matches of OR and AND.
func BenchmarkCount(b *testing.B) {
	queries := gutenberg(b).queries(b, "gutenberg-dev", 300)
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		b.Run("mode="+[]string{"or", "and"}[mode], func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				p := queries[i%len(queries)]
				p.K, p.Mode = 1, mode
				if _, err := (cpuexec.Parallel{}).Count(context.Background(), &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func runQueries(b *testing.B, e cpuexec.Executor, queries []blockmax.Plan, mode blockmax.Mode, k int) {
	var work blockmax.Work
	i := 0
	for ; b.Loop(); i++ {
		p := queries[i%len(queries)]
		p.K, p.Mode = k, mode
		top, err := e.TopK(context.Background(), &p)
		if err != nil {
			b.Fatal(err)
		}
		work.Add(top.Work)
	}
	b.ReportMetric(float64(work.BlocksDecoded)/float64(i), "decoded/op")
	b.ReportMetric(float64(work.BlocksSkipped)/float64(i), "skipped/op")
	b.ReportMetric(float64(work.DocsScored)/float64(i), "scored/op")
}

// A corpus is an index in memory.
type corpus struct {
	view  *segment.MemoryView
	norms []uint8
	table *blockmax.Table
	lists map[string]blockmax.Term
}

var standard, _ = analysis.Lookup("standard")

var gutenbergA = sync.OnceValues(func() (*corpus, error) {
	r, err := jsonl.Open(filepath.Join(corpora(), "gutenberg-a.jsonl.zst"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := segment.NewMemory()
	var doc jsonl.Document
	for {
		if err := r.Next(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		for _, f := range doc.Fields {
			if text, ok := f.Value.(string); ok && f.Name == "text" {
				m.Add(segment.Document{ID: doc.ID, Fields: []segment.FieldTerms{inverted(text)}})
			}
		}
	}
	ix := &corpus{view: m.View(), lists: make(map[string]blockmax.Term)}
	norms, err := ix.view.Norms("text")
	if err != nil {
		return nil, err
	}
	ix.norms = norms.Column()
	info, _ := ix.view.Field("text")
	ix.table = blockmax.NewTable(blockmax.DefaultBM25, float64(info.Tokens)/float64(info.Docs))
	return ix, nil
})

func gutenberg(b *testing.B) *corpus { return loaded(b, gutenbergA) }

// loaded returns what load makes of the corpora, or skips the benchmark if there are none.
func loaded[T any](b *testing.B, load func() (T, error)) T {
	x, err := load()
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return x
}

func corpora() string {
	if dir := os.Getenv("RIFFLE_CORPORA"); dir != "" {
		return dir
	}
	return "../../shared/corpora"
}

func inverted(text string) segment.FieldTerms {
	f := segment.FieldTerms{Name: "text", Norms: true}
	at := make(map[string]int)
	standard.Analyze([]byte(text), func(batch []analysis.Token) {
		for _, token := range batch {
			f.Length++
			i, ok := at[string(token.Term)]
			if !ok {
				i = len(f.Terms)
				at[string(token.Term)] = i
				f.Terms = append(f.Terms, segment.TermFreq{Term: []byte(string(token.Term))})
			}
			f.Terms[i].TF++
		}
	})
	return f
}

// queries reads plans for OR with k = 10 from a file of lines "id, tab, text".
func (ix *corpus) queries(b *testing.B, name string, limit int) (plans []blockmax.Plan) {
	f, err := os.Open(filepath.Join(corpora(), "queries", name+".tsv"))
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && len(plans) < limit; {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		plans = append(plans, ix.plan(b, text))
	}
	return plans
}

func (ix *corpus) plan(b *testing.B, text string) blockmax.Plan {
	seg := blockmax.Segment{Docs: ix.view.Docs()}
	var weights []float64
	for _, t := range inverted(text).Terms {
		term := ix.term(b, t.Term)
		count := 0
		if term.Bounds != nil {
			count = term.List.Count
		}
		seg.Terms = append(seg.Terms, term)
		weights = append(weights, blockmax.Lucene.Weight(uint64(seg.Docs), uint64(count)))
	}
	p := blockmax.Plan{K: 10, Segments: []blockmax.Segment{seg}}
	p.Weights, _ = blockmax.Scale(weights)
	return p
}

func (ix *corpus) term(b *testing.B, name []byte) blockmax.Term {
	if term, ok := ix.lists[string(name)]; ok {
		return term
	}
	term := blockmax.Term{Table: ix.table, Norms: ix.norms}
	list, err := ix.view.List("text", name)
	if err != nil {
		b.Fatal(err)
	}
	if list != nil {
		term.List, term.Bounds = list, segment.Bounds(list, ix.table)
	}
	ix.lists[string(name)] = term
	return term
}
