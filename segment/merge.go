package segment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/postings"
)

// NoDoc stands in a Result's maps for a document that was left out.
const NoDoc = math.MaxUint32

// An Input is one segment that goes into a merge.
type Input struct {
	Reader  Reader
	Deleted *roaring.Bitmap // documents to leave out; nil means none. Nobody may change it during the merge.
	Updates Updates         // of its documents; nil for none
}

// MergeOptions says how to merge. The zero value keeps documents in the order of
// the inputs.
type MergeOptions struct {
	Order Order

	// Codec of postings: postings.Packed, PFor, Rice or Interpolative, which is the smallest. The
	// codecs of the inputs do not matter.
	Codec postings.Kind

	// Workers is how many goroutines merge posting lists and columns of values, find an order ByGraph, and, when the Sink
	// is a TableSink, compress or code stored documents. One goroutine does the rest of a merge. The result
	// does not depend on Workers. 0 means runtime.GOMAXPROCS.
	Workers int

	// Cores bounds the cores that this merge and others use together; nil for no bound.
	Cores *Cores

	// MemoryBytes bounds the additional memory of an order other than Arrival: the terms of each
	// document while an order ByGraph is found, and then stored documents on their way to their new
	// places. It does not include the 16 bytes per document and the current lists, which every
	// merge holds, and 8 more per document in these orders. 0 means DefaultMergeMemory.
	MemoryBytes int64

	// TableBytes is how many stored bytes fill a table, when the Sink is a TableSink; see
	// StoredOptions. 0 means defaultTableBytes.
	TableBytes int

	// CodedBytes is from how many stored bytes on documents are coded one by one (see codedDocs),
	// when the Sink is a TableSink. 0 means defaultCodedBytes, a negative number never,
	// and codeAlways is for tests.
	CodedBytes int
}

// DefaultMergeMemory is the default of MergeOptions.MemoryBytes. It suffices for the terms of half
// a million documents of 110 different words.
const DefaultMergeMemory = 256 << 20

// withDefaults replaces zero values.
func (o MergeOptions) withDefaults() MergeOptions {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = DefaultMergeMemory
	}
	if o.CodedBytes == 0 {
		o.CodedBytes = defaultCodedBytes
	}
	return o
}

// validate returns an error for invalid options.
func (o MergeOptions) validate() error {
	if o.Workers < 1 || o.MemoryBytes < 1 {
		return fmt.Errorf("segment: a merge with %d workers and %d bytes of memory, want at least one of each", o.Workers, o.MemoryBytes)
	}
	if o.TableBytes < 0 {
		return fmt.Errorf("segment: a merge with tables of %d bytes", o.TableBytes)
	}
	if !o.Codec.IsCodec() {
		return fmt.Errorf("segment: %v is no codec of a merge", o.Codec)
	}
	if err := o.Order.validate(); err != nil {
		return fmt.Errorf("segment: order of a merge: %w", err)
	}
	return nil
}

// A Result describes the segment that a merge has written.
type Result struct {
	Docs   uint32
	fields []FieldInfo // as Reader.Fields will return them

	// Maps[i][d] is the new number of document d of input i, or NoDoc when it was left out. The
	// caller uses it to carry over deletions that arrived during the merge.
	Maps [][]uint32

	// blocks counts the blocks of 128 postings of all lists, taken those copied from an input byte
	// for byte.
	blocks, taken uint64

	bytes int64 // all keys and values written
}

// Merge writes one segment with the documents of all inputs that are not deleted. Sealing a Memory
// is a merge of one view. The inputs' live ids must be distinct. Fields are matched by name. A
// field that has lengths in one input and none in another keeps them, and documents from the other
// still count as length code 1.
//
// Each worker merges the lists of a batch of terms at a time. It decodes all postings, which finds
// damage and the best posting of each document. In order of arrival, it copies a block that loses
// no document where the new list begins a block at the same posting. These are the whole blocks of
// the first input that has the term, up to its first deleted document, and a few others
// (postings.Writer.Take). It encodes the rest again. The result is the same, byte for byte, as if
// it encoded everything.
//
// A merge holds some 16 bytes per document, and the following: the new lists of two batches per
// worker, the directories and at most 256 KB of each of their old lists, as many batches of stored
// documents of 1 MB, and what MergeOptions.MemoryBytes allows; a quarter of that for columns that
// are made before their turn, and in an order of documents as many columns at once as it allows. It stops with ctx.Err() soon after
// ctx is done. After any error, the content of the sink is not a segment.
func Merge(ctx context.Context, sink Sink, inputs []Input, opts MergeOptions) (*Result, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	m := &merger{ctx: ctx, sink: &countingSink{sink: sink}, inputs: inputs, opts: opts, order: opts.Order}
	m.values = m.mergeValues
	opts.Cores.take()
	defer opts.Cores.give()
	for _, step := range []func() error{
		m.number, m.readRanks, m.writeTerms, m.writeIDs, m.writeStored, m.writeColumns, m.writePlaces, m.writePositionPages, m.writeMeta,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Result{Docs: m.docs, fields: m.fields, Maps: m.maps, blocks: m.blocks, taken: m.taken, bytes: m.sink.bytes}, nil
}

// A merger is the state of a merge.
type merger struct {
	ctx    context.Context
	sink   *countingSink
	inputs []Input
	opts   MergeOptions
	order  Order

	docs  uint32
	maps  [][]uint32 // as in Result
	from  []origin   // of each new document; nil in order of arrival
	ranks []uint16   // of each new document; nil when all are zero

	fields   []FieldInfo  // written so far; a field's number is its index
	tiles    [][]Tile     // of the same fields
	sparse   [][][]byte   // of the same fields: payloads of sparse norms; nil for a column or no norms
	whole    []bool       // of the same fields: the column is one value
	normSums [][]byte     // of the same fields: see normSums
	lists    uint32       // long lists written so far
	values   func() error // writes the columns of values
	columns  []string     // of values, written so far; a column's number is its index
	geo      bool         // some column has points of the Earth
	pages    positionPages
	stored   bool     // at least one document has stored bytes
	coded    bool     // these are coded
	places   []uint32 // place of each new document among the ids
	twice    bool     // two documents may share an id, which names the later one

	blocks, taken uint64 // as in Result

	buf  []byte // the value being made
	key  []byte // of a term
	scan postings.Scan
}

// An origin says where a document comes from.
type origin struct{ input, doc uint32 }

// countingSink counts the bytes that go into a sink.
type countingSink struct {
	sink  Sink
	bytes int64
}

func (s *countingSink) Set(key, value []byte) error {
	s.bytes += int64(len(key) + len(value))
	return s.sink.Set(key, value)
}

// seal writes a value under key with version and checksum. payload appends its content.
func (m *merger) seal(key []byte, payload func(dst []byte) []byte) error {
	m.buf = endSealed(payload(startSealed(m.buf)))
	return m.sink.Set(key, m.buf)
}

// number gives the live documents their new numbers.
func (m *merger) number() error {
	docs := uint64(0)
	m.maps = make([][]uint32, len(m.inputs))
	for i, in := range m.inputs {
		numbers := make([]uint32, in.Reader.Docs())
		for doc := range numbers {
			numbers[doc] = NoDoc
			if in.Deleted == nil || !in.Deleted.Contains(uint32(doc)) {
				numbers[doc] = uint32(docs)
				docs++
			}
		}
		m.maps[i] = numbers
	}
	if docs > maxDocs {
		return fmt.Errorf("segment: a merge of %d documents, more than a segment may have (%d)", docs, maxDocs)
	}
	m.docs = uint32(docs)
	if m.order.Kind == Arrival {
		return nil
	}
	m.from = make([]origin, docs)
	for i, numbers := range m.maps {
		for old, doc := range numbers {
			if doc != NoDoc {
				m.from[doc] = origin{uint32(i), uint32(old)}
			}
		}
	}
	sort := m.sortByGlobalScore
	switch m.order.Kind {
	case ByGraph:
		sort = m.sortByGraph
	case ByField:
		sort = m.sortByField
	}
	if err := sort(); err != nil {
		return err
	}
	for doc, o := range m.from {
		m.maps[o.input][o.doc] = uint32(doc)
	}
	return nil
}

// readRanks collects the ranks of the new documents.
func (m *merger) readRanks() error {
	for i, in := range m.inputs {
		ranks, err := in.Reader.Rank()
		if err != nil {
			return err
		}
		for old, r := range ranks {
			doc := m.maps[i][old]
			if r == 0 || doc == NoDoc {
				continue
			}
			if m.ranks == nil {
				m.ranks = make([]uint16, m.docs)
			}
			m.ranks[doc] = r
		}
	}
	return nil
}

// fieldNames returns the names of the fields of all inputs, sorted, without those of pairs.
func (m *merger) fieldNames() []string {
	var names []string
	for _, in := range m.inputs {
		for _, f := range in.Reader.Fields() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// norms gathers the length codes of a field for the new documents, of which at most having have the
// field. The result keeps no lengths when no input does. Documents of inputs without lengths count
// as code 1.
func (m *merger) norms(field string, having uint64) (Norms, error) {
	all := make([]Norms, len(m.inputs))
	kept, ones := false, false
	for i, in := range m.inputs {
		var err error
		if all[i], err = in.Reader.Norms(field); err != nil {
			return Norms{}, err
		}
		_, has := in.Reader.Field(field)
		kept = kept || all[i].kept()
		ones = ones || has && (!all[i].kept() || all[i].ones > 0)
	}
	if !kept || m.docs == 0 {
		return Norms{}, nil
	}
	n := Norms{docs: m.docs}
	if ones {
		n.ones = m.docs
	}
	if having < uint64(m.docs/sparseShare) {
		m.gatherSparse(&n, all)
		return n, nil
	}
	n.column = make([]uint8, m.docs)
	for i, in := range m.inputs {
		if _, has := in.Reader.Field(field); !has {
			continue
		}
		maps := m.maps[i]
		if !all[i].kept() || all[i].ones > 0 {
			for _, doc := range maps {
				if doc != NoDoc {
					n.column[doc] = 1
				}
			}
		}
		all[i].each(func(old uint32, code uint8) {
			if doc := maps[old]; doc != NoDoc {
				n.column[doc] = code
			}
		})
	}
	return n, nil
}

// gatherSparse collects the codes of the inputs in the order of the new documents.
func (m *merger) gatherSparse(n *Norms, all []Norms) {
	type docCode struct {
		doc  uint32
		code uint8
	}
	var codes []docCode
	for i := range all {
		maps := m.maps[i]
		all[i].each(func(old uint32, code uint8) {
			if doc := maps[old]; doc != NoDoc {
				codes = append(codes, docCode{doc, code})
			}
		})
	}
	slices.SortFunc(codes, func(a, b docCode) int { return cmp.Compare(a.doc, b.doc) })
	n.having, n.codes = make([]uint32, len(codes)), make([]uint8, len(codes))
	for i, c := range codes {
		n.having[i], n.codes[i] = c.doc, c.code
	}
}

// havePositions reports whether all inputs that have words in a field have their positions.
func (m *merger) havePositions(field string) bool {
	return !slices.ContainsFunc(m.inputs, func(in Input) bool {
		f, _ := in.Reader.Field(field)
		return f.LacksPositions()
	})
}

// having is how many documents of the inputs have a field, including deleted ones.
func (m *merger) having(field string) (docs uint64) {
	for _, in := range m.inputs {
		f, _ := in.Reader.Field(field)
		docs += uint64(f.Docs)
	}
	return docs
}
