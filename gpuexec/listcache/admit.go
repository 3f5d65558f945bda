package listcache

import "slices"

// takeIn gives places to the pieces that a need wants and the cache lacks, if each is worth more
// than what it displaces.
func (c *Cache) takeIn(e *entry, n *Need) {
	if e.total == 0 && e.headAt == nil { // runs only: the list has only a head
		c.giveHead(e, func(rows uint32, o owner) (uint32, bool) {
			return c.findSlot(rows, c.worthOf(o), o)
		})
	}
	if n.Rest && e.headAt == nil && len(c.slots.free) > 0 {
		c.giveHead(e, c.slots.take) // even if queries want no extent
	}
	if c.hopeless(e) {
		return
	}
	limit := c.limit(e)
	for x, rows := range e.sizes {
		if rows == 0 || !n.wants(x) || e.place(x) != Missing || e.resident+int64(rows) > limit {
			continue
		}
		row, ok := c.findSlot(rows, c.worth(e, x), owner{e, int32(x)})
		if !ok {
			if c.config.Policy != VFB {
				return // the rest of the list is worth no more
			}
			continue
		}
		if e.headAt == nil && !c.giveHead(e, func(rows uint32, o owner) (uint32, bool) {
			return c.findSlot(rows, c.worth(e, x), o)
		}) {
			c.slots.give(row, rows)
			return
		}
		c.keep(e, x, row)
	}
}

// hopeless reports whether no extent of a list is worth as much as the least cached piece. Now and
// then it reports false regardless, because that least value is an estimate from samples.
func (c *Cache) hopeless(e *entry) bool {
	if e.some != nil && c.config.Policy == VFB || len(c.slots.free) > 0 || c.worth(e, 0) > c.slots.floor {
		return false
	}
	if c.refused++; c.refused < modesty {
		return true
	}
	c.refused = 0
	return false
}

// limit is how many rows of a list the policy admits.
func (c *Cache) limit(e *entry) int64 {
	if c.config.Policy != VFB {
		return e.total
	}
	return int64(c.config.Lambda * float64(e.total))
}

// keep records the place of an extent.
func (c *Cache) keep(e *entry, x int, row uint32) {
	e.at[x] = row
	e.setPending(x)
	e.resident += int64(e.sizes[x])
	e.shown.Store(e.resident)
	e.kept++
	c.stats.Extents++
	c.stats.admit(e.sizes[x])
}

// giveHead gives places to all parts of a head, or to none.
func (c *Cache) giveHead(e *entry, find func(rows uint32, o owner) (uint32, bool)) bool {
	c.found = c.found[:0]
	for i, rows := range e.parts {
		row, ok := uint32(0), true
		if rows > 0 {
			row, ok = find(rows, owner{e, int32(-1 - i)})
		}
		if !ok {
			c.giveBack(c.found, e.parts)
			return false
		}
		c.found = append(c.found, row)
	}
	e.headAt, e.headDue = slices.Clone(c.found), true
	if e.headAt == nil {
		e.headAt = []uint32{} // a head without parts
	}
	e.at = make([]uint32, len(e.sizes))
	for x, rows := range e.sizes {
		if e.at[x] = Missing; rows == 0 {
			e.at[x] = 0
		}
	}
	c.change(e) // a list of runs only has no other piece that would
	c.stats.Lists++
	return true
}

// giveBack frees the slots of the first parts of a head.
func (c *Cache) giveBack(at, parts []uint32) {
	for i, row := range at {
		if parts[i] > 0 {
			c.slots.give(row, parts[i])
		}
	}
}

// worth is the policy's value of an extent: the higher, the longer it should be kept.
func (c *Cache) worth(e *entry, x int) float32 {
	switch c.config.Policy {
	case Qtf:
		return e.queries
	case QtfDf:
		return e.queries / float32(e.total+e.head)
	}
	return e.visits(x)
}

// worthOf is the worth of a piece in a slot. All queries of a list need its head.
func (c *Cache) worthOf(o owner) float32 {
	o.entry.fade(c.epoch)
	switch {
	case o.piece >= 0:
		return c.worth(o.entry, int(o.piece))
	case c.config.Policy == QtfDf:
		return c.worth(o.entry, 0)
	}
	return o.entry.queries
}
