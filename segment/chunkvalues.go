package segment

import (
	"github.com/riffle-search/riffle/columns"
)

// A chunkValues is the column of a field of a chunk's documents.
type chunkValues struct {
	name   string
	values fieldValues
	terms  termTable
	begin  int  // where the values of the current document begin
	open   bool // the current document has values
}

// Value adds a value of the current document to the column of a field, which need not be one with terms.
// Values come in any order, and may come twice.
func (c *Chunk) Value(field string, v columns.Value) {
	col := c.valuesByName[field]
	if col == nil {
		col = &chunkValues{name: field}
		if c.valuesByName == nil {
			c.valuesByName = make(map[string]*chunkValues)
		}
		c.valuesByName[field] = col
		c.values = append(c.values, col)
	}
	if !col.open {
		col.open, col.begin = true, col.values.len()
		c.openValues = append(c.openValues, col)
	}
	key := v.Key
	if v.Kind == columns.Terms {
		key = uint64(col.terms.slot([]byte(v.Term)).number - 1)
	}
	col.values.add(c.docs, v.Kind, key)
}

// endValues ends the current document, whose values are dropped unless they are kept.
func (c *Chunk) endValues(keep bool) {
	for _, col := range c.openValues {
		if col.open = false; !keep {
			col.values.truncate(col.begin)
		}
	}
	c.openValues = c.openValues[:0]
}

// resetValues empties the columns.
func (c *Chunk) resetValues() {
	if len(c.values) > maxKeptFields {
		c.values, c.valuesByName = nil, nil
	}
	for _, col := range c.values {
		col.values.truncate(0)
		col.terms.reset()
	}
	c.openValues = c.openValues[:0]
}

// gatheredValues are the values of a field of a Memory or a Bulk, whose documents come in chunks.
type gatheredValues struct {
	name   string
	values fieldValues
	terms  termTable
	mix    columns.Mix
	number []uint32 // by number of a term of the chunk: its number in terms, plus one; scratch
}

// begin prepares the values for those of a chunk.
func (g *gatheredValues) begin(c *chunkValues) {
	g.number = append(g.number[:0], make([]uint32, c.terms.len())...)
}

// add adds values i to below j of a chunk whose first document is base.
func (g *gatheredValues) add(c *chunkValues, i, j int, base uint32) {
	for ; i < j; i++ {
		kind, key := c.values.kindOf(i), c.values.keys[i]
		if kind == columns.Terms {
			key = uint64(g.numberOf(c, uint32(key)))
		} else {
			g.mix.AddKey(kind, key)
		}
		g.values.add(base+c.values.docs[i], kind, key)
	}
}

// numberOf returns the number of a term of a chunk.
func (g *gatheredValues) numberOf(c *chunkValues, term uint32) uint32 {
	if g.number[term] == 0 {
		before := g.terms.len()
		s := g.terms.slot(c.terms.term(term))
		if g.number[term] = s.number; g.terms.len() > before {
			g.mix.Add(columns.Value{Kind: columns.Terms, Term: string(c.terms.term(term))})
		}
	}
	return g.number[term] - 1
}

// bytes is the memory that the values take.
func (g *gatheredValues) bytes() int64 {
	return gatheredOverhead + int64(len(g.name)) + g.values.bytes() + g.terms.bytes() + 4*int64(cap(g.number))
}

// gatheredOverhead is roughly the memory of a column without values.
const gatheredOverhead = 256

// full reports whether the terms need more than 32-bit offsets allow, nearly.
func (g *gatheredValues) full() bool { return len(g.terms.arena) > bulkLimit/2 }
