package segment

import (
	"fmt"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// An inputList is the list of a term in one input of a merge.
type inputList struct {
	input int
	list  *postings.List
	short []byte // the entry of a short list, instead of list

	run    bool   // short is the run of a term in memory, without a seal
	places []byte // its positions
}

// A mergeIterator is a TermIterator for walks that read every list.
type mergeIterator interface {
	// readAhead makes the iterator read the parts of long lists in stored order.
	readAhead()

	// shortEntry returns the entry of the current term, valid until the next call of Next, or nil
	// if its list is long. Nearly all are short, and making no list of them saves a merge a tenth
	// of its time.
	shortEntry() []byte
}

// A termWalk walks the terms of a field of all inputs in step, in ascending order.
type termWalk struct {
	m     *merger
	field string
	walk  walk[TermIterator]
	steps int
	free  []*termBatch // for batch
}

// walkTerms begins a walk, which the caller closes.
func (m *merger) walkTerms(field string) (*termWalk, error) {
	w := &termWalk{m: m, field: field, walk: walk[TermIterator]{key: TermIterator.Term}}
	for i, in := range m.inputs {
		it, err := in.Reader.Terms(field, nil)
		if err == nil {
			err = w.walk.add(i, it)
		}
		if err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *termWalk) close() { w.walk.close() }

// readAhead prepares a walk that reads all lists.
func (w *termWalk) readAhead() {
	for _, it := range w.walk.begun {
		if m, ok := it.(mergeIterator); ok {
			m.readAhead()
		}
	}
}

// next appends the next term and the lists of those inputs that have it. Entries of short lists go
// to entries. If entries is nil, they become lists like all others.
func (w *termWalk) next(term []byte, lists []inputList, entries *[]byte) ([]byte, []inputList, error) {
	if w.steps++; w.steps%256 == 0 && w.m.ctx.Err() != nil {
		return nil, nil, w.m.ctx.Err()
	}
	begin := len(term)
	term = append(term, w.walk.first()...)
	for !w.walk.done() && string(w.walk.first()) == string(term[begin:]) {
		input, it := w.walk.top()
		l := inputList{input: input}
		l.copyShort(it, entries)
		var err error
		if l.short == nil {
			l.list, err = it.List()
		}
		if err == nil {
			lists = append(lists, l)
			err = w.walk.next()
		}
		if err != nil {
			return nil, nil, atTerm(err, w.field, term[begin:])
		}
	}
	return term, lists, nil
}

// copyShort sets short to a copy of a short list, appended to entries.
func (l *inputList) copyShort(it TermIterator, entries *[]byte) {
	if entries == nil {
		return
	}
	before := len(*entries)
	switch it := it.(type) {
	case mergeIterator:
		*entries = append(*entries, it.shortEntry()...)
	case *memoryTerms:
		all, places := it.appendRun(*entries)
		*entries, l.run = all, true
		if len(all) > places {
			l.places = all[places:len(all):len(all)]
		}
		if places > before {
			l.short = all[before:places:places]
		}
		return
	}
	if n := len(*entries); n > before {
		l.short = (*entries)[before:n:n]
	}
}

// A termBatch is some terms with their lists.
type termBatch struct {
	bytes    []byte // of the terms
	entries  []byte // of short lists
	termEnds []int
	lists    []inputList
	ends     []int // of each term's lists

	made mergedTerms // what becomes of them
}

func (b *termBatch) term(i int) []byte {
	start := 0
	if i > 0 {
		start = b.termEnds[i-1]
	}
	return b.bytes[start:b.termEnds[i]:b.termEnds[i]]
}

// A batch ends with the term that brings it to this many postings or terms: about a millisecond's
// work.
const (
	batchPostings = 1 << 16
	batchTerms    = 1 << 10
)

// batch returns the next terms, if any.
func (w *termWalk) batch() (*termBatch, bool, error) {
	var b *termBatch
	if n := len(w.free); n > 0 {
		b, w.free = w.free[n-1], w.free[:n-1]
	} else {
		b = new(termBatch)
	}
	for n := 0; n < batchPostings && len(b.ends) < batchTerms && !w.walk.done(); {
		first := len(b.lists)
		var err error
		if b.bytes, b.lists, err = w.next(b.bytes, b.lists, &b.entries); err != nil {
			return nil, false, err
		}
		b.termEnds, b.ends = append(b.termEnds, len(b.bytes)), append(b.ends, len(b.lists))
		for _, l := range b.lists[first:] {
			n += len(l.short) // about a posting per byte
			if l.list != nil {
				n += l.list.Count
			}
		}
	}
	return b, len(b.ends) > 0, nil
}

// recycle takes a batch back. New ones would be a third of all garbage of adding documents.
func (w *termWalk) recycle(b *termBatch) {
	clear(b.lists)
	clear(b.made.terms)
	*b = termBatch{b.bytes[:0], b.entries[:0], b.termEnds[:0], b.lists[:0], b.ends[:0], mergedTerms{terms: b.made.terms[:0]}}
	w.free = append(w.free, b)
}

// eachTerm calls visit for each term of a field, in ascending order, with the lists of those inputs
// that have it. Both are valid until visit returns.
func (m *merger) eachTerm(field string, visit func(term []byte, lists []inputList) error) error {
	w, err := m.walkTerms(field)
	if err != nil {
		return err
	}
	defer w.close()
	var term []byte
	var lists []inputList
	for !w.walk.done() {
		if term, lists, err = w.next(term[:0], lists[:0], nil); err != nil {
			return err
		}
		if err := visit(term, lists); err != nil {
			return atTerm(err, field, term)
		}
	}
	return nil
}

// atTerm adds the field and the term to an error.
func atTerm(err error, field string, term []byte) error {
	return corrupt.At(err, fmt.Sprintf("field %q, term %q", field, term))
}

// eachPosting calls f for each posting of a live document in a list of an input, at which the scan
// begins, with the document's number in the merged segment.
func (m *merger) eachPosting(input int, s *postings.Scan, f func(doc, tf uint32)) error {
	numbers := m.maps[input]
	for s.Next() {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		for i, old := range s.Docs[:s.N] {
			if doc := numbers[old]; doc != NoDoc {
				f(doc, s.TFs[i])
			}
		}
	}
	return s.Err()
}
