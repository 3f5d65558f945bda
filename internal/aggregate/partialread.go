package aggregate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// A partialReader reads the bytes of a Partial. After an error it reads zeros. What it allocates is
// proportional to the bytes that are left.
type partialReader struct {
	data []byte
	at   int
	err  error
}

func readPartial(data []byte, roots []*Spec, limit int64) (*Partial, error) {
	r := &partialReader{data: data}
	p := &Partial{roots: roots}
	for _, s := range roots {
		p.parts = append(p.parts, r.part(s, 1))
	}
	if r.err == nil && r.at < len(data) {
		r.fail("%d bytes follow the last aggregation", len(data)-r.at)
	}
	if r.err != nil {
		return nil, r.err
	}
	return p, p.check(limit)
}

func (r *partialReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("offset %d: %s", r.at, fmt.Sprintf(format, args...))
	}
}

func (r *partialReader) take(n int) []byte {
	if r.err == nil && n > len(r.data)-r.at {
		r.fail("ends too early")
	}
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *partialReader) byte() byte { return r.take(1)[0] }

func (r *partialReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.fail("no integer")
		return 0
	}
	r.at += n
	return v
}

func (r *partialReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1) // as binary.Varint
}

// number reads an integer that is at most some other.
func (r *partialReader) number(most uint64) uint64 {
	n := r.uvarint()
	if n > most {
		r.fail("%d, more than %d", n, most)
		return 0
	}
	return n
}

// length reads a number of things that take a byte each, at least.
func (r *partialReader) length() int { return int(r.number(uint64(len(r.data) - r.at))) }

func (r *partialReader) text() string { return string(r.take(r.length())) }

// mostDocuments bounds counts, so that sums of many do not overflow.
const mostDocuments = 1 << 48

// counts reads n counts.
func (r *partialReader) counts(n int) []uint64 {
	if n > len(r.data)-r.at {
		r.fail("ends too early")
		return nil
	}
	to := make([]uint64, n)
	for i := range to {
		if r.at < len(r.data) && r.data[r.at] < 0x80 {
			to[i] = uint64(r.data[r.at])
			r.at++
		} else {
			to[i] = r.number(mostDocuments)
		}
	}
	return to
}

func (r *partialReader) part(s *Spec, owners int) *part {
	p := &part{}
	if countsMissing(s.Of) {
		p.missing = r.counts(owners)
	}
	switch k := s.Of.(type) {
	case Stats:
		p.class = r.class()
		for i := 0; i < owners && r.err == nil; i++ {
			p.measures = append(p.measures, r.measurement())
		}
	case TopHits:
		for i := 0; i < owners && r.err == nil; i++ {
			p.hits = append(p.hits, r.hits(k))
		}
	case Ranges, Rings, Filters, Missing:
		p.counts = r.counts(owners * sets(k))
	case Percentiles:
		p.class = r.class()
		r.keys(p, s, owners)
		p.counts = r.counts(p.total())
	case Cardinality:
		r.keys(p, s, owners)
	default:
		r.keys(p, s, owners)
		p.counts = r.counts(p.total())
	}
	for _, sub := range s.Sub {
		if r.err != nil {
			break
		}
		p.subs = append(p.subs, r.part(sub, p.buckets(s.Of, owners)))
	}
	return p
}

func (r *partialReader) class() class {
	c := class(r.byte())
	if c > classes {
		r.fail("no class")
	}
	return c
}

func (r *partialReader) keys(p *part, s *Spec, owners int) {
	p.values = r.values()
	if p.values.len() > 0 && stepped(s.Of) != nil && p.values.kind != columns.Int {
		r.fail("steps of kind %d", p.values.kind)
	}
	switch {
	case owners == 0 && p.values.len() > 0:
		r.fail("values of no owner")
	case owners == 1:
		p.ends = []int{p.values.len()}
		return
	}
	for i := 0; i < owners && r.err == nil; i++ {
		least := uint64(0)
		for range r.length() {
			key := least + r.number(uint64(p.values.len()))
			if key >= uint64(p.values.len()) {
				r.fail("value %d of %d", key, p.values.len())
			}
			if r.err != nil {
				return
			}
			p.keys = append(p.keys, uint32(key))
			least = key + 1
		}
		p.ends = append(p.ends, len(p.keys))
	}
}

func (r *partialReader) values() (v values) {
	n := r.length()
	if n == 0 {
		return v
	}
	switch v.kind = columns.Kind(r.byte()); {
	case v.kind == columns.Terms:
		v.terms = r.terms(n)
	case r.plain(v.kind):
		v.keys = make([]uint64, n)
		last := uint64(0)
		for i := range v.keys {
			by := r.uvarint()
			if i > 0 && (by == 0 || last+by < last) {
				r.fail("keys do not ascend")
				return v
			}
			last += by
			v.keys[i] = last
		}
	}
	return v
}

// terms reads n terms. Most take two bytes and their own, so these are read without calls.
func (r *partialReader) terms(n int) terms {
	data, ends := make([]byte, 0, 8*n), make([]int, 0, n)
	from := 0 // of the term before
	for i := range n {
		var shared, rest int
		if in := r.data[r.at:]; len(in) > 1 && in[0]|in[1] < 0x80 {
			shared, rest = int(in[0]), int(in[1])
			r.at += 2
		} else {
			shared, rest = int(r.number(uint64(len(data)-from))), r.length()
		}
		if shared > len(data)-from {
			r.fail("%d bytes of a term of %d", shared, len(data)-from)
		}
		own := r.take(rest)
		if r.err != nil {
			break
		}
		if i > 0 && bytes.Compare(data[from+shared:], own) >= 0 {
			r.fail("terms do not ascend")
		}
		begin := len(data)
		data = append(append(data, data[from:from+shared]...), own...)
		if from = begin; begin == len(data) || data[begin] == 0 { // others are strings
			if _, err := columns.ParseTerm(data[begin:]); err != nil {
				r.fail("%v", err)
			}
		}
		ends = append(ends, len(data))
	}
	return terms{data, ends}
}

// plain reports whether values of a kind are keys. Another kind than those, or terms, is an error.
func (r *partialReader) plain(k columns.Kind) bool {
	if k < columns.Int || k > columns.Place {
		r.fail("kind %d", k)
	}
	return r.err == nil && k != columns.Terms
}

// value reads a value behind its kind.
func (r *partialReader) value(k columns.Kind) columns.Value {
	v := columns.Value{Kind: k}
	if !r.plain(k) {
		v.Term = r.text()
		return v
	}
	switch k {
	case columns.Int, columns.Time:
		v.Key = columns.IntKey(r.varint())
	case columns.Float, columns.Place:
		v.Key = binary.LittleEndian.Uint64(r.take(8))
	default:
		v.Key = r.uvarint()
	}
	return v
}

func (r *partialReader) hits(k TopHits) []NamedHit {
	n := r.length()
	if n > k.Size {
		r.fail("%d hits of %d", n, k.Size)
	}
	var hits []NamedHit
	for i := 0; i < n && r.err == nil; i++ {
		h := NamedHit{Name: r.text(), Engine: r.text(), Score: math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))}
		if k.Order != nil {
			for range k.Order.Keys {
				var key cpuexec.KeyValue
				if kind := r.byte(); kind == 0 {
					key.Missing = true
				} else {
					key.Value = r.value(columns.Kind(kind))
				}
				h.Keys = append(h.Keys, key)
			}
		}
		hits = append(hits, h)
	}
	return hits[:len(hits):len(hits)]
}

func (r *partialReader) measurement() (m measurement) {
	if m.n = int64(r.number(mostDocuments)); m.n == 0 {
		return m
	}
	m.leastValue = r.value(columns.Kind(r.byte()))
	m.mostValue = r.value(columns.Kind(r.byte()))
	r.total(&m.total)
	return m
}

func (r *partialReader) total(t *total) {
	var integers [5]uint64
	r.short(integers[:2])
	r.short(integers[2:])
	t.low, t.high = integers[0], int64(integers[1])
	copy(t.squares[:], integers[2:])
	flags := r.byte()
	if flags > hasDigits|hasFar|hasSpecial {
		r.fail("flags %d", flags)
	}
	if flags&hasDigits != 0 {
		t.digits = new(digits)
		r.wide(&t.digits.sum)
		r.wide(&t.digits.squares)
	}
	if flags&hasFar != 0 {
		t.far = new(far)
		r.integer(&t.far.sum, mostFar)
		r.integer(&t.far.squares, mostFar)
	}
	if flags&hasSpecial != 0 {
		t.special = math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
	}
}

// short reads words whose zero bytes behind are left out.
func (r *partialReader) short(words []uint64) {
	n := int(r.byte())
	if n > 8*len(words) {
		r.fail("an integer of %d bytes", n)
		return
	}
	var room [24]byte
	copy(room[:], r.take(n))
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(room[8*i:])
	}
}

const (
	mostFar    = 64  // bytes of sums of integers beyond 64 bits, and of their squares
	mostDigits = 160 // digits of sums of squares of float64
)

func (r *partialReader) integer(x *big.Int, most int) {
	sign, text := r.byte(), r.text()
	if len(text) > most || sign > 1 {
		r.fail("an integer of %d bytes", len(text))
		return
	}
	if x.SetBytes([]byte(text)); sign == 1 {
		x.Neg(x)
	}
}

// wide reads a number, whose digits then have the sign of the whole.
func (r *partialReader) wide(w *wide) {
	w.from = int(r.number(mostDigits))
	x := new(big.Int)
	r.integer(x, 4*mostDigits)
	sign, abs, digit := int64(x.Sign()), new(big.Int).Abs(x), new(big.Int)
	for mask := big.NewInt(digitMask); abs.Sign() > 0; abs.Rsh(abs, 32) {
		w.c = append(w.c, sign*digit.And(abs, mask).Int64())
	}
	w.adds = 1
}
