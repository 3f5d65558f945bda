package segment

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A Document is one document ready to be indexed: analysed, with its terms
// counted.
type Document struct {
	ID     string       // at most 64 KB
	Fields []FieldTerms // each field once
	Stored []byte       // what Reader.Stored returns, less than 2 GB; kept, not copied
	Rank   uint16       // static rank as a 16-bit fraction
}

// FieldTerms are the terms of one field of a document.
type FieldTerms struct {
	Name   string
	Norms  bool       // keep the length; without, every document of the field counts as length 1
	Length uint32     // length in tokens, for Norms
	Terms  []TermFreq // each term once, in any order
}

// A TermFreq is a term and how often it occurs in one field of one document.
type TermFreq struct {
	Term []byte // copied
	TF   uint32 // at least 1
}

// Memory is the segment that documents enter: it grows by Add and is searched
// through views. One goroutine adds while any number take views and read them.
//
// Nothing is ever taken out of a Memory. A document that has been replaced stays,
// marked as deleted outside, until the memory is sealed (see Merge).
type Memory struct {
	bytes atomic.Int64

	writer sync.Mutex // held by who adds, and while a view is made: it takes whole documents; locked before mu

	mu      sync.Mutex          // not a RWMutex: making a list notes in its builder what is shared
	ids     []string            // by document; append-only, as are the columns below
	stored  [][]byte            // by document; nil until the first document with stored bytes
	ranks   []uint16            // by document; nil until the first rank above zero
	latest  map[string]uint32   // id -> the last document added under it
	earlier map[string][]uint32 // id -> the documents added under it before the last, if any, ascending
	fields  map[string]*memoryField
	view    *MemoryView // the last view, as long as it shows every document

	byID idOrder

	chunk runReaderSpace // scratch of AddChunk
}

// A memoryField is one field. Its numbers are those after the last document.
type memoryField struct {
	info  FieldInfo
	norms []uint8 // by document, as far as the field was used
	table termTable
	terms [][]memoryTerm // by number, in slabs of termSlab
	used  int64          // of table, as counted in Memory.bytes
}

// A memoryTerm is one term of one field.
type memoryTerm struct {
	first uint32 // its first document: views of fewer documents lack the term
	bytes uint32 // of list, as counted in Memory.bytes
	list  postings.Builder
}

// termSlab is how many terms are allocated at once: there are hundreds of thousands,
// and the garbage collector counts. The first slab of a field grows up to that.
const termSlab = 256

// term returns a term by its number. It is valid until the next term is added.
func (f *memoryField) term(number uint32) *memoryTerm {
	return &f.terms[number/termSlab][number%termSlab]
}

// find returns a term, or nil.
func (f *memoryField) find(term []byte) *memoryTerm {
	if number, ok := f.table.find(term); ok {
		return f.term(number)
	}
	return nil
}

// findOrAdd returns a term by its termKey and its bytes, which begins with document doc if it is new.
func (f *memoryField) findOrAdd(key uint64, term []byte, doc uint32) *memoryTerm {
	number := f.table.keyed(key, term).number - 1
	slab := int(number / termSlab)
	if slab == len(f.terms) {
		f.terms = append(f.terms, nil)
	}
	if at := int(number % termSlab); at == len(f.terms[slab]) {
		if slab > 0 && at == 0 {
			f.terms[slab] = make([]memoryTerm, 0, termSlab)
		}
		f.terms[slab] = append(f.terms[slab], memoryTerm{first: doc})
		f.info.Terms++
	}
	return f.term(number)
}

// NewMemory returns an empty segment.
func NewMemory() *Memory {
	return &Memory{
		latest:  make(map[string]uint32),
		earlier: make(map[string][]uint32),
		fields:  make(map[string]*memoryField),
	}
}

// Approximate costs of what a Memory holds besides bytes and postings: map slots
// at their usual load, string and slice headers, allocation classes.
const (
	docOverhead     = 96
	fieldOverhead   = 512
	earlierOverhead = 80
)

// Bytes is about the memory that the segment takes. It may be called at any time.
func (m *Memory) Bytes() int64 { return m.bytes.Load() }

// Docs is the number of documents added so far.
func (m *Memory) Docs() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint32(len(m.ids))
}

// HasField says whether some document has a field.
func (m *Memory) HasField(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fields[name] != nil
}

// Add appends a document and returns its number. Views taken from then on show
// it. An id that is there already gets a second document: the caller deletes the
// first.
//
// A term frequency of zero, a term or a field that comes twice, more stored bytes
// than a Document may have and more than 1<<31 documents are bugs of the caller
// and panic.
func (m *Memory) Add(d Document) uint32 {
	m.writer.Lock()
	defer m.writer.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	doc := uint32(len(m.ids))
	if doc >= maxDocs || len(d.Stored) > maxStored {
		panic(fmt.Sprintf("BUG: segment: document %d with %d stored bytes, want below %d and at most %d", doc, len(d.Stored), maxDocs, maxStored))
	}
	grown := int64(len(d.Stored)) + m.addID(d.ID)
	m.addColumns(doc, d.Stored, d.Rank)
	for i := range d.Fields {
		grown += m.addField(doc, &d.Fields[i])
	}
	m.bytes.Add(grown)
	return doc
}

// addID begins a document and returns by how much memory it has grown.
func (m *Memory) addID(id string) (grown int64) {
	doc := uint32(len(m.ids))
	m.view = nil
	if before, ok := m.latest[id]; ok {
		grown = m.addEarlier(id, before)
	}
	m.latest[id] = doc
	m.ids = append(m.ids, id)
	return grown + int64(docOverhead+len(id))
}

// addColumns appends the stored bytes and the rank of a document. A column that
// no document has needed yet stays nil.
func (m *Memory) addColumns(doc uint32, stored []byte, rank uint16) {
	if m.stored == nil && len(stored) > 0 {
		m.stored = make([][]byte, doc, doc+1)
	}
	if m.stored != nil {
		m.stored = append(m.stored, stored)
	}
	if m.ranks == nil && rank > 0 {
		m.ranks = make([]uint16, doc, doc+1)
	}
	if m.ranks != nil {
		m.ranks = append(m.ranks, rank)
	}
}

// addField adds the postings of one field of a document and returns by how much
// memory it has grown.
func (m *Memory) addField(doc uint32, ft *FieldTerms) (grown int64) {
	f, grown := m.field(ft.Name)
	code := uint8(1)
	if ft.Norms {
		code = blockmax.LengthCode(ft.Length)
	}
	f.addLength(doc, code, ft.Norms)
	if len(ft.Terms) > 0 {
		f.info.Docs++
	}
	for _, t := range ft.Terms {
		if t.TF == 0 {
			panic(fmt.Sprintf("BUG: segment: term %q of field %q has frequency 0", t.Term, ft.Name))
		}
		mt := f.findOrAdd(termKey(t.Term), t.Term, doc)
		mt.list.Add(doc, t.TF, code)
		grown += mt.grown()
		f.info.Postings++
		f.info.Tokens += uint64(t.TF)
	}
	return grown + f.grown()
}

// field returns a field, which may be new, and by how much memory has grown.
func (m *Memory) field(name string) (f *memoryField, grown int64) {
	if f = m.fields[name]; f == nil {
		f = &memoryField{info: FieldInfo{Name: strings.Clone(name)}}
		m.fields[f.info.Name] = f
		grown = fieldOverhead
	}
	return f, grown
}

// grown returns by how much the list has grown since the last call.
func (t *memoryTerm) grown() int64 {
	size := uint32(t.list.Bytes())
	n := int64(size) - int64(t.bytes)
	t.bytes = size
	return n
}

// grown returns by how much the table of terms has grown since the last call.
func (f *memoryField) grown() int64 {
	const termBytes = int64(unsafe.Sizeof(memoryTerm{}) - unsafe.Sizeof(postings.Builder{})) // which counts itself
	size := f.table.bytes() + termBytes*int64(f.table.len())
	n := size - f.used
	f.used = size
	return n
}

// addLength notes the length code of a document's field, which is 1 without norms.
//
// A field may begin to keep lengths when it has documents already: those count
// as code 1, which is what they were scored with before.
func (f *memoryField) addLength(doc uint32, code uint8, norms bool) {
	if norms && !f.info.Norms {
		f.info.Norms = true
		f.norms = slices.Repeat([]uint8{1}, int(doc))
	}
	if f.info.Norms {
		f.padNorms(doc)
		f.norms = append(f.norms, code)
	}
}

// padNorms fills the column up with zeros for documents without the field.
func (f *memoryField) padNorms(docs uint32) {
	if n := int(docs) - len(f.norms); n > 0 {
		f.norms = append(f.norms, make([]uint8, n)...)
	}
}

// View returns the segment as it stands: documents added later are not in the
// view, whatever is read through it and whenever. It costs a few allocations,
// and nothing when no document was added since the last one.
func (m *Memory) View() *MemoryView {
	m.writer.Lock()
	defer m.writer.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view != nil {
		return m.view
	}
	v := &MemoryView{m: m, docs: uint32(len(m.ids)), ids: m.ids, stored: m.stored, ranks: m.ranks}
	for _, f := range m.fields {
		if f.info.Norms {
			f.padNorms(v.docs)
		}
		v.fields = append(v.fields, f.info)
		v.inside = append(v.inside, viewField{field: f, norms: f.norms})
	}
	slices.SortFunc(v.fields, compareFields)
	slices.SortFunc(v.inside, func(a, b viewField) int { return strings.Compare(a.field.info.Name, b.field.info.Name) })
	m.view = v
	return v
}

func compareFields(a, b FieldInfo) int { return strings.Compare(a.Name, b.Name) }
