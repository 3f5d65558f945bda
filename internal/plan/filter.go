package plan

import (
	"context"
	"encoding/binary"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/cache"
)

// Filters and exclusions of a flat query become the documents that its plan accepts. They are
// computed apart from the words, once for each segment, and the index caches those that come again:
// a search then finds them by a text that describes them.

// restrict narrows the accepted documents of a flat plan to those that pass its filters.
func restrict(ctx context.Context, x Index, p *Plan, s shape, o *Settings) error {
	c := Clause{kind: clauseBool, filter: s.filter, not: s.not}
	if len(c.filter) == 0 {
		c.filter = []Clause{All()}
	}
	text := string(c.appendSet(make([]byte, 0, 64)))
	var missing []int
	for i := range p.Segments {
		if f := x.Filter(i, text); f != nil {
			p.Segments[i].Accept, p.Segments[i].Few = f.Alive(p.Segments[i].Accept)
		} else {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	b := new(planner)
	b.begin(ctx, someSegments{x, missing}, &Settings{Sim: o.Sim})
	b.collect(&c, false)
	q, err := b.finish()
	if err != nil {
		return err
	}
	defer x.Settle(b.lists)
	n := b.node(&c)
	q.Plan.K = 1
	for at, i := range missing {
		seg := &p.Segments[i]
		set, err := cpuexec.Matches(ctx, &q.Plan, at, &n)
		if err != nil {
			return x.Segment(i).At(err)
		}
		f := cache.NewFilter(set, seg.Docs)
		x.KeepFilter(i, text, f)
		seg.Accept, seg.Few = f.Alive(seg.Accept)
	}
	return nil
}

// someSegments are segments of an index, by number.
type someSegments struct {
	Index
	numbers []int
}

func (s someSegments) Segments() int         { return len(s.numbers) }
func (s someSegments) Segment(i int) Segment { return s.Index.Segment(s.numbers[i]) }
func (s someSegments) List(i int, field, term string) (*cache.List, error) {
	return s.Index.List(s.numbers[i], field, term)
}
func (s someSegments) Lists(field, term string, into []*cache.List, step int) (err error) {
	for i := 0; i < len(s.numbers) && err == nil; i++ {
		into[i*step], err = s.List(i, field, term)
	}
	return err
}
func (s someSegments) Norms(i int, field string) ([]uint8, error) {
	return s.Index.Norms(s.numbers[i], field)
}

// appendSet appends a description of the documents that match a clause. Clauses with the same
// description match the same documents, whatever they score.
func (c *Clause) appendSet(to []byte) []byte {
	to = append(to, byte(c.kind))
	switch c.kind {
	case clauseTerm:
		to = appendText(to, c.field)
		return appendText(to, c.term)
	case clauseAll:
		return to
	case clauseBool:
		to = binary.AppendVarint(to, int64(c.min))
	}
	for _, part := range [...][]Clause{c.must, c.should, c.filter, c.not} {
		to = binary.AppendUvarint(to, uint64(len(part)))
		for i := range part {
			to = part[i].appendSet(to)
		}
	}
	return to
}

// appendText appends a text with its length before it.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
