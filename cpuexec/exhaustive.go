package cpuexec

// exhaustive answers OR by adding up every list, window by window: what pruning is
// measured against.
func (r *run) exhaustive() error {
	cs, err := r.openAll()
	if err != nil {
		return err
	}
	for lo := uint32(0); ; lo = r.win.hi {
		next, ok := nextDocument(cs, lo)
		if !ok {
			return nil
		}
		r.win.at(next, r.seg.Docs)
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
