package cache

// A Place is a segment in which Together looks for a term.
type Place struct {
	Segment uint64 // as in Key
	// Of a segment in memory, the documents [First, Docs). Docs is 0 for a sealed segment.
	First, Docs uint32
}

// Together finds the cached lists of a term in several segments, in any order: into[i*step] becomes
// that of places[i]. It stays nil if the list is not cached or may have grown; Get and Growing then
// find it. Together returns how many it has found.
//
// One hash, one lock and one look-up serve all segments. Under the lock nothing but the lists is
// read, so that the processor fetches several at a time. Finding each with a lock of its own takes
// 330 ns a list in four segments.
func (c *Lists) Together(field, term string, places []Place, into []*List, step int) (found int) {
	hash := c.hash(Key{Field: field, Term: term})
	s := c.shard(hash)
	s.mu.Lock()
	next := len(places) - 1 // the newest entry comes first, and most are inserted in the order of the segments
	for e := s.lists[hash]; e != nil; e = e.same {
		at := next
		if at < 0 || places[at].Segment != e.key.Segment {
			for at = len(places) - 1; at >= 0 && places[at].Segment != e.key.Segment; {
				at--
			}
		}
		if at < 0 || e.key.Term != term || e.key.Field != field {
			continue
		}
		next = at - 1
		if p := places[at]; p.Docs > 0 && !e.covers(p) {
			continue
		}
		s.touch(e)
		into[at*step] = e
		s.hitBytes += e.size.Load()
		found++
	}
	s.hits += int64(found)
	s.mu.Unlock()
	return found
}
