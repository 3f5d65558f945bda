package postings

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/impl"
)

// BenchmarkDecode decodes one block again and again: List.Docs and List.Freqs, with all that
// is around the kernels. In ns a block:
//
// TABLE1
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name    string
		gap, tf uint32 // documents are this far apart at most, frequencies this high
	}{
		{"docs=run/freqs=0", 1, 1},
		{"docs=bitset/freqs=2", 3, 4},
		{"docs=4/freqs=3", 15, 8},
		{"docs=7/freqs=8", 100, 256},
		{"docs=12/freqs=9", 4000, 257},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		bld := new(Builder)
		for d := uint32(7); bld.Len() < 3*BlockSize; d += 1 + rng.Uint32N(c.gap) {
			bld.Add(d, 1+rng.Uint32N(c.tf), 10)
		}
		l := bld.View(MaxDoc)
		docs, freqs, _ := strings.Cut(c.name, "/")
		for variant := range impl.Each("postings") {
			b.Run(docs+"/"+variant, func(b *testing.B) {
				var dst buffers
				for i := 0; b.Loop(); i++ {
					if _, err := l.Docs(1, dst.next(i)); err != nil {
						b.Fatal(err)
					}
				}
				reportPostings(b, BlockSize)
			})
			b.Run(freqs+"/"+variant, func(b *testing.B) {
				var dst buffers
				for i := 0; b.Loop(); i++ {
					if _, err := l.Freqs(1, dst.next(i)); err != nil {
						b.Fatal(err)
					}
				}
				reportPostings(b, BlockSize)
			})
		}
	}
}

// buffers are what blocks are decoded to in turn, as an engine has one for each list of a
// query. With a single one, results vary by a third with where it happens to lie: stores
// hold up loads from addresses that have the same low 12 bits.
type buffers [8][BlockSize]uint32

func (d *buffers) next(i int) *[BlockSize]uint32 { return &d[i%len(d)] }

func reportPostings(b *testing.B, each int) {
	b.ReportMetric(float64(each*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
}

// BenchmarkUnpack is decoding without what surrounds it, by width. In ns a block:
//
// TABLE2
func BenchmarkUnpack(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 5, 8, 11, 16, 20, 25, 28} {
		var values [BlockSize]uint32
		var dst buffers
		for i := range values {
			values[i] = rng.Uint32() & (1<<width - 1)
		}
		rows := appendPacked(make([]byte, 0, 1024), values[:], width)
		for variant := range impl.Each("postings") {
			b.Run(fmt.Sprintf("docs=%d/%s", width, variant), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					unpackDocs(dst.next(i), rows, BlockSize, width, 7)
				}
				reportPostings(b, BlockSize)
			})
			b.Run(fmt.Sprintf("freqs=%d/%s", width, variant), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					unpackFreqs(dst.next(i), rows, BlockSize, width)
				}
				reportPostings(b, BlockSize)
			})
		}
	}
}

// BenchmarkBitset expands a bitset of 128 documents, by rows. The bits differ from
// time to time, so that no branch learns them.
//
// TABLE3
func BenchmarkBitset(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, rows := range []int{2, 3, 4, 5, 8} {
		var sets [64][]byte
		for i := range sets {
			sets[i] = make([]byte, RowBytes*rows)
			for _, bit := range rng.Perm(128 * rows)[:BlockSize] {
				sets[i][bit/8] |= 1 << (bit % 8)
			}
		}
		for variant := range impl.Each("postings") {
			b.Run(fmt.Sprintf("rows=%d/%s", rows, variant), func(b *testing.B) {
				var dst buffers
				for i := 0; b.Loop(); i++ {
					expandBitset(dst.next(i), sets[i%len(sets)], BlockSize, 0)
				}
				reportPostings(b, BlockSize)
			})
		}
	}
}

// BenchmarkSeek seeks places in a block that nothing foretells, and in a directory.
// Before the second, branches took TODO
func BenchmarkSeek(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	bld := new(Builder)
	for d := uint32(0); bld.Len() < 1000*BlockSize; d += 1 + rng.Uint32N(20) {
		bld.Add(d, 1, 10)
	}
	l := bld.View(MaxDoc)
	var docs [BlockSize]uint32
	l.Docs(1, &docs)
	var inBlock, inList [1 << 16]uint32
	for i := range inBlock {
		inBlock[i] = docs[0] + rng.Uint32N(docs[BlockSize-1]-docs[0])
		inList[i] = rng.Uint32N(l.Last[l.Blocks()-1])
	}
	for variant := range impl.Each("postings") {
		b.Run("in=block/"+variant, func(b *testing.B) {
			for i, sum := 0, 0; b.Loop(); i++ {
				sum += SeekBlock(&docs, BlockSize, inBlock[(i+sum&1)%len(inBlock)])
			}
		})
		b.Run("in=list/"+variant, func(b *testing.B) {
			for i, sum := 0, 0; b.Loop(); i++ {
				sum += l.Seek(0, inList[(i+sum&1)%len(inList)])
			}
		})
	}
}

// BenchmarkBuild adds a list of n postings, views it, encodes it and opens it.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1, 8, 100, 100_000} {
		ps := random(rand.New(rand.NewPCG(7, 8)), n)
		report := func(b *testing.B) {
			b.ReportMetric(float64(n*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
		}
		bld := new(Builder)
		fill := func() {
			bld.Reset()
			for _, p := range ps {
				bld.Add(p.doc, p.tf, p.length)
			}
		}
		b.Run(fmt.Sprintf("add/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fill()
			}
			report(b)
		})
		fill()
		b.Run(fmt.Sprintf("view/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bld.View(MaxDoc)
			}
		})
		enc := bld.Encode()
		b.Run(fmt.Sprintf("encode/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bld.Encode()
			}
			report(b)
		})
		b.Run(fmt.Sprintf("open/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			src := &stored{Encoded: enc}
			for b.Loop() {
				if _, err := Open(enc.Entry, src); err != nil {
					b.Fatal(err)
				}
			}
			report(b)
		})
	}
}

// BenchmarkCursor walks a list of 100,000 postings, and seeks in it.
func BenchmarkCursor(b *testing.B) {
	ps := random(rand.New(rand.NewPCG(7, 8)), 100_000)
	l := build(0, ps).View(MaxDoc)
	var c Cursor
	b.Run("next", func(b *testing.B) {
		n := 0
		for b.Loop() {
			c.Reset(l)
			for d := c.Next(); d != End; d = c.Next() {
				n++
			}
		}
		b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
	})
	for _, step := range []int{10, 1000} {
		b.Run(fmt.Sprintf("seek/step=%d", step), func(b *testing.B) {
			n := 0
			for b.Loop() {
				c.Reset(l)
				for i := 0; i < len(ps); i += step {
					c.SeekGE(ps[i].doc)
					n++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/seek")
		})
	}
}
