package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"math/big"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// The bytes of a Partial. Integers are uvarints, and signed ones varints, unless a size is given; fixed
// sizes are little-endian.
//
//	version (1 byte), fingerprint of the aggregations (8 bytes), part of each root, CRC-32C of all
//	before (4 bytes)
//
// A part, whose number of owners is known from above:
//
//	of Terms, Cardinality, histograms, Geohashes and Percentiles:
//	    of Percentiles the class (1 byte), of others the missing documents of each owner
//	    values
//	    with several owners, for each the number of its buckets and their places in the values, each less
//	    that before it and 1; one owner has a bucket of each value
//	    but for Cardinality, the count of each bucket
//	of Ranges, Rings, Filters and Missing:
//	    of Ranges and Rings the missing documents of each owner
//	    the count of each bucket
//	of Stats:
//	    the class (1 byte)
//	    for each owner the number of its values and, if there are any, the least, the greatest and a total
//	of TopHits:
//	    for each owner the number of its hits, and for each its name and engine (texts), its score (8 bytes,
//	    float64) and for each key of the order a value, or 0 if it has none
//
// and then the parts of its subordinate aggregations. Values are their number, and if there are any their
// kind (1 byte) and, of kind terms, for each the number of bytes in common with the one before and the rest
// (a text); of others, for each the distance from the key before. A value is its kind (1 byte) and its term
// (a text), signed integer (of kinds int and time) or key (8 bytes of kinds float and place). A text is its
// length and its bytes. A total is
//
//	the sum of integers (16 bytes, two's complement), that of their squares (24 bytes): trailing zeros left
//	out, a byte before says how many bytes remain
//	flags (1 byte): 1 for digits, 2 for far integers, 4 for special
//	digits: sum and sum of squares of floats, for each the number of the first digit to the base 1<<32 and
//	an integer; far: the same of integers, without digits; special: 8 bytes, float64
//
// where an integer is its sign (1 byte, 1 for a negative one) and its magnitude, big-endian (a text).
//
// Version 1 is the only one.
const partialVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary implements encoding.BinaryAppender.
func (p *Partial) AppendBinary(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, partialVersion)
	dst = binary.LittleEndian.AppendUint64(dst, fingerprint(p.roots))
	for i, s := range p.roots {
		dst = p.parts[i].append(dst, s, 1)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli)), nil
}

// fingerprint returns a number that other aggregations hardly have: of what decides which buckets there are
// and how parts merge.
func fingerprint(roots []*Spec) uint64 {
	h := fnv.New64a()
	for _, s := range roots {
		s.describe(h)
	}
	return h.Sum64()
}

func (s *Spec) describe(w io.Writer) {
	fmt.Fprintf(w, "%T %q %q", s.Of, s.Name, s.Field)
	switch k := s.Of.(type) {
	case Histogram:
		fmt.Fprintf(w, " %v %v", k.Interval, k.Offset)
	case Calendar:
		fmt.Fprintf(w, " %d %d %d %s", k.Unit, k.Every, k.Offset, k.zone())
	case Geohashes:
		fmt.Fprintf(w, " %d", k.Precision)
	case TopHits:
		fmt.Fprintf(w, " %d", k.Size)
		if k.Order != nil {
			for i := range k.Order.Keys {
				key := &k.Order.Keys[i]
				fmt.Fprintf(w, " %d %v %v", key.By, key.Desc, key.MissingFirst)
			}
		}
	}
	fmt.Fprintf(w, " %d (", sets(s.Of))
	for _, sub := range s.Sub {
		sub.describe(w)
	}
	io.WriteString(w, ")")
}

func (p *part) append(dst []byte, s *Spec, owners int) []byte {
	for _, docs := range p.missing {
		dst = binary.AppendUvarint(dst, docs)
	}
	switch s.Of.(type) {
	case Stats:
		dst = append(dst, byte(p.class))
		for i := range p.measures {
			dst = p.measures[i].append(dst)
		}
	case TopHits:
		dst = appendHits(dst, p.hits)
	case Percentiles:
		dst = p.appendKeys(p.values.append(append(dst, byte(p.class))))
	case Ranges, Rings, Filters, Missing:
	default:
		dst = p.appendKeys(p.values.append(dst))
	}
	for _, n := range p.counts {
		dst = binary.AppendUvarint(dst, n)
	}
	for i, sub := range p.subs {
		dst = sub.append(dst, s.Sub[i], p.buckets(s.Of, owners))
	}
	return dst
}

func (p *part) appendKeys(dst []byte) []byte {
	if len(p.ends) == 1 {
		return dst
	}
	for owner := range p.ends {
		from, end := p.of(owner)
		dst = binary.AppendUvarint(dst, uint64(end-from))
		least := uint32(0)
		for _, key := range p.keys[from:end] {
			dst = binary.AppendUvarint(dst, uint64(key-least))
			least = key + 1
		}
	}
	return dst
}

func (v *values) append(dst []byte) []byte {
	if dst = binary.AppendUvarint(dst, uint64(v.len())); v.len() == 0 {
		return dst
	}
	dst = append(dst, byte(v.kind))
	dst = slices.Grow(dst, len(v.terms.data)/4)
	var before []byte
	for i := range v.terms.ends {
		term := v.terms.at(i)
		n, most := 0, min(len(before), len(term))
		for n < most && before[n] == term[n] {
			n++
		}
		dst = appendText(binary.AppendUvarint(dst, uint64(n)), term[n:])
		before = term
	}
	last := uint64(0)
	for _, key := range v.keys {
		dst = binary.AppendUvarint(dst, key-last)
		last = key
	}
	return dst
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func appendValue(dst []byte, v columns.Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case columns.Terms:
		return appendText(dst, v.Term)
	case columns.Int, columns.Time:
		return binary.AppendVarint(dst, columns.KeyInt(v.Key))
	case columns.Float, columns.Place:
		return binary.LittleEndian.AppendUint64(dst, v.Key)
	}
	return binary.AppendUvarint(dst, v.Key)
}

func appendHits(dst []byte, owners [][]NamedHit) []byte {
	for _, hits := range owners {
		dst = binary.AppendUvarint(dst, uint64(len(hits)))
		for i := range hits {
			h := &hits[i]
			dst = appendText(appendText(dst, h.Name), h.Engine)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.Score))
			for _, key := range h.Keys {
				if key.Missing {
					dst = append(dst, 0)
				} else {
					dst = appendValue(dst, key.Value)
				}
			}
		}
	}
	return dst
}

func (s *measurement) append(dst []byte) []byte {
	if dst = binary.AppendUvarint(dst, uint64(s.n)); s.n == 0 {
		return dst
	}
	return s.total.append(appendValue(appendValue(dst, s.leastValue), s.mostValue))
}

const (
	hasDigits = 1 << iota
	hasFar
	hasSpecial
)

func (t *total) append(dst []byte) []byte {
	integers := [...]uint64{t.low, uint64(t.high), t.squares[0], t.squares[1], t.squares[2]}
	dst = appendShort(dst, integers[:2])
	dst = appendShort(dst, integers[2:])
	flags := byte(0)
	if t.digits != nil {
		flags |= hasDigits
	}
	if t.far != nil {
		flags |= hasFar
	}
	if t.special != 0 {
		flags |= hasSpecial
	}
	dst = append(dst, flags)
	if t.digits != nil {
		dst = t.digits.squares.append(t.digits.sum.append(dst))
	}
	if t.far != nil {
		dst = appendInteger(appendInteger(dst, &t.far.sum), &t.far.squares)
	}
	if t.special != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(t.special))
	}
	return dst
}

// appendShort appends words without the zero bytes behind.
func appendShort(dst []byte, words []uint64) []byte {
	at := len(dst)
	dst = append(dst, 0)
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	for len(dst) > at+1 && dst[len(dst)-1] == 0 {
		dst = dst[:len(dst)-1]
	}
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

func appendInteger(dst []byte, x *big.Int) []byte {
	sign := byte(0)
	if x.Sign() < 0 {
		sign = 1
	}
	return appendText(append(dst, sign), x.Bytes())
}

// append appends the number in one form, whatever its digits are.
func (w *wide) append(dst []byte) []byte {
	x, from := w.integer(), w.from
	if zeros := x.TrailingZeroBits() / 32; x.Sign() != 0 {
		x.Rsh(x, 32*zeros)
		from += int(zeros)
	} else {
		from = 0
	}
	return appendInteger(binary.AppendUvarint(dst, uint64(from)), x)
}

// UnmarshalPartial reads what AppendBinary wrote of the same aggregations. It fails with a *LimitError if it
// takes more than limit bytes of memory, unless limit is 0, and with another error for bytes that are not
// such a Partial.
func UnmarshalPartial(data []byte, roots []*Spec, limit int64) (*Partial, error) {
	switch {
	case len(data) < 13:
		return nil, errors.New("the bytes end too early")
	case data[0] != partialVersion:
		return nil, fmt.Errorf("the bytes are of version %d, not %d", data[0], partialVersion)
	case crc32.Checksum(data[:len(data)-4], castagnoli) != binary.LittleEndian.Uint32(data[len(data)-4:]):
		return nil, errors.New("the bytes do not have their checksum")
	case binary.LittleEndian.Uint64(data[1:]) != fingerprint(roots):
		return nil, errors.New("the bytes are of other aggregations")
	}
	return readPartial(data[9:len(data)-4], roots, limit)
}
