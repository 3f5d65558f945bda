package listcache

// Stats are figures about a cache since it was made. Sizes are in bytes.
type Stats struct {
	Bytes     int64 // of the cache
	UsedBytes int64 // of pieces in it
	Lists     int   // with any piece in the cache
	Extents   int   // in the cache

	Batches      int64
	WantedBytes  int64 // of extents that batches wanted
	HitBytes     int64 // of these, already in the cache
	CopiedBytes  int64 // of copied pieces, heads included
	MissingBytes int64 // of wanted extents left missing

	AdmittedBytes int64 // of admitted extents
	EvictedBytes  int64 // of evicted extents, displaced by others or dropped with their segments
}

// HitRate is the share of the wanted bytes that were in the cache; 0 if nothing was wanted.
func (s *Stats) HitRate() float64 {
	if s.WantedBytes == 0 {
		return 0
	}
	return float64(s.HitBytes) / float64(s.WantedBytes)
}

// Add sums the figures of caches.
func (s *Stats) Add(o Stats) {
	s.Bytes += o.Bytes
	s.UsedBytes += o.UsedBytes
	s.Lists += o.Lists
	s.Extents += o.Extents
	s.Batches += o.Batches
	s.WantedBytes += o.WantedBytes
	s.HitBytes += o.HitBytes
	s.CopiedBytes += o.CopiedBytes
	s.MissingBytes += o.MissingBytes
	s.AdmittedBytes += o.AdmittedBytes
	s.EvictedBytes += o.EvictedBytes
}

// Stats returns current figures.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Bytes = RowBytes * int64(c.config.Region.Rows)
	s.UsedBytes = RowBytes * c.slots.used
	return s
}

// hit counts a fully resident list.
func (s *Stats) hit(n *Need, total int64) {
	if n.Wanted != nil {
		total = 0
		for x, rows := range n.Extents {
			if n.wants(x) {
				total += int64(rows)
			}
		}
	}
	s.WantedBytes += RowBytes * total
	s.HitBytes += RowBytes * total
}

// want counts a wanted extent: whether it was resident, and where it is placed.
func (s *Stats) want(rows uint32, had bool, row uint32) {
	bytes := RowBytes * int64(rows)
	s.WantedBytes += bytes
	switch {
	case had:
		s.HitBytes += bytes
	case row == Missing:
		s.MissingBytes += bytes
	}
}

func (s *Stats) admit(rows uint32) { s.AdmittedBytes += RowBytes * int64(rows) }
func (s *Stats) evict(rows uint32) { s.EvictedBytes += RowBytes * int64(rows) }
