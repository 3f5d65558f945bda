package segment

import (
	"slices"
	"unsafe"

	"github.com/riffle-search/riffle/postings"
)

// A memoryTerm is one term of one field. It has no pointers.
//
// Its newest postings, fewer than a block, are a run in a room of the arena. When there are enough
// for a block, they go on to a Builder. So most records of a chunk are copied as they are, and the
// others are decoded into whole blocks.
type memoryTerm struct {
	name  uint32 // where it is kept
	first uint32 // its first document: views that end before it lack the term
	last  uint32 // its last document, or noDoc
	room  uint32 // of the run
	used  uint16 // bytes of the run
	n     uint8  // postings of the run
	size  uint8  // of the room, plus one; 0 without a room
	full  uint32 // its Builder in memoryField.full, plus one; 0 with less than a block
}

// A fullList is the postings of a term that fill blocks.
type fullList struct {
	postings.Builder
	counted uint32 // memory of it, as counted in Memory.bytes
}

// term returns a term by its number.
func (f *memoryField) term(number uint32) *memoryTerm {
	return &f.terms[number/termSlab][number%termSlab]
}

// name returns a term's bytes, which stay as they are.
func (f *memoryField) name(number uint32) []byte { return f.arena.kept(f.term(number).name) }

// find returns a term and its number, or nil.
func (f *memoryField) find(term []byte) (t *memoryTerm, number uint32) {
	if f.table.taken == 0 {
		return nil, 0
	}
	s := f.table.find(termKey(term), func(number uint32) bool { return string(f.name(number)) == string(term) })
	if s.number == 0 {
		return nil, 0
	}
	return f.term(s.number - 1), s.number - 1
}

// findOrAdd returns a term and its number, given its termKey and its bytes. A new term begins with
// document doc.
func (f *memoryField) findOrAdd(key uint64, term []byte, doc uint32) (*memoryTerm, uint32) {
	s := f.table.find(key, func(number uint32) bool { return string(f.name(number)) == string(term) })
	if s.number > 0 {
		return f.term(s.number - 1), s.number - 1
	}
	number := f.table.taken
	f.table.add(s, key, number)
	slab := int(number / termSlab)
	if slab == len(f.terms) {
		f.terms = append(f.terms, nil)
		if slab > 0 {
			f.terms[slab] = make([]memoryTerm, 0, termSlab)
		}
	}
	f.terms[slab] = append(f.terms[slab], memoryTerm{name: f.arena.keep(term), first: doc, last: noDoc})
	if f.info.Positions {
		if slab == len(f.places) {
			f.places = append(f.places, make([]placeList, 0, cap(f.terms[slab])))
		}
		f.places[slab] = append(f.places[slab], placeList{})
	}
	f.info.Terms++
	return f.term(number), number
}

// run returns the postings of a term's run, valid until it changes.
func (f *memoryField) run(t *memoryTerm) []byte {
	if t.used == 0 {
		return nil
	}
	return f.arena.at(t.room)[:t.used]
}

// builder returns the Builder of a term's full blocks, or an empty one.
func (f *memoryField) builder(t *memoryTerm) *postings.Builder {
	if t.full == 0 {
		return &postings.Builder{Positions: f.info.Positions}
	}
	return &f.full[(t.full-1)/fullSlab][(t.full-1)%fullSlab].Builder
}

// fullSlab is how many Builders are allocated at once.
const fullSlab = 32

// len is the number of a term's postings.
func (f *memoryField) len(t *memoryTerm) int {
	n := int(t.n)
	if t.full > 0 {
		n += f.builder(t).Len()
	}
	return n
}

// append appends postings to the run of a term, of which there are then fewer than a block.
func (f *memoryField) append(t *memoryTerm, b []byte) {
	need := int(t.used) + len(b)
	if t.size == 0 || need > arenaUnit<<(t.size-1) {
		f.grow(t, need)
	}
	copy(f.arena.at(t.room)[t.used:need], b)
	t.used = uint16(need)
}

// grow gives a term a room of at least need bytes.
func (f *memoryField) grow(t *memoryTerm, need int) {
	size := uint8(0)
	for arenaUnit<<size < need {
		size++
	}
	room := f.arena.takeRoom(size)
	copy(f.arena.at(room), f.run(t))
	if t.size > 0 {
		f.arena.giveRoom(t.room, t.size-1)
	}
	t.room, t.size = room, size+1
}

// add adds the postings of a chunk's record, for documents from first on. It returns the growth in
// memory, but for the arena.
func (f *memoryField) add(t *memoryTerm, number uint32, r *runRecord, first uint32, s *runReaderSpace) (grown int64) {
	doc := first + r.first
	if uint32(t.n)+r.n >= postings.BlockSize {
		return f.fill(t, number, r, doc, s)
	}
	if f.info.Positions {
		f.placesOf(number).append(f.arena, r.positions())
	}
	var head [maxRunBytes]byte
	f.append(t, appendRun(head[:0], doc-t.last-1, r.tf))
	if len(r.rest) > 0 {
		f.append(t, r.rest)
	}
	t.n += uint8(r.n)
	t.last = doc + r.span
	return 0
}

// fill adds postings of which there are enough for a block, with those of the run. doc is the first
// document. The last ones, less than a block, become the run.
func (f *memoryField) fill(t *memoryTerm, number uint32, r *runRecord, doc uint32, s *runReaderSpace) (grown int64) {
	if t.full == 0 {
		grown += f.addFull(t)
	}
	b := &f.full[(t.full-1)/fullSlab][(t.full-1)%fullSlab]
	left := (int(t.n) + int(r.n)) &^ (postings.BlockSize - 1) // for blocks
	run := runReader{data: f.run(t), doc: noDoc}
	if b.Len() > 0 {
		run.doc = b.Last()
	}
	var places []byte
	if f.info.Positions {
		s.places = append(f.placesOf(number).appendTo(f.arena, s.places[:0]), r.positions()...)
		places = s.places
	}
	n := run.read(s.docs[:t.n], s.tfs[:t.n])
	s.docs[n], s.tfs[n] = doc, r.tf
	n++
	run = runReader{data: r.rest, doc: doc}
	for {
		some := min(left, len(s.docs))
		n += run.read(s.docs[n:some], s.tfs[n:some])
		f.codes(s.codes[:n], s.docs[:n])
		if f.info.Positions {
			places = b.AddAllPositions(s.docs[:n], s.tfs[:n], s.codes[:n], places)
		} else {
			b.AddAll(s.docs[:n], s.tfs[:n], s.codes[:n])
		}
		if left -= n; left == 0 {
			break
		}
		n = 0
	}
	t.used, t.n, t.last = 0, uint8((uint32(t.n)+r.n)%postings.BlockSize), doc+r.span
	if len(run.data) > 0 {
		f.append(t, run.data)
	}
	if f.info.Positions {
		l := f.placesOf(number)
		l.clear(f.arena)
		l.append(f.arena, places)
	}
	size := uint32(b.Bytes())
	grown += int64(size) - int64(b.counted)
	b.counted = size
	return grown
}

// addFull gives a term a Builder. It returns the growth in memory, but for the Builder.
func (f *memoryField) addFull(t *memoryTerm) (grown int64) {
	last := len(f.full) - 1
	if last < 0 || len(f.full[last]) == cap(f.full[last]) {
		f.full = append(f.full, make([]fullList, 0, fullSlab))
		last++
		grown = int64(unsafe.Sizeof(f.full[0])) + fullSlab*int64(unsafe.Sizeof(fullList{})-unsafe.Sizeof(postings.Builder{})) // which count themselves
	}
	f.full[last] = append(f.full[last], fullList{Builder: postings.Builder{Positions: f.info.Positions}})
	t.full = uint32(last*fullSlab + len(f.full[last]))
	return grown
}

// codes sets the length codes of documents that have the field, in rising order.
func (f *memoryField) codes(codes []uint8, docs []uint32) {
	n := Norms{column: f.norms.column, having: f.norms.having, codes: f.norms.codes, ones: f.norms.ones}
	if f.info.Norms {
		n.docs = maxDocs
	}
	n.fill(codes, docs)
}

// view returns the list of a term in a view of some documents.
func (f *memoryField) view(t *memoryTerm, number, docs uint32, s *runReaderSpace) *postings.List {
	n := f.readRun(t, s)
	var places []byte
	if f.info.Positions {
		places = f.placesOf(number).appendTo(f.arena, nil)
	}
	return f.builder(t).ViewWith(docs, s.docs[:n], s.tfs[:n], s.codes[:n], places)
}

// readRun unpacks the run of a term.
func (f *memoryField) readRun(t *memoryTerm, s *runReaderSpace) int {
	run := runReader{data: f.run(t), doc: noDoc}
	if t.full > 0 {
		run.doc = f.builder(t).Last()
	}
	n := run.read(s.docs[:t.n], s.tfs[:t.n])
	f.codes(s.codes[:n], s.docs[:n])
	return n
}

// appendFrom appends the postings of a term in documents from first to below limit.
func (f *memoryField) appendFrom(t *memoryTerm, number uint32, p *postings.Postings, first, limit uint32, s *runReaderSpace) {
	if t.full > 0 {
		f.builder(t).AppendFrom(p, first, limit)
	}
	n := f.readRun(t, s)
	from, _ := slices.BinarySearch(s.docs[:n], first)
	to, _ := slices.BinarySearch(s.docs[:n], limit)
	to = max(from, to)
	p.Docs, p.TFs = append(p.Docs, s.docs[from:to]...), append(p.TFs, s.tfs[from:to]...)
	if p.WithPositions {
		s.places = f.placesOf(number).appendTo(f.arena, s.places[:0])
		begin := postings.PositionsEnd(s.places, s.tfs[:from])
		p.Positions = append(p.Positions, s.places[begin:begin+postings.PositionsEnd(s.places[begin:], s.tfs[from:to])]...)
	}
}
