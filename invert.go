package riffle

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/segment"
)

// An inverter turns documents into terms and frequencies. It belongs to one
// goroutine at a time; its tables are used again from document to document.
type inverter struct {
	schema *Schema
	rank   string // Options.Rank.Field
	lookup func(name string) (analysis.Analyzer, error)

	replay bool                         // documents were accepted before, perhaps under another Options.Rank
	named  map[string]analysis.Analyzer // by name, resolved once
	copies []string                     // names of the schema's indexed copies, in order
	counts termCounter
	fields map[string]int // name -> index into the document's fields
}

// invert analyses one document. Errors name the field.
func (iv *inverter) invert(op operation) (segment.Document, error) {
	doc := segment.Document{ID: op.id}
	var stored []value
	if iv.fields == nil {
		iv.fields = map[string]int{}
	}
	for _, v := range op.values {
		f, known := iv.schema.Fields[v.name]
		if err := iv.checkValue(v, f, known); err != nil {
			return doc, &DocumentError{ID: op.id, Field: v.name, Err: err}
		}
		if v.name == iv.rank && iv.rank != "" {
			r, err := rankFraction(v)
			if err != nil && !iv.replay {
				return doc, &DocumentError{ID: op.id, Field: v.name, Err: err}
			}
			doc.Rank = r
		}
		if iv.stores(f, known) {
			stored = append(stored, v)
		}
	}
	if err := iv.invertFields(&doc, op.values); err != nil {
		return doc, err
	}
	doc.Stored = appendValues(nil, stored)
	return doc, nil
}

// checkValue refuses a value that its field cannot hold.
func (iv *inverter) checkValue(v value, f Field, known bool) error {
	switch {
	case !known && iv.schema.Dynamic == DynamicRefuse:
		return errors.New("the schema has no such field and refuses others")
	case !known:
	case len(f.CopyFrom) > 0:
		return errors.New("the field is a copy of others and cannot be set")
	case f.Type == KeywordField && v.kind == kindString:
	case f.Type != v.kind.fieldType():
		return fmt.Errorf("the schema wants %s, not %s", f.Type, v.kind.fieldType())
	}
	if v.kind == kindString && known && f.Type == KeywordField && !f.NoIndex && len(v.str) > MaxTermBytes {
		return fmt.Errorf("a keyword of %d bytes, at most %d are allowed", len(v.str), MaxTermBytes)
	}
	return nil
}

func (iv *inverter) stores(f Field, known bool) bool {
	if iv.schema.NoStore {
		return false
	}
	if known {
		return !f.NoStore
	}
	return iv.schema.Dynamic <= DynamicStore
}

func (iv *inverter) indexes(f Field, known bool) bool {
	if known {
		return !f.NoIndex
	}
	return iv.schema.Dynamic == DynamicIndex
}

func rankFraction(v value) (uint16, error) {
	x, ok := v.float()
	if !ok || x < 0 || x > 1 {
		return 0, fmt.Errorf("a static rank is a number in [0, 1], not %v", v.any())
	}
	return uint16(math.RoundToEven(x * math.MaxUint16)), nil
}

// invertFields counts the terms of every indexed field, in the order in which
// the fields first appear, then of the copies by name.
func (iv *inverter) invertFields(doc *segment.Document, vals []value) error {
	clear(iv.fields)
	for i, v := range vals {
		if _, done := iv.fields[v.name]; done {
			continue
		}
		iv.fields[v.name] = i
		f, known := iv.schema.Fields[v.name]
		if !iv.indexes(f, known) {
			continue
		}
		same := func(yield func(value) bool) {
			for _, w := range vals[i:] {
				if w.name == v.name && !yield(w) {
					return
				}
			}
		}
		if err := iv.addField(doc, v.name, f, known, same); err != nil {
			return err
		}
	}
	return iv.addCopies(doc, vals)
}

func (iv *inverter) addCopies(doc *segment.Document, vals []value) error {
	for _, name := range iv.copies {
		f := iv.schema.Fields[name]
		var parts []string
		for _, from := range f.CopyFrom {
			for _, v := range vals {
				if v.name == from && v.kind == kindString {
					parts = append(parts, v.str)
				}
			}
		}
		if len(parts) == 0 {
			continue
		}
		joined := stringValue(name, strings.Join(parts, " "))
		one := func(yield func(value) bool) { yield(joined) }
		if err := iv.addField(doc, name, f, true, one); err != nil {
			return err
		}
	}
	return nil
}

// addField counts the terms of one field's values.
func (iv *inverter) addField(doc *segment.Document, name string, f Field, known bool, vals func(func(value) bool)) error {
	iv.counts.reset()
	analysed := false
	var length uint64
	var longest int
	var exact []byte
	for v := range vals {
		if v.kind != kindString || known && f.Type == KeywordField {
			exact = appendTerm(exact[:0], v)
			iv.counts.add(exact)
			continue
		}
		a, err := iv.analyzer(f.Analyzer)
		if err != nil {
			return &DocumentError{ID: doc.ID, Field: name, Err: err}
		}
		analysed = true
		analysis.AnalyzeString(a, v.str, func(batch []analysis.Token) {
			length += uint64(len(batch))
			for i := range batch {
				longest = max(longest, len(batch[i].Term))
				iv.counts.add(batch[i].Term)
			}
		})
	}
	if longest > MaxTermBytes {
		return &DocumentError{ID: doc.ID, Field: name, Err: fmt.Errorf("its analyzer made a term of %d bytes, at most %d are allowed", longest, MaxTermBytes)}
	}
	if length > math.MaxInt32 {
		return &DocumentError{ID: doc.ID, Field: name, Err: fmt.Errorf("%d words, at most %d are allowed", length, math.MaxInt32)}
	}
	if terms := iv.counts.terms(); len(terms) > 0 {
		doc.Fields = append(doc.Fields, segment.FieldTerms{Name: name, Norms: analysed, Length: uint32(max(length, 1)), Terms: terms})
	}
	return nil
}

// analyzer returns the analyzer of a text field.
func (iv *inverter) analyzer(name string) (analysis.Analyzer, error) {
	if name == "" {
		name = iv.schema.Analyzer
	}
	if name == "" {
		name = "standard"
	}
	if a, ok := iv.named[name]; ok {
		return a, nil
	}
	a, err := iv.lookup(name)
	if err != nil {
		return nil, err
	}
	if iv.named == nil {
		iv.named = map[string]analysis.Analyzer{}
	}
	iv.named[name] = a
	return a, nil
}

// A termCounter counts the terms of one field of one document: an open-addressing
// table over an arena, so that a document costs a few allocations however many
// words it has.
type termCounter struct {
	slots []uint32 // index into list plus one; 0 is free; a power of two long
	list  []countedTerm
	arena []byte
}

type countedTerm struct {
	hash     uint32
	off, end uint32 // in the arena
	tf       uint32
}

var termSeed = maphash.MakeSeed()

func (c *termCounter) reset() {
	clear(c.slots)
	c.list, c.arena = c.list[:0], c.arena[:0]
}

func (c *termCounter) add(term []byte) {
	if len(c.list)*2 >= len(c.slots) {
		c.grow()
	}
	h := uint32(maphash.Bytes(termSeed, term))
	mask := uint32(len(c.slots) - 1)
	i := h & mask
	for ; c.slots[i] != 0; i = (i + 1) & mask {
		t := &c.list[c.slots[i]-1]
		if t.hash == h && string(c.arena[t.off:t.end]) == string(term) {
			t.tf++
			return
		}
	}
	off := uint32(len(c.arena))
	c.arena = append(c.arena, term...)
	c.list = append(c.list, countedTerm{hash: h, off: off, end: uint32(len(c.arena)), tf: 1})
	c.slots[i] = uint32(len(c.list))
}

func (c *termCounter) grow() {
	c.slots = make([]uint32, max(256, 2*len(c.slots)))
	mask := uint32(len(c.slots) - 1)
	for n := range c.list {
		i := c.list[n].hash & mask
		for c.slots[i] != 0 {
			i = (i + 1) & mask
		}
		c.slots[i] = uint32(n + 1)
	}
}

// terms returns a copy that outlives the counter, in order of first appearance.
func (c *termCounter) terms() []segment.TermFreq {
	arena := slices.Clone(c.arena)
	out := make([]segment.TermFreq, len(c.list))
	for i, t := range c.list {
		out[i] = segment.TermFreq{Term: arena[t.off:t.end:t.end], TF: t.tf}
	}
	return out
}
