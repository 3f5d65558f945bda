package gpuexec

import (
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// TestWindowFrom: windows follow one another, cover all tiles, grow to WindowTiles, and begin at whole tiles of blockmax.
func TestWindowFrom(t *testing.T) {
	for _, s := range []Shape{{TileShift: 14, WindowTiles: 128}, {TileShift: 8, WindowTiles: 16}, {TileShift: 10, WindowTiles: 16}, {TileShift: 12, WindowTiles: 3}} {
		for _, docs := range []uint32{1, 4096, 4097, 100_000, 25_000_000} {
			n, tiles, most := s.windowsOf(docs), uint32(0), uint32(0)
			for i := range n {
				if s.windowDoc(i)%blockmax.TileDocs != 0 || uint32(s.windowFrom(i)) != tiles {
					t.Fatalf("%+v: window %d begins with tile %d, document %d", s, i, s.windowFrom(i), s.windowDoc(i))
				}
				here := s.windowTiles(docs, i)
				tiles, most = tiles+here, max(most, here)
			}
			if tiles != s.tiles(docs) || most > s.windowTilesMost(docs) {
				t.Errorf("%+v, %d documents: %d windows of %d tiles, at most %d", s, docs, n, tiles, most)
			}
		}
	}
	if s := (Shape{TileShift: 14, WindowTiles: 128}); s.windowFrom(1) != 16 || s.windowFrom(4) != 112+128 {
		t.Errorf("windows begin with tiles %d and %d", s.windowFrom(1), s.windowFrom(4))
	}
}
