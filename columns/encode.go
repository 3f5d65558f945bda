package columns

import (
	"encoding/binary"
	"slices"
)

// A pending has the documents and keys of a tile that is not encoded yet, and room to do so.
type pending struct {
	number  uint32
	docs    []uint16 // within the tile
	ends    []uint32 // for each, the number of keys up to its last one; unused while all have one
	keys    []uint64 // ascending within a document
	several bool

	quotients, scratch []uint64
	beginnings         []uint64 // of lines
	distinct           distinct
}

// add adds a document with at least one key.
func (p *pending) add(doc uint16, keys []uint64) {
	at := len(p.keys)
	p.keys = append(p.keys, keys...)
	if len(keys) > 1 {
		slices.Sort(p.keys[at:])
		if !p.several {
			p.several = true
			p.ends = p.ends[:0]
			for i := range p.docs {
				p.ends = append(p.ends, uint32(i+1))
			}
		}
	}
	p.docs = append(p.docs, doc)
	if p.several {
		p.ends = append(p.ends, uint32(len(p.keys)))
	}
}

func (p *pending) reset() {
	p.docs, p.keys, p.ends, p.several = p.docs[:0], p.keys[:0], p.ends[:0], false
}

// encode appends the payload of the tile to dst and returns its entry of the directory, without
// chunk and place. length is the number of documents of the tile.
func (p *pending) encode(dst []byte, length int) (tile, []byte) {
	t := tile{number: p.number, values: uint32(len(p.keys)), docs: uint16(len(p.docs)), length: uint16(length)}
	t.regular = p.several && p.regular()
	p.divide(&t)
	t.presence, _ = presenceOf(len(p.docs), length)
	p.choose(&t)
	dst = p.appendPresence(dst, &t)
	if !t.single() && !t.regular {
		dst = p.appendEnds(dst)
	}
	switch t.form {
	case packed:
		dst = appendPacked(dst, p.quotients, int(t.width))
	case table:
		entries := p.distinct.sorted()
		dst = appendPacked(dst, entries, widthOf(t.top))
		p.scratch = p.scratch[:0]
		for _, q := range p.quotients {
			at, _ := slices.BinarySearch(entries, q)
			p.scratch = append(p.scratch, uint64(at))
		}
		dst = appendPacked(dst, p.scratch, int(t.width))
	case rising:
		p.scratch = p.scratch[:0]
		for i := 0; i < len(p.quotients); i += runValues {
			p.scratch = append(p.scratch, p.quotients[i])
		}
		dst = appendPacked(dst, p.scratch, widthOf(t.top))
		p.scratch = p.scratch[:0]
		for i, q := range p.quotients {
			if i%runValues == 0 {
				p.scratch = append(p.scratch, 0)
				continue
			}
			p.scratch = append(p.scratch, q-p.quotients[i-1]-t.gap)
		}
		dst = appendPacked(dst, p.scratch, int(t.width))
	case linear:
		dst = p.appendLines(dst, &t)
	}
	return t, dst
}

// regular reports whether all documents have as many values.
func (p *pending) regular() bool {
	for i, end := range p.ends {
		if end != uint32(i+1)*p.ends[0] {
			return false
		}
	}
	return true
}

// divide finds the bounds and the common divisor, and makes quotients of the keys.
func (p *pending) divide(t *tile) {
	t.least, t.greatest = p.keys[0], p.keys[0]
	for _, k := range p.keys[1:] {
		t.least, t.greatest = min(t.least, k), max(t.greatest, k)
	}
	t.divisor = 0
	for _, k := range p.keys {
		if t.divisor = gcd(k-t.least, t.divisor); t.divisor == 1 {
			break
		}
	}
	t.divisor = max(t.divisor, 1) // 0 when all keys are equal
	t.top = (t.greatest - t.least) / t.divisor
	p.quotients = p.quotients[:0]
	if t.divisor == 1 {
		for _, k := range p.keys {
			p.quotients = append(p.quotients, k-t.least)
		}
		return
	}
	for _, k := range p.keys {
		p.quotients = append(p.quotients, (k-t.least)/t.divisor)
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// choose finds the smallest form. Others than packed must gain an eighth (table; linear, whose
// quotients are not compared in the packed form) or a quarter (rising, where a single value cannot
// be read alone).
func (p *pending) choose(t *tile) {
	if t.top == 0 {
		t.form = constant
		return
	}
	values := uint64(t.values)
	whole := widthOf(t.top)
	t.form, t.width = packed, uint8(whole)
	best := packedBytes(values, whole)
	entries := 0
	for n := 2; n <= maxTable && tableBytes(values, n, whole) <= best-best/8; n *= 2 {
		entries = n
	}
	if entries > 0 && p.distinct.count(p.quotients, entries) {
		n := p.distinct.n
		t.form, t.entries, t.width = table, uint16(n), uint8(placeBits(n))
		best = tableBytes(values, n, whole)
	}
	if !t.single() {
		return
	}
	r := *t
	r.form, r.entries, r.falls = rising, 0, p.quotients[0] == t.top
	if r.falls {
		p.mirror(t.top)
	}
	gap, width, sorted := p.gaps()
	if sorted {
		r.gap, r.width = gap, uint8(width)
		if size := packedBytes(r.wholes(), whole) + packedBytes(values, width); size <= best-best/4 {
			*t = r
			return
		}
	}
	if r.falls {
		p.mirror(t.top)
	}
	if l, ok := p.lines(*t); ok && packedBytes(l.wholes(), l.wide())+packedBytes(values, int(l.width))+lineBytes <= best-best/8 {
		l.rises, l.falls = sorted && !r.falls, sorted && r.falls
		*t = l
	}
}

// mirror replaces quotients by their distances from the top.
func (p *pending) mirror(top uint64) {
	for i, q := range p.quotients {
		p.quotients[i] = top - q
	}
}

func tableBytes(values uint64, entries, width int) uint64 {
	return packedBytes(uint64(entries), width) + packedBytes(values, placeBits(entries))
}

// gaps returns the least gap between quotients, and the width of what all gaps have above it; ok is
// false when the quotients fall somewhere.
func (p *pending) gaps() (least uint64, width int, ok bool) {
	q := p.quotients
	least, most := ^uint64(0), uint64(0)
	for i := 1; i < len(q); i++ {
		if q[i] < q[i-1] {
			return 0, 0, false
		}
		if i%runValues != 0 {
			gap := q[i] - q[i-1]
			least, most = min(least, gap), max(most, gap)
		}
	}
	if least > most {
		return 0, 0, false // a single one
	}
	return least, widthOf(most - least), true
}

func (p *pending) appendPresence(dst []byte, t *tile) []byte {
	switch t.presence {
	case bitmap:
		var set [tileWords]uint64
		for _, d := range p.docs {
			set[d/64] |= 1 << (d % 64)
		}
		for _, w := range set[:(t.length+63)/64] {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	case present:
		p.scratch = p.scratch[:0]
		for _, d := range p.docs {
			p.scratch = append(p.scratch, uint64(d))
		}
		dst = appendPacked(dst, p.scratch, docBits)
	case missing:
		p.scratch = p.scratch[:0]
		next := uint16(0)
		for _, d := range p.docs {
			for ; next < d; next++ {
				p.scratch = append(p.scratch, uint64(next))
			}
			next = d + 1
		}
		for ; next < t.length; next++ {
			p.scratch = append(p.scratch, uint64(next))
		}
		dst = appendPacked(dst, p.scratch, docBits)
	}
	return dst
}

// appendEnds appends a bit for each value, set for the last one of a document.
func (p *pending) appendEnds(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(p.keys)+7)/8)...)
	for _, end := range p.ends {
		dst[at+int(end-1)/8] |= 1 << ((end - 1) % 8)
	}
	return dst
}

// A distinct is a set of at most maxTable numbers.
type distinct struct {
	slots [4 * maxTable]uint64 // number + 1 (mod 1<<64); 0 is empty
	last  bool                 // whether it has 1<<64 - 1
	list  []uint64
	n     int
}

// count fills the set with the numbers, and reports whether there are at most limit of them.
func (d *distinct) count(numbers []uint64, limit int) bool {
	clear(d.slots[:])
	d.list, d.last, d.n = d.list[:0], false, 0
	for _, x := range numbers {
		if x == ^uint64(0) {
			if !d.last {
				d.last = true
				d.list = append(d.list, x)
			}
			continue
		}
		at := x * 0x9e3779b97f4a7c15 >> 52
		for d.slots[at] != 0 && d.slots[at] != x+1 {
			at = (at + 1) % uint64(len(d.slots))
		}
		if d.slots[at] == 0 {
			if len(d.list) == limit {
				return false
			}
			d.slots[at] = x + 1
			d.list = append(d.list, x)
		}
	}
	d.n = len(d.list)
	return d.n <= limit
}

// sorted returns the numbers in ascending order.
func (d *distinct) sorted() []uint64 {
	slices.Sort(d.list)
	return d.list
}
