package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sort"
	"sync"
)

// check reports whether the payload is what an encoder could have written, as far as readers rely on
// it: numbers of documents and values, and no quotient above top.
func (t *tile) check(b []byte) error {
	l := t.layout()
	var set [tileWords]uint64
	if err := t.readPresence(b, &set); err != nil {
		return err
	}
	if !t.single() && !t.regular {
		ends := t.endsOf(b, l)
		n := 0
		for i := range ends.words() {
			n += bits.OnesCount64(ends.word(i))
		}
		if n != int(t.docs) || ends.word(ends.words()-1)>>((t.values-1)%64) != 1 {
			return fmt.Errorf("the ends of %d documents, the directory says %d; or not the last value's", n, t.docs)
		}
	}
	values, width := b[l.values:], int(t.width)
	switch t.form {
	case packed:
		if t.top != lowBits(width) && !allUpTo(values, int(t.values), width, t.top) {
			return fmt.Errorf("a quotient above %d", t.top)
		}
	case table:
		entries, wide := b[l.whole:], widthOf(t.top)
		before := packedAt(entries, 0, wide)
		if before != 0 {
			return errors.New("a table that does not begin with 0")
		}
		for i := 1; i < int(t.entries); i++ {
			e := packedAt(entries, i, wide)
			if e <= before {
				return errors.New("a table that does not rise")
			}
			before = e
		}
		if before != t.top || !allUpTo(values, int(t.values), width, uint64(t.entries-1)) {
			return fmt.Errorf("a table that does not end with %d, or a place behind it", t.top)
		}
	case rising:
		return t.checkRising(b, l)
	case linear:
		return t.checkLinear(b, l)
	}
	return nil
}

// checkLinear checks that no quotient is above top, and that they have the order that the directory says.
func (t *tile) checkLinear(b []byte, l layout) error {
	var room [TileDocs]uint64
	quotients := room[:t.values]
	t.lines(b, l, quotients, 0, 1)
	before := quotients[0]
	for _, q := range quotients {
		if q > t.top || t.rises && q < before || t.falls && q > before {
			return fmt.Errorf("a quotient %d behind %d, at most %d", q, before, t.top)
		}
		before = q
	}
	return nil
}

// checkRising checks that quotients do not fall, and end at top or below.
func (t *tile) checkRising(b []byte, l layout) error {
	gaps, wide := b[l.values:], widthOf(t.top)
	q := uint64(0)
	for i := range int(t.values) {
		before := q
		gap := packedAt(gaps, i, int(t.width))
		if i%runValues == 0 {
			q = packedAt(b[l.whole:], i/runValues, wide)
			if gap != 0 || q < before || q > t.top {
				return fmt.Errorf("a whole quotient %d behind %d, at most %d, with the gap %d", q, before, t.top, gap)
			}
			continue
		}
		sum, over := bits.Add64(gap, t.gap, 0)
		var more uint64
		if q, more = bits.Add64(before, sum, 0); over+more > 0 || q > t.top {
			return fmt.Errorf("a quotient above %d", t.top)
		}
	}
	return nil
}

// allUpTo reports whether no packed number is above a limit.
func allUpTo(b []byte, n, width int, limit uint64) bool {
	var room [tileWords]uint64
	for n > 0 {
		some := min(n, TileDocs)
		set := room[:(some+63)/64]
		rangePacked(set, b, some, width, 0, limit)
		in := 0
		for _, w := range set {
			in += bits.OnesCount64(w)
		}
		if in < some {
			return false
		}
		n -= some
		if n > 0 {
			b = b[some/8*width:]
		}
	}
	return true
}

// has sets the bits of the documents that have a value, of a payload that was checked.
func (t *tile) has(b []byte, set *[tileWords]uint64) {
	if err := t.readPresence(b, set); err != nil {
		panic("BUG: columns: a tile was not checked: " + err.Error())
	}
}

// readPresence sets the bits of the documents that have a value.
func (t *tile) readPresence(b []byte, set *[tileWords]uint64) error {
	switch t.presence {
	case bitmap:
		clear(set[:])
		words := (int(t.length) + 63) / 64
		n := 0
		for i := range words {
			set[i] = binary.LittleEndian.Uint64(b[8*i:])
			n += bits.OnesCount64(set[i])
		}
		if end := t.length % 64; n != int(t.docs) || end > 0 && set[words-1]>>end != 0 {
			return fmt.Errorf("%d documents have a value, the directory says %d; or ones behind the last", n, t.docs)
		}
	case present:
		clear(set[:])
		return t.setDocs(b, int(t.docs), set)
	case missing:
		fill(set, int(t.length))
		return t.setDocs(b, int(t.length-t.docs), set)
	default:
		fill(set, int(t.length))
	}
	return nil
}

// setDocs turns the bits of n documents.
func (t *tile) setDocs(b []byte, n int, set *[tileWords]uint64) error {
	before := -1
	for i := range n {
		d := int(packedAt(b, i, docBits))
		if d <= before || d >= int(t.length) {
			return fmt.Errorf("document %d behind %d, of %d", d, before, t.length)
		}
		set[d/64] ^= 1 << (d % 64)
		before = d
	}
	return nil
}

// fill sets the first bits and clears the others.
func fill(set *[tileWords]uint64, n int) {
	for i := range set {
		set[i] = 1<<max(0, min(64, n-64*i)) - 1
	}
}

// A bitString is bits for the values of a tile.
type bitString struct {
	b     []byte // readable in whole words
	n     uint64
	every uint64 // if not 0, every so many bits one is set, and b is unused
}

// endsOf has a bit set for the last value of each document.
func (t *tile) endsOf(b []byte, l layout) bitString {
	s := bitString{b: b[l.ends:], n: uint64(t.values)}
	if t.regular {
		s.every = uint64(t.values) / uint64(t.docs)
	}
	return s
}

func (s bitString) words() int { return int((s.n + 63) / 64) }

// word returns 64 bits, with zeros behind the last.
func (s bitString) word(i int) uint64 {
	if s.every > 0 {
		return s.regularWord(64 * uint64(i))
	}
	w := binary.LittleEndian.Uint64(s.b[8*i:])
	if left := s.n - 64*uint64(i); left < 64 {
		w &= 1<<left - 1
	}
	return w
}

// regularWord is the word from a bit on.
func (s bitString) regularWord(first uint64) (w uint64) {
	for at := s.every - 1 - first%s.every; at < min(64, s.n-first); at += s.every {
		w |= 1 << at
	}
	return w
}

// Have sets the documents of a tile that have a value, and returns their number.
func (c *Column) Have(tile int, set *[64]uint64) (n int, err error) {
	t := c.d.tile(tile)
	if t == nil {
		clear(set[:])
		return 0, nil
	}
	b, err := c.payload(t)
	if err != nil {
		return 0, err
	}
	t.has(b, set)
	return int(t.docs), nil
}

// RangeTile sets the documents of a tile that have any value with a key in lo..hi, both inclusive,
// clears the others, and returns the number of those set. It reads the payload only where the bounds of
// the tile do not decide.
func (c *Column) RangeTile(tile int, lo, hi uint64, set *[64]uint64) (n int, err error) {
	t := c.d.tile(tile)
	if t == nil || lo > hi || lo > t.greatest || hi < t.least {
		clear(set[:])
		return 0, nil
	}
	if lo <= t.least && hi >= t.greatest {
		return c.Have(tile, set)
	}
	from, to, some := t.quotients(lo, hi)
	if !some {
		clear(set[:])
		return 0, nil
	}
	b, err := c.payload(t)
	if err != nil {
		return 0, err
	}
	if c.grown != nil {
		c.ranged.Add(1)
	}
	l := t.layout()
	if t.form == linear {
		t.rangeLinear(b, l, from, to, set)
	} else if t.form == rising {
		if t.falls {
			from, to = t.top-to, t.top-from
		}
		first, end := t.search(b, l, from), int(t.values)
		if to < t.top {
			end = t.search(b, l, to+1)
		}
		clear(set[:])
		setRun(set, first, end)
	} else {
		if t.form == table {
			if from, to, some = t.places(b, l, from, to); !some {
				clear(set[:])
				return 0, nil
			}
		}
		if t.single() {
			if t.values <= TileDocs-64 {
				clear(set[:])
			}
			rangePacked(set[:(t.values+63)/64], b[l.values:], int(t.values), int(t.width), from, to-from)
		} else {
			t.rangeSeveral(b, l, from, to, set)
		}
	}
	if t.presence != everyone {
		var has [tileWords]uint64
		t.has(b, &has)
		deposit(set, &has, int(t.docs))
	}
	return onesOf(set), nil
}

// rangeLinear is RangeTile of form linear, for values.
func (t *tile) rangeLinear(b []byte, l layout, from, to uint64, set *[tileWords]uint64) {
	clear(set[:])
	n := int(t.values)
	if t.rises || t.falls {
		first := sort.Search(n, func(i int) bool {
			q := t.quotient(b, l, i)
			return t.rises && q >= from || t.falls && q <= to
		})
		end := sort.Search(n, func(i int) bool {
			q := t.quotient(b, l, i)
			return t.rises && q > to || t.falls && q < from
		})
		setRun(set, first, end)
		return
	}
	var room [TileDocs]uint64
	t.lines(b, l, room[:n], 0, 1)
	span := to - from
	for i, q := range room[:n] {
		_, above := bits.Sub64(span, q-from, 0)
		set[i/64] |= (above ^ 1) << (i % 64)
	}
}

// setRun sets bits from..end-1.
func setRun(set *[tileWords]uint64, from, end int) {
	for i := from / 64; i < tileWords && i*64 < end; i++ {
		w := uint64(1)<<min(64, end-64*i) - 1
		if from > 64*i {
			w &= ^uint64(0) << (from - 64*i)
		}
		set[i] |= w
	}
}

// places turns quotients into places in the table.
func (t *tile) places(b []byte, l layout, from, to uint64) (first, last uint64, any bool) {
	entries, wide := b[l.whole:], widthOf(t.top)
	first = uint64(sort.Search(int(t.entries), func(i int) bool { return packedAt(entries, i, wide) >= from }))
	end := uint64(sort.Search(int(t.entries), func(i int) bool { return packedAt(entries, i, wide) > to }))
	return first, end - 1, first < end
}

// search returns the number of values whose quotients are below another, in form rising.
func (t *tile) search(b []byte, l layout, q uint64) int {
	if q == 0 {
		return 0
	}
	wholes, wide := b[l.whole:], widthOf(t.top)
	run := sort.Search(int(t.wholes()), func(i int) bool { return packedAt(wholes, i, wide) >= q }) - 1
	if run < 0 {
		return 0
	}
	at, sum := run*runValues, packedAt(wholes, run, wide)
	for sum < q {
		if at++; at%runValues == 0 || at == int(t.values) {
			break
		}
		sum += t.gap + packedAt(b[l.values:], at, int(t.width))
	}
	return at
}

// wordsPool has room for bits of more values than a tile has documents.
var wordsPool = sync.Pool{New: func() any { return new([]uint64) }}

// rangeSeveral sets a bit for each document that has a value, of those that have any in from..to.
func (t *tile) rangeSeveral(b []byte, l layout, from, to uint64, set *[tileWords]uint64) {
	room := wordsPool.Get().(*[]uint64)
	defer wordsPool.Put(room)
	ends := t.endsOf(b, l)
	words := ends.words()
	*room = resize(*room, 2*words)
	found, last := (*room)[:words], (*room)[words:]
	for i := range last {
		last[i] = ends.word(i)
	}
	rangePacked(found, b[l.values:], int(t.values), int(t.width), from, to-from)
	clear(set[:])
	anyOf(set, found, last)
}

func resize(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	return s[:n]
}
