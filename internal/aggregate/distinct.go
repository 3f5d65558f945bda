package aggregate

import (
	"math/bits"
	"slices"
)

// A distinctNode counts the different values of all documents, of a field that may have many. A cell is a
// number for each of them: (key - first) / divisor. Some cells are kept in a hash set, and many as bits,
// if their span allows it. (Of few values, a keyNode's row of counters is faster.)
type distinctNode struct {
	base
	first, divisor uint64
	last           uint64 // cell
	mostBits       uint64
	growing        bool // cells are numbers of terms, which become more
	some           keySet
	marks          []uint64 // of cells; nil while they are in some
	missing        int
}

// fewDistinct is the number of keys up to which a keyNode counts different values.
const fewDistinct = 1 << 16

// hasMany reports whether a distinctNode counts the different values of a field.
func (f *field) hasMany() bool { return f.interned || f.docs > 0 && f.span-1 >= fewDistinct }

func newDistinctNode(b base) *distinctNode {
	n := &distinctNode{base: b, divisor: 1, mostBits: 1 << 31}
	switch f := b.field; {
	case !f.interned:
		n.first, n.divisor = f.base, f.divisor()
		n.last = (f.span - 1) / n.divisor
	case b.column != nil:
		first, span := f.local(b.state.segment)
		n.first, n.last = first, span-1
	default:
		n.growing = true
	}
	if limit := b.run.options.Bytes; limit > 0 {
		n.mostBits = 8 * uint64(limit/int64(4*max(1, b.run.options.Workers)))
	}
	return n
}

func (n *distinctNode) collect(in *input) error {
	if n.column == nil {
		n.missing += in.n
		return nil
	}
	if n.marks == nil {
		e := n.e
		if err := n.reader.join(in, e); err != nil {
			return err
		}
		n.missing += e.lacks
		for _, key := range e.keys {
			n.add((key - n.first) / n.divisor)
		}
		return nil
	}
	lacking, err := n.lacking(in)
	if err != nil {
		return err
	}
	n.missing += lacking
	return n.column.Mark(in.tile, in.whole(), n.first, n.divisor, n.marks)
}

// bitsPerCell is the number of bits, all of which are to be cleared and counted, that are worth a cell less
// in a hash set.
const bitsPerCell = 1024

// add adds a cell.
func (n *distinctNode) add(cell uint64) {
	if n.marks == nil {
		n.some.add(cell)
		if n.last = max(n.last, cell); n.last < n.mostBits && uint64(n.some.n)*bitsPerCell > n.last {
			n.mark()
		}
		return
	}
	if cell/64 >= uint64(len(n.marks)) {
		n.marks = append(n.marks, make([]uint64, cell/64+1-uint64(len(n.marks)))...)
	}
	n.marks[cell/64] |= 1 << (cell % 64)
}

// mark goes over to bits.
func (n *distinctNode) mark() {
	n.marks = []uint64{}
	if !n.growing {
		n.marks = make([]uint64, n.last/64+1)
	}
	n.some.each(n.add)
	n.some = keySet{}
}

// each calls f for all cells.
func (n *distinctNode) each(f func(cell uint64)) {
	n.some.each(f)
	for i, w := range n.marks {
		for ; w != 0; w &= w - 1 {
			f(uint64(64*i + bits.TrailingZeros64(w)))
		}
	}
}

func (n *distinctNode) merge(from node, _ []uint32) error {
	f := from.(*distinctNode)
	n.missing += f.missing
	if n.field.interned && f.column != nil {
		return n.mergeInterned(f)
	}
	switch {
	case f.marks == nil:
		f.some.each(n.add)
	case n.marks == nil:
		n.marks = f.marks
		n.some.each(n.add)
		n.some = keySet{}
	default:
		for i, w := range f.marks {
			n.marks[i] |= w
		}
	}
	return nil
}

// mergeInterned is merge for the cells of a segment, whose keys are its own.
func (n *distinctNode) mergeInterned(f *distinctNode) error {
	var keys []uint64
	f.each(func(cell uint64) { keys = append(keys, cell) })
	slices.Sort(keys)
	keys, err := n.field.globals(f.state.segment, keys)
	for _, key := range keys {
		n.add(key)
	}
	return err
}

func (n *distinctNode) result(uint32) (*Result, error) {
	r := &Result{Distinct: n.some.n, Missing: n.missing}
	for _, w := range n.marks {
		r.Distinct += bits.OnesCount64(w)
	}
	return r, nil
}

func (n *distinctNode) metric(uint32, Metric) (float64, bool) { return 0, false }

func (n *distinctNode) bytes() int64              { return 8 * int64(cap(n.marks)+len(n.some.slots)) }
func (n *distinctNode) heaviest() (string, int64) { return n.heaviestOf(n.bytes()) }

// divisor returns a number that divides the distances of all keys from the least.
func (f *field) divisor() uint64 {
	d := uint64(0)
	for _, c := range f.columns {
		if c == nil {
			continue
		}
		least, _ := c.Bounds()
		for _, v := range []uint64{c.Divisor(), least - f.base} {
			for v != 0 {
				d, v = v, d%v
			}
		}
	}
	return max(1, d)
}

// A keySet is a set of keys: a hash table with linear probing.
type keySet struct {
	slots []uint64 // keys, a power of two of them; 0 for none
	n     int
	zero  bool // whether key 0 is in the set
	shift uint
}

func (s *keySet) add(key uint64) {
	if key == 0 {
		if !s.zero {
			s.zero = true
			s.n++
		}
		return
	}
	if 8*(s.n+1) > 5*len(s.slots) {
		s.enlarge()
	}
	if slot := s.find(key); *slot == 0 {
		*slot = key
		s.n++
	}
}

// find returns the slot of a key, or the free one where it belongs.
func (s *keySet) find(key uint64) *uint64 {
	mask := len(s.slots) - 1
	hi, lo := bits.Mul64(key^0x2545F4914F6CDD1D, 0xD6E8FEB86659FD93)
	for i := int((hi ^ lo) >> s.shift); ; i++ {
		if slot := &s.slots[i&mask]; *slot == 0 || *slot == key {
			return slot
		}
	}
}

func (s *keySet) enlarge() {
	before := s.slots
	size := max(64, 4*len(before))
	s.slots = make([]uint64, size)
	s.shift = uint(64 - bits.Len(uint(size-1)))
	for _, key := range before {
		if key != 0 {
			*s.find(key) = key
		}
	}
}

// each calls f for all keys, in no particular order.
func (s *keySet) each(f func(key uint64)) {
	if s.zero {
		f(0)
	}
	for _, key := range s.slots {
		if key != 0 {
			f(key)
		}
	}
}
