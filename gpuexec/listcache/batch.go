package listcache

import "slices"

// begin makes room for the answer to some needs.
func (b *Batch) begin(needs []Need, buffer Region) {
	b.buffer, b.Rows = buffer, 0
	b.Copies, b.entries = b.Copies[:0], b.entries[:0]
	b.Lists = slices.Grow(b.Lists[:0], len(needs))[:len(needs)]
	clear(b.Lists)
	heads, extents, queries := 0, 0, 0
	for i := range needs {
		queries += max(1, needs[i].Queries)
		heads += len(needs[i].Head)
		extents += len(needs[i].Extents)
	}
	b.rest = uint32(min(max(restLeast, queries*restRows), restMost))
	b.heads = slices.Grow(b.heads[:0], heads) // so that Lists can point into them
	b.extents = slices.Grow(b.extents[:0], extents)
}

// end drops references that the answer does not need.
func (b *Batch) end() { clear(b.entries) }

// copyTo schedules the copy of a piece into the buffer and, unless row is Missing, from there to
// that row of the cache. It returns the piece's row afterwards, or Missing when the buffer is full.
func (b *Batch) copyTo(c Copy, row uint32) uint32 {
	if c.Rows == 0 {
		return 0
	}
	if c.Rows > b.buffer.Rows-b.Rows {
		return Missing
	}
	c.At = b.buffer.First + b.Rows
	if c.Row = row; row == Missing {
		c.Row = c.At
	}
	b.Rows += c.Rows
	b.Copies = append(b.Copies, c)
	return c.Row
}

// wants reports whether extent e is wanted.
func (n *Need) wants(e int) bool { return n.Wanted == nil || n.Wanted[e/64]>>(e%64)&1 == 1 }
