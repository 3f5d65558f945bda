package partition

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// lists are a device's parts of the lists with keys.
type lists struct {
	now   atomic.Pointer[generations] // nil at first
	most  int                         // bytes of young
	mu    sync.Mutex                  // of those who change something
	bytes int
}

// generations are what is known, by key. What is used moves to young. When young is full, it becomes
// old, and what is old is forgotten. All cores look lists up for every query, so they take no lock,
// not even one that they share.
type generations struct {
	young, old *sync.Map // of *listPart
}

// A listPart is the part of a list. It does not change.
type listPart struct {
	cut    *cut
	table  *blockmax.Table  // of the bounds
	whole  bool             // the range is the segment, and what follows is nil
	part   *postings.Part   // nil if the list has no document in the range
	bounds *blockmax.Bounds // of the part
}

// find returns what is known of the list with a key, or nil.
func (l *lists) find(key uint64) *listPart {
	now := l.now.Load()
	if now == nil {
		return nil
	}
	if known, ok := now.young.Load(key); ok {
		return known.(*listPart)
	}
	known, ok := now.old.Load(key)
	if !ok {
		return nil
	}
	l.keep(key, known.(*listPart))
	return known.(*listPart)
}

// keep remembers a list.
func (l *lists) keep(key uint64, p *listPart) {
	const fixed = 128
	bytes := fixed
	if p.part != nil {
		bytes += p.part.Bytes() + 2*len(p.bounds.Block)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now.Load()
	switch {
	case now == nil:
		now = &generations{new(sync.Map), new(sync.Map)}
		l.now.Store(now)
	case l.bytes+bytes > l.most:
		now = &generations{new(sync.Map), now.young}
		l.now.Store(now)
		l.bytes = 0
	}
	if _, known := now.young.Swap(key, p); !known {
		l.bytes += bytes
	}
}

// drop forgets the lists whose keys gone reports.
func (l *lists) drop(gone func(key uint64) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now.Load()
	if now == nil {
		return
	}
	for _, m := range []*sync.Map{now.young, now.old} {
		m.Range(func(key, _ any) bool {
			if gone(key.(uint64)) {
				m.Delete(key)
			}
			return true
		})
	}
}

// A keyless holds the parts of lists without keys during one batch, of whose plans several may have
// the same list.
type keyless struct {
	mu    sync.Mutex
	parts map[keylessID]*listPart
}

// Plans may cut the segment of a list without a key otherwise.
type keylessID struct {
	list     *postings.List
	bounds   *blockmax.Bounds
	from, to uint32
	whole    bool
}

// A stretch is a range of a segment as a segment of its own, which begins at document start.
type stretch struct {
	cut             *cut
	start, from, to uint32
	whole           bool
}

// stretch returns device i's stretch of a segment.
func (s *Set) stretch(c *cut, i int) stretch {
	from, to := c.of(i)
	r := stretch{cut: c, from: from, to: to, whole: from == 0 && to == c.ends[len(c.ends)-1]}
	if from > 0 {
		align := max(blockmax.TileDocs, s.options.TileDocs)
		r.start = (from - 1) &^ (align - 1)
	}
	return r
}

// partOf returns the part of a term's list in a stretch of device i. Its Bounds are nil if there is
// none.
func (s *Set) partOf(i int, t *blockmax.Term, r stretch, memo *keyless) (of blockmax.Term, err error) {
	if t.Bounds == nil {
		return of, nil
	}
	known, key := (*listPart)(nil), t.Key
	if key != 0 {
		if known = s.members[i].lists.find(key); known != nil && known.cut != r.cut {
			known, key = nil, 0 // the segment was cut otherwise: what is cached is another part
		}
	}
	id := keylessID{t.List, t.Bounds, r.from, r.to, r.whole}
	if key == 0 {
		memo.mu.Lock()
		defer memo.mu.Unlock()
		known = memo.parts[id]
	}
	fresh, err := known.update(t, r)
	if err != nil {
		return of, err
	}
	if fresh != known {
		if key != 0 {
			s.members[i].lists.keep(key, fresh)
		} else {
			memo.parts[id] = fresh
		}
	}
	switch {
	case fresh.whole:
		of, of.Lazy, of.Key = *t, nil, key
		return of, nil
	case fresh.part == nil:
		return of, nil
	}
	of = blockmax.Term{List: fresh.part.List, Table: t.Table, Bounds: fresh.bounds, Key: key}
	if t.Norms != nil {
		of.Norms = t.Norms[r.start:r.to]
	}
	return of, nil
}

// update returns what holds for a term: p itself if that is so. p may be nil.
func (p *listPart) update(t *blockmax.Term, r stretch) (*listPart, error) {
	if p == nil {
		if r.whole {
			return &listPart{cut: r.cut, whole: true}, nil
		}
		part, err := t.List.Part(r.start, r.from, r.to)
		if err != nil {
			return nil, err
		}
		p = &listPart{cut: r.cut, part: part}
	}
	if p.part == nil {
		return p, nil
	}
	part := p.part.Again(t.List)
	if part != p.part {
		p = &listPart{cut: p.cut, table: p.table, part: part, bounds: p.bounds}
	}
	if p.table != nil && (p.table == t.Table || p.table.Key() == t.Table.Key()) {
		return p, nil
	}
	var norms []uint8
	if t.Norms != nil {
		norms = t.Norms[r.start:r.to]
	}
	bounds, err := t.Bounds.Part(part, t.Table, norms)
	return &listPart{cut: p.cut, table: t.Table, part: part, bounds: bounds}, err
}
