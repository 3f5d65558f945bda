package cpuexec

// wand answers OR by WAND (Broder and others, Efficient Query Evaluation using a
// Two-Level Retrieval Process, 2003).
//
// The cursors are kept in order of their documents. The pivot is the first whose list bound, added
// to those of all cursors before it, reaches need: no document below the pivot's can enter, because
// only the lists before it can hold one.
func (r *run) wand() error {
	cs, err := r.docs.start(r)
	if err != nil {
		return err
	}
	for step := 0; ; step++ {
		need := r.out.need(cs.lowest())
		pivot := cs.pivot(r.at.underAny(need))
		if pivot < 0 {
			return nil
		}
		doc := cs[pivot].doc
		if err := r.query.interrupted(step); err != nil {
			return err
		}
		if doc >= r.at.to || r.tailDone(doc) {
			return nil
		}
		if cs[0].doc == doc {
			err = r.scoreDocument(cs, doc)
		} else {
			err = cs.leapBelow(pivot, doc)
		}
		if err != nil {
			return err
		}
	}
}
