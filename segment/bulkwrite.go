package segment

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/postings"
)

// A BulkResult describes the segment that a Bulk has written.
type BulkResult struct {
	Docs   uint32
	fields []FieldInfo // as Reader.Fields will return them

	// Replaced are the documents whose id came again later, ascending. They are in the segment, but
	// their id finds the later one: the caller marks them as deleted.
	Replaced []uint32

	bytes int64 // all keys and values written, without stored documents
}

// BulkOptions says how to write a Bulk. The zero value is valid.
type BulkOptions struct {
	Codec   postings.Kind // see MergeOptions
	Workers int           // goroutines that encode; 0 means runtime.GOMAXPROCS
}

// Write writes the segment except for the stored documents, which a StoredWriter writes. Documents
// keep the order in which they were added. Several workers encode partitions of the dictionary, and
// this goroutine writes them.
//
// Nothing can be added afterwards. An error is that of the sink or of ctx.
func (b *Bulk) Write(ctx context.Context, sink Sink, o BulkOptions) (*BulkResult, error) {
	opts := MergeOptions{Codec: o.Codec, Workers: o.Workers}.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	v := newBulkView(b)
	defer v.sorting.Wait()
	m := &merger{ctx: ctx, sink: &countingSink{sink: sink}, inputs: []Input{{Reader: v}}, opts: opts, stored: b.stored}
	m.values = func() error { return m.writeBulkValues(v) }
	for _, step := range []func() error{
		m.number, m.readRanks, func() error { return m.writeBulkTerms(v) }, func() error { return m.writeBulkIDs(v) }, m.writeColumns, m.writePlaces, m.writePositionPages, m.writeMeta,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &BulkResult{Docs: m.docs, fields: m.fields, Replaced: v.replaced, bytes: m.sink.bytes}, nil
}

// writeBulkTerms writes the terms and lists of all fields.
func (m *merger) writeBulkTerms(v *bulkView) error {
	type job struct {
		field, part int
		norms       *Norms // of the field
	}
	var at job // the last job handed out
	next := func() (job, bool, error) {
		for ; at.field < len(v.fields); at = (job{field: at.field + 1}) {
			f := v.fields[at.field]
			if at.norms == nil { // fields come one after the other, so their columns do too
				n := f.norms(m.docs)
				at = job{at.field, -1, &n}
			}
			for at.part++; at.part < len(f.parts); at.part++ {
				if f.parts[at.part] != nil || v.offloads(at.part) {
					return at, true, nil
				}
			}
		}
		return job{}, false, nil
	}
	encoders := make([]*runEncoder, m.opts.Workers)
	produce := func(worker int, j job) ([]encodedTerm, error) {
		if encoders[worker] == nil {
			encoders[worker] = newRunEncoder(m.opts.Codec)
		}
		f := v.fields[j.field]
		encoders[worker].keepPositions(f.keepsPositions())
		if rounds := v.rounds(f, j.part); len(rounds) > 0 {
			return encoders[worker].encodeRounds(rounds, f.info.Positions, j.norms), nil
		}
		if f.parts[j.part] == nil {
			return nil, nil
		}
		return encoders[worker].encode(f.parts[j.part], j.norms), nil
	}
	use := func(j job, terms []encodedTerm) error {
		if v.offloads(j.part) {
			v.fields[j.field].info.Terms += uint64(len(terms))
		}
		for _, t := range terms {
			if err := m.writeList(uint32(j.field), t.term, t.list); err != nil {
				return err
			}
		}
		return nil
	}
	if err := inOrder(m.ctx, m.opts.Workers, nil, next, produce, use); err != nil {
		return err
	}
	for _, f := range v.fields {
		norms, info := f.norms(m.docs), f.info
		info.Positions, info.Pairs = f.keepsPositions(), f.pairsKept()
		m.endField(info, &norms, f.having)
	}
	return nil
}

// An encodedTerm is a term and its list, ready to be written.
type encodedTerm struct {
	term []byte
	list postings.Encoded
}

// A runEncoder makes posting lists from runs.
type runEncoder struct {
	writer postings.Writer
	into   interface {
		AddAll(docs, tfs []uint32, lengths []uint8)
	} // the writer, or
	builder   *postings.Builder
	positions bool
	run       []byte
	placed    []byte           // positions of the term
	places    []byte           // those that are left, of the term or of a round's record of it
	deltas    []uint32         // those of the unpacked postings
	docs, tfs [runBatch]uint32 // unpacked postings
	codes     [runBatch]uint8
	n         int // postings that into does not have yet
}

// runBatch is how many postings are unpacked at once: a few blocks.
const runBatch = 4 * postings.BlockSize

func newRunEncoder(codec postings.Kind) *runEncoder {
	e := &runEncoder{writer: postings.Writer{Codec: codec}}
	e.into = &e.writer
	return e
}

// keepPositions sets whether the next lists have positions.
func (e *runEncoder) keepPositions(keep bool) { e.positions, e.writer.Positions = keep, keep }

// encode encodes the terms of a partition in ascending order.
func (e *runEncoder) encode(p *bulkPart, norms *Norms) []encodedTerm {
	order := p.sorted()
	out := make([]encodedTerm, len(order))
	for i, t := range order {
		e.build(p, t, norms)
		out[i] = encodedTerm{p.terms.term(t), e.writer.Finish()}
	}
	return out
}

// build unpacks the postings of a term.
func (e *runEncoder) build(p *bulkPart, term uint32, norms *Norms) {
	e.run = p.lists[term].appendTo(e.run[:0], p.arena)
	if e.positions {
		e.placed = p.places[term].appendTo(e.placed[:0], p.arena)
		e.places = e.placed
	}
	r := runReader{data: e.run, doc: noDoc}
	for {
		e.n = r.read(e.docs[:], e.tfs[:])
		if e.n == 0 {
			return
		}
		e.flush(norms)
	}
}

// sorted returns the numbers of the terms, sorted by their bytes.
func (p *bulkPart) sorted() []uint32 {
	return sortedByBytes(p.terms.len(), 0, p.terms.term)
}

// keepsPositions reports whether the segment has the positions of the field: see FieldInfo.Positions.
func (f *bulkField) keepsPositions() bool { return f.info.Positions && f.info.Norms }

// pairsKept returns the words of which the segment has pairs.
func (f *bulkField) pairsKept() string {
	if !f.keepsPositions() {
		return ""
	}
	return f.info.Pairs
}

// keeps reports whether the segment has a field: one of pairs only if all documents have these.
func (b *Bulk) keeps(f *bulkField) bool {
	return !IsPairField(f.info.Name) || b.byName[FieldOfPairs(f.info.Name)].pairsKept() != ""
}

// norms returns the length codes of the field in a segment of docs documents.
func (f *bulkField) norms(docs uint32) Norms {
	if !f.info.Norms {
		return Norms{}
	}
	if isSparse(uint32(len(f.docs)), docs) {
		n := Norms{docs: docs, having: make([]uint32, len(f.docs)), codes: make([]uint8, len(f.docs))}
		for i, d := range f.docs {
			n.having[i], n.codes[i] = d.doc, d.code
		}
		return n
	}
	n := Norms{docs: docs, column: make([]uint8, docs)}
	for _, d := range f.docs {
		n.column[d.doc] = d.code
	}
	return n
}

// having calls visit for each document that has a term in the field, with its highest frequency.
func (f *bulkField) having(visit func(doc, tf uint32)) {
	for _, d := range f.docs {
		if d.best > 0 {
			visit(d.doc, d.best)
		}
	}
}

// A bulkView presents a finished Bulk as a Reader, without stored documents.
type bulkView struct {
	*Bulk
	fields []*bulkField // with terms, by name
	infos  []FieldInfo  // of the same fields; Terms does not count terms left to a Sorter

	sorting  sync.WaitGroup // of the ids; the fields below are valid after it
	byID     []uint32       // documents in the order of their ids
	replaced []uint32
}

var _ Reader = (*bulkView)(nil)

// Docs implements Reader.
func (v *bulkView) Docs() uint32 { return v.docs }

func newBulkView(b *Bulk) *bulkView {
	v := &bulkView{Bulk: b}
	v.sorting.Go(v.sortIDs) // while terms are written, or while a Sorter works
	b.sortKept()
	for _, f := range b.fields {
		terms := 0
		for _, p := range f.parts {
			if p != nil {
				terms += p.terms.len()
			}
		}
		if f.info.Terms = uint64(terms); f.info.Postings > 0 && b.keeps(f) {
			v.fields = append(v.fields, f)
		}
	}
	slices.SortFunc(v.fields, func(a, b *bulkField) int { return strings.Compare(a.info.Name, b.info.Name) })
	for _, f := range v.fields {
		v.infos = append(v.infos, f.info)
	}
	return v
}

func (v *bulkView) field(name string) *bulkField {
	if i, ok := findField(v.infos, name); ok {
		return v.fields[i]
	}
	return nil
}

// Order implements Reader.
func (v *bulkView) Order() Order { return Order{} }

// Fields implements Reader.
func (v *bulkView) Fields() []FieldInfo { return v.infos }

// Field implements Reader.
func (v *bulkView) Field(name string) (FieldInfo, bool) {
	if f := v.field(name); f != nil {
		return f.info, true
	}
	return FieldInfo{}, false
}

// Norms implements Reader. Each call makes them anew.
func (v *bulkView) Norms(field string) (Norms, error) {
	if f := v.field(field); f != nil {
		return f.norms(v.docs), nil
	}
	return Norms{}, nil
}

// Rank implements Reader.
func (v *bulkView) Rank() ([]uint16, error) { return v.ranks, nil }

// RankTiles implements Reader.
func (v *bulkView) RankTiles() ([]uint16, error) { return tileMaxima(v.ranks), nil }

// Tiles implements Reader.
func (v *bulkView) Tiles(string) ([]Tile, error) { return nil, nil }

// ID implements Reader.
func (v *bulkView) ID(doc uint32) (string, error) { return string(v.id(doc)), nil }

// AppendID implements Reader.
func (v *bulkView) AppendID(dst []byte, doc uint32) ([]byte, error) {
	return append(dst, v.id(doc)...), nil
}

// Stored implements Reader.
func (v *bulkView) Stored(uint32) ([]byte, error) { return nil, nil }

// List implements Reader.
func (v *bulkView) List(field string, term []byte) (*postings.List, error) {
	f := v.field(field)
	if f == nil {
		return nil, nil
	}
	p := f.parts[v.parts.of[prefixOf(term)]]
	if p == nil {
		return nil, nil
	}
	t, ok := p.terms.find(term)
	if !ok {
		return nil, nil
	}
	return v.list(f, p, t), nil
}

func (v *bulkView) list(f *bulkField, p *bulkPart, term uint32) *postings.List {
	b := postings.Builder{Positions: f.info.Positions}
	e := runEncoder{into: &b, builder: &b, positions: f.info.Positions}
	norms := f.norms(v.docs)
	e.build(p, term, &norms)
	return b.View(v.docs)
}

// Terms implements Reader.
func (v *bulkView) Terms(field string, from []byte) (TermIterator, error) {
	it := &bulkTerms{v: v, f: v.field(field), at: -1}
	if it.f == nil {
		return it, nil
	}
	for _, p := range it.f.parts {
		if p == nil {
			continue
		}
		for _, t := range p.sorted() {
			if bytes.Compare(p.terms.term(t), from) >= 0 {
				it.terms = append(it.terms, partTerm{p, t})
			}
		}
	}
	return it, nil
}

// bulkTerms walks the terms of a field.
type bulkTerms struct {
	v     *bulkView
	f     *bulkField
	terms []partTerm
	at    int
}

type partTerm struct {
	part *bulkPart
	term uint32
}

func (it *bulkTerms) Next() bool   { it.at++; return it.at < len(it.terms) }
func (it *bulkTerms) Term() []byte { t := it.terms[it.at]; return t.part.terms.term(t.term) }
func (it *bulkTerms) Err() error   { return nil }
func (it *bulkTerms) Close() error { return nil }

func (it *bulkTerms) List() (*postings.List, error) {
	t := it.terms[it.at]
	return it.v.list(it.f, t.part, t.term), nil
}
