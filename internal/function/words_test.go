package function_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/function"
	"github.com/riffle-search/riffle/internal/geo"
)

// randomColumn makes a column of one kind, with one, several or no values of documents, and their least and
// greatest keys now and then at the ends of what the kind has.
func randomColumn(t *testing.T, rng *rand.Rand, docs uint32) *columns.Column {
	kind := []columns.Kind{columns.Int, columns.Uint, columns.Float, columns.Time, columns.Place}[rng.IntN(5)]
	b := columns.NewBuilder(kind, nil)
	missing, several, width := rng.IntN(3), rng.IntN(4) == 0, 1+rng.IntN(63)
	next := func() uint64 {
		switch {
		case kind == columns.Float:
			return columns.OfFloat(math.Ldexp(rng.NormFloat64(), rng.IntN(2)*rng.IntN(900))).Key
		case kind == columns.Place:
			return geo.Key(geo.Point{Lat: rng.Float64()*180 - 90, Lon: rng.Float64()*360 - 180})
		case rng.IntN(2000) == 0:
			return []uint64{0, math.MaxUint64}[rng.IntN(2)]
		}
		return 1<<63 + rng.Uint64()>>width
	}
	for d := range docs {
		var keys []uint64
		if missing == 0 || rng.IntN(100) > 0 && (missing == 1 || rng.IntN(70) > 0) {
			keys = append(keys, next())
		}
		if several && rng.IntN(3) == 0 {
			keys = append(keys, next())
		}
		if err := b.Add(d, keys...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.View(docs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBounds: no number is above the bounds of its word, its tile, its sheet or its segment; bounds by word are
// at most those of the tile, and the same numbers come from a table that another segment has filled.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 26))
	below := 0
	for round := range 60 {
		docs := 1 + rng.Uint32N(3*columns.TileDocs)
		f := &function.Function{Combine: function.Combine(rng.IntN(5)), Neutral: float64(rng.IntN(2)), Coarse: rng.IntN(3) == 0}
		var sources []function.Source
		for range 1 + rng.IntN(2) {
			p := function.Part{
				Kind: []function.Kind{function.Factor, function.Decay}[rng.IntN(2)], Weight: 1 + float64(rng.IntN(3)),
				Modifier: function.Modifier(rng.IntN(4)), Factor: []float64{1, 1e-9, 3}[rng.IntN(3)], Missing: float64(rng.IntN(3)),
				Shape: function.Shape(rng.IntN(3)), Scale: math.Ldexp(1, rng.IntN(60)), Offset: float64(rng.IntN(2)), AtScale: 0.5,
			}
			src := function.Source{Column: randomColumn(t, rng, docs)}
			if src.Column != nil {
				least, greatest := src.Column.Bounds()
				p.Origin = columns.Value{Kind: src.Column.Kind(), Key: []uint64{least, greatest, 1 << 63}[rng.IntN(3)]}
				if p.Origin.Kind == columns.Place {
					p.Place = geo.From(p.Origin.Any().(geo.Point))
				}
			}
			if rng.IntN(4) == 0 {
				src.Accept = make([]uint64, (docs+63)/64)
				for i := range src.Accept {
					src.Accept[i] = rng.Uint64() & rng.Uint64()
				}
			}
			f.Parts, sources = append(f.Parts, p), append(sources, src)
		}
		table := function.NewTable(docs)
		open := func() *function.Segment {
			s, err := function.New(f, sources, docs)
			if err != nil {
				t.Fatal(err)
			}
			s.Scale(function.Exponent(s.Greatest()), table)
			return s
		}
		s, numbers := open(), make([]uint32, docs)
		for tile := range uint32((docs + columns.TileDocs - 1) / columns.TileDocs) {
			if s.Words(tile, false) != nil || s.Known(tile) != nil {
				t.Fatalf("round %d: tile %d is known before it was asked for", round, tile)
			}
			words := s.Words(tile, true)
			for d := tile * columns.TileDocs; d < min(docs, (tile+1)*columns.TileDocs); d++ {
				n := s.Of(d)
				numbers[d] = n
				w := words[d%columns.TileDocs/64]
				if n > w || w > s.Bound(tile) || s.Bound(tile) > s.BoundSheet(tile/64) || s.BoundSheet(tile/64) > s.Highest() {
					t.Fatalf("round %d: document %d has %d, its word at most %d, tile %d, sheet %d, segment %d\n%+v", round, d, n, w, s.Bound(tile), s.BoundSheet(tile/64), s.Highest(), f)
				}
				if w < s.Bound(tile) {
					below++
				}
			}
		}
		again := open()
		for tile := range uint32((docs + columns.TileDocs - 1) / columns.TileDocs) {
			again.Tile(tile)
			words := again.Words(tile, false)
			for d := tile * columns.TileDocs; d < min(docs, (tile+1)*columns.TileDocs); d++ {
				if n := again.Of(d); n != numbers[d] || n > words[d%columns.TileDocs/64] {
					t.Fatalf("round %d: document %d has %d in a table that is known, %d alone", round, d, n, numbers[d])
				}
			}
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if below == 0 {
		t.Error("no word has a bound below that of its tile: the test proved nothing")
	}
}
