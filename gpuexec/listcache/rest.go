package listcache

// The limit for unwanted extents in a batch: a kilobyte for each query of each list, which costs
// little compared with the query. A batch of 2,000 queries copies 7 MB. A collection of 2.4 GB is
// resident after 700,000 queries.
const (
	restRows  = 1 << 10 / RowBytes // for each query of each list
	restLeast = 64 << 10 / RowBytes
	restMost  = 16 << 20 / RowBytes
)

// placeRest brings unwanted extents of a list to the cache, until the whole list is resident.
//
// If lists are known to be resident, the executor need not find out which extents its queries want.
// That takes more CPU time than all else that a batch needs. But the last extents of a list, of a
// low bound, may never be wanted. They are admitted only while there are slabs that no list uses.
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

// hasPlace reports whether an extent has a place, or gets a free one.
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
