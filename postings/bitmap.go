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

// WidenBitmap makes the bitmap at least so many words long, if there is one: the segment has got more documents
// while the list has not.
func (l *List) WidenBitmap(words int) {
	if held := l.Bitmap(); held != nil && len(held) < words {
		l.KeepBitmap(append(held[:len(held):len(held)], make([]uint64, words-len(held))...))
	}
}

// Follow takes over what a shorter list of the same builder has learnt. The bitmap, if there is one, gets so many
// words, and the documents that have come since.
func (l *List) Follow(old *List, words int) error {
	l.bitmap.spent.Store(min(old.bitmap.spent.Load(), int64(l.Blocks())))
	held := old.Bitmap()
	if held == nil {
		return nil
	}
	set := make([]uint64, max(words, len(held)))
	copy(set, held)
	var docs [BlockSize]uint32
	for b := old.Count / l.BlockSize; b < l.Blocks(); b++ {
		n, err := l.Docs(b, &docs)
		if err != nil {
			return err
		}
		for _, d := range docs[:n] {
			set[d/64] |= 1 << (d % 64)
		}
	}
	l.bitmap.due.Store(true)
	l.KeepBitmap(set)
	return nil
}
