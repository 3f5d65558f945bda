package postings

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/impl"
)

// BenchmarkDecode decodes one block repeatedly with List.Docs and List.Freqs, so it includes the
// code around the kernels. Nanoseconds per block of 128 on Zen 5 at 4.3 GHz, the best of many runs
// on a shared machine; "before" is the same benchmark without assembly:
//
//	                     before   portable   avx2   avx512
//	docs, run              39.1       43.9    7.8      7.8
//	docs, bitset           69.9       69.2   17.7     13.3
//	docs, 4 bits           65.3       63.4   18.3     13.8
//	docs, 7 bits           64.4       61.6   20.2     13.7
//	docs, 12 bits          57.8       54.8   19.2     14.8
//	freqs, all 1           30.5        6.5    4.4      4.1
//	freqs, 2 bits          53.8       53.0    9.3      8.6
//	freqs, 3 bits          52.3       50.8    9.9      8.6
//	freqs, 8 bits          41.3       40.5    9.4      8.6
//	freqs, 9 bits          87.3       85.1   85.4     11.1
//
// Of 13.7 ns, calling assembly takes 1.4, its work 7.5, and finding the rows the rest.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name    string
		gap, tf uint32 // documents are at most gap apart, frequencies at most tf
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

// buffers are decoded to in turn, because an engine has one for each list of a query. With a single
// buffer, results vary by a third with its address: stores delay loads from addresses with the same
// low 12 bits.
type buffers [8][BlockSize]uint32

func (d *buffers) next(i int) *[BlockSize]uint32 { return &d[i%len(d)] }

func reportPostings(b *testing.B, each int) {
	b.ReportMetric(float64(each*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
}

// BenchmarkUnpack measures the decoding kernels alone, by width. Nanoseconds per block (10 ns are
// 12.8 billion integers per second):
//
//	            docs                        freqs
//	bits    portable   avx2   avx512    portable   avx2   avx512
//	 1          67.0   16.0      9.0        48.7    6.9      4.8
//	 2          64.4   14.9      8.9        45.7    6.3      4.8
//	 5          61.3   17.2      9.0        39.1    6.8      4.9
//	 8          48.5   15.2      8.6        33.3    6.3      4.7
//	11          49.7   17.8     11.8        90.5   90.7      8.5
//	16          42.8   14.7     12.0        88.7   89.1      8.2
//	20          48.5   17.7     11.8        98.9   98.6      8.6
//	25           126    122     11.4         108    105      8.3
//	28           126    127      126         112    111      113
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

// BenchmarkBitset expands a bitset of 128 documents, by rows. The bits vary, so that the branch
// predictor cannot learn them. Nanoseconds per block:
//
//	rows   portable   avx2   avx512
//	2          85.6   22.7     11.3
//	3          80.2   26.6      9.9
//	4          84.2   29.4     12.7
//	5          91.8   35.8     15.5
//	8          97.8   52.0     24.8
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

// BenchmarkSeek seeks unpredictable documents, in a block and in a directory of 1,000 blocks.
// Nanoseconds, with -benchtime 200000x (the branch predictor learns a shorter run):
//
//	           binary search   portable   avx2   avx512
//	in block            30.8       23.2   14.3     10.3
//	in list             37.2       34.1   24.7     23.3
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
			bld.reset()
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
		b.Run(fmt.Sprintf("encode-interpolative/n=%d", n), func(b *testing.B) {
			bld := &Builder{Codec: Interpolative}
			for _, p := range ps {
				bld.Add(p.doc, p.tf, p.length)
			}
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

// BenchmarkReadRising decodes the interpolative code of 128 numbers, by the average gap.
func BenchmarkReadRising(b *testing.B) {
	for _, gap := range []uint32{2, 8, 64, 1024} {
		b.Run(fmt.Sprint("gap", gap), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(79, 80))
			var codes [64][]byte
			for i := range codes {
				v := risingNumbers(rng, 0, gap*BlockSize)
				var w bitWriter
				w.rising(&v, BlockSize)
				codes[i] = append(w.flush(), make([]byte, blockRoom)...)
			}
			v := [BlockSize + 1]uint32{BlockSize: gap * BlockSize}
			for i := 0; b.Loop(); i++ {
				if _, ok := readRisingFull(codes[i%64], 0, &v); !ok {
					b.Fatal("no code")
				}
			}
			reportPostings(b, BlockSize)
		})
	}
}

// BenchmarkLoad opens a stored list and makes the rows of all blocks.
func BenchmarkLoad(b *testing.B) {
	for _, codec := range []Kind{Packed, Interpolative} {
		enc := buildBy(codec, 0, skewed(rand.New(rand.NewPCG(77, 78)), 100*BlockSize)).Encode()
		b.Run(codec.String(), func(b *testing.B) {
			for b.Loop() {
				l, err := Open(enc.Entry, &stored{Encoded: enc})
				if err != nil {
					b.Fatal(err)
				}
				for block := range l.Blocks() {
					if _, err := l.Payload(block); err != nil {
						b.Fatal(err)
					}
				}
			}
			reportPostings(b, 100*BlockSize)
		})
	}
}
