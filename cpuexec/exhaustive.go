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
