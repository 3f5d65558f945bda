package cpuexec

// firstWindow is the number of documents in the first window; from there on windows
// double up to windowDocs. While there is no need, all lists are
// essential and everything is scored; small windows end that early.
const firstWindow = 256

// bmm answers OR by block-max MaxScore over windows of windowDocs documents.
//
// In each window the lists are ordered by what their blocks there can contribute
// at most. The longest run of the weakest that together cannot reach need are not
// essential: a document only they hold cannot get in. The essential lists are
// added up list by list in the window, and what can still get in is looked up in
// the others, strongest first. This is MaxScore (Turtle and Flood, Query
// Evaluation: Strategies and Optimizations, 1995) with the bounds of block-max
// indexes (Ding and Suel 2011) and the windows of Lucene's
// MaxScoreBulkScorer.
//
// A block of an essential list is passed over, too, when its own bound and those
// of all other lists cannot reach need. The documents in it that other essential
// lists hold then miss a part of their score; but their whole score is below need,
// so the part they have keeps them out as well.
func (r *run) bmm() error {
	cs, err := r.openAll()
	if err != nil {
		return err
	}
	size := uint32(firstWindow)
	if r.need(r.from) > 0 {
		size = windowDocs
	}
	for lo := r.from; ; lo = r.win.hi {
		next := nextDocument(cs, lo)
		if next >= r.to || r.tailDone(next) {
			return nil
		}
		r.win.at(next, r.from, r.to)
		r.win.lo, r.win.hi = next, min(r.win.hi, next+size)
		size = min(2*size, windowDocs)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.bmmWindow(cs); err != nil {
			return err
		}
	}
}

// nextDocument returns the lowest document from lo on that any of the lists can
// hold; end when there is none.
func nextDocument(cs []*cursor, lo uint32) (next uint32) {
	next = end
	for _, c := range cs {
		if !c.seekBlock(lo) {
			continue
		}
		if c.loaded == c.block {
			c.advance(lo)
			next = min(next, c.docs[c.i&127])
		} else {
			next = min(next, max(lo, c.first(c.block)))
		}
	}
	return next
}

// bmmWindow offers what can get in of the window's documents.
func (r *run) bmmWindow(cs []*cursor) error {
	need, rank := r.need(r.win.lo), r.rankBound(r.win.lo, r.win.hi-1)
	active, sum := r.boundWindow(cs)
	if sum+rank < need {
		return nil
	}
	// sums[i] is what active[:i] can contribute together.
	essential := 0
	for essential < len(active) && r.sums[essential+1]+rank < need {
		essential++
	}
	for _, c := range active[essential:] {
		if err := r.addWindow(c, saturatingSub(need, sum-c.bound+rank)); err != nil {
			return err
		}
	}
	r.collect(saturatingSub(need, r.sums[essential]+rank))
	for i := essential - 1; i >= 0 && r.cands.n > 0; i-- {
		if err := r.probe(active[i], need, r.sums[i]+rank, false); err != nil {
			return err
		}
	}
	r.offerCandidates()
	return nil
}

// boundWindow returns the cursors of lists that can hold a document of the
// window, weakest first, and the sum of their bounds. It also fills r.sums.
func (r *run) boundWindow(cs []*cursor) (active []*cursor, sum uint32) {
	active = r.active[:0]
	for _, c := range cs {
		bound, ok := c.rangeMax(r.win.hi - 1)
		if !ok {
			continue
		}
		c.bound = bound
		at := len(active)
		active = append(active, c)
		for ; at > 0 && active[at-1].bound > bound; at-- {
			active[at] = active[at-1]
		}
		active[at] = c
	}
	r.active = active
	r.sums = append(r.sums[:0], 0)
	for _, c := range active {
		sum += c.bound
		r.sums = append(r.sums, sum)
	}
	return active, sum
}

// addWindow adds the list's postings in the window to it, without the blocks
// whose bound is below floor.
func (r *run) addWindow(c *cursor, floor uint32) error {
	w := &r.win
	for c.seekBlock(w.lo); c.block < len(c.list.Last) && c.first(c.block) < w.hi; c.block++ {
		if c.blockMax(c.block) >= floor {
			if err := c.load(w.lo); err != nil {
				return err
			}
			to := c.until(w.hi)
			if to > c.i {
				if err := c.loadFreqs(); err != nil {
					return err
				}
				w.add(c, c.i, to)
				c.i = min(to, c.n-1)
			}
		}
		if c.last() >= w.hi {
			break
		}
	}
	return nil
}

// saturatingSub is a - b, or 0 when that is negative.
func saturatingSub(a, b uint32) uint32 {
	if a < b {
		return 0
	}
	return a - b
}
