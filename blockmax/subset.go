package blockmax

import (
	"math/bits"
	"slices"
	"sync"
)

// A Subset is a set of documents of a segment that queries accept again and again: those that pass
// a filter. It keeps what lists have in these documents, so that the queries read nothing else. Any
// number of goroutines may share a Subset. It must not be copied.
type Subset struct {
	Docs []uint32 // ascending, at most MaxSubset

	mu       sync.RWMutex
	excerpts map[uint64]*keptExcerpt // by Term.Key
	bytes    int64                   // of the excerpts
	closed   bool                    // no more are kept
}

// MaxSubset is the most documents of a Subset. A query takes time in proportion to them, because
// excerpts have no bounds.
const MaxSubset = 1 << 16

// An Excerpt is what a list has in the documents of a Subset. Documents are numbered by their place
// in Subset.Docs. An Excerpt is valid for one Table.
type Excerpt struct {
	Held    []uint64 // bit i is set if the list holds document i
	Before  []uint16 // for each word of Held, the number of bits in the words before it
	Impacts []uint16 // of the held documents; ExcerptPadding more follow
}

// ExcerptPadding is how many impacts executors may read beyond the last one.
const ExcerptPadding = 16

// A keptExcerpt is the excerpt of one list, or the beginning of one.
type keptExcerpt struct {
	key     TableKey
	spent   int64
	making  sync.Mutex
	maker   *ExcerptMaker // of a part so far; guarded by making
	excerpt *Excerpt
}

// keptBytes is about what an entry of Subset.excerpts takes without its excerpt.
const keptBytes = 128

// NewSubset returns the subset of some documents, ascending. There may be MaxSubset at most.
func NewSubset(docs []uint32) *Subset {
	return &Subset{Docs: docs, excerpts: map[uint64]*keptExcerpt{}}
}

// Excerpts finds the excerpts of terms: into[i] becomes that of terms[i], or nil if there is none.
func (s *Subset) Excerpts(terms []Term, into []*Excerpt) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range terms {
		into[i] = nil
		if t := &terms[i]; t.Bounds != nil && t.Key != 0 {
			if k := s.excerpts[t.Key]; k != nil && k.key == t.Table.Key() {
				into[i] = k.excerpt
			}
		}
	}
}

// HasAll reports whether there are excerpts of all terms with a Key that the segment has.
func (s *Subset) HasAll(terms []Term) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range terms {
		if t := &terms[i]; t.Bounds != nil && t.Key != 0 {
			if k := s.excerpts[t.Key]; k == nil || k.excerpt == nil || k.key != t.Table.Key() {
				return false
			}
		}
	}
	return true
}

// Spend notes that a query has decoded n blocks for want of the term's excerpt. It reports whether
// these add up to limit, so that the excerpt is due. The term must have a Key.
func (s *Subset) Spend(t *Term, n, limit int64) (due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	k := s.excerpts[t.Key]
	if k == nil || k.key != t.Table.Key() {
		if k != nil {
			s.bytes -= k.bytes()
		}
		k = &keptExcerpt{key: t.Table.Key()}
		s.excerpts[t.Key] = k
		s.bytes += k.bytes()
	}
	k.spent += n
	return k.spent >= limit && k.excerpt == nil
}

// Make extends the excerpt of a term, unless another goroutine does so at the moment. extend reports
// whether it is complete; then all later queries get it.
func (s *Subset) Make(t *Term, extend func(m *ExcerptMaker) (done bool, err error)) error {
	s.mu.RLock()
	k := s.excerpts[t.Key]
	s.mu.RUnlock()
	if k == nil || k.key != t.Table.Key() || !k.making.TryLock() {
		return nil
	}
	defer k.making.Unlock()
	if k.maker == nil {
		k.maker = new(ExcerptMaker)
		k.maker.Reset(len(s.Docs))
	}
	done, err := extend(k.maker)
	if err != nil {
		k.maker = nil
		return err
	}
	if !done {
		return nil
	}
	k.maker.Finish()
	made := k.maker.Excerpt
	made.Impacts = slices.Clone(made.Impacts)
	k.maker = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.excerpts[t.Key] == k && k.excerpt == nil {
		s.bytes -= k.bytes()
		k.excerpt = &made
		s.bytes += k.bytes()
	}
	return nil
}

// Drop forgets all excerpts. With last, none are made any more.
func (s *Subset) Drop(last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.excerpts, s.bytes, s.closed = map[uint64]*keptExcerpt{}, 0, s.closed || last
}

// Bytes returns the memory that the excerpts take, without the documents.
func (s *Subset) Bytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bytes
}

func (k *keptExcerpt) bytes() int64 {
	if e := k.excerpt; e != nil {
		return keptBytes + int64(8*len(e.Held)+2*len(e.Before)+2*cap(e.Impacts))
	}
	return keptBytes
}

// Impact returns the impact of document i, which the list must hold.
func (e *Excerpt) Impact(i uint32) uint16 {
	w := i / 64
	return e.Impacts[int(e.Before[w])+bits.OnesCount64(e.Held[w]&(1<<(i%64)-1))]
}

// An ExcerptMaker makes the excerpt of a list in steps.
type ExcerptMaker struct {
	Excerpt
	Next int // the first document of the subset that has not been looked up
}

// Reset begins an excerpt, for a subset of some documents.
func (m *ExcerptMaker) Reset(docs int) {
	words := (docs + 63) / 64
	m.Held = slices.Grow(m.Held[:0], words)[:words]
	clear(m.Held)
	m.Before, m.Impacts, m.Next = m.Before[:0], m.Impacts[:0], 0
}

// Add adds a posting of document i. Documents come in ascending order, and Finish comes last.
func (m *ExcerptMaker) Add(i int, impact uint16) {
	m.Held[i/64] |= 1 << (i % 64)
	m.Impacts = append(m.Impacts, impact)
}

// Finish completes the excerpt.
func (m *ExcerptMaker) Finish() {
	n := 0
	for _, word := range m.Held {
		m.Before = append(m.Before, uint16(n))
		n += bits.OnesCount64(word)
	}
	m.Impacts = append(m.Impacts, make([]uint16, ExcerptPadding)...)
}
