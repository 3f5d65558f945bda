package segment

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/riffle-search/riffle/postings"
)

// A MemoryTail is the last documents of a MemoryView as a segment of their own, numbered from 0. A
// search right after a small batch pays for the lists of the tail alone, whose growth costs little,
// if the documents before it keep the lists that they have. A MemoryTail has only what searches need.
type MemoryTail struct {
	view  *MemoryView
	first uint32 // document of the view
	lists *TailLists

	mu      sync.Mutex
	columns map[string][]uint8 // of sparse norms

	made madeColumns
}

// TailLists hold the lists of tails that begin at the same document, as far as searches have asked
// for them. They grow with the tails.
type TailLists struct {
	first uint32

	mu       sync.Mutex // locked before Memory.mu
	terms    map[tailTerm]*tailList
	postings postings.Postings // scratch
	codes    []uint8
	common   []uint32
}

type tailTerm struct{ field, term string }

type tailList struct {
	next uint32 // it has the postings of all documents below this one
	list postings.Builder
}

// NewTailLists returns the lists of tails that begin at a document, which are not yet made.
func NewTailLists(first uint32) *TailLists {
	return &TailLists{first: first, terms: map[tailTerm]*tailList{}}
}

// First is the document at which the tails begin.
func (l *TailLists) First() uint32 { return l.first }

// Tail returns the documents of the view from that at which the lists begin.
func (v *MemoryView) Tail(lists *TailLists) *MemoryTail {
	return &MemoryTail{view: v, first: lists.first, lists: lists}
}

// Docs is the number of documents.
func (t *MemoryTail) Docs() uint32 { return t.view.docs - t.first }

// Fields lists the fields of the whole view.
func (t *MemoryTail) Fields() []FieldInfo { return t.view.Fields() }

// Field returns the FieldInfo of a field of the whole view.
func (t *MemoryTail) Field(name string) (FieldInfo, bool) { return t.view.Field(name) }

// Tiles returns nil, as that of a MemoryView does.
func (t *MemoryTail) Tiles(string) ([]Tile, error) { return nil, nil }

// AppendID appends the id of a document of the tail.
func (t *MemoryTail) AppendID(dst []byte, doc uint32) ([]byte, error) {
	return t.view.AppendID(dst, t.first+doc)
}

// Rank returns the static rank of each document, or nil.
func (t *MemoryTail) Rank() ([]uint16, error) {
	if t.view.ranks == nil {
		return nil, nil
	}
	return t.view.ranks[t.first:], nil
}

// RankTiles returns the highest rank of each tile, or nil. Each call computes it.
func (t *MemoryTail) RankTiles() ([]uint16, error) {
	ranks, err := t.Rank()
	return tileMaxima(ranks), err
}

// List makes the posting list of a term, or returns nil if no document of the tail has it.
func (t *MemoryTail) List(field, term string) (*postings.List, error) {
	ls, v := t.lists, t.view
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.terms[tailTerm{field, term}]
	if l == nil || l.next < v.docs {
		if l = ls.grow(l, v, field, term); l == nil {
			return nil, nil
		}
	}
	list := l.list.View(v.docs - t.first)
	if list.Count == 0 {
		return nil, nil // all postings are newer than the view
	}
	return list, nil
}

// grow adds the postings of the view that a list, which may be nil, does not yet have. It returns nil
// if the tail has none.
func (ls *TailLists) grow(l *tailList, v *MemoryView, field, term string) *tailList {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	f := v.field(field)
	if f == nil {
		return nil
	}
	t, number := f.find(unsafe.Slice(unsafe.StringData(term), len(term)))
	if t == nil || t.first >= v.docs || t.last < ls.first {
		return nil
	}
	if l == nil {
		l = &tailList{next: ls.first, list: postings.Builder{Positions: f.info.Positions}}
		ls.terms[tailTerm{strings.Clone(field), strings.Clone(term)}] = l
	}
	if t.last >= l.next {
		p := &ls.postings
		p.Reset(f.info.Positions)
		f.appendFrom(t, number, p, l.next, v.docs, &v.m.chunk)
		ls.codes = append(ls.codes[:0], make([]uint8, len(p.Docs))...)
		var n Norms
		if v.info(f).Norms {
			n = f.norms.upTo(v.docs)
			v.m.bytes.Add(f.grown())
		}
		n.fill(ls.codes, p.Docs)
		for i := range p.Docs {
			p.Docs[i] -= ls.first
		}
		if f.info.Positions {
			l.list.AddAllPositions(p.Docs, p.TFs, ls.codes, p.Positions)
		} else {
			l.list.AddAll(p.Docs, p.TFs, ls.codes)
		}
	}
	l.next = v.docs
	return l
}

// HasAll reports whether a document of the tail has all terms of a field. It takes the least time if
// the rarest comes first, and less than making their lists.
func (t *MemoryTail) HasAll(field string, terms []string) bool {
	ls, v := t.lists, t.view
	ls.mu.Lock()
	defer ls.mu.Unlock()
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	f := v.field(field)
	if f == nil {
		return false
	}
	from, to := ls.first, v.docs
	for i, term := range terms {
		found, number := f.find(unsafe.Slice(unsafe.StringData(term), len(term)))
		if found == nil || found.first >= to || found.last < from {
			return false
		}
		p := &ls.postings
		p.Reset(false)
		f.appendFrom(found, number, p, from, to, &v.m.chunk)
		if i == 0 {
			ls.common = append(ls.common[:0], p.Docs...)
		} else {
			ls.common = keepCommon(ls.common, p.Docs)
		}
		if len(ls.common) == 0 {
			return false
		}
		from, to = ls.common[0], ls.common[len(ls.common)-1]+1
	}
	return true
}

// keepCommon drops those of the ascending docs that are not among the others.
func keepCommon(docs, others []uint32) []uint32 {
	kept, at := docs[:0], 0
	for _, doc := range docs {
		for at < len(others) && others[at] < doc {
			at++
		}
		if at < len(others) && others[at] == doc {
			kept = append(kept, doc)
		}
	}
	return kept
}

// Norms returns the length codes of a field by document, or nil if it keeps none.
func (t *MemoryTail) Norms(field string) ([]uint8, error) {
	n, err := t.view.Norms(field)
	if err != nil || !n.kept() {
		return nil, err
	}
	if !n.Sparse() {
		return n.Column()[t.first:], nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	column := t.columns[field]
	if column == nil {
		if t.columns == nil {
			t.columns = map[string][]uint8{}
		}
		column = n.expandFrom(t.first)
		t.columns[strings.Clone(field)] = column
	}
	return column, nil
}
