package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A pareto finds the Pareto-best pairs of any number of pairs. For every length
// code it keeps the highest frequency; going up the codes, a frequency above all
// before it is a best pair. The zero value is ready to use.
type pareto struct {
	tf   [256]uint32
	used [4]uint64 // bit c is set when tf[c] counts
}

func (p *pareto) add(tf uint32, length uint8) {
	p.tf[length] = max(p.tf[length], tf)
	p.used[length/64] |= 1 << (length % 64)
}

func (p *pareto) addAll(pairs []Impact) {
	for _, m := range pairs {
		p.add(m.TF, m.Len)
	}
}

// flush appends the best pairs, rising in both frequency and length code, and
// makes p empty again.
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

// appendImpacts writes best pairs: for each, uvarint (rise of the frequency minus
// one)<<1 | more, and a byte for the rise of the length code minus one (from -1).
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
