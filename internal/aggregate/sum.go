package aggregate

import (
	"math"
	"math/big"
	"math/bits"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

// A total is the sum of numbers and that of their squares, exactly. So it does not depend on the order
// in which they are added. Integers are summed in 128 and 192 bits, fractions by digits.
type total struct {
	low     uint64 // sum of integers, two's complement
	high    int64
	squares [3]uint64
	digits  *digits // of fractions; nil while there is none
	special float64 // the sum of infinities and NaNs
	far     *far    // of integers that 64 bits do not hold; nil while there is none
}

// A far is the sum of integers of any size, and that of their squares.
type far struct{ sum, squares big.Int }

func (t *total) addBig(v *big.Int) {
	if t.far == nil {
		t.far = new(far)
	}
	t.far.sum.Add(&t.far.sum, v)
	t.far.squares.Add(&t.far.squares, new(big.Int).Mul(v, v))
}

// addInt adds an integer of 64 bits; negative says that it is one below zero, in two's complement.
func (t *total) addInt(v uint64, negative bool) {
	var carry uint64
	abs := v
	high := int64(0)
	if negative {
		abs, high = -v, -1
	}
	t.low, carry = bits.Add64(t.low, v, 0)
	t.high += high + int64(carry)
	hi, lo := bits.Mul64(abs, abs)
	t.squares[0], carry = bits.Add64(t.squares[0], lo, 0)
	t.squares[1], carry = bits.Add64(t.squares[1], hi, carry)
	t.squares[2] += carry
}

// addSums adds a sum of integers and that of their squares.
func (t *total) addSums(sum int64, squares uint64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, uint64(sum), 0)
	t.high += sum>>63 + int64(carry)
	t.squares[0], carry = bits.Add64(t.squares[0], squares, 0)
	t.squares[1], carry = bits.Add64(t.squares[1], 0, carry)
	t.squares[2] += carry
}

func (t *total) addFloat(v float64) {
	if v-v != 0 {
		t.special += v
		return
	}
	if t.digits == nil {
		t.digits = new(digits)
	}
	t.digits.add(v)
}

// add adds the value of a key of a kind other than Terms.
func (t *total) add(kind columns.Kind, key uint64) {
	switch kind {
	case columns.Float:
		t.addFloat(columns.KeyFloat(key))
	case columns.Int, columns.Time:
		v := columns.KeyInt(key)
		t.addInt(uint64(v), v < 0)
	default:
		t.addInt(key, false)
	}
}

func (t *total) merge(o *total) {
	t.special += o.special
	var carry uint64
	t.low, carry = bits.Add64(t.low, o.low, 0)
	t.high += o.high + int64(carry)
	carry = 0
	for i := range t.squares {
		t.squares[i], carry = bits.Add64(t.squares[i], o.squares[i], carry)
	}
	if o.far != nil {
		if t.far == nil {
			t.far = new(far)
		}
		t.far.sum.Add(&t.far.sum, &o.far.sum)
		t.far.squares.Add(&t.far.squares, &o.far.squares)
	}
	if o.digits != nil {
		if t.digits == nil {
			t.digits = new(digits)
		}
		t.digits.merge(o.digits)
	}
}

// rat returns the sum and the sum of squares.
func (t *total) rat() (sum, squares *big.Rat) {
	high := new(big.Int).Lsh(big.NewInt(t.high), 64)
	sum = new(big.Rat).SetInt(high.Add(high, new(big.Int).SetUint64(t.low)))
	q := new(big.Int)
	for i := len(t.squares) - 1; i >= 0; i-- {
		q.Lsh(q, 64)
		q.Add(q, new(big.Int).SetUint64(t.squares[i]))
	}
	squares = new(big.Rat).SetInt(q)
	if t.far != nil {
		sum.Add(sum, new(big.Rat).SetInt(&t.far.sum))
		squares.Add(squares, new(big.Rat).SetInt(&t.far.squares))
	}
	if d := t.digits; d != nil {
		sum.Add(sum, d.sum.rat(-sumScale))
		squares.Add(squares, d.squares.rat(-2*sumScale))
	}
	return sum, squares
}

// Digits are the sums of float64 and of their squares: numbers to the base 1<<32 whose lowest digits
// stand for the least number that is not zero, and its square.
type digits struct{ sum, squares wide }

const sumScale = 1074 // the least float64 above zero is 1<<-1074

func (d *digits) add(v float64) {
	b := math.Float64bits(v)
	exponent := int(b >> 52 & 0x7ff)
	m := b & (1<<52 - 1)
	if exponent > 0 {
		m |= 1 << 52
		exponent--
	}
	if m == 0 {
		return
	}
	// v is m << exponent, of the least numbers.
	at, shift := exponent/32, uint(exponent%32)
	hi, lo := m>>(64-shift), m<<shift
	s := d.sum.digits(at, 3)
	if b>>63 == 0 {
		s[0] += int64(lo & digitMask)
		s[1] += int64(lo >> 32)
		s[2] += int64(hi)
	} else {
		s[0] -= int64(lo & digitMask)
		s[1] -= int64(lo >> 32)
		s[2] -= int64(hi)
	}
	at, shift = 2*exponent/32, uint(2*exponent%32)
	hi, lo = bits.Mul64(m, m)
	q := d.squares.digits(at, 5)
	q[0] += int64(lo << shift & digitMask)
	q[1] += int64(lo << shift >> 32)
	hi, lo = hi<<shift|lo>>(64-shift), hi>>(64-shift)
	q[2] += int64(hi & digitMask)
	q[3] += int64(hi >> 32)
	q[4] += int64(lo)
}

// addKeys adds floats by their keys. Those with the same exponent are added as integers before.
func (t *total) addKeys(keys []uint64, b *binades) {
	for _, key := range keys {
		v := columns.KeyFloat(key)
		if v-v != 0 {
			t.special += v
			continue
		}
		b.add(v)
	}
	if t.digits == nil {
		t.digits = new(digits)
	}
	t.digits.addBinades(b)
}

// Binades are sums of floats by their exponents: of their mantissas, and of the squares of these. Of at most
// mostInBinades floats, none overflows.
type binades struct {
	used [32]uint64 // bits of exponents
	of   [2048]binade
}

// A binade has two numbers of 128 bits; the first is in two's complement.
type binade struct {
	low       uint64
	high      uint64
	squareLow uint64
	square    uint64
}

const mostInBinades = 1 << 20

// binadesPool has binades that are zero.
var binadesPool = sync.Pool{New: func() any { return new(binades) }}

func (b *binades) add(v float64) {
	u := math.Float64bits(v)
	exponent, m := u>>52&0x7ff, u&(1<<52-1)
	if exponent > 0 {
		m |= 1 << 52
	}
	b.used[exponent/64] |= 1 << (exponent % 64)
	s := &b.of[exponent]
	minus := uint64(int64(u) >> 63) // all bits set for a negative number
	signed := (m ^ minus) - minus
	var carry uint64
	s.low, carry = bits.Add64(s.low, signed, 0)
	s.high += uint64(int64(signed)>>63) + carry
	hi, lo := bits.Mul64(m, m)
	s.squareLow, carry = bits.Add64(s.squareLow, lo, 0)
	s.square += hi + carry
}

// addBinades adds binades, and clears them.
func (d *digits) addBinades(b *binades) {
	for i := range b.used {
		for w := b.used[i]; w != 0; w &= w - 1 {
			e := 64*i + bits.TrailingZeros64(w)
			s := &b.of[e]
			exponent := max(0, e-1)
			if low, high := s.low, s.high; int64(high) < 0 {
				low = -low
				if high = ^high; low == 0 {
					high++
				}
				d.sum.add128(low, high, -1, exponent)
			} else {
				d.sum.add128(low, high, 1, exponent)
			}
			d.squares.add128(s.squareLow, s.square, 1, 2*exponent)
			*s = binade{}
		}
		b.used[i] = 0
	}
}

// add128 adds sign times a number of 128 bits, shifted.
func (w *wide) add128(low, high uint64, sign int64, shift int) {
	at, by := shift/32, uint(shift%32)
	top := high >> (64 - by) // 0 for a shift by 64
	high, low = high<<by|low>>(64-by), low<<by
	c := w.digits(at, 5)
	c[0] += sign * int64(low&digitMask)
	c[1] += sign * int64(low>>32)
	c[2] += sign * int64(high&digitMask)
	c[3] += sign * int64(high>>32)
	c[4] += sign * int64(top)
}

func (d *digits) merge(o *digits) {
	d.sum.merge(&o.sum)
	d.squares.merge(&o.squares)
}

const (
	digitMask = 1<<32 - 1
	mostAdds  = 1 << 29 // to digits of 63 bits, before carry
)

// A wide is a number to the base 1<<32, whose digits may be negative or above the base. It has only
// those digits that were needed.
type wide struct {
	from int // number of the first digit
	c    []int64
	adds int // since digits were brought below the base
}

// digits returns n digits from number at on, to be added to: less than the base to each.
func (w *wide) digits(at, n int) []int64 {
	if w.adds++; w.adds >= mostAdds {
		w.carry()
	}
	if i := at - w.from; i >= 0 && i+n <= len(w.c) {
		return w.c[i : i+n]
	}
	w.extend(at, n)
	return w.c[at-w.from : at-w.from+n]
}

func (w *wide) extend(at, n int) {
	from, end := at, at+n
	if len(w.c) > 0 {
		if from, end = min(from, w.from), max(end, w.from+len(w.c)); end-from == len(w.c) {
			return
		}
	}
	c := make([]int64, end-from)
	copy(c[max(0, w.from-from):], w.c)
	w.from, w.c = from, c
}

// carry brings all digits but the last below the base, and adds one where the last needs room.
func (w *wide) carry() {
	if n := len(w.c); n > 0 && (w.c[n-1] > digitMask || w.c[n-1] < -digitMask) {
		w.extend(w.from, n+1)
	}
	for i := range max(0, len(w.c)-1) {
		w.c[i+1] += w.c[i] >> 32
		w.c[i] &= digitMask
	}
	w.adds = 1
}

func (w *wide) merge(o *wide) {
	if len(o.c) == 0 {
		return
	}
	w.carry()
	w.extend(o.from, len(o.c))
	for i, d := range o.c {
		w.c[i+o.from-w.from] += d
	}
	if w.adds += o.adds; w.adds >= mostAdds {
		w.carry()
	}
}

// integer returns the number that the digits make, in units of the first.
func (w *wide) integer() *big.Int {
	n := new(big.Int)
	for i := len(w.c) - 1; i >= 0; i-- {
		n.Lsh(n, 32)
		n.Add(n, big.NewInt(w.c[i]))
	}
	return n
}

// rat returns the number, times 1<<scale.
func (w *wide) rat(scale int) *big.Rat {
	n := w.integer()
	r := new(big.Rat)
	scale += 32 * w.from
	if scale >= 0 {
		return r.SetInt(n.Lsh(n, uint(scale)))
	}
	return r.SetFrac(n, new(big.Int).Lsh(big.NewInt(1), uint(-scale)))
}

// float returns the float64 that is nearest.
func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}
