package listcache

// What a batch brings of extents that nobody has wanted: a kilobyte for each query of each list, which is not felt beside the
// query, so 7 MB in a batch of 2,000 queries. A collection of 2.4 GB is there after 700,000 queries.
const (
	restRows  = 1 << 10 / RowBytes // for each query of each list
	restLeast = 64 << 10 / RowBytes
	restMost  = 16 << 20 / RowBytes
)

// placeRest has extents of a list brought to the cache that are not wanted, until it is resident as a whole.
//
// Why at all: who knows that lists are resident need not find out which extents its queries want, which takes a
// processor longer than all else that a batch needs; but the last extents of a list, of a low bound, may never be
// wanted. They are taken in only as long as there are slabs that no list has.
func (c *Cache) placeRest(list int32, n *Need, b *Batch) {
	e, p := b.entries[list], &b.Lists[list]
	if e == nil || c.config.Static || len(c.slots.free) == 0 || p.Serial != 0 || e.headAt == nil || e.headDue || e.version != n.Version {
		return
	}
	for x, rows := range e.sizes {
		if p.Extents[x] != Missing || n.wants(x) {
			continue
		}
		if rows > b.rest || rows > b.buffer.Rows-b.Rows || !c.hasPlace(e, x) {
			return
		}
		p.Extents[x] = b.copyTo(Copy{List: list, Piece: int32(x), Rows: rows}, e.at[x])
		b.rest -= rows
		e.clearPending(x)
		c.change(e)
	}
	if e.whole() && p.Complete {
		p.Serial = e.serial
	}
}

// hasPlace reports whether an extent has a place, or can be given one that is free.
func (c *Cache) hasPlace(e *entry, x int) bool {
	if e.place(x) != Missing {
		return true
	}
	rows := e.sizes[x]
	if e.resident+int64(rows) > c.limit(e) {
		return false
	}
	row, ok := c.slots.take(rows, owner{e, int32(x)})
	if ok {
		c.keep(e, x, row)
	}
	return ok
}
