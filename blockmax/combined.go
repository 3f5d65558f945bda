package blockmax

import (
	"fmt"
	"math"

	"github.com/riffle-search/riffle/proximity"
)

// A Combined scores a word of several fields as BM25F does (Robertson, Zaragoza and Taylor, Simple
// BM25 Extension to Multiple Weighted Fields, 2004): as if all fields were one, in which the text of
// each is repeated as often as its weight says. The arithmetic is that of Lucene's
// CombinedFieldQuery. In a document, with sums over the lists and over the fields,
//
//	frequency   = Σ weight × tf
//	length code = LengthCode(Σ weight × CodeLength(code), rounded to the nearest integer)
//
// and the score is that of one posting with these, under Table and Weight. So lengths are those which
// the codes stand for, and their sum is coded once more.
type Combined struct {
	Terms  []CombinedTerm
	Fields []CombinedField // 1 to MaxCombinedFields
	Weight uint32          // at the plan's scale
	Table  *Table          // for the average of the summed lengths
}

// A CombinedTerm is a list of a Combined. Its Table is that of the Combined, Weighted by the field.
type CombinedTerm struct {
	Term  int // of the plan
	Field int // index into Combined.Fields
}

// A CombinedField is a field of a Combined.
type CombinedField struct {
	Number int    // index into Segment.Fields
	Weight uint64 // in units of 1/proximity.One, one to MaxFieldWeight of them
}

// MaxFieldWeight bounds the weights of fields, so that their sums with lengths fit in 64 bits, and
// MaxCombinedFields the number of fields.
const (
	MaxFieldWeight    = 1000
	MaxCombinedFields = 64
)

// Lengths are those of a field in a segment.
type Lengths struct {
	Norms []uint8    // length code of each document; nil when the field keeps none (code 1 for all)
	Lazy  *LazyNorms // tiles of Norms to ask for before their codes are read
	None  bool       // no document of the segment has the field: all lengths are 0
}

// NewCombined returns the node of a word: an OR of its lists, with the score of the combination.
func NewCombined(c *Combined) Node {
	n := Node{Combined: c}
	for _, t := range c.Terms {
		n.Should = append(n.Should, Node{Leaf: true, Term: t.Term})
	}
	return n
}

// Code returns the length code of a document. The caller has asked for its norms (Need).
func (c *Combined) Code(seg *Segment, doc uint32) uint8 {
	sum := uint64(0)
	for i := range c.Fields {
		f := &c.Fields[i]
		switch l := &seg.Fields[f.Number]; {
		case l.None:
		case l.Norms == nil:
			sum += f.Weight
		default:
			sum += f.Weight * uint64(CodeLength(l.Norms[doc]))
		}
	}
	return weightedCode(sum)
}

// weightedCode is the length code of a sum in units of 1/proximity.One.
func weightedCode(sum uint64) uint8 {
	return LengthCode(uint32(min((sum+proximity.One/2)/proximity.One, math.MaxInt32)))
}

// Need asks for the norms of some documents, which ascend, in all fields.
func (c *Combined) Need(seg *Segment, docs []uint32) error {
	for i := range c.Fields {
		if err := seg.Fields[c.Fields[i].Number].Lazy.Need(docs); err != nil {
			return err
		}
	}
	return nil
}

// Score is the score of a frequency, in units of 1/proximity.One, in a document with a length code.
func (c *Combined) Score(freq uint64, code uint8) uint32 {
	return Contribution(c.Weight, c.Table.ImpactOf(freq, code))
}

// Highest bounds the score of any document in a segment by the bounds of its lists.
func (c *Combined) Highest(seg *Segment) uint32 {
	sum, lists := uint32(0), 0
	for _, t := range c.Terms {
		if b := seg.Terms[t.Term].Bounds; b != nil {
			sum += uint32(b.List)
			lists++
		}
	}
	if lists == 0 {
		return 0
	}
	return Contribution(c.Weight, uint16(min(sum+uint32(lists-1), math.MaxUint16)))
}

// Slack bounds what the score of a document of several lists can be above the sum of what their
// impacts stand for: see Weighted.
func (c *Combined) Slack(lists int) uint32 {
	return uint32(max(0, lists-1)) * uint32((uint64(c.Weight)+65535)>>16)
}

// Weighted returns the table of the lists of a field with a weight, in units of 1/proximity.One, in a
// Combined with table t. Its impacts are bounds. A document of one of the lists has no higher impact
// in the combination than in that list, and a document of n lists none higher than their sum plus
// n-1:
//
//   - The combined length is at least weight × length of each field, and impacts fall with it.
//   - With a length alike, (f+g)/(f+g+K) <= f/(f+K) + g/(g+K).
//   - Each impact is rounded to the nearest, which costs at most half: (n+1)/2 in all, below n for
//     n >= 2. The table's ratios are a little too small, so that errors of float32 cannot matter.
func (t *Table) Weighted(weight uint64) *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.weighted {
		if w.key.Weight == weight {
			return w
		}
	}
	w := &Table{key: t.key}
	w.key.Weight = weight
	for c := range w.k {
		k := t.k[weightedCode(weight*uint64(CodeLength(uint8(c))))]
		w.k[c] = float32(float64(k) * proximity.One / float64(weight) * (1 - 1e-6))
	}
	w.fill()
	if len(t.weighted) == maxWeighted {
		t.weighted = t.weighted[:0]
	}
	t.weighted = append(t.weighted, w)
	return w
}

// maxWeighted is how many weighted tables a table keeps, of 9 KB each. Most queries use one for each
// field.
const maxWeighted = 16

// check reports what is wrong with a combination in a plan.
func (c *Combined) check(p *Plan) error {
	if len(c.Fields) == 0 || len(c.Fields) > MaxCombinedFields || c.Table == nil {
		return fmt.Errorf("a combination has %d fields, want 1 to %d, and a table", len(c.Fields), MaxCombinedFields)
	}
	for _, t := range c.Terms {
		if t.Term < 0 || t.Term >= len(p.Weights) || t.Field < 0 || t.Field >= len(c.Fields) {
			return fmt.Errorf("a combination names term %d of %d, of field %d of %d", t.Term, len(p.Weights), t.Field, len(c.Fields))
		}
	}
	for _, f := range c.Fields {
		if f.Weight < proximity.One || f.Weight > MaxFieldWeight*proximity.One {
			return fmt.Errorf("a combination has a field of weight %d/%d, want 1 to %d", f.Weight, proximity.One, MaxFieldWeight)
		}
		for i := range p.Segments {
			s := &p.Segments[i]
			if f.Number < 0 || f.Number >= len(s.Fields) {
				return fmt.Errorf("a combination names field %d of %d", f.Number, len(s.Fields))
			}
			if l := &s.Fields[f.Number]; l.Norms != nil && len(l.Norms) < int(s.Docs) {
				return fmt.Errorf("field %d has %d norms for %d documents", f.Number, len(l.Norms), s.Docs)
			}
		}
	}
	return nil
}
