package segment

import (
	"bytes"
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// encodeRounds encodes the terms of a partition that a Sorter has inverted in one or more rounds.
// It concatenates the postings of a term in several rounds, because their documents ascend. placed
// says whether records have positions.
func (e *runEncoder) encodeRounds(rounds [][]byte, placed bool, norms *Norms) []encodedTerm {
	heads := make([]runRecord, len(rounds)) // the next record of each round; n is 0 after the last
	read := func(i int) {
		heads[i].n = 0
		if len(rounds[i]) > 0 {
			heads[i], rounds[i] = readRecord(rounds[i], placed)
		}
	}
	for i := range rounds {
		read(i)
	}
	var out []encodedTerm
	for {
		least := -1
		for i := range heads {
			if heads[i].n > 0 && (least < 0 || bytes.Compare(heads[i].term, heads[least].term) < 0) {
				least = i
			}
		}
		if least < 0 {
			return out
		}
		term := heads[least].term
		for i := least; i < len(heads); i++ {
			if heads[i].n > 0 && bytes.Equal(heads[i].term, term) {
				e.add(&heads[i], norms)
				read(i)
			}
		}
		e.flush(norms)
		out = append(out, encodedTerm{term, e.writer.Finish()})
	}
}

// add appends the postings of a record to the unpacked ones. Those of an earlier record are passed on
// first, since their positions are elsewhere.
func (e *runEncoder) add(r *runRecord, norms *Norms) {
	if e.n > 0 {
		e.flush(norms)
	}
	e.places = r.places
	e.docs[e.n], e.tfs[e.n] = r.first, r.tf
	e.n++
	rest := runReader{data: r.rest, doc: r.first}
	for len(rest.data) > 0 {
		e.room(norms)
		e.n += rest.read(e.docs[e.n:], e.tfs[e.n:])
	}
}

// room makes room for a posting.
func (e *runEncoder) room(norms *Norms) {
	if e.n == len(e.docs) {
		e.flush(norms)
	}
}

// flush passes on unpacked postings.
func (e *runEncoder) flush(norms *Norms) {
	norms.fill(e.codes[:], e.docs[:e.n])
	switch {
	case !e.positions:
		e.into.AddAll(e.docs[:e.n], e.tfs[:e.n], e.codes[:e.n])
	case e.builder != nil:
		e.places = e.builder.AddAllPositions(e.docs[:e.n], e.tfs[:e.n], e.codes[:e.n], e.places)
	default:
		sum := 0
		for _, tf := range e.tfs[:e.n] {
			sum += int(tf)
		}
		e.deltas = slices.Grow(e.deltas[:0], sum)[:sum]
		e.places = postings.ReadPositions(e.deltas, e.places)
		e.writer.AddPositions(e.docs[:e.n], e.tfs[:e.n], e.codes[:e.n], e.deltas)
	}
	e.n = 0
}
