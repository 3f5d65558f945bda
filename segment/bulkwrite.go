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
	Fields []FieldInfo // as Reader.Fields will return them

	// Replaced are the documents whose id came again later, ascending. They are in the
	// segment, but their id leads to the later one: the caller marks them as deleted.
	Replaced []uint32

	Bytes int64 // all keys and values written, without stored documents
}

// BulkOptions says how to write a Bulk. The zero value is valid.
type BulkOptions struct {
	Codec   postings.Kind // see MergeOptions
	Workers int           // goroutines that encode; 0 stands for runtime.GOMAXPROCS
}

// Write writes the segment, but for the stored documents, which a StoredWriter writes
// or has written. Documents lie in the order in which they were added. Partitions of the
// dictionary are encoded by several workers at once, and written by this goroutine.
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
	for _, step := range []func() error{
		m.number, m.readRanks, func() error { return m.writeBulkTerms(v) }, func() error { return m.writeBulkIDs(v) }, m.writePlaces, m.writeColumns, m.writeMeta,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &BulkResult{Docs: m.docs, Fields: m.fields, Replaced: v.replaced, Bytes: m.sink.bytes}, nil
}

// writeBulkTerms writes the terms and lists of all fields.
func (m *merger) writeBulkTerms(v *bulkView) error {
	type job struct{ field, part int }
	var jobs []job
	columns := make([]bulkColumns, len(v.fields))
	for i, f := range v.fields {
		columns[i] = f.columns(m.docs)
		for p := range f.parts {
			if f.parts[p].terms.len() > 0 || v.offloads(p) {
				jobs = append(jobs, job{i, p})
			}
		}
	}
	encoders := make([]*runEncoder, m.opts.Workers)
	next := func() (j job, ok bool, err error) {
		if len(jobs) == 0 {
			return j, false, nil
		}
		j, jobs = jobs[0], jobs[1:]
		return j, true, nil
	}
	produce := func(worker int, j job) ([]encodedTerm, error) {
		if encoders[worker] == nil {
			encoders[worker] = newRunEncoder(m.opts.Codec)
		}
		f, norms := v.fields[j.field], columns[j.field].norms
		if rounds := v.rounds(f, j.part); len(rounds) > 0 {
			return encoders[worker].encodeRounds(rounds, norms), nil
		}
		return encoders[worker].encode(&f.parts[j.part], norms), nil
	}
	use := func(j job, terms []encodedTerm) error {
		if v.offloads(j.part) {
			v.fields[j.field].info.Terms += uint64(len(terms))
		}
		for _, t := range terms {
			if err := m.writeList(uint16(j.field), t.term, t.list); err != nil {
				return err
			}
		}
		return nil
	}
	if err := inOrder(m.ctx, m.opts.Workers, next, produce, use); err != nil {
		return err
	}
	for i, f := range v.fields {
		m.fields = append(m.fields, f.info)
		m.tiles = append(m.tiles, makeTiles(columns[i].best, columns[i].norms, m.ranks))
	}
	return nil
}

// An encodedTerm is a term and its list, ready to be written.
type encodedTerm struct {
	term []byte
	list postings.Encoded
}

// A runEncoder makes posting lists of runs.
type runEncoder struct {
	writer postings.Writer
	into   interface {
		AddAll(docs, tfs []uint32, lengths []uint8)
	} // the writer
	run       []byte
	docs, tfs [runBatch]uint32 // unpacked postings
	codes     [runBatch]uint8
	n         int // of them that into does not have yet
}

// runBatch is how many postings are unpacked at a time: a few blocks.
const runBatch = 4 * postings.BlockSize

func newRunEncoder(codec postings.Kind) *runEncoder {
	e := &runEncoder{writer: postings.Writer{Codec: codec}}
	e.into = &e.writer
	return e
}

// encode encodes the terms of a partition in ascending order.
func (e *runEncoder) encode(p *bulkPart, norms []uint8) []encodedTerm {
	order := p.sorted()
	out := make([]encodedTerm, len(order))
	for i, t := range order {
		e.build(p, t, norms)
		out[i] = encodedTerm{p.terms.term(t), e.writer.Finish()}
	}
	return out
}

// build unpacks the postings of a term.
func (e *runEncoder) build(p *bulkPart, term uint32, norms []uint8) {
	e.run = p.lists[term].appendTo(e.run[:0], p.arena)
	r := runReader{data: e.run, doc: noDoc}
	for {
		e.n = r.read(e.docs[:], e.tfs[:])
		if e.n == 0 {
			return
		}
		e.flush(norms)
	}
}

// sorted returns the numbers of the terms in the order of their bytes.
func (p *bulkPart) sorted() []uint32 {
	return sortedByBytes(p.terms.len(), 0, p.terms.term)
}

// bulkColumns are what a field has by document.
type bulkColumns struct {
	norms []uint8  // nil when the field keeps no lengths
	best  []uint32 // highest frequency
}

func (f *bulkField) columns(docs uint32) bulkColumns {
	c := bulkColumns{best: make([]uint32, docs)}
	if f.info.Norms {
		c.norms = make([]uint8, docs)
	}
	for _, d := range f.docs {
		c.best[d.doc] = d.best
		if c.norms != nil {
			c.norms[d.doc] = d.code
		}
	}
	return c
}

// A bulkView shows a Bulk, to which nothing is added any more, as a Reader. Stored
// documents are not in it.
type bulkView struct {
	*Bulk
	fields []*bulkField // with terms, by name
	infos  []FieldInfo  // of the same; Terms lacks those that are left to a Sorter

	sorting  sync.WaitGroup // of the ids; what follows is there when it has ended
	byID     []uint32       // documents in the order of their ids
	replaced []uint32
}

var _ Reader = (*bulkView)(nil)

// Docs implements Reader.
func (v *bulkView) Docs() uint32 { return v.docs }

func newBulkView(b *Bulk) *bulkView {
	v := &bulkView{Bulk: b}
	v.sorting.Go(v.sortIDs) // while terms are written, or a Sorter is at work
	b.sortKept()
	for _, f := range b.fields {
		terms := 0
		for i := range f.parts {
			terms += f.parts[i].terms.len()
		}
		if f.info.Terms = uint64(terms); f.info.Postings > 0 {
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

// Norms implements Reader. The column is made at every call.
func (v *bulkView) Norms(field string) ([]uint8, error) {
	if f := v.field(field); f != nil {
		return f.columns(v.docs).norms, nil
	}
	return nil, nil
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
	p := &f.parts[v.parts.of[prefixOf(term)]]
	t, ok := p.terms.find(term)
	if !ok {
		return nil, nil
	}
	return v.list(f, p, t), nil
}

func (v *bulkView) list(f *bulkField, p *bulkPart, term uint32) *postings.List {
	var b postings.Builder
	e := runEncoder{into: &b}
	e.build(p, term, f.columns(v.docs).norms)
	return b.View(v.docs)
}

// Terms implements Reader.
func (v *bulkView) Terms(field string, from []byte) (TermIterator, error) {
	it := &bulkTerms{v: v, f: v.field(field), at: -1}
	if it.f == nil {
		return it, nil
	}
	for i := range it.f.parts {
		p := &it.f.parts[i]
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
