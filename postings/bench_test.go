package postings

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDecode decodes one block again and again.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name string
		gap  uint32 // documents are this far apart at most
	}{{"run", 1}, {"bitset", 3}, {"packed=4", 15}, {"packed=7", 100}, {"packed=12", 4000}} {
		rng := rand.New(rand.NewPCG(5, 6))
		bld := new(Builder)
		for d := uint32(7); bld.Len() < 2*BlockSize; d += 1 + rng.Uint32N(c.gap) {
			bld.Add(d, 1+rng.Uint32N(7), 10)
		}
		l := bld.View(MaxDoc)
		var dst [BlockSize]uint32
		b.Run("docs/"+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Docs(1, &dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(BlockSize*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
		})
		if c.gap != 1 {
			continue
		}
		b.Run("freqs/packed=3", func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Freqs(1, &dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(BlockSize*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
		})
	}
}

// BenchmarkUnpack is decoding without what surrounds it, by width.
func BenchmarkUnpack(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 5, 8, 11, 16, 21} {
		var values [BlockSize]uint32
		for i := range values {
			values[i] = rng.Uint32() & (1<<width - 1)
		}
		rows := appendPacked(nil, values[:], width)
		var dst [BlockSize]uint32
		b.Run(fmt.Sprintf("docs/width=%d", width), func(b *testing.B) {
			for b.Loop() {
				unpackDocs(&dst, rows, BlockSize, width, 7)
			}
			b.ReportMetric(float64(BlockSize*b.N)/1e6/b.Elapsed().Seconds(), "Mpostings/s")
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
