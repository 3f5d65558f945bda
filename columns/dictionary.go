package columns

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
)

const (
	blockTerms      = 16       // that share prefixes
	dictionaryBytes = 16 << 10 // a part of the dictionary ends with the first block that reaches it
	maxTerms        = math.MaxInt32
)

// A dictionaryIndex is what the directory says of a dictionary.
type dictionaryIndex struct {
	n       int
	firsts  []uint32 // for each part, the ordinal of its first term
	bounds  [][]byte // for each part, a term above all before and not above its first
	sizes   []uint32
	inlined []byte // the only part
}

// append writes the number of terms, and the parts or the only one.
func (x *dictionaryIndex) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.n))
	if x.inlined != nil {
		dst = append(dst, 0)
		dst = binary.AppendUvarint(dst, uint64(len(x.inlined)))
		return append(dst, x.inlined...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(x.firsts)))
	var before []byte
	for i, bound := range x.bounds {
		dst = binary.AppendUvarint(dst, uint64(x.termsOf(i)-1))
		dst = binary.AppendUvarint(dst, uint64(x.sizes[i]))
		dst = appendTerm(dst, before, bound)
		before = bound
	}
	return dst
}

// termsOf is the number of terms of a part.
func (x *dictionaryIndex) termsOf(part int) int {
	end := x.n
	if part+1 < len(x.firsts) {
		end = int(x.firsts[part+1])
	}
	return end - int(x.firsts[part])
}

// parseDictionaryIndex is the inverse of append.
func parseDictionaryIndex(r *byteReader) *dictionaryIndex {
	x := &dictionaryIndex{n: int(r.below(maxTerms+1, "terms"))}
	parts := r.below(uint64(x.n)+1, "parts of the dictionary")
	if parts == 0 {
		size := r.below(inline+1, "bytes of a dictionary in the directory")
		if x.inlined = slices.Clone(r.take(size)); r.err == nil && x.n > 0 {
			x.firsts, x.bounds, x.sizes = []uint32{0}, [][]byte{nil}, []uint32{uint32(size)}
		}
		return x
	}
	at, before := 0, []byte(nil)
	for i := uint64(0); i < parts && r.err == nil; i++ {
		x.firsts = append(x.firsts, uint32(at))
		if at += int(r.below(uint64(x.n), "terms of a part, minus one,")) + 1; at > x.n {
			r.fail("parts of %d terms, the dictionary has %d", at, x.n)
		}
		x.sizes = append(x.sizes, uint32(r.below(math.MaxUint32, "bytes of a part")))
		bound, n := nextTerm(before, r.data[r.at:])
		if n == 0 || i > 0 && bytes.Compare(before, bound) >= 0 {
			r.fail("part %d of the dictionary has no bound above the one before", i)
			break
		}
		r.at += n
		x.bounds = append(x.bounds, bound)
		before = bound
	}
	if r.err == nil && at != x.n {
		r.fail("parts of %d terms, the dictionary has %d", at, x.n)
	}
	return x
}

// appendTerm writes a term behind another: how many of its first bytes are those of the other, then
// the rest. Both lengths share a byte; one from 15 on has a number of its own.
func appendTerm(dst, before, term []byte) []byte {
	shared := 0
	for shared < min(len(before), len(term)) && before[shared] == term[shared] {
		shared++
	}
	rest := term[shared:]
	dst = append(dst, byte(min(shared, 15)<<4|min(len(rest), 15)))
	if shared >= 15 {
		dst = binary.AppendUvarint(dst, uint64(shared-15))
	}
	if len(rest) >= 15 {
		dst = binary.AppendUvarint(dst, uint64(len(rest)-15))
	}
	return append(dst, rest...)
}

// cutTerm reads what appendTerm wrote: the shared length, the rest, and the size of both; 0 when the
// bytes are damaged.
func cutTerm(b []byte, before int) (shared int, rest []byte, size int) {
	if len(b) == 0 {
		return 0, nil, 0
	}
	shared, more := int(b[0]>>4), int(b[0]&15)
	at := 1
	for _, n := range [...]*int{&shared, &more} {
		if *n == 15 {
			u, size := binary.Uvarint(b[at:])
			if size <= 0 || u > math.MaxInt32 {
				return 0, nil, 0
			}
			*n += int(u)
			at += size
		}
	}
	if shared > before || more > len(b)-at {
		return 0, nil, 0
	}
	return shared, b[at : at+more], at + more
}

// nextTerm returns the term behind another, in memory of its own, and its size in b.
func nextTerm(before, b []byte) (term []byte, size int) {
	shared, rest, size := cutTerm(b, len(before))
	if size == 0 {
		return nil, 0
	}
	return append(append(make([]byte, 0, shared+len(rest)), before[:shared]...), rest...), size
}

// A dictionaryBuilder encodes a dictionary.
type dictionaryBuilder struct {
	give   func(part uint32, data []byte) error
	index  dictionaryIndex
	last   []byte // term
	part   []byte // pending, without its table of blocks
	blocks []uint32
	terms  int // of the pending part
	kept   [][]byte
	ended  bool
}

func newDictionaryBuilder(give func(part uint32, data []byte) error) *dictionaryBuilder {
	return &dictionaryBuilder{give: give}
}

func (b *dictionaryBuilder) add(term []byte) error {
	if b.index.n > 0 && bytes.Compare(b.last, term) >= 0 {
		panic(fmt.Sprintf("BUG: columns: term %q behind %q", term, b.last))
	}
	if b.index.n == maxTerms {
		return fmt.Errorf("columns: more than %d terms", maxTerms)
	}
	if b.terms%blockTerms == 0 {
		if len(b.part) >= dictionaryBytes {
			if err := b.endPart(); err != nil {
				return err
			}
		}
		if b.terms == 0 {
			b.index.firsts = append(b.index.firsts, uint32(b.index.n))
			b.index.bounds = append(b.index.bounds, separator(b.last, term))
		}
		b.blocks = append(b.blocks, uint32(len(b.part)))
		b.part = appendTerm(b.part, nil, term)
	} else {
		b.part = appendTerm(b.part, b.last, term)
	}
	if len(b.part) > 1<<30 {
		return fmt.Errorf("columns: %d terms of %d bytes together", blockTerms, len(b.part))
	}
	b.last = append(b.last[:0], term...)
	b.terms++
	b.index.n++
	return nil
}

// separator returns the shortest bytes that are above one term and not above the next.
func separator(before, term []byte) []byte {
	n := 0
	for n < len(before) && before[n] == term[n] {
		n++
	}
	return slices.Clone(term[:min(n+1, len(term))])
}

// endPart gives out the pending part: blocks, then where each of them begins.
func (b *dictionaryBuilder) endPart() error {
	data := make([]byte, 0, len(b.part)+4*len(b.blocks))
	data = append(data, b.part...)
	for _, at := range b.blocks {
		if len(b.part) < 1<<16 {
			data = binary.LittleEndian.AppendUint16(data, uint16(at))
		} else {
			data = binary.LittleEndian.AppendUint32(data, at)
		}
	}
	part := len(b.index.sizes)
	b.index.sizes = append(b.index.sizes, uint32(len(data)))
	b.part, b.blocks, b.terms = b.part[:0], b.blocks[:0], 0
	if b.ended && part == 0 && len(data) <= inline {
		b.index.inlined = data
		b.index.bounds[0] = nil
		return nil
	}
	return b.give(uint32(part), data)
}

func (b *dictionaryBuilder) end() error {
	b.ended = true
	if b.terms == 0 {
		b.index.inlined = []byte{}
		return nil
	}
	return b.endPart()
}

// A Dictionary has the distinct terms of a column of kind Terms, in ascending order. The key of a
// value is the ordinal of its term. It is safe for concurrent use.
type Dictionary struct {
	index *dictionaryIndex
	load  func(part uint32) ([]byte, error)
	parts []atomic.Pointer[[]byte]
}

func newDictionary(x *dictionaryIndex, load func(part uint32) ([]byte, error)) *Dictionary {
	d := &Dictionary{index: x, load: load, parts: make([]atomic.Pointer[[]byte], len(x.firsts))}
	if x.inlined != nil && len(d.parts) > 0 {
		d.parts[0].Store(&x.inlined)
	}
	return d
}

// Len is the number of terms.
func (d *Dictionary) Len() int { return d.index.n }

// part returns the bytes of a part, and their table of blocks.
func (d *Dictionary) part(i int) (p dictionaryPart, err error) {
	data := d.parts[i].Load()
	if data == nil {
		b, err := d.load(uint32(i))
		if err != nil {
			return p, err
		}
		if len(b) != int(d.index.sizes[i]) {
			return p, corrupt.New(-1, "part %d of the dictionary has %d bytes, the directory says %d", i, len(b), d.index.sizes[i])
		}
		data = &b
		d.parts[i].Store(data)
	}
	p = dictionaryPart{number: i, terms: d.index.termsOf(i)}
	blocks := (p.terms + blockTerms - 1) / blockTerms
	p.wide = 2
	if len(*data)-2*blocks >= 1<<16 {
		p.wide = 4
	}
	end := len(*data) - blocks*p.wide
	if end < 0 {
		return p, corrupt.New(-1, "part %d of the dictionary has %d bytes, not even the places of %d blocks", i, len(*data), blocks)
	}
	p.bytes, p.table = (*data)[:end], (*data)[end:]
	return p, nil
}

// A dictionaryPart is a loaded part.
type dictionaryPart struct {
	number, terms int
	wide          int // bytes of a place
	bytes, table  []byte
}

// block returns the bytes from the beginning of a block on.
func (p *dictionaryPart) block(i int) ([]byte, error) {
	var at uint32
	if p.wide == 2 {
		at = uint32(binary.LittleEndian.Uint16(p.table[2*i:]))
	} else {
		at = binary.LittleEndian.Uint32(p.table[4*i:])
	}
	if uint64(at) > uint64(len(p.bytes)) {
		return nil, p.damaged(i)
	}
	return p.bytes[at:], nil
}

func (p *dictionaryPart) damaged(block int) error {
	return corrupt.New(-1, "block %d in part %d of the dictionary is damaged", block, p.number)
}

// first returns the first term of a block, as it lies there.
func (p *dictionaryPart) first(block int) ([]byte, error) {
	b, err := p.block(block)
	if err != nil {
		return nil, err
	}
	_, term, size := cutTerm(b, 0)
	if size == 0 {
		return nil, p.damaged(block)
	}
	return term, nil
}

// partOf returns the part that has a term.
func (d *Dictionary) partOf(ord int) int {
	return sort.Search(len(d.index.firsts), func(i int) bool { return int(d.index.firsts[i]) > ord }) - 1
}

// AppendTerm appends the term with an ordinal.
func (d *Dictionary) AppendTerm(dst []byte, ord uint64) ([]byte, error) {
	if ord >= uint64(d.index.n) {
		return dst, corrupt.New(-1, "term %d of a dictionary of %d", ord, d.index.n)
	}
	i := d.partOf(int(ord))
	p, err := d.part(i)
	if err != nil {
		return dst, err
	}
	in := int(ord) - int(d.index.firsts[i])
	b, err := p.block(in / blockTerms)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	for range in%blockTerms + 1 {
		shared, rest, size := cutTerm(b, len(dst)-from)
		if size == 0 {
			return dst[:from], p.damaged(in / blockTerms)
		}
		dst, b = append(dst[:from+shared], rest...), b[size:]
	}
	return dst, nil
}

// Find returns the ordinal of the first term that is not below another, which is Len when all are,
// and whether it is that term.
func (d *Dictionary) Find(term []byte) (ord int, found bool, err error) {
	x := d.index
	i := sort.Search(len(x.bounds), func(i int) bool { return bytes.Compare(x.bounds[i], term) > 0 }) - 1
	if i < 0 {
		return 0, false, nil
	}
	p, err := d.part(i)
	if err != nil {
		return 0, false, err
	}
	blocks := (p.terms + blockTerms - 1) / blockTerms
	low, high := 0, blocks // the first block whose first term is above
	for low < high {
		middle := (low + high) / 2
		first, err := p.first(middle)
		if err != nil {
			return 0, false, err
		}
		if bytes.Compare(first, term) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == 0 {
		return int(x.firsts[i]), false, nil
	}
	at := (low - 1) * blockTerms
	b, err := p.block(low - 1)
	if err != nil {
		return 0, false, err
	}
	var room [128]byte
	now := room[:0]
	for ; at < min(low*blockTerms, p.terms); at++ {
		shared, rest, size := cutTerm(b, len(now))
		if size == 0 {
			return 0, false, p.damaged(low - 1)
		}
		now, b = append(now[:shared], rest...), b[size:]
		if c := bytes.Compare(now, term); c >= 0 {
			return int(x.firsts[i]) + at, c == 0, nil
		}
	}
	return int(x.firsts[i]) + at, false, nil
}

// Each calls f for the terms from..to-1 in order, until it returns an error. Terms are valid during
// the call only.
func (d *Dictionary) Each(from, to int, f func(ord int, term []byte) error) error {
	if from < 0 || to > d.index.n {
		panic(fmt.Sprintf("BUG: columns: terms %d to %d of a dictionary of %d", from, to, d.index.n))
	}
	var now []byte
	for from < to {
		i := d.partOf(from)
		p, err := d.part(i)
		if err != nil {
			return err
		}
		first := int(d.index.firsts[i])
		for block := (from - first) / blockTerms; block*blockTerms < p.terms && from < to; block++ {
			b, err := p.block(block)
			if err != nil {
				return err
			}
			now = now[:0]
			for ord := first + block*blockTerms; ord < min(first+min((block+1)*blockTerms, p.terms), to); ord++ {
				shared, rest, size := cutTerm(b, len(now))
				if size == 0 {
					return p.damaged(block)
				}
				now, b = append(now[:shared], rest...), b[size:]
				if ord < from {
					continue
				}
				if err := f(ord, now); err != nil {
					return err
				}
				from = ord + 1
			}
		}
	}
	return nil
}
