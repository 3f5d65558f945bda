package blockmax

import "sync/atomic"

// LazyNorms are the tiles of a column of norms that have not been checked. A column may lie in a
// mapped file, a byte for each document, and most queries need few of its tiles. So the reader of a
// code asks Need first. Any number of goroutines may share them.
//
// Nil stands for a column that can be read as it is.
type LazyNorms struct {
	check func(tile uint32) error
	ready []atomic.Uint64 // a bit for each tile that has passed
	left  atomic.Int64    // tiles that have not
}

// NewLazyNorms returns the tiles of a column for docs documents. check is called for a tile, perhaps
// by several goroutines at once, until it has returned nil.
func NewLazyNorms(docs uint32, check func(tile uint32) error) *LazyNorms {
	tiles := Tiles(docs)
	n := &LazyNorms{check: check, ready: make([]atomic.Uint64, (tiles+63)/64)}
	n.left.Store(int64(tiles))
	return n
}

// Complete reports whether all tiles have passed.
func (n *LazyNorms) Complete() bool { return n == nil || n.left.Load() == 0 }

// Need checks the tiles of some documents, which ascend. An error is that of a tile; its codes must
// not be used.
func (n *LazyNorms) Need(docs []uint32) error {
	if n.Complete() || len(docs) == 0 {
		return nil
	}
	last := docs[len(docs)-1] / TileDocs
	tile := docs[0] / TileDocs
	if err := n.tile(tile); err != nil || tile == last {
		return err
	}
	for _, doc := range docs[1:] {
		if doc/TileDocs != tile {
			tile = doc / TileDocs
			if err := n.tile(tile); err != nil {
				return err
			}
		}
	}
	return nil
}

// NeedAll checks all tiles.
func (n *LazyNorms) NeedAll(docs uint32) error {
	if n.Complete() {
		return nil
	}
	for tile := range uint32(Tiles(docs)) {
		if err := n.tile(tile); err != nil {
			return err
		}
	}
	return nil
}

// tile checks a tile unless it has passed.
func (n *LazyNorms) tile(tile uint32) error {
	word, bit := &n.ready[tile/64], uint64(1)<<(tile%64)
	if word.Load()&bit != 0 {
		return nil
	}
	if err := n.check(tile); err != nil {
		return err
	}
	if word.Or(bit)&bit == 0 {
		n.left.Add(-1)
	}
	return nil
}
