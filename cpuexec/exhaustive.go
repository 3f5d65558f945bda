package cpuexec

// exhaustive answers OR by adding up every list, window by window: what pruning is
// measured against.
func (r *run) exhaustive() error {
	cs, err := r.openAll()
	if err != nil {
		return err
	}
	for lo := r.from; ; lo = r.win.hi {
		next := nextDocument(cs, lo)
		if next >= r.to {
			return nil
		}
		r.win.at(next, r.from, r.to)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		for _, c := range cs {
			if err := r.addWindow(c, 0); err != nil {
				return err
			}
		}
		r.collect(0)
		r.offerCandidates()
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
