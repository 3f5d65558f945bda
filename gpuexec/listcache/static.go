package listcache

import (
	"cmp"
	"slices"
)

// Count counts the visits of a log's queries for Admit, without placing anything. Each call may be
// for one query, and calls may run concurrently.
func (c *Cache) Count(needs []Need) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.Region.Rows == 0 {
		return
	}
	c.batch++ // so that two forms of a list do not count as one batch's
	for i := range needs {
		if needs[i].Key != 0 {
			c.known(&needs[i])
		}
	}
	c.passTime()
}

// Admit empties the cache and gives places to the extents or lists worth most by the visits counted
// so far. Pieces are copied later, when a batch first wants them. Pending tells which lists to
// request in order to copy everything in advance.
func (c *Cache) Admit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.config.Policy == VFB {
		c.admitExtents()
	} else {
		c.admitLists()
	}
}

// A candidate is an extent, or a whole list, that could be admitted.
type candidate struct {
	worth  float32
	entry  *entry
	extent int
}

// better orders candidates by worth. Ties go to the list that more queries have, as in the paper.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.entry.queries, a.entry.queries),
		cmp.Compare(a.entry.key, b.entry.key), cmp.Compare(a.extent, b.extent))
}

// admitExtents admits extents by visiting frequency. Extents of requested lists that no query
// visits come last. One that does not fit is skipped, since a smaller one may.
func (c *Cache) admitExtents() {
	var all []candidate
	for _, e := range c.entries {
		e.fade(c.epoch)
		for x, rows := range e.sizes {
			if rows > 0 {
				all = append(all, candidate{c.worth(e, x), e, x})
			}
		}
	}
	slices.SortFunc(all, better)
	for _, can := range all {
		e, rows := can.entry, int64(can.entry.sizes[can.extent])
		if e.resident+rows <= c.limit(e) {
			c.admit(e, can.extent)
		}
	}
}

// admitLists admits whole lists. One that does not fit is skipped.
func (c *Cache) admitLists() {
	var all []candidate
	for _, e := range c.entries {
		if e.fade(c.epoch); e.queries > 0 {
			all = append(all, candidate{c.worth(e, 0), e, 0})
		}
	}
	slices.SortFunc(all, better)
	for _, can := range all {
		e := can.entry
		if e.total+e.head > c.slots.room() {
			continue
		}
		for x, rows := range e.sizes {
			if rows > 0 && !c.admit(e, x) {
				c.dropEntry(e)
				break
			}
		}
	}
}

// admit gives a place to an extent, and to the head of its list, if there is room.
func (c *Cache) admit(e *entry, x int) bool {
	if e.headAt == nil && (e.head+int64(e.sizes[x]) > c.slots.room() || !c.giveHead(e, c.slots.take)) {
		return false
	}
	row, ok := c.slots.take(e.sizes[x], owner{e, int32(x)})
	if !ok {
		if e.kept == 0 {
			c.dropEntry(e)
		}
		return false
	}
	c.keep(e, x, row)
	c.change(e)
	return true
}

// Pending calls yield, in ascending order of keys, for each list with pieces that have a place but
// have not been copied. It passes the list's key and these extents.
func (c *Cache) Pending(yield func(key uint64, extents []uint64) bool) {
	type item struct {
		key     uint64
		extents []uint64
	}
	var all []item
	c.mu.Lock()
	for key, e := range c.entries {
		if e.headAt != nil && (e.headDue || e.anyPending()) {
			all = append(all, item{key, slices.Clone(e.pending)})
		}
	}
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.key, b.key) })
	for _, it := range all {
		if !yield(it.key, it.extents) {
			return
		}
	}
}
