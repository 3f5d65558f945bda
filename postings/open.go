package postings

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Open reads a list from its entry. A short list is then complete but for positions. Of a long list,
// Open loads and checks the directory, or its summary (see OnDemand), and keeps load for the rest.
// It does not keep entry.
//
// load may be nil when the list is known to be short and has no positions. That of a long list with
// positions is a PositionLoader, that of a short one a ShortPositionLoader.
//
// The form has no version of its own: its owner (a segment) has one in its metadata. An error is
// the Loader's, or matches corrupt.Err.
func Open(entry []byte, load Loader) (*List, error) {
	body, err := unsealEntry(entry)
	if err != nil {
		return nil, err
	}
	l, parts, err := parseEntry(body)
	if err != nil {
		return nil, err
	}
	l.entry = len(entry)
	if l.Blocks() > 0 {
		if parts.positions {
			source, _ := load.(ShortPositionLoader)
			l.positions = &shortPositions{l: l, source: source, pointer: parts.pointer}
		}
		return l, nil
	}
	if parts.positions {
		l.positions = &storedPositions{l: l, chunks: int(parts.pointer)}
	}
	l.source, l.stored = load, parts.chunks
	if load != nil {
		l.load = (*counted)(l)
	}
	_, l.checked = load.(CheckedLoader)
	l.lender, _ = load.(LendingLoader)
	if err := l.loadDirectory(); err != nil {
		return nil, err
	}
	return l, nil
}

// Count returns the number of postings of a list, given its entry.
func Count(entry []byte) (int, error) {
	body, err := unsealEntry(entry)
	if err != nil {
		return 0, err
	}
	r := reader{b: body}
	n := r.uvarint()>>1 + 1
	if r.err == nil && n >= MaxDoc {
		r.err = corrupt.New(0, "posting list of %d postings", n)
	}
	return int(n), r.err
}

func (l *List) blocksByCount() int { return (l.Count + l.BlockSize - 1) / l.BlockSize }

// entryParts are what an entry says of the parts of its list.
type entryParts struct {
	chunks    int
	positions bool   // there are some
	pointer   uint64 // of a short list to its positions; or the number of chunks of those of a long list
}

// parseEntry reads an entry without its checksum. For a long list it sets Count, BlockSize,
// ListImpacts and form.
func parseEntry(body []byte) (l *List, parts entryParts, err error) {
	r := reader{b: body}
	v := r.uvarint()
	count := v>>1 + 1
	if r.err == nil && count >= MaxDoc { // a segment has fewer documents, and an int may have 32 bits
		return nil, parts, corrupt.New(0, "posting list of %d postings", count)
	}
	if v&1 == 0 {
		l, err = parseShort(&r, int(count), &parts)
		return l, parts, err
	}
	shape := r.byte()
	l = &List{Count: int(count), BlockSize: int(shape&^interpolativeShape) + 1, bits: shape&interpolativeShape != 0}
	l.ListImpacts = r.impacts(nil)
	at := r.at
	n := r.uvarint()
	for ; n == 0 && l.form < pairsApart && r.err == nil; l.form++ {
		n = r.uvarint()
	}
	parts.readPointer(&r)
	if err := r.end(); err != nil {
		return nil, parts, err
	}
	if l.BlockSize > BlockSize || l.Count <= l.BlockSize {
		return nil, parts, corrupt.New(1, "long list of %d postings in blocks of %d", count, l.BlockSize)
	}
	blocks := l.blocksByCount()
	if extents := (blocks + ExtentBlocks - 1) / ExtentBlocks; n == 0 || n > uint64(extents) {
		return nil, parts, corrupt.New(at, "%d chunks for %d extents", n, extents)
	}
	if parts.positions && (parts.pointer == 0 || parts.pointer > uint64(blocks)) {
		return nil, parts, corrupt.New(at, "%d chunks of positions for %d blocks", parts.pointer, blocks)
	}
	parts.chunks = int(n)
	return l, parts, nil
}

// readPointer reads the number at the end of the entry of a list with positions, if there is one.
func (p *entryParts) readPointer(r *reader) {
	if p.positions = r.err == nil && r.at < len(r.b); p.positions {
		p.pointer = r.uvarint()
	}
}

// PointTo makes the entry of a short list with positions, as Encoded has it, point to the positions
// by a number of at most 64 bits, which ShortPositionLoader gets. It may change entry.
func PointTo(entry []byte, pointer uint64) []byte {
	return sealEntry(binary.AppendUvarint(entry[:len(entry)-2], pointer)) // replaces a zero and the checksum
}

// parseShort reads the postings of a short list and makes a block of them.
func parseShort(r *reader, count int, parts *entryParts) (*List, error) {
	var k block
	var pairs [8]Impact
	var sizes Sizes
	best, err := k.parseShort(r, count, pairs[:0], &sizes, parts)
	if err != nil {
		return nil, err
	}
	l := newSingle(&k, BlockSize, best)
	l.sizes = sizes
	return l, nil
}

// parseShort reads the part of a short entry after the number of postings, and appends the best
// pairs.
func (k *block) parseShort(r *reader, count int, best []Impact, sizes *Sizes, parts *entryParts) ([]Impact, error) {
	if count > BlockSize {
		return nil, corrupt.New(0, "short list of %d postings", count)
	}
	k.n = count
	at := r.at
	v := r.uvarint()
	if r.err == nil && (v>>1 >= MaxDoc || v>>1 < uint64(count-1)) {
		return nil, corrupt.New(at, "last document %d of %d postings", v>>1, count)
	}
	sizes.Docs = r.at - at
	more := uint64(0)
	if v&1 == 0 {
		at := r.at
		more = r.uvarint() + 1
		if r.err == nil && more-1 >= unsummed {
			return nil, corrupt.New(at, "frequencies of %d", more)
		}
		sizes.Freqs = r.at - at
	}
	if err := k.readShort(r, uint32(v>>1), more, sizes); err != nil {
		return nil, err
	}
	if more == 0 || count == 1 {
		best = append(best, Impact{TF: k.tfs[0], Len: r.byte()})
	} else {
		best = r.impacts(best)
	}
	parts.readPointer(r)
	if err := r.end(); err != nil {
		return nil, err
	}
	if highest := slices.Max(k.tfs[:k.n]); best[len(best)-1].TF != highest {
		return nil, corrupt.New(r.at, "best frequency is %d, not %d", best[len(best)-1].TF, highest)
	}
	return best, nil
}

// readShort reads the bit string of a short list, given its last document. more is the sum of its
// frequencies, each minus one.
func (k *block) readShort(r *reader, last uint32, more uint64, sizes *Sizes) error {
	if r.err != nil {
		return r.err
	}
	var copied [blockRoom]byte
	in := room(r.b[r.at:], &copied)
	mid, ok := k.readDocs(in, 0, noDoc, last)
	end, ok2 := mid, true
	switch {
	case more == 0:
		ones(&k.tfs)
	case more < unsummed:
		end, ok2 = k.readSums(in, mid, uint32(more)+uint32(k.n))
	default:
		end, ok2 = k.readFreqs(in, mid, 32)
	}
	size := (end + 7) / 8
	if !ok || !ok2 || size > len(r.b)-r.at || end%8 != 0 && in[size-1]>>(end%8) != 0 {
		return corrupt.New(r.at, "the postings are no interpolative code")
	}
	sizes.Docs += mid / 8
	sizes.Freqs += size - mid/8
	r.at += size
	return nil
}

// finishOpen derives the other fields from the blocks and compares them with the entry.
func (l *List) finishOpen() error {
	want := l.ListImpacts
	l.finishExtents()
	l.ListImpacts = want
	if err := l.checkImpacts(); err != nil {
		return err
	}
	rows := make([]uint32, 0, len(l.ExtLast)+1)
	for b := 0; b < len(l.Last); b += ExtentBlocks {
		rows = append(rows, l.Off[b])
	}
	end := len(l.Last) - 1
	return l.layOut(append(rows, l.Off[end]+uint32(l.Enc[end].Rows(l.BlockLen(end)))))
}

// checkImpacts compares the best pairs of the list with those of its extents.
func (l *List) checkImpacts() error {
	var p pareto
	p.addAll(l.ExtImpacts.pairs)
	var pairs [8]Impact
	if got := p.flush(pairs[:0]); !slices.Equal(got, l.ListImpacts) {
		return corrupt.New(2, "best pairs of the list are %v; those of its extents make %v", l.ListImpacts, got)
	}
	return nil
}

// inBlock adds the block to an error.
func inBlock(err error, b int) error {
	var c *corrupt.Error
	if errors.As(err, &c) {
		c.Block = b
	}
	return err
}
