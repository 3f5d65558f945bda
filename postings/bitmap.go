package postings

import "sync/atomic"

// A bitmap is what a list learns from use: its documents as plain bits. Nothing stores it; an
// executor makes it for lists that are dense and used a lot.
type bitmap struct {
	words atomic.Pointer[[]uint64]
	spent atomic.Int64 // blocks decoded
	due   atomic.Bool  // somebody is making the words, or has made them
}

// Bitmap returns the documents of the list as bits: document d is bit d%64 of word d/64. It is
// nil while nobody has made it. Nobody may change it.
func (l *List) Bitmap() []uint64 {
	if w := l.bitmap.words.Load(); w != nil {
		return *w
	}
	return nil
}

// KeepBitmap hands the documents over to all who use the list from now on. Bytes counts them.
func (l *List) KeepBitmap(words []uint64) { l.bitmap.words.Store(&words) }

// DropBitmap forgets the bitmap. The list gets no other.
func (l *List) DropBitmap() { l.bitmap.words.Store(nil) }

// Spend notes that n blocks of the list have been decoded or looked into. It returns true once,
// when they have come to more than the list has: by then a bitmap, which takes every block, costs
// no more than what has been paid already.
func (l *List) Spend(n int64) (due bool) {
	m, limit := &l.bitmap, int64(l.Blocks())
	return n > 0 && m.spent.Load() <= limit && m.spent.Add(n) > limit && m.due.CompareAndSwap(false, true)
}
