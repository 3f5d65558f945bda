package listcache

// begin makes room for the answer to some needs.
func (b *Batch) begin(needs []Need) {
	b.Lists, b.Copies, b.Rows = b.Lists[:0], b.Copies[:0], 0
	b.heads, b.extents, b.offsets = b.heads[:0], b.extents[:0], b.offsets[:0]
	for range needs {
		b.Lists = append(b.Lists, Placed{})
	}
}

// placeInBuffer has a whole list copied for this batch alone.
func (b *Batch) placeInBuffer(list int32, n *Need, buffer Region) {
	p := &b.Lists[list]
	p.Complete = true
	b.offsets = append(b.offsets, len(b.heads), len(b.extents))
	for i, rows := range n.Head {
		b.heads = append(b.heads, b.toBuffer(Copy{List: list, Piece: int32(-1 - i), Rows: rows}, buffer, &p.Complete))
	}
	for e, rows := range n.Extents {
		row := Missing
		if n.wants(e) {
			row = b.toBuffer(Copy{List: list, Piece: int32(e), Rows: rows}, buffer, &p.Complete)
		}
		b.extents = append(b.extents, row)
	}
}

// end makes the slices of Lists, once nothing behind them moves any more.
func (b *Batch) end() {
	b.offsets = append(b.offsets, len(b.heads), len(b.extents))
	for i := range b.Lists {
		at := b.offsets[2*i : 2*i+4]
		b.Lists[i].Head = b.heads[at[0]:at[2]:at[2]]
		b.Lists[i].Extents = b.extents[at[1]:at[3]:at[3]]
	}
}

// toBuffer has a piece copied into the buffer, and returns its row there; when the buffer
// is full, Missing, and complete is false from then on.
func (b *Batch) toBuffer(c Copy, buffer Region, complete *bool) (row uint32) {
	if c.Rows == 0 {
		return 0
	}
	if c.Rows > buffer.Rows-b.Rows {
		*complete = false
		return Missing
	}
	c.At = buffer.First + b.Rows
	c.Row = c.At
	b.Rows += c.Rows
	b.Copies = append(b.Copies, c)
	return c.Row
}

// wants reports whether extent e is wanted.
func (n *Need) wants(e int) bool { return n.Wanted == nil || n.Wanted[e/64]>>(e%64)&1 == 1 }
