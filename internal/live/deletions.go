package live

import (
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/riffle-search/riffle/segment"
)

// deletions are the deleted documents of a segment: immutable, so that views can
// share them. A nil *deletions is empty.
type deletions struct {
	bitmap *roaring.Bitmap
	accept atomic.Pointer[acceptBits]
}

// acceptBits is a bitset of the documents below docs that are not deleted. One set of deletions may
// need several, because a segment in memory grows.
type acceptBits struct {
	docs uint32
	bits []uint64
}

func (d *deletions) contains(doc uint32) bool { return d != nil && d.bitmap.Contains(doc) }

func (d *deletions) count() uint64 {
	if d == nil {
		return 0
	}
	return d.bitmap.GetCardinality()
}

// set returns the bitmap, or nil if nothing is deleted.
func (d *deletions) set() *roaring.Bitmap {
	if d == nil {
		return nil
	}
	return d.bitmap
}

// with returns the deletions with more documents added.
func (d *deletions) with(docs []uint32) *deletions {
	if len(docs) == 0 {
		return d
	}
	n := &deletions{bitmap: roaring.New()}
	if d != nil {
		n.bitmap = d.bitmap.Clone()
	}
	n.bitmap.AddMany(docs)
	return n
}

// acceptBits returns a bitset of the documents below docs that are not deleted, or nil if none is
// deleted.
func (d *deletions) acceptBits(docs uint32) []uint64 {
	if d.count() == 0 || d.bitmap.Minimum() >= docs {
		return nil
	}
	if a := d.accept.Load(); a != nil && a.docs == docs {
		return a.bits
	}
	a := &acceptBits{docs, allBits(docs)}
	for it := d.bitmap.Iterator(); it.HasNext(); {
		if doc := it.Next(); doc < docs {
			a.bits[doc/64] &^= 1 << (doc % 64)
		}
	}
	d.accept.Store(a)
	return a.bits
}

// acceptFrom returns a bitset of the documents from first to below docs that are not deleted, of
// which the first bit is document first. It is nil if none is deleted.
func (d *deletions) acceptFrom(first, docs uint32) (bits []uint64) {
	if d.count() == 0 || d.bitmap.Maximum() < first {
		return nil
	}
	it := d.bitmap.Iterator()
	it.AdvanceIfNeeded(first)
	for it.HasNext() {
		doc := it.Next()
		if doc >= docs {
			break
		}
		if bits == nil {
			bits = allBits(docs - first)
		}
		doc -= first
		bits[doc/64] &^= 1 << (doc % 64)
	}
	return bits
}

// allBits returns a bitset in which exactly the first n bits are set.
func allBits(n uint32) []uint64 {
	words := make([]uint64, (n+63)/64)
	for i := range words {
		words[i] = ^uint64(0)
	}
	if n%64 != 0 {
		words[len(words)-1] = 1<<(n%64) - 1
	}
	return words
}

// lateDeletions returns, as numbers of the merged segment, the documents that were deleted since
// the merge began. The caller holds ix.mu.
func lateDeletions(inputs []mergeInput, maps [][]uint32) []uint32 {
	var late []uint32
	for i, in := range inputs {
		if in.s.deleted == in.deleted {
			continue
		}
		since := in.s.deleted.bitmap
		if in.deleted != nil {
			since = roaring.AndNot(since, in.deleted.bitmap)
		}
		for it := since.Iterator(); it.HasNext(); {
			if doc := maps[i][it.Next()]; doc != segment.NoDoc {
				late = append(late, doc)
			}
		}
	}
	return late
}

func marshalDeletions(d *deletions) []byte {
	b, err := d.bitmap.MarshalBinary()
	if err != nil {
		panic("BUG: a bitmap does not marshal: " + err.Error())
	}
	return b
}
