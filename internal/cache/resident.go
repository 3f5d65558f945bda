package cache

// Resident divides what the cache holds, in bytes.
type Resident struct {
	Heads int64 // of lists: where blocks lie and their bounds; the entries of the cache, too
	Code  int64 // postings as stored
	Rows  int64 // postings as they are searched

	Positions int64 // of lists

	Ranges  int64 // bounds of lists by document
	Bitmaps int64 // of lists
	Columns int64 // of sparse norms
	Values  int64 // columns of values, outside mapped files
	Filters int64
}

// Sum returns all of it.
func (r *Resident) Sum() int64 {
	return r.Heads + r.Code + r.Rows + r.Positions + r.Ranges + r.Bitmaps + r.Columns + r.Values + r.Filters
}

// Resident measures each entry: some milliseconds for thousands of lists.
func (c *Lists) Resident() (sum Resident) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := range s.entries {
			e.addTo(&sum)
		}
		s.mu.Unlock()
	}
	return sum
}

func (e *List) addTo(sum *Resident) {
	rest := e.measure()
	switch {
	case e.filter != nil:
		sum.Filters += rest
		return
	case e.values != nil:
		sum.Values += rest
		return
	case e.column != nil:
		sum.Columns += rest
		return
	}
	if e.Postings != nil {
		h := e.Postings.Held()
		sum.Code, sum.Rows, sum.Bitmaps = sum.Code+h.Code, sum.Rows+h.Rows, sum.Bitmaps+h.Bitmap
		sum.Positions += h.Positions
		rest -= h.Code + h.Rows + h.Bitmap + h.Positions
	}
	if kb := e.bounds.Load(); kb != nil {
		ranges := int64(kb.bounds.RangesBytes())
		sum.Ranges += ranges
		rest -= ranges
	}
	sum.Heads += max(0, rest) // others may load chunks meanwhile
}
