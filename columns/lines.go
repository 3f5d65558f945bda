package columns

// lineBytes is about what the directory has for the lines of a tile.
const lineBytes = 16

// lines returns a tile of single values in form linear; ok is false when they are too far apart. All lines
// have the slope of the whole tile, and each begins as high as leaves none of its quotients below it.
func (p *pending) lines(t tile) (l tile, ok bool) {
	q := p.quotients
	if widthOf(t.top) == 64 || len(q) < 2 {
		return t, false
	}
	slope := (int64(q[len(q)-1]) - int64(q[0])) / int64(len(q)-1)
	p.beginnings = p.beginnings[:0]
	lowest, highest, most := int64(q[0]), int64(0), int64(0)
	for run := 0; run < len(q); run += runValues {
		begin, above := int64(q[run]), int64(q[run])
		rise := int64(0)
		for _, x := range q[run:min(run+runValues, len(q))] {
			begin, above = min(begin, int64(x)-rise), max(above, int64(x)-rise)
			rise += slope
		}
		if run == 0 {
			highest = begin
		}
		lowest, highest, most = min(lowest, begin), max(highest, begin), max(most, above-begin)
		p.beginnings = append(p.beginnings, uint64(begin))
	}
	l = t
	l.form, l.entries = linear, 0
	l.slope, l.base, l.bases = uint64(slope), uint64(lowest), uint64(highest-lowest)
	l.width = uint8(widthOf(uint64(most)))
	return l, l.width <= widest
}

// appendLines appends the beginnings that lines has found, and what quotients have above the lines.
func (p *pending) appendLines(dst []byte, t *tile) []byte {
	for i, q := range p.quotients {
		p.quotients[i] = q - p.beginnings[i/runValues] - uint64(i%runValues)*t.slope
	}
	for i := range p.beginnings {
		p.beginnings[i] -= t.base
	}
	return appendPacked(appendPacked(dst, p.beginnings, t.wide()), p.quotients, int(t.width))
}
