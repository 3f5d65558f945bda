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
	blockTerms      = 16       // that share prefixes, and one ending
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
	endings bool   // the terms of a block share one: since version 2
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
	x := &dictionaryIndex{n: int(r.below(maxTerms+1, "terms")), endings: r.version > 1}
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
	terms  int    // of the pending part, with those of the pending block
	block  []byte // pending: its terms, one behind the other
	ends   []int  // of these
	kept   [][]byte
	ended  bool
}

func newDictionaryBuilder(give func(part uint32, data []byte) error) *dictionaryBuilder {
	return &dictionaryBuilder{give: give, index: dictionaryIndex{endings: true}}
}

func (b *dictionaryBuilder) add(term []byte) error {
	if b.index.n > 0 && bytes.Compare(b.last, term) >= 0 {
		panic(fmt.Sprintf("BUG: columns: term %q behind %q", term, b.last))
	}
	if b.index.n == maxTerms {
		return fmt.Errorf("columns: more than %d terms", maxTerms)
	}
	if len(b.ends) == blockTerms {
		b.endBlock()
		if len(b.part) >= dictionaryBytes {
			if err := b.endPart(); err != nil {
				return err
			}
		}
	}
	if b.terms == 0 {
		b.index.firsts = append(b.index.firsts, uint32(b.index.n))
		b.index.bounds = append(b.index.bounds, separator(b.last, term))
	}
	b.block = append(b.block, term...)
	b.ends = append(b.ends, len(b.block))
	if len(b.block) > 1<<30 {
		return fmt.Errorf("columns: %d terms of %d bytes together", len(b.ends), len(b.block))
	}
	b.last = append(b.last[:0], term...)
	b.terms++
	b.index.n++
	return nil
}

// endBlock encodes the pending block: its first term, how many last bytes of it all terms share, and
// the others without these.
func (b *dictionaryBuilder) endBlock() {
	b.blocks = append(b.blocks, uint32(len(b.part)))
	first := b.block[:b.ends[0]]
	ending := len(first)
	for i := 1; i < len(b.ends); i++ {
		ending = min(ending, sharedEnding(first, b.block[b.ends[i-1]:b.ends[i]]))
	}
	if len(b.ends) == 1 {
		ending = 0
	}
	b.part = binary.AppendUvarint(appendTerm(b.part, nil, first), uint64(ending))
	before := first[:len(first)-ending]
	for i := 1; i < len(b.ends); i++ {
		term := b.block[b.ends[i-1] : b.ends[i]-ending]
		b.part = appendTerm(b.part, before, term)
		before = term
	}
	b.block, b.ends = b.block[:0], b.ends[:0]
}

// sharedEnding returns how many last bytes two terms share.
func sharedEnding(x, y []byte) (n int) {
	for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
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
	b.endBlock()
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
	p = dictionaryPart{number: i, terms: d.index.termsOf(i), endings: d.index.endings}
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
	endings       bool
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

// A blockReader reads the terms of a block. The current one is stem and ending.
type blockReader struct {
	stem, ending []byte
	b            []byte // behind the current term
}

// read returns a reader at the first term of a block. Stems are kept in room.
func (p *dictionaryPart) read(block int, room []byte) (r blockReader, err error) {
	b, err := p.block(block)
	if err != nil {
		return r, err
	}
	_, term, size := cutTerm(b, 0)
	if size == 0 {
		return r, p.damaged(block)
	}
	b = b[size:]
	stem := len(term)
	if p.endings {
		ending, size := binary.Uvarint(b)
		if size <= 0 || ending > uint64(len(term)) {
			return r, p.damaged(block)
		}
		stem -= int(ending)
		b = b[size:]
	}
	return blockReader{append(room[:0], term[:stem]...), term[stem:], b}, nil
}

// next steps to the next term. It reports whether there is an undamaged one.
func (r *blockReader) next() bool {
	shared, rest, size := cutTerm(r.b, len(r.stem))
	if size == 0 {
		return false
	}
	r.stem, r.b = append(r.stem[:shared], rest...), r.b[size:]
	return true
}

// term returns the current term, valid until next.
func (r *blockReader) term() []byte {
	term := append(r.stem, r.ending...)
	r.stem = term[:len(r.stem)] // with the room that this took
	return term
}

// compare compares the current term with another.
func (r *blockReader) compare(term []byte) int {
	n := min(len(r.stem), len(term))
	if c := bytes.Compare(r.stem, term[:n]); c != 0 {
		return c
	}
	return bytes.Compare(r.ending, term[n:])
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
	var room [128]byte
	r, err := p.read(in/blockTerms, room[:0])
	if err != nil {
		return dst, err
	}
	for range in % blockTerms {
		if !r.next() {
			return dst, p.damaged(in / blockTerms)
		}
	}
	return append(append(dst, r.stem...), r.ending...), nil
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
	var room [128]byte
	r, err := p.read(low-1, room[:0])
	if err != nil {
		return 0, false, err
	}
	at, end := (low-1)*blockTerms, min(low*blockTerms, p.terms)
	for {
		if c := r.compare(term); c >= 0 {
			return int(x.firsts[i]) + at, c == 0, nil
		}
		if at++; at == end {
			return int(x.firsts[i]) + at, false, nil
		}
		if !r.next() {
			return 0, false, p.damaged(low - 1)
		}
	}
}

// Each calls f for the terms from..to-1 in order, until it returns an error. Terms are valid during
// the call only.
func (d *Dictionary) Each(from, to int, f func(ord int, term []byte) error) error {
	if from < 0 || to > d.index.n {
		panic(fmt.Sprintf("BUG: columns: terms %d to %d of a dictionary of %d", from, to, d.index.n))
	}
	var room []byte
	for from < to {
		i := d.partOf(from)
		p, err := d.part(i)
		if err != nil {
			return err
		}
		first := int(d.index.firsts[i])
		for block := (from - first) / blockTerms; block*blockTerms < p.terms && from < to; block++ {
			r, err := p.read(block, room)
			if err != nil {
				return err
			}
			start, end := first+block*blockTerms, min(first+min((block+1)*blockTerms, p.terms), to)
			for ord := start; ord < end; ord++ {
				if ord > start && !r.next() {
					return p.damaged(block)
				}
				if ord < from {
					continue
				}
				if err := f(ord, r.term()); err != nil {
					return err
				}
				from = ord + 1
			}
			room = r.stem
		}
	}
	return nil
}
