package segment

import (
	"fmt"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// An inputList is the list that one input of a merge has of a term.
type inputList struct {
	input int
	list  *postings.List
}

// eachTerm walks the terms of a field of all inputs in step. It calls visit for
// each, in ascending order, with the lists of those inputs that have it. Both are
// lent until visit returns.
func (m *merger) eachTerm(field string, visit func(term []byte, lists []inputList) error) error {
	w := walk[TermIterator]{key: TermIterator.Term}
	defer w.close()
	for i, in := range m.inputs {
		it, err := in.Reader.Terms(field, nil)
		if err == nil {
			err = w.add(i, it)
		}
		if err != nil {
			return err
		}
	}
	var term []byte
	var lists []inputList
	for steps := 0; !w.done(); steps++ {
		if steps%256 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		term = append(term[:0], w.first()...)
		lists = lists[:0]
		for !w.done() && string(w.first()) == string(term) {
			input, it := w.top()
			l, err := it.List()
			if err == nil {
				lists = append(lists, inputList{input, l})
				err = w.next()
			}
			if err != nil {
				return atTerm(err, field, term)
			}
		}
		if err := visit(term, lists); err != nil {
			return atTerm(err, field, term)
		}
	}
	return nil
}

// atTerm names the term that a fault was found in.
func atTerm(err error, field string, term []byte) error {
	return corrupt.At(err, fmt.Sprintf("field %q, term %q", field, term))
}

// eachPosting calls f for each posting of a list whose document is live, with the
// document's number in the merged segment.
func (m *merger) eachPosting(l inputList, f func(doc, tf uint32)) error {
	numbers := m.maps[l.input]
	for b := range l.list.Blocks() {
		n, err := l.list.Docs(b, &m.blockDocs)
		if err == nil {
			_, err = l.list.Freqs(b, &m.blockFreqs)
		}
		if err == nil {
			err = m.ctx.Err()
		}
		if err != nil {
			return err
		}
		for i, old := range m.blockDocs[:n] {
			if doc := numbers[old]; doc != NoDoc {
				f(doc, m.blockFreqs[i])
			}
		}
	}
	return nil
}
