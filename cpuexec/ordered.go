package cpuexec

// ordered are the cursors of a document-at-a-time algorithm, in ascending order of their documents.
// Cursors at the end come last.
type ordered []*docCursor

// lowest is the lowest document under a cursor, or end.
func (o ordered) lowest() uint32 {
	if len(o) == 0 {
		return end
	}
	return o[0].doc
}

// lower moves o[i] forward to its place when its document may be lower than those of the preceding
// cursors.
func (o ordered) lower(i int) {
	c := o[i]
	for ; i > 0 && o[i-1].doc > c.doc; i-- {
		o[i] = o[i-1]
	}
	o[i] = c
}

// raise moves o[i] back to its place after its document has risen.
func (o ordered) raise(i int) {
	c := o[i]
	for ; i+1 < len(o) && o[i+1].doc < c.doc; i++ {
		o[i] = o[i+1]
	}
	o[i] = c
}

// pivot returns the first cursor whose list bound, added to those before it, reaches need, or the last cursor at the same document. It returns -1 when no document can enter any more.
func (o ordered) pivot(need uint32) int {
	sum := uint32(0)
	for i, c := range o {
		if c.doc == end {
			break
		}
		if sum += c.max; sum < need {
			continue
		}
		for i+1 < len(o) && o[i+1].doc == c.doc {
			i++
		}
		return i
	}
	return -1
}

// leap moves o[i] to target or later and restores the order.
func (o ordered) leap(i int, target uint32) error {
	if err := o[i].seekGE(target); err != nil {
		return err
	}
	o.raise(i)
	return nil
}

// leapBelow moves the last cursor before the pivot to doc, the pivot's document. That cursor is
// most likely to end up there anyway, so this moves the fewest cursors.
func (o ordered) leapBelow(pivot int, doc uint32) error {
	for o[pivot].doc == doc {
		pivot--
	}
	return o.leap(pivot, doc)
}

// scoreDocument scores doc, which the first cursors point to, offers it, and moves them on.
func (r *run) scoreDocument(o ordered, doc uint32) error {
	at := 0
	for at < len(o) && o[at].doc == doc {
		at++
	}
	r.out.work.DocsScored++
	if r.at.accepts(doc) {
		score := uint32(0)
		for _, c := range o[:at] {
			part, err := c.scoreHere()
			if err != nil {
				return err
			}
			score += part
		}
		r.out.total++
		r.offer(doc, score)
	}
	for i := at - 1; i >= 0; i-- {
		if err := o[i].next(); err != nil {
			return err
		}
		o.raise(i)
	}
	return nil
}
