package cpuexec_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/proximity"
	"github.com/riffle-search/riffle/segment"
)

// BenchmarkPhrase measures phrases of gutenberg-a, drawn at random with a fixed seed: rand2, rand3 and
// rand5 are adjacent words, so most of them are stop words; in mid2 and mid3 the first and last word are
// not among the hundred most frequent. One operation is one query, its lists open and loaded.
func BenchmarkPhrase(b *testing.B) {
	t := loaded(b, gutenbergWords)
	for _, set := range []struct {
		name   string
		length int
		mid    bool
		count  int
	}{{"rand2", 2, false, 200}, {"rand3", 3, false, 200}, {"rand5", 5, false, 100}, {"mid2", 2, true, 200}, {"mid3", 3, true, 150}} {
		phrases := t.draw(set.length, set.mid, set.count)
		lists := t.lists(phrases)
		for _, kind := range []struct {
			name string
			op   proximity.Op
			max  int
		}{{"exact", proximity.Phrase, 0}, {"slop3", proximity.Phrase, 3}, {"ordered3", proximity.Ordered, 3}, {"unordered8", proximity.Unordered, 8}} {
			plans := make([]blockmax.Plan, len(phrases))
			for i, words := range phrases {
				plans[i] = t.plan(words, lists, kind.op, kind.max)
			}
			b.Run(set.name+"/"+kind.name+"/top10", func(b *testing.B) {
				b.ReportAllocs()
				var work blockmax.Work
				hits, i := 0, 0
				for ; b.Loop(); i++ {
					top, err := (cpuexec.Executor{}).TopK(context.Background(), &plans[i%len(plans)])
					if err != nil {
						b.Fatal(err)
					}
					hits += len(top.Hits)
					work.Add(top.Work)
				}
				b.ReportMetric(float64(hits)/float64(i), "hits/op")
				b.ReportMetric(float64(work.DocsScored)/float64(i), "scored/op")
			})
			b.Run(set.name+"/"+kind.name+"/count", func(b *testing.B) {
				total, i := 0, 0
				for ; b.Loop(); i++ {
					n, err := (cpuexec.Parallel{}).Count(context.Background(), &plans[i%len(plans)])
					if err != nil {
						b.Fatal(err)
					}
					total += n
				}
				b.ReportMetric(float64(total)/float64(i), "matches/op")
			})
			if kind.op != proximity.Phrase || kind.max > 0 {
				continue
			}
			ands := make([]blockmax.Plan, len(phrases))
			for i := range plans {
				ands[i] = plans[i]
				ands[i].Tree, ands[i].Mode = nil, blockmax.And
				ands[i].Weights = make([]uint32, len(plans[i].Weights))
				for j := range ands[i].Weights {
					ands[i].Weights[j] = 1 << 20
				}
			}
			b.Run(set.name+"/and/count", func(b *testing.B) {
				total, i := 0, 0
				for ; b.Loop(); i++ {
					n, err := (cpuexec.Parallel{}).Count(context.Background(), &ands[i%len(ands)])
					if err != nil {
						b.Fatal(err)
					}
					total += n
				}
				b.ReportMetric(float64(total)/float64(i), "matches/op")
			})
		}
	}
}

// Tokens are the documents of a corpus as numbers of words.
type tokens struct {
	docs   [][]uint32
	words  map[string]uint32
	counts []int
	norms  []uint8
	table  *blockmax.Table
}

var gutenbergWords = sync.OnceValues(func() (*tokens, error) {
	r, err := jsonl.Open(filepath.Join(corpora(), "gutenberg-a.jsonl.zst"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := &tokens{words: map[string]uint32{}}
	var doc jsonl.Document
	sum := 0
	for {
		if err := r.Next(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		for _, f := range doc.Fields {
			text, ok := f.Value.(string)
			if !ok || f.Name != "text" {
				continue
			}
			var words []uint32
			standard.Analyze([]byte(text), func(batch []analysis.Token) {
				for _, token := range batch {
					n, ok := t.words[string(token.Term)]
					if !ok {
						n = uint32(len(t.counts))
						t.words[string(token.Term)] = n
						t.counts = append(t.counts, 0)
					}
					t.counts[n]++
					words = append(words, n)
				}
			})
			sum += len(words)
			t.docs = append(t.docs, words)
			t.norms = append(t.norms, blockmax.LengthCode(uint32(len(words))))
		}
	}
	t.table = blockmax.NewTable(blockmax.DefaultBM25, float64(sum)/float64(len(t.docs)))
	return t, nil
})

// draw draws phrases from the text.
func (t *tokens) draw(length int, mid bool, count int) (phrases [][]uint32) {
	sorted := slices.Clone(t.counts)
	slices.Sort(sorted)
	common := sorted[len(sorted)-100]
	rng := rand.New(rand.NewPCG(7, uint64(length)))
	for len(phrases) < count {
		doc := t.docs[rng.IntN(len(t.docs))]
		if len(doc) < length+2 {
			continue
		}
		at := rng.IntN(len(doc) - length)
		p := doc[at : at+length]
		first, last := t.counts[p[0]], t.counts[p[length-1]]
		if mid && (first >= common || first < 160 || last >= common || last < 160) {
			continue
		}
		phrases = append(phrases, p)
	}
	return phrases
}

// lists makes the lists of the words of phrases.
func (t *tokens) lists(phrases [][]uint32) map[uint32]blockmax.Term {
	builders := map[uint32]*postings.Builder{}
	at := map[uint32][]uint32{}
	for _, p := range phrases {
		for _, w := range p {
			builders[w] = &postings.Builder{Codec: postings.Interpolative, Positions: true}
			at[w] = nil
		}
	}
	var seen []uint32
	for doc, words := range t.docs {
		seen = seen[:0]
		for i, w := range words {
			list, wanted := at[w]
			if !wanted {
				continue
			}
			if len(list) == 0 {
				seen = append(seen, w)
			}
			at[w] = append(list, uint32(i))
		}
		for _, w := range seen {
			builders[w].AddPositions(uint32(doc), at[w], t.norms[doc])
			at[w] = at[w][:0]
		}
	}
	out := map[uint32]blockmax.Term{}
	for w, build := range builders {
		e := build.Encode()
		l, err := postings.Open(e.Entry, storedList{e})
		if err != nil {
			panic(err)
		}
		out[w] = blockmax.Term{List: l, Norms: t.norms, Table: t.table, Bounds: segment.Bounds(l, t.table)}
	}
	return out
}

// A storedList is its own loader.
type storedList struct{ e postings.Encoded }

func (l storedList) Directory(part int) ([]byte, error) { return l.e.Directory[part], nil }
func (l storedList) Chunk(chunk int) ([]byte, error)    { return l.e.Chunks[chunk], nil }
func (l storedList) PositionDirectory(part int) ([]byte, error) {
	return l.e.PositionDirectory[part], nil
}
func (l storedList) PositionChunk(chunk int) ([]byte, error) { return l.e.PositionChunks[chunk], nil }
func (l storedList) ShortPositions(uint64) ([]byte, error)   { return l.e.Positions, nil }

// plan returns the plan of words that stand together.
func (t *tokens) plan(words []uint32, lists map[uint32]blockmax.Term, op proximity.Op, most int) blockmax.Plan {
	seg := blockmax.Segment{Docs: uint32(len(t.docs))}
	p := &blockmax.Proximity{Expr: &proximity.Expr{Op: op, Max: most}}
	var distinct []uint32
	sum := 0.0
	for i, w := range words {
		n := slices.Index(distinct, w)
		if n < 0 {
			n = len(distinct)
			distinct = append(distinct, w)
			seg.Terms = append(seg.Terms, lists[w])
			p.Terms = append(p.Terms, n)
		}
		sum += blockmax.Lucene.Weight(uint64(seg.Docs), uint64(lists[w].List.Count))
		p.Expr.Parts = append(p.Expr.Parts, proximity.Expr{Op: proximity.Word, Terms: []int{n}})
		if op == proximity.Phrase {
			p.Expr.Offsets = append(p.Expr.Offsets, uint32(i))
		}
	}
	weights, _ := blockmax.Scale([]float64{sum})
	p.Weight = weights[0]
	node := blockmax.NewProximity(p)
	return blockmax.Plan{K: 10, Segments: []blockmax.Segment{seg}, Weights: make([]uint32, len(distinct)), Tree: &node}
}
