package cpuexec_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/impl"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// codedPlan is a plan over lists from dense to sparse, written with a codec, whose frequencies are
// mostly small. It also returns how many blocks have frequencies in the codec's own kind.
func codedPlan(codec postings.Kind) (p *blockmax.Plan, coded int) {
	const docs = 60_000
	rng := rand.New(rand.NewPCG(91, 92))
	norms := make([]uint8, docs)
	for i := range norms {
		norms[i] = uint8(5 + rng.IntN(30))
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 18)
	seg := blockmax.Segment{Docs: docs}
	p = &blockmax.Plan{K: 10}
	for i, gap := range []uint32{2, 3, 5, 8, 20} {
		b := postings.Builder{Codec: codec}
		for d := rng.Uint32N(gap); d < docs; d += 1 + rng.Uint32N(2*gap-1) {
			b.Add(d, 1+rng.Uint32N(1<<min(6, bits.TrailingZeros32(rng.Uint32()|1<<31))), norms[d])
		}
		l := b.View(postings.MaxDoc)
		for _, e := range l.Enc {
			if e.FreqKind() == codec {
				coded++
			}
		}
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Norms: norms, Table: table, Bounds: segment.Bounds(l, table)})
		p.Weights = append(p.Weights, uint32(i+1)<<24)
	}
	p.Segments = []blockmax.Segment{seg}
	return p, coded
}

// TestCodecs checks that the codec of the lists changes neither documents nor scores. (The lists of
// package exectest are too short for blocks of 128.)
func TestCodecs(t *testing.T) {
	plans := make(map[postings.Kind]*blockmax.Plan)
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice} {
		p, coded := codedPlan(codec)
		if plans[codec] = p; coded < 50 {
			t.Errorf("only %d blocks have frequencies by %v", coded, codec)
		}
	}
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.AndOr} {
		for _, k := range []int{10, 1000} {
			packed := plans[postings.Packed]
			packed.Mode, packed.K = mode, k
			want, err := algorithms()[1].TopK(t.Context(), packed)
			if err != nil || len(want.Hits) == 0 {
				t.Fatalf("%d hits, %v", len(want.Hits), err)
			}
			for variant := range impl.Each("cpuexec") {
				for codec, p := range plans {
					p.Mode, p.K = mode, k
					for _, e := range algorithms() {
						t.Run(fmt.Sprintf("mode=%d/k=%d/%s/%v/%s", mode, k, variant, codec, e.Name()), func(t *testing.T) {
							got, err := e.TopK(t.Context(), p)
							if err != nil || !reflect.DeepEqual(got.Hits, want.Hits) {
								t.Errorf("hits %v, %v, want %v", got.Hits, err, want.Hits)
							}
						})
					}
				}
			}
		}
	}
}

// A source serves the stored values of a list.
type source struct{ postings.Encoded }

func (s source) Directory(part int) ([]byte, error) { return s.Encoded.Directory[part], nil }

func (s source) Chunk(i int) ([]byte, error) { return s.Chunks[i], nil }

// TestFirstUse opens lists anew for every query. The first search reads blocks from their codes, the
// next ones make rows, and later ones have ranges and bitmaps. All give the same answer.
func TestFirstUse(t *testing.T) {
	packed, _ := codedPlan(postings.Packed)
	p, _ := codedPlan(postings.Packed)
	terms := p.Segments[0].Terms
	var stored []postings.Encoded
	for i := range terms {
		b := postings.Builder{Codec: postings.Interpolative}
		var c postings.Cursor
		c.Reset(terms[i].List)
		for d := c.Next(); d != postings.End; d = c.Next() {
			b.Add(d, c.TF(), terms[i].Norms[d])
		}
		stored = append(stored, b.Encode())
	}
	for variant := range impl.Each("cpuexec") {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			for _, weights := range [][]uint32{{1 << 24, 2 << 24, 3 << 24, 4 << 24, 5 << 24}, {0, 1 << 28, 0, 0, 1 << 20}, {1 << 20, 0, 0, 1 << 28, 1 << 29}} {
				for _, k := range []int{1, 10, 1000} {
					t.Run(fmt.Sprintf("%s/mode=%d/k=%d/%d", variant, mode, k, weights), func(t *testing.T) {
						packed.Mode, packed.K, packed.Weights = mode, k, weights
						p.Mode, p.K, p.Weights = mode, k, weights
						want, err := algorithms()[1].TopK(t.Context(), packed)
						if err != nil || len(want.Hits) == 0 {
							t.Fatalf("%d hits, %v", len(want.Hits), err)
						}
						for i := range terms {
							if terms[i].List, err = postings.Open(stored[i].Entry, source{stored[i]}); err != nil {
								t.Fatal(err)
							}
							if terms[i].Bounds, err = blockmax.NewBounds(terms[i].List, terms[i].Table); err != nil {
								t.Fatal(err)
							}
						}
						for use := range 8 {
							got, err := cpuexec.Executor{}.TopK(t.Context(), p)
							if err != nil || !reflect.DeepEqual(got.Hits, want.Hits) {
								t.Fatalf("use %d: hits %v, %v, want %v", use, got.Hits, err, want.Hits)
							}
						}
					})
				}
			}
		}
	}
}
