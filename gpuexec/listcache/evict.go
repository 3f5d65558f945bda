package listcache

import (
	"math"
	"slices"
)

// A search for a less valuable slot samples sampledSlots slots. After modesty refusals of pieces
// worth no more than such a sample, the next piece causes a new one. After slabPatience failed
// searches, sampledSlabs slabs are sampled. Caches that choose by samples do nearly as well as
// those that keep everything in order, and most pieces are worth little, so refusing one must cost
// next to nothing.
const (
	sampledSlots = 16
	sampledSlabs = 16
	modesty      = 8
	slabPatience = 2
)

// findSlot finds a place for a piece: a free one, that of a less valuable piece of similar size, or
// one in a slab of less valuable pieces.
func (c *Cache) findSlot(rows uint32, worth float32, mine owner) (row uint32, ok bool) {
	if row, ok = c.slots.take(rows, mine); ok || c.slots.packed {
		return row, ok
	}
	class := c.slots.class(rows)
	if class == nil || class.refuses(worth) {
		return 0, false
	}
	if victim := c.cheapest(class, worth, mine.entry); victim.entry != nil {
		c.evict(victim)
		return c.slots.take(rows, mine)
	}
	if class.failed++; len(class.slabs) > 0 && class.failed < slabPatience {
		return 0, false
	}
	class.failed = 0
	if c.emptySlab(worth, mine.entry) {
		return c.slots.take(rows, mine)
	}
	return 0, false
}

// refuses reports whether a piece is worth too little to compare it with cached ones.
func (c *class) refuses(worth float32) bool {
	if worth > c.floor {
		return false
	}
	if c.refused++; c.refused < modesty {
		return true
	}
	c.refused = 0
	return false
}

// cheapest returns the piece with the lowest price in a sample of a class, if that is less than
// worth. It skips pieces of mine.
func (c *Cache) cheapest(class *class, worth float32, mine *entry) (victim owner) {
	floor, least := float32(math.MaxFloat32), worth
	c.slots.each(class, sampledSlots, func(o owner) {
		if o.entry == nil || o.entry == mine {
			return
		}
		w := c.price(o)
		floor = min(floor, w)
		if w < least {
			least, victim = w, o
		}
	})
	if class.floor = floor; floor == math.MaxFloat32 {
		class.floor = 0 // the sample was empty
	}
	return victim
}

// price is the worth that another piece must exceed to take a slot: that of its piece, or twice
// that if the current batch has the list, since the piece must then be copied for it.
func (c *Cache) price(o owner) float32 {
	w := c.worthOf(o)
	if o.entry.batch == c.batch {
		return 2 * w
	}
	return w
}

// emptySlab samples a few slabs and frees the one whose pieces have the lowest average price, if
// that is less than worth. It skips slabs with pieces of mine.
func (c *Cache) emptySlab(worth float32, mine *entry) bool {
	s := c.slots
	least, victim := worth, int32(-1)
	for range min(sampledSlabs, len(s.slabs)) {
		s.hand = (s.hand + 1) % len(s.slabs)
		if w := c.slabPrice(int32(s.hand)); w < least && !s.slabs[s.hand].has(mine) {
			least, victim = w, int32(s.hand)
		}
	}
	if victim < 0 {
		return false
	}
	owners := s.slabs[victim].owners
	for i := range owners {
		if o := owners[i]; o.entry != nil { // not evicted with an earlier one
			c.evict(o)
		}
	}
	s.undivide(victim)
	return true
}

// slabPrice is the average price of the rows in use in a slab, 0 when there are none. It is
// infinite for a free slab. Until an owner changes, it holds for a whole batch, because the batch's
// visits are counted first.
func (c *Cache) slabPrice(i int32) float32 {
	s := &c.slots.slabs[i]
	if s.class == nil {
		return math.MaxFloat32
	}
	if s.priced == c.batch {
		return s.price
	}
	total, rows := float32(0), float32(0)
	for _, o := range s.owners {
		if o.entry == nil {
			continue
		}
		n := float32(o.entry.rowsOf(o.piece))
		total += n * c.price(o)
		rows += n
	}
	s.price, s.priced = total/max(1, rows), c.batch
	return s.price
}

// has reports whether a piece of a list is in the slab.
func (s *slab) has(e *entry) bool {
	return slices.ContainsFunc(s.owners, func(o owner) bool { return o.entry == e })
}

// evict removes a piece. With a head, or with the last extent, it removes the whole list.
func (c *Cache) evict(o owner) {
	e := o.entry
	if o.piece < 0 || e.kept == 1 {
		c.dropEntry(e)
		return
	}
	c.dropExtent(e, int(o.piece))
	c.change(e)
}

func (c *Cache) dropExtent(e *entry, x int) {
	c.giveExtent(e, x)
	e.at[x] = Missing
	e.clearPending(x)
}

// giveExtent frees the slot of an extent.
func (c *Cache) giveExtent(e *entry, x int) {
	rows := e.sizes[x]
	c.slots.give(e.at[x], rows)
	e.resident -= int64(rows)
	e.shown.Store(e.resident)
	e.kept--
	c.stats.Extents--
	c.stats.evict(rows)
}

// dropEntry removes all pieces of a list. It does not overwrite the slice of places: a batch that
// was placed before may still use it after its segment is dropped.
func (c *Cache) dropEntry(e *entry) {
	for x, rows := range e.sizes {
		if rows > 0 && e.place(x) != Missing {
			c.giveExtent(e, x)
		}
	}
	if e.headAt != nil {
		c.giveBack(e.headAt, e.parts)
		c.stats.Lists--
	}
	e.headAt, e.at, e.pending, e.headDue = nil, nil, nil, false
	c.change(e)
}
