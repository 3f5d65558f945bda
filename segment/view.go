package segment

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/postings"
)

// A MemoryView is a Memory as it was at one moment: a Reader that later Adds do not change. It is
// cheap to keep, but keeps the whole Memory alive.
//
// A view reads columns without a lock, because they grow only beyond its end. It takes the Memory's
// lock for reading to find a term and make its list.
type MemoryView struct {
	m      *Memory
	docs   uint32
	ids    idColumn
	stored [][]byte
	ranks  []uint16
	fields int           // how many; later ones are not in the view
	infos  [][]FieldInfo // of the fields, in the order in which they first occurred

	sorting sync.Once
	sorted  []FieldInfo // by name, once it has been needed

	columns madeColumns
	norms   atomic.Pointer[viewNorms] // of the field that was last asked for
}

// viewNorms are the norms of a field in a view. Every search asks for those of its field.
type viewNorms struct {
	field string
	norms Norms
}

var _ Reader = (*MemoryView)(nil)

// Docs implements Reader.
func (v *MemoryView) Docs() uint32 { return v.docs }

// Order implements Reader: documents in memory are in order of arrival.
func (v *MemoryView) Order() Order { return Order{} }

// Fields implements Reader.
func (v *MemoryView) Fields() []FieldInfo {
	v.sorting.Do(func() {
		v.sorted = slices.Concat(v.infos...)
		slices.SortFunc(v.sorted, compareFields)
		v.sorted = withoutPairs(v.sorted)
	})
	return v.sorted
}

// Field implements Reader.
func (v *MemoryView) Field(name string) (FieldInfo, bool) {
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	if f := v.field(name); f != nil {
		return v.info(f), true
	}
	return FieldInfo{}, false
}

// field returns a field of the view, or nil. The caller holds the Memory's lock.
func (v *MemoryView) field(name string) *memoryField {
	if f := v.m.fields[name]; f != nil && f.number < v.fields {
		return f
	}
	return nil
}

// info returns the FieldInfo of a field as of the view.
func (v *MemoryView) info(f *memoryField) FieldInfo {
	return v.infos[f.number/fieldBlock][f.number%fieldBlock]
}

// findField returns the index of a field in a list sorted by name.
func findField(fields []FieldInfo, name string) (int, bool) {
	return slices.BinarySearchFunc(fields, name, func(f FieldInfo, name string) int {
		return strings.Compare(f.Name, name)
	})
}

// readSpaces are for the lists that searches make at the same time.
var readSpaces = sync.Pool{New: func() any { return new(runReaderSpace) }}

// List implements Reader.
func (v *MemoryView) List(field string, term []byte) (*postings.List, error) {
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	f := v.field(field)
	if f == nil {
		return nil, nil
	}
	t, number := f.find(term)
	if t == nil || t.first >= v.docs {
		return nil, nil
	}
	s := readSpaces.Get().(*runReaderSpace)
	defer readSpaces.Put(s)
	return f.view(t, number, v.docs, s), nil
}

// Postings returns how many postings a term has in the view. It is not known if the segment already
// has a posting of the term that the view does not show.
func (v *MemoryView) Postings(field, term string) (n int, known bool) {
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	f := v.field(field)
	if f == nil {
		return 0, true
	}
	t, _ := f.find(unsafe.Slice(unsafe.StringData(term), len(term)))
	switch {
	case t == nil || t.first >= v.docs:
		return 0, true
	case t.last >= v.docs:
		return 0, false
	}
	return f.len(t), true
}

// Norms implements Reader.
func (v *MemoryView) Norms(field string) (Norms, error) {
	if last := v.norms.Load(); last != nil && last.field == field {
		return last.norms, nil
	}
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	f := v.field(field)
	if f == nil || !v.info(f).Norms {
		return Norms{}, nil
	}
	n := f.norms.upTo(v.docs)
	v.m.bytes.Add(f.grown())
	v.norms.Store(&viewNorms{f.info.Name, n})
	return n, nil
}

// Rank implements Reader.
func (v *MemoryView) Rank() ([]uint16, error) { return v.ranks, nil }

// RankTiles implements Reader. Each call computes it.
func (v *MemoryView) RankTiles() ([]uint16, error) { return tileMaxima(v.ranks), nil }

// Tiles implements Reader: a segment in memory has none.
func (v *MemoryView) Tiles(string) ([]Tile, error) { return nil, nil }

// ID implements Reader.
func (v *MemoryView) ID(doc uint32) (string, error) { return string(v.ids.at(doc)), nil }

// AppendID implements Reader.
func (v *MemoryView) AppendID(dst []byte, doc uint32) ([]byte, error) {
	return append(dst, v.ids.at(doc)...), nil
}

// Lookup implements Reader.
func (v *MemoryView) Lookup(id string) (uint32, bool, error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	doc, ok := v.m.lookupBelow(id, v.docs)
	if !ok {
		return 0, false, nil
	}
	return doc, true, nil
}

// Stored implements Reader.
func (v *MemoryView) Stored(doc uint32) ([]byte, error) {
	if v.stored == nil {
		return nil, nil
	}
	return v.stored[doc], nil
}

// Terms implements Reader. It sorts the terms of the field first: about a second
// for a million of them.
func (v *MemoryView) Terms(field string, from []byte) (TermIterator, error) {
	it := &memoryTerms{view: v, at: -1}
	for more := true; more; {
		more = it.gather(field, from)
		runtime.Gosched() // to readers, and rather here than with the lock in hand
	}
	it.order = sortedByBytes(len(it.terms), 0, func(i uint32) []byte { return it.terms[i].name })
	return it, nil
}

// gather takes the next terms of the field under the lock, as many as searches can wait for. It
// returns false after the last ones. Terms that are added meanwhile are not in the view.
func (it *memoryTerms) gather(field string, from []byte) (more bool) {
	it.view.m.mu.Lock()
	defer it.view.m.mu.Unlock()
	if it.field == nil {
		if it.field = it.view.field(field); it.field == nil {
			return false
		}
		it.all = it.field.table.taken
		if len(from) == 0 {
			it.terms = make([]namedTerm, 0, it.all)
		}
	}
	f := it.field
	for end := min(it.next+gatheredTerms, it.all); it.next < end; it.next++ {
		name := f.name(it.next)
		if t := f.term(it.next); t.first < it.view.docs && bytes.Compare(name, from) >= 0 {
			it.terms = append(it.terms, namedTerm{name, it.next})
		}
	}
	return it.next < it.all
}

// gatheredTerms is how many terms are gathered under one lock: some 20 µs.
const gatheredTerms = 512

type namedTerm struct {
	name   []byte
	number uint32
}

// memoryTerms walks the terms that the view had when the walk began. It never gets more.
type memoryTerms struct {
	view  *MemoryView
	field *memoryField
	terms []namedTerm
	order []uint32 // of terms
	at    int

	next, all uint32 // numbers of terms, while they are gathered
}

func (it *memoryTerms) Next() bool {
	if it.at+1 >= len(it.terms) {
		return false
	}
	it.at++
	return true
}

func (it *memoryTerms) Term() []byte { return it.current().name }

func (it *memoryTerms) current() namedTerm { return it.terms[it.order[it.at]] }

func (it *memoryTerms) List() (*postings.List, error) {
	it.view.m.mu.Lock()
	defer it.view.m.mu.Unlock()
	f := it.field
	number := it.current().number
	return f.view(f.term(number), number, it.view.docs, &it.view.m.chunk), nil
}

// appendRun appends the postings of the current term's list if it is short, as most are:
// sealing a segment need not make a list of them. Their positions follow, from places on.
func (it *memoryTerms) appendRun(dst []byte) (run []byte, places int) {
	it.view.m.mu.Lock()
	defer it.view.m.mu.Unlock()
	number := it.current().number
	t := it.field.term(number)
	if t.full > 0 || t.last >= it.view.docs {
		return dst, len(dst)
	}
	dst = append(dst, it.field.run(t)...)
	places = len(dst)
	if it.field.info.Positions {
		dst = it.field.placesOf(number).appendTo(it.field.arena, dst)
	}
	return dst, places
}

func (it *memoryTerms) Err() error   { return nil }
func (it *memoryTerms) Close() error { return nil }
