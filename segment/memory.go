package segment

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
)

// A Document is a document ready for indexing: analyzed, with its terms counted.
type Document struct {
	ID     string       // at most 64 KB
	Fields []FieldTerms // each field once
	stored []byte       // what Reader.Stored returns, less than 2 GB; kept, not copied
	rank   uint16       // static rank as a 16-bit fraction
	values []fieldValue // what its columns have
}

// A fieldValue is a value of the column of a field.
type fieldValue struct {
	field string
	value columns.Value
}

// FieldTerms are the terms of one field of a document.
type FieldTerms struct {
	Name   string
	Norms  bool       // keep the length; without it, every document of the field counts as length 1
	Length uint32     // length in tokens, for Norms
	Terms  []TermFreq // each term once, in any order
}

// A TermFreq is a term and how often it occurs in one field of one document.
type TermFreq struct {
	Term []byte // copied
	TF   uint32 // at least 1
}

// Memory is the segment that documents enter. It grows by Add and is searched through views. One
// goroutine adds while any number take views and read them.
//
// Nothing is ever removed from a Memory. A replaced document stays, marked as deleted outside,
// until the memory is sealed (see Merge).
type Memory struct {
	bytes atomic.Int64

	writer sync.Mutex // held while documents are added and while a view is made, which needs whole documents; locked before mu

	mu      sync.RWMutex // searches take it for reading: hundreds may ask for lists after each batch
	ids     []uint32     // by document, in the arena; append-only, as are the columns below
	stored  [][]byte     // by document; nil until the first document with stored bytes
	ranks   []uint16     // by document; nil until the first rank above zero
	latest  memoryTable  // of ids: the number of one is its last document
	earlier [][]uint32   // of ids that have come again: the documents before the last, ascending
	fields  map[string]*memoryField
	numbers []*memoryField // fields in the order in which they first occurred
	view    *MemoryView    // the last view, while it shows every document
	columns int64          // memory as columnsGrown last counted it
	values  map[string]*memoryValues

	infos [][]FieldInfo // as of the last view: fieldBlock fields in each block, never changed in place
	stale []int         // blocks that have changed since

	byID idOrder

	arena arena

	chunk runReaderSpace // scratch; mu guards it
}

// A memoryField is one field. Its statistics include the last document.
type memoryField struct {
	info   FieldInfo
	number int  // in Memory.numbers
	stale  bool // info has changed since the last view
	paired bool // info.Pairs are those of documents
	norms  memoryNorms
	table  memoryTable
	terms  [][]memoryTerm // by number, in slabs of termSlab
	places [][]placeList  // of the same, in a field with positions
	full   [][]fullList   // of terms with at least a block, in slabs of fullSlab
	arena  *arena         // of the Memory
	used   int64          // memory of table, terms and norms, as counted in Memory.bytes
	words  memoryWords
}

// fieldBlock is the unit of fields that a view shares with the previous one if none of them has
// changed. So a view after a small batch costs what the fields of the batch cost, even among
// thousands of others.
const fieldBlock = 32

// termSlab is how many terms are allocated at once. There are hundreds of thousands, and fewer
// allocations spare the garbage collector. The first slab of a field grows up to that size.
const termSlab = 256

// NewMemory returns an empty segment.
func NewMemory() *Memory {
	return &Memory{fields: make(map[string]*memoryField)}
}

// fieldOverhead is the memory of a field without terms: its struct, and its FieldInfo in a view.
const fieldOverhead = int64(unsafe.Sizeof(memoryField{}) + unsafe.Sizeof(FieldInfo{}))

// mapBytes is roughly the memory of a map with the given number of entries, each of the given size
// and one control byte. Its slots double when seven of eight are taken. They are allocated some
// hundreds at a time, a sixteenth too many.
func mapBytes(entries int, size int64) int64 {
	if entries == 0 {
		return 0
	}
	slots := int64(8)
	for slots*7 < int64(entries)*8 {
		slots *= 2
	}
	return slots * (size + 1) * 17 / 16
}

// Bytes is roughly the memory that the segment takes. It may be called at any time.
func (m *Memory) Bytes() int64 { return m.bytes.Load() }

// Docs is the number of documents added so far.
func (m *Memory) Docs() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint32(len(m.ids))
}

// HasField reports whether a document has the field.
func (m *Memory) HasField(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fields[name] != nil
}

// Add appends a document and returns its number. Later views show it. An id that already exists
// gets a second document: the caller deletes the first.
//
// These are bugs of the caller, on which Add panics: a term frequency of zero, a term or a field
// twice, more stored bytes than a Document may have, and more than 1<<31 documents.
func (m *Memory) Add(d Document) uint32 {
	m.writer.Lock()
	defer m.writer.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	doc := uint32(len(m.ids))
	if doc >= maxDocs || len(d.stored) > maxStored {
		panic(fmt.Sprintf("BUG: segment: document %d with %d stored bytes, want below %d and at most %d", doc, len(d.stored), maxDocs, maxStored))
	}
	grown := int64(cap(d.stored)) + m.addID([]byte(d.ID))
	m.addColumns(doc, d.stored, d.rank)
	for i := range d.Fields {
		grown += m.addField(doc, &d.Fields[i])
	}
	for _, v := range d.values {
		m.addValue(doc, v)
	}
	m.bytes.Add(grown + m.columnsGrown())
	return doc
}

// addID begins a document. It returns the growth in memory that columnsGrown does not count.
func (m *Memory) addID(id []byte) (grown int64) {
	doc := uint32(len(m.ids))
	m.view = nil
	key := termKey(id)
	s := m.findID(key, id)
	if s.number == 0 {
		m.latest.add(s, key, doc)
		m.ids = append(m.ids, m.arena.keep(id))
		return 0
	}
	m.ids = append(m.ids, m.ids[s.number-1])
	grown = m.addEarlier(s)
	s.number = doc + 1
	return grown
}

// columnsGrown returns the growth in memory of the arena and of everything kept by document, id or
// name since the last call. An arena with few places left counts as more than any budget, so that
// the segment is sealed.
func (m *Memory) columnsGrown() int64 {
	size := 4*int64(cap(m.ids)) + 24*int64(cap(m.stored)) + 2*int64(cap(m.ranks)) + 8*int64(cap(m.numbers))
	size += m.arena.bytes + m.latest.bytes + 24*int64(cap(m.earlier)) + mapBytes(len(m.fields), 24)
	if m.arena.full() {
		size += arenaFull
	}
	n := size - m.columns
	m.columns = size
	return n
}

const arenaFull = 1 << 40

// addColumns appends the stored bytes and the rank of a document. A column that no document has
// needed stays nil.
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

// addField adds the postings of one field of a document. It returns the growth in memory.
func (m *Memory) addField(doc uint32, ft *FieldTerms) (grown int64) {
	f, grown := m.field(ft.Name, false)
	if f.info.Positions {
		panic(fmt.Sprintf("BUG: segment: a document without positions in field %q, which has some", ft.Name))
	}
	code := uint8(1)
	if ft.Norms {
		code = blockmax.LengthCode(ft.Length)
	}
	f.addLength(doc, code, ft.Norms)
	f.keepPairs("")
	m.changed(f)
	if len(ft.Terms) > 0 {
		f.info.Docs++
	}
	for _, t := range ft.Terms {
		if t.TF == 0 {
			panic(fmt.Sprintf("BUG: segment: term %q of field %q has frequency 0", t.Term, ft.Name))
		}
		mt, number := f.findOrAdd(termKey(t.Term), t.Term, doc)
		if mt.last == doc {
			panic(fmt.Sprintf("BUG: segment: term %q of field %q comes twice in document %d", t.Term, ft.Name, doc))
		}
		grown += f.add(mt, number, &runRecord{n: 1, tf: t.TF}, doc, &m.chunk)
		f.info.Postings++
		f.info.Tokens += uint64(t.TF)
	}
	return grown + f.grown()
}

// field returns a field, which may be new, and the growth in memory. positions says whether a new one
// has positions; documents without have zeros in it, and the positions of others are dropped where
// it has none.
func (m *Memory) field(name string, positions bool) (f *memoryField, grown int64) {
	if f = m.fields[name]; f == nil {
		f = &memoryField{info: FieldInfo{Name: strings.Clone(name), Positions: positions}, number: len(m.numbers), arena: &m.arena}
		m.fields[f.info.Name] = f
		m.numbers = append(m.numbers, f)
		grown = fieldOverhead + int64(len(name))
	}
	return f, grown
}

// changed notes that a field has changed since the last view.
func (m *Memory) changed(f *memoryField) {
	if !f.stale {
		f.stale = true
		m.stale = append(m.stale, f.number/fieldBlock)
	}
}

// grown returns the growth of everything but the lists since the last call.
func (f *memoryField) grown() int64 {
	size := f.table.bytes + f.norms.bytes() + 24*int64(cap(f.terms))
	if last := len(f.terms) - 1; last >= 0 {
		size += int64(last*termSlab+cap(f.terms[last])) * int64(unsafe.Sizeof(memoryTerm{}))
	}
	if last := len(f.places) - 1; last >= 0 {
		size += int64(last*termSlab+cap(f.places[last])) * int64(unsafe.Sizeof(placeList{}))
	}
	n := size - f.used
	f.used = size
	return n
}

// addLength notes the length code of a document's field, which is 1 without norms.
//
// A field may begin to keep lengths when it already has documents. Those count as code 1, as
// before.
func (f *memoryField) addLength(doc uint32, code uint8, norms bool) {
	if norms && !f.info.Norms {
		f.info.Norms = true
		f.norms.ones = 0
		if f.info.Docs > 0 {
			f.norms.ones = doc
		}
	}
	if f.info.Norms {
		f.norms.add(doc, code)
	}
}

// View returns the current state of the segment: the view never shows documents added later. It
// costs a few allocations for the fields of documents added since the last view, and nothing if
// there are none.
func (m *Memory) View() *MemoryView {
	m.writer.Lock()
	defer m.writer.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view != nil {
		return m.view
	}
	m.view = &MemoryView{m: m, docs: uint32(len(m.ids)), ids: idColumn{m.ids, m.arena.pages}, stored: m.stored, ranks: m.ranks, fields: len(m.numbers), infos: m.fieldInfos()}
	return m.view
}

// fieldInfos brings Memory.infos up to date and returns it.
func (m *Memory) fieldInfos() [][]FieldInfo {
	if len(m.stale) == 0 {
		return m.infos
	}
	infos := make([][]FieldInfo, (len(m.numbers)+fieldBlock-1)/fieldBlock)
	copy(infos, m.infos)
	slices.Sort(m.stale)
	for _, block := range slices.Compact(m.stale) {
		fields := m.numbers[block*fieldBlock : min((block+1)*fieldBlock, len(m.numbers))]
		infos[block] = make([]FieldInfo, len(fields))
		for i, f := range fields {
			infos[block][i] = f.info
			f.stale = false
		}
	}
	m.infos, m.stale = infos, m.stale[:0]
	return infos
}

func compareFields(a, b FieldInfo) int { return strings.Compare(a.Name, b.Name) }
