package listcache

// Place decides where each piece that a batch needs will lie, and what must be copied for that; see
// the package comment. buffer is the part of the arena for the batch alone. Callers may change
// needs after the call, but not the elements of Head and Extents. b is valid until the next call
// with it.
//
// The cache assumes these places from then on: the batch must run, or Reset be called.
func (c *Cache) Place(needs []Need, buffer Region, b *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batch++
	b.begin(needs, buffer)
	for i := range needs {
		c.pin(&needs[i], b)
	}
	c.slots.settle()
	for i, e := range b.entries { // all admissions precede the first place, since they may evict
		if e != nil && !c.config.Static && !e.whole() {
			c.takeIn(e, &needs[i])
		}
	}
	for i := range needs {
		c.place(int32(i), &needs[i], b)
	}
	for i := range needs {
		if needs[i].Rest {
			c.placeRest(int32(i), &needs[i], b)
		}
	}
	b.end()
	c.stats.Batches++
	c.stats.CopiedBytes += RowBytes * int64(b.Rows)
	c.passTime()
}

// pin finds or makes the entry of a need, counts the visit, and records that the batch has the
// list.
func (c *Cache) pin(n *Need, b *Batch) {
	var e *entry
	if n.Key != 0 && c.config.Region.Rows > 0 {
		if e = c.known(n); e != nil {
			e.batch = c.batch
		}
	}
	b.entries = append(b.entries, e)
}

// known returns the entry of a need, with the visit counted. It is nil for a list that the batch
// also has in another form.
func (c *Cache) known(n *Need) *entry {
	e := c.entries[n.Key]
	if e != nil && !e.is(n) {
		if e.batch == c.batch {
			return nil
		}
		c.dropEntry(e)
		e = nil
	}
	if e == nil {
		e = newEntry(n, c.epoch)
		c.entries[n.Key] = e
		c.sizes.Store(n.Key, e.shown)
	}
	e.fade(c.epoch)
	e.count(n)
	c.queries += max(1, n.Queries)
	return e
}

// place places one list.
func (c *Cache) place(list int32, n *Need, b *Batch) {
	e, p := b.entries[list], &b.Lists[list]
	if e != nil && e.version == n.Version && e.whole() {
		e.headBatch = c.batch
		*p = Placed{Head: e.headAt, Extents: e.at, Complete: true, Serial: e.serial}
		c.stats.hit(n, e.total)
		return
	}
	p.Complete = true
	c.placeHead(list, n, e, b)
	c.placeExtents(list, n, e, b)
	if e != nil && e.version == n.Version && e.whole() && p.Complete {
		p.Serial = e.serial
	}
}

// placeHead appends the places of the parts of a head.
func (c *Cache) placeHead(list int32, n *Need, e *entry, b *Batch) {
	p := &b.Lists[list]
	mine := e != nil && e.headAt != nil && c.sameHead(e, n)
	from := len(b.heads)
	for i, rows := range n.Head {
		row := Missing
		switch copying := (Copy{List: list, Piece: int32(-1 - i), Rows: rows}); {
		case !mine:
			row = b.copyTo(copying, Missing)
		case e.headDue:
			row = b.copyTo(copying, e.headAt[i])
		default:
			row = e.headAt[i]
		}
		b.heads = append(b.heads, row)
		p.Complete = p.Complete && row != Missing
	}
	if mine && p.Complete {
		e.headDue = false
	}
	p.Head = b.heads[from:len(b.heads):len(b.heads)]
}

// sameHead reports whether the place of a head is for the needed version. If not, it adopts that
// version, unless an earlier list of the batch uses another one.
func (c *Cache) sameHead(e *entry, n *Need) bool {
	if e.version == n.Version {
		e.headBatch = c.batch
		return true
	}
	if e.headBatch == c.batch {
		return false
	}
	e.version, e.headDue, e.headBatch = n.Version, true, c.batch
	c.change(e)
	return true
}

// placeExtents appends the places of the extents.
func (c *Cache) placeExtents(list int32, n *Need, e *entry, b *Batch) {
	p := &b.Lists[list]
	from := len(b.extents)
	for x, rows := range n.Extents {
		row := Missing
		if e != nil && !e.isPending(x) {
			row = e.place(x)
		}
		if n.wants(x) {
			had := row != Missing
			if !had {
				row = c.bring(Copy{List: list, Piece: int32(x), Rows: rows}, n, e, b)
			}
			c.stats.want(rows, had, row)
			p.Complete = p.Complete && row != Missing
		}
		b.extents = append(b.extents, row)
	}
	p.Extents = b.extents[from:len(b.extents):len(b.extents)]
}

// bring schedules the copy of a wanted extent to its place, if it has one, or else to the buffer.
// It returns its row, or Missing if the buffer is full.
func (c *Cache) bring(copying Copy, n *Need, e *entry, b *Batch) (row uint32) {
	x := int(copying.Piece)
	if e == nil || e.place(x) == Missing {
		if n.Leave && e != nil && e.headAt != nil {
			return Missing
		}
		return b.copyTo(copying, Missing)
	}
	if row = b.copyTo(copying, e.place(x)); row != Missing {
		e.clearPending(x)
		c.change(e)
	}
	return row
}

// change gives an entry a new serial, because one of its places has changed.
func (c *Cache) change(e *entry) {
	c.serial++
	e.serial = c.serial
}
