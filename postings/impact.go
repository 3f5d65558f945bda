package postings

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// An Impact is one Pareto-best pair of a block, an extent or a list: no other
// posting there has both a frequency at least as high and a length code at most
// as high. Bounds are made from pairs, not from stored scores, so they stay
// exact whatever k1, b, average length or idf a query uses.
type Impact struct {
	TF  uint32 // term frequency, at least 1
	Len uint8  // length code of the document's field (see blockmax.LengthCode)
}

// Impacts are the Pareto pairs of consecutive blocks (or extents): those of i are
// Pairs[Start[i]:Start[i+1]].
type Impacts struct {
	Start []uint32 // one element more than there are blocks
	pairs []Impact
}

// Of returns the pairs of block (or extent) i.
func (m *Impacts) Of(i int) []Impact { return m.pairs[m.Start[i]:m.Start[i+1]] }

func (m *Impacts) bytes() int {
	if m == nil {
		return 0
	}
	return 4*len(m.Start) + len(m.pairs)*int(unsafe.Sizeof(Impact{}))
}

// BlockImpacts returns the best pairs of the blocks. After Shrink, and of a list that reads extents
// on demand, it reads them from the directory.
func (l *List) BlockImpacts() (*Impacts, error) {
	switch {
	case l.onDemand != nil:
		return l.assembleImpacts()
	case len(l.Last) == 0:
		return new(Impacts), nil
	}
	if m := l.impacts.Load(); m != nil {
		return m, nil
	}
	again := &List{Count: l.Count, BlockSize: l.BlockSize, ListImpacts: l.ListImpacts, load: l.load, checked: l.checked, form: l.form, stored: l.stored, bits: l.bits}
	if err := again.loadDirectory(); err != nil {
		return nil, err
	}
	l.impacts.CompareAndSwap(nil, again.impacts.Load())
	return again.impacts.Load(), nil
}

// append appends the best pairs of the blocks of o.
func (m *Impacts) append(o *Impacts) {
	n := uint32(len(m.pairs))
	m.pairs = append(m.pairs, o.pairs...)
	for _, start := range o.Start[1:] {
		m.Start = append(m.Start, n+start)
	}
}

// push appends the best pairs of the next block or extent from p and empties p.
func (m *Impacts) push(p *pareto) {
	if len(m.Start) == 0 {
		m.Start = append(m.Start, 0)
	}
	m.pairs = p.flush(m.pairs)
	m.Start = append(m.Start, uint32(len(m.pairs)))
}

// addTo adds the pairs of blocks (or extents) [from, to) to p.
func (m *Impacts) addTo(p *pareto, from, to int) {
	p.addAll(m.pairs[m.Start[from]:m.Start[to]])
}

// A pareto finds the Pareto-best pairs of any number of pairs. For every length code it keeps the
// highest frequency. In rising order of codes, a frequency above all earlier ones makes a best
// pair. The zero value is ready to use.
type pareto struct {
	tf   [256]uint32
	used [4]uint64 // bit c is set when tf[c] is valid
}

func (p *pareto) add(tf uint32, length uint8) {
	if tf > p.tf[length] { // rare: most frequencies are 1 or 2, and lengths are alike
		p.tf[length] = tf
		p.used[length/64] |= 1 << (length % 64)
	}
}

func (p *pareto) addAll(pairs []Impact) {
	for _, m := range pairs {
		p.add(m.TF, m.Len)
	}
}

// flush appends the best pairs, rising in both frequency and length code, and empties p.
func (p *pareto) flush(dst []Impact) []Impact {
	best := uint32(0)
	for w := range p.used {
		for u := p.used[w]; u != 0; u &= u - 1 {
			c := 64*w + bits.TrailingZeros64(u)
			if p.tf[c] > best {
				best = p.tf[c]
				dst = append(dst, Impact{TF: best, Len: uint8(c)})
			}
			p.tf[c] = 0
		}
		p.used[w] = 0
	}
	return dst
}

// appendImpacts writes best pairs. For each it writes uvarint (rise of the frequency minus one)<<1
// | more, and a byte for the rise of the length code minus one (from -1).
func appendImpacts(dst []byte, pairs []Impact) []byte {
	tf, length := uint32(0), -1
	for i, m := range pairs {
		v := uint64(m.TF-tf-1) << 1
		if i < len(pairs)-1 {
			v |= 1
		}
		dst = binary.AppendUvarint(dst, v)
		dst = append(dst, byte(int(m.Len)-length-1))
		tf, length = m.TF, int(m.Len)
	}
	return dst
}

// impacts reads what appendImpacts wrote.
func (r *reader) impacts(dst []Impact) []Impact {
	tf, length := uint64(0), -1
	for more := true; more && r.err == nil; {
		at := r.at
		v := r.uvarint()
		tf += v>>1 + 1
		length += int(r.byte()) + 1
		if r.err == nil && (tf > 1<<32-1 || length > 255) {
			r.err = corrupt.New(at, "best pair of frequency %d and length code %d", tf, length)
			break
		}
		dst = append(dst, Impact{TF: uint32(tf), Len: uint8(length)})
		more = v&1 != 0
	}
	return dst
}
