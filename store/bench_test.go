package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchStore has ten segments of 100,000 terms of some 10 bytes with values of
// 12, as the dictionary of a real index has, and 200 values of 32 KiB each.
func benchStore(b *testing.B) (*Store, []*SegmentReader) {
	s, err := Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	m, e := &Manifest{}, Edit{}
	for range 10 {
		w, err := s.NewSegment()
		if err != nil {
			b.Fatal(err)
		}
		value := make([]byte, 12)
		for i := range 100_000 {
			binary.LittleEndian.PutUint32(value, rng.Uint32())
			if err := w.Set(benchKey(i), value); err != nil {
				b.Fatal(err)
			}
		}
		chunk := make([]byte, 32<<10)
		for i := range 200 {
			for j := range chunk {
				chunk[j] = byte(rng.Uint32())
			}
			if err := w.Set(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(i)), chunk); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			b.Fatal(err)
		}
		e.Ingest = append(e.Ingest, w)
		m.Segments = append(m.Segments, Segment{Number: w.Number()})
	}
	e.Manifest = m
	if err := s.Commit(context.Background(), e); err != nil {
		b.Fatal(err)
	}
	var rs []*SegmentReader
	for _, g := range m.Segments {
		rs = append(rs, s.Segment(g.Number))
	}
	return s, rs
}

// benchKey makes terms that leave room for others between them.
func benchKey(i int) []byte { return fmt.Appendf([]byte{1, 0, 0}, "te%05drm", i) }

// BenchmarkGet reads keys of one segment after the other.
func BenchmarkGet(b *testing.B) {
	_, rs := benchStore(b)
	rng := rand.New(rand.NewPCG(3, 4))
	get := func(b *testing.B, key func() []byte) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := rs[i%len(rs)].Get(key()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("term=present", func(b *testing.B) { get(b, func() []byte { return benchKey(rng.IntN(100_000)) }) })
	b.Run("term=absent", func(b *testing.B) { get(b, func() []byte { return append(benchKey(rng.IntN(100_000)), 's') }) })
	b.Run("term=hot", func(b *testing.B) { get(b, func() []byte { return benchKey(7 + rng.IntN(3)) }) })
	b.Run("chunk=32KiB", func(b *testing.B) {
		b.SetBytes(32 << 10)
		get(b, func() []byte { return binary.BigEndian.AppendUint32([]byte{0x80}, uint32(rng.IntN(200))) })
	})
}
