package columns

// A Pick chooses among the values of a document.
type Pick uint8

const (
	Least Pick = iota
	Greatest
	All // with Select alone
)

// keys writes the keys of all values of the tile, len(dst) of them.
func (t *tile) keys(b []byte, l layout, dst []uint64) {
	switch t.form {
	case constant:
		for i := range dst {
			dst[i] = t.least
		}
	case packed:
		unpackKeys(dst, b[l.values:], int(t.width), t.least, t.divisor)
	case table:
		var room [maxTable]uint64
		unpackKeys(room[:t.entries], b[l.whole:], widthOf(t.top), t.least, t.divisor)
		unpackKeys(dst, b[l.values:], int(t.width), 0, 1)
		for i, place := range dst {
			dst[i] = room[place%maxTable]
		}
	case rising:
		first, step := t.least, t.divisor
		if t.falls {
			first, step = t.greatest, -t.divisor
		}
		unpackKeys(dst, b[l.values:], int(t.width), t.gap*step, step)
		wide := widthOf(t.top)
		for run := 0; run < len(dst); run += runValues {
			key := first + packedAt(b[l.whole:], run/runValues, wide)*step
			some := dst[run:min(run+runValues, len(dst))]
			some[0] = key
			for i := 1; i < len(some); i++ {
				key += some[i]
				some[i] = key
			}
		}
	case linear:
		t.lines(b, l, dst, t.least, t.divisor)
	}
}

// lines is keys of form linear, with a least key and a divisor that need not be the tile's.
func (t *tile) lines(b []byte, l layout, dst []uint64, least, divisor uint64) {
	width, step := int(t.width), t.slope*divisor
	for run := 0; run < len(dst); run += runValues {
		some := dst[run:min(run+runValues, len(dst))]
		unpackKeys(some, b[int(l.values)+run*width/8:], width, least+t.line(b, l, run/runValues)*divisor, divisor)
		if step == 0 {
			continue
		}
		rise := uint64(0)
		for i := range some {
			some[i] += rise
			rise += step
		}
	}
}

// quotient returns a quotient of form linear.
func (t *tile) quotient(b []byte, l layout, i int) uint64 {
	return t.line(b, l, i/runValues) + uint64(i%runValues)*t.slope + packedAt(b[l.values:], i, int(t.width))
}

// key returns the key of one value.
func (t *tile) key(b []byte, l layout, i int) uint64 {
	var q uint64
	switch t.form {
	case constant:
		return t.least
	case packed:
		q = packedAt(b[l.values:], i, int(t.width))
	case table:
		q = packedAt(b[l.whole:], int(packedAt(b[l.values:], i, int(t.width))), widthOf(t.top))
	case rising:
		run := i / runValues
		q = packedAt(b[l.whole:], run, widthOf(t.top)) + uint64(i%runValues)*t.gap
		for at := run*runValues + 1; at <= i; at++ {
			q += packedAt(b[l.values:], at, int(t.width))
		}
		if t.falls {
			q = t.top - q
		}
	case linear:
		q = t.quotient(b, l, i)
	}
	return t.least + q*t.divisor
}
