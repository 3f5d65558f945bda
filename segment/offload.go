package segment

import "cmp"

// A Sorter combines the records of many chunks into one record per term, on another device. It
// inverts some partitions of a Bulk, which then needs no dictionary for them.
type Sorter interface {
	// Room is how many bytes of records a Sort can take.
	Room() int

	// Sort returns the records of each cell, sorted by the bytes of the terms. Each term has one
	// record with the postings of all pieces, in their order, and their positions where the pieces
	// have some. Its documents are those of the pieces plus their Base. Cells without a record are
	// nil.
	//
	// An error loses nothing. The Bulk adds the pieces, which Sort reads but does not keep, to a
	// dictionary, and does not call Sort again.
	Sort(cells int, pieces []Piece) ([][]byte, error)
}

// A Piece is the records of one chunk in one cell, which is a partition of a field.
type Piece struct {
	Cell      uint32
	Base      uint32 // added to the chunk's documents
	Positions bool   // whether records have positions; the same for all pieces of a cell
	Records   []byte // see Chunk.Group; each term once
}

// An offload is the partitions that a Sorter inverts.
//
// It keeps their records as they come. When the Sorter has no room for more, and before the Bulk is
// written, it sorts them into a round: records again, one per term and in order.
type offload struct {
	sorter Sorter
	failed func(error)
	parts  [maxPartitions]bool

	kept   []Piece
	bytes  int      // of kept
	slabs  [][]byte // buffers that hold them, each filled up to its length
	rounds [][][]byte
	sorted int64 // bytes of rounds
}

// Offload leaves partitions to a Sorter, from the beginning: those with the most terms per posting,
// until they make up the given share of the work of the sample. The few terms that occur everywhere
// stay, because a core finds them in its cache (Wei 2011, section III.E). The output is the same,
// byte for byte.
//
// If the Sorter fails, failed is called once, and the Bulk continues without it.
func (b *Bulk) Offload(s Sorter, share float64, failed func(error)) {
	b.off = &offload{sorter: s, failed: failed}
	for _, part := range b.parts.unpopular(share) {
		b.off.parts[part] = true
	}
	for i, share := range b.shares {
		kept := share[:0]
		for _, part := range share {
			if !b.off.parts[part] {
				kept = append(kept, part)
			}
		}
		b.shares[i] = kept
	}
}

// cellOf numbers the partitions of all fields.
func cellOf(field, part int) uint32 { return uint32(field*maxPartitions + part) }

// keep keeps the records of a chunk in the Sorter's partitions, where they are. The caller copies what
// it returns before the chunk is used again.
func (b *Bulk) keep(c *Chunk, into []*bulkField, base uint32) keptRecords {
	o := b.off
	if o == nil {
		return keptRecords{}
	}
	kept := len(o.kept)
	for i, f := range c.fields {
		if into[i] == nil {
			continue
		}
		positions := into[i].info.Positions
		for part := range b.parts.n {
			records := f.partition(part)
			if !o.parts[part] || len(records) == 0 {
				continue
			}
			if f.placed != positions {
				records = convertRecords(records, positions)
			}
			b.keepPiece(Piece{cellOf(into[i].number, part), base, positions, records})
			kept = min(kept, len(o.kept)-1) // a round takes all of them
		}
	}
	if b.off == nil {
		return keptRecords{}
	}
	return o.roomFor(o.kept[kept:])
}

// keepPiece keeps a piece. If there is no room, it first makes a round of the earlier pieces. If that
// fails, the Sorter gets nothing more.
func (b *Bulk) keepPiece(p Piece) {
	if b.off != nil && b.off.bytes+len(p.Records) > b.off.sorter.Room() {
		b.sortKept()
	}
	if o := b.off; o != nil {
		o.kept = append(o.kept, p)
		o.bytes += len(p.Records)
		return
	}
	b.restore(p)
}

// keptRecords are pieces whose records are those of a chunk, and room for copies of these. Indexers
// share the copying: one alone waits for memory most of the time.
type keptRecords struct {
	pieces []Piece
	room   [][]byte // for the records of each
}

// copy copies the records of every n-th piece from the given one on.
func (k *keptRecords) copy(from, n int) {
	for i := from; i < len(k.pieces); i += n {
		copy(k.room[i], k.pieces[i].Records)
		k.pieces[i].Records = k.room[i]
	}
}

// slabBytes is the least that one allocation for records takes.
const slabBytes = 64 << 10

// roomFor finds room for the records of some pieces.
func (o *offload) roomFor(pieces []Piece) keptRecords {
	bytes := 0
	for _, p := range pieces {
		bytes += len(p.Records)
	}
	last := len(o.slabs) - 1
	if last < 0 || cap(o.slabs[last])-len(o.slabs[last]) < bytes {
		o.slabs = append(o.slabs, make([]byte, 0, max(slabBytes, bytes)))
		last++
	}
	slab := &o.slabs[last]
	k := keptRecords{pieces, make([][]byte, len(pieces))}
	for i, p := range pieces {
		start, end := len(*slab), len(*slab)+len(p.Records)
		*slab = (*slab)[:end]
		k.room[i] = (*slab)[start:end:end]
	}
	return k
}

// held is how many bytes are kept, plus the same for the round that they become.
func (o *offload) held() int64 {
	n := o.sorted
	for _, s := range o.slabs {
		n += 2 * int64(cap(s))
	}
	return n
}

// sortKept makes a round of the kept pieces. If that fails, the dictionary takes everything.
func (b *Bulk) sortKept() {
	o := b.off
	if o == nil || len(o.kept) == 0 {
		return
	}
	round, err := o.sorter.Sort(len(b.fields)*maxPartitions, o.kept)
	if err != nil {
		b.restoreAll()
		o.failed(err)
		return
	}
	for _, records := range round {
		o.sorted += int64(len(records))
	}
	o.rounds = append(o.rounds, round)
	o.kept, o.bytes, o.slabs = o.kept[:0], 0, nil
}

// restoreAll adds everything left to the Sorter to the dictionary.
func (b *Bulk) restoreAll() {
	o := b.off
	b.off = nil
	b.shares = b.parts.share(len(b.shares))
	for _, round := range o.rounds {
		for cell, records := range round {
			if len(records) > 0 {
				b.restore(Piece{Cell: uint32(cell), Records: records})
			}
		}
	}
	for _, p := range o.kept {
		b.restore(p)
	}
}

// restore adds the records of a piece, or of a round, to the dictionary.
func (b *Bulk) restore(p Piece) {
	f := b.fields[p.Cell/maxPartitions]
	f.add(int(p.Cell%maxPartitions), p.Records, f.info.Positions, p.Base)
}

// offloads reports whether a partition is the Sorter's.
func (b *Bulk) offloads(part int) bool { return b.off != nil && b.off.parts[part] }

// rounds returns the records of a partition, one slice per round.
func (b *Bulk) rounds(f *bulkField, part int) [][]byte {
	if !b.offloads(part) {
		return nil
	}
	var all [][]byte
	cell := int(cellOf(f.number, part))
	for _, round := range b.off.rounds {
		if cell < len(round) && len(round[cell]) > 0 {
			all = append(all, round[cell])
		}
	}
	return all
}

// unpopular returns the partitions with the most terms per posting, as many as make up the given
// share of the weight.
func (p *Partitions) unpopular(share float64) []int {
	order := p.order(func(a, b int) int {
		return cmp.Compare(p.postings[a]*max(p.weight[b], 1), p.postings[b]*max(p.weight[a], 1))
	})
	var total, taken float64
	for _, w := range p.weight {
		total += float64(w)
	}
	for i, part := range order {
		if share < 1 && taken+float64(p.weight[part])/2 > share*total {
			return order[:i]
		}
		taken += float64(p.weight[part])
	}
	return order
}
