package postings

import "sync/atomic"

// A bitmap holds the documents of a list as plain bits. It is never stored: an executor makes it
// for lists that are dense and often used.
type bitmap struct {
	words atomic.Pointer[[]uint64]
	spent atomic.Int64 // blocks decoded
	due   atomic.Bool  // a goroutine is making the words, or has made them
}

// Bitmap returns the documents of the list as bits: document d is bit d%64 of word d/64. It is nil
// until KeepBitmap sets it. Callers must not change it.
func (l *List) Bitmap() []uint64 {
	if w := l.bitmap.words.Load(); w != nil {
		return *w
	}
	return nil
}

// KeepBitmap gives the bitmap to all later users of the list. Bytes counts it.
func (l *List) KeepBitmap(words []uint64) { l.bitmap.words.Store(&words) }

// DropBitmap forgets the bitmap. The list gets no other.
func (l *List) DropBitmap() { l.bitmap.words.Store(nil) }

// WantsBitmap reports whether the list has and had no bitmap.
func (l *List) WantsBitmap() bool { return l.Bitmap() == nil && !l.bitmap.due.Load() }

// OfferBitmap is KeepBitmap if the list has and had no bitmap.
func (l *List) OfferBitmap(words []uint64) {
	if l.bitmap.due.CompareAndSwap(false, true) {
		l.KeepBitmap(words)
	}
}

// Spend notes that n blocks of the list have been decoded or looked into. It returns true once,
// when the total exceeds the number of blocks. Making a bitmap decodes every block, so from then on
// it costs no more than was already spent.
func (l *List) Spend(n int64) (due bool) {
	m, limit := &l.bitmap, int64(l.Blocks())
	return n > 0 && m.spent.Load() <= limit && m.spent.Add(n) > limit && m.due.CompareAndSwap(false, true)
}

// WidenBitmap extends the bitmap, if any, to at least the given number of words. This is needed
// when the segment has got more documents while the list has not.
func (l *List) WidenBitmap(words int) {
	if held := l.Bitmap(); held != nil && len(held) < words {
		l.KeepBitmap(append(held[:len(held):len(held)], make([]uint64, words-len(held))...))
	}
}

// Follow takes over the bitmap, if any, of a shorter list of the same builder. It extends the
// bitmap to the given number of words and adds the documents of the newer postings.
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
