package shapes

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// A piece is the keys of a run of cells.
type piece struct {
	columns.Span
	inside bool // else across the border
}

// A cell is all keys with the same first bits.
type cell struct {
	least uint64
	bits  int
}

func (c cell) greatest() uint64 {
	if c.bits == 64 {
		return c.least
	}
	return c.least | ^uint64(0)>>c.bits
}

func (c cell) box() geo.Box { return geo.BoxOf(c.least, c.greatest()) }

// mostSplits is how many cells are split for a cover. With more, its pieces fit more closely, and
// searches begin later: a split takes 2 µs for a circle.
const mostSplits = 64

// cover returns pieces that have all points of a shape, ascending and apart.
func cover(s Shape) []piece {
	var done []piece
	across := []cell{{}} // the largest first
	if s.Relate(across[0].box()) == Inside {
		return []piece{{columns.Span{Lo: 0, Hi: ^uint64(0)}, true}}
	}
	for splits := 0; len(across) > 0 && splits < mostSplits && across[0].bits < 64; splits++ {
		c := across[0]
		across = across[1:]
		for i := range uint64(4) {
			part := cell{c.least | i<<(62-c.bits), c.bits + 2}
			switch s.Relate(part.box()) {
			case Inside:
				done = append(done, piece{columns.Span{Lo: part.least, Hi: part.greatest()}, true})
			case Across:
				across = append(across, part)
			}
		}
	}
	for _, c := range across {
		done = append(done, piece{columns.Span{Lo: c.least, Hi: c.greatest()}, false})
	}
	slices.SortFunc(done, func(a, b piece) int { return cmp.Compare(a.Lo, b.Lo) })
	joined := done[:0]
	for _, p := range done {
		if n := len(joined); n > 0 && joined[n-1].inside == p.inside && joined[n-1].Hi+1 == p.Lo {
			joined[n-1].Hi = p.Hi
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// mostCompared is how many ranges are compared with the packed keys of a tile: further ones take longer
// than looking at the points between them.
const mostCompared = 6

// coarse joins pieces into few ranges, those first that are nearest to each other.
func coarse(pieces []piece) []columns.Span {
	if len(pieces) == 0 {
		return nil
	}
	gaps := make([]uint64, 0, len(pieces))
	for i := 1; i < len(pieces); i++ {
		gaps = append(gaps, pieces[i].Lo-pieces[i-1].Hi)
	}
	slices.SortFunc(gaps, func(a, b uint64) int { return cmp.Compare(b, a) })
	least := uint64(1) // the smallest gap that stays
	if len(gaps) >= mostCompared {
		least = max(gaps[mostCompared-1]+1, 2)
	} else {
		least = 2
	}
	spans := []columns.Span{pieces[0].Span}
	for _, p := range pieces[1:] {
		if last := &spans[len(spans)-1]; p.Lo-last.Hi < least {
			last.Hi = p.Hi
		} else {
			spans = append(spans, p.Span)
		}
	}
	return spans
}
