package segment

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/postings"
)

// A model is a segment as a list of documents: too simple to be wrong.
type model []modelDoc

type modelDoc struct {
	id     string
	stored string
	rank   uint16
	fields map[string]modelField
	values map[string][]columns.Value
}

type modelField struct {
	norms  bool
	length uint32
	terms  map[string]uint32
}

type posting struct{ doc, tf uint32 }

// document converts a document of the model for Memory.Add.
func (d modelDoc) document() Document {
	doc := Document{ID: d.id, rank: d.rank}
	if d.stored != "" {
		doc.stored = []byte(d.stored)
	}
	for name, f := range d.fields {
		ft := FieldTerms{Name: name, Norms: f.norms, Length: f.length}
		for term, tf := range f.terms {
			ft.Terms = append(ft.Terms, TermFreq{[]byte(term), tf})
		}
		doc.Fields = append(doc.Fields, ft)
	}
	for name, values := range d.values {
		for _, v := range values {
			doc.values = append(doc.values, fieldValue{name, v})
		}
	}
	return doc
}

// memory adds the documents to a Memory.
func (m model) memory() *Memory {
	mem := NewMemory()
	for _, d := range m {
		mem.Add(d.document())
	}
	return mem
}

// withPositions is memory for documents whose words have positions: in the order of their bytes.
func (m model) withPositions() *Memory {
	var c Chunk
	for _, d := range m {
		c.Begin(d.id)
		for name, f := range d.fields {
			c.Field(name, true)
			at := uint32(0)
			for _, term := range slices.Sorted(maps.Keys(f.terms)) {
				for range f.terms[term] {
					c.AddAt([]byte(term), at)
					at++
				}
			}
			c.EndField(f.norms, f.length)
		}
		d.addValues(&c)
		c.End(d.rank, []byte(d.stored))
	}
	c.Group(OnePartition())
	mem := NewMemory()
	mem.AddChunk(&c)
	return mem
}

// without returns the model without deleted documents.
func (m model) without(deleted func(doc uint32) bool) model {
	var left model
	for i, d := range m {
		if !deleted(uint32(i)) {
			left = append(left, d)
		}
	}
	return left
}

// field gathers a field: its statistics, its length codes (nil without norms) and its postings by
// term.
func (m model) field(name string) (FieldInfo, []uint8, map[string][]posting) {
	info := FieldInfo{Name: name}
	codes := make([]uint8, len(m))
	lists := make(map[string][]posting)
	for i, d := range m {
		f, ok := d.fields[name]
		if !ok {
			continue
		}
		codes[i] = 1
		if f.norms {
			info.Norms = true
			codes[i] = blockmax.LengthCode(f.length)
		}
		if len(f.terms) > 0 {
			info.Docs++
		}
		for term, tf := range f.terms {
			lists[term] = append(lists[term], posting{uint32(i), tf})
			info.Postings++
			info.Tokens += uint64(tf)
		}
	}
	info.Terms = uint64(len(lists))
	if !info.Norms {
		codes = nil
	}
	return info, codes, lists
}

// fieldNames returns the names of the fields that have a term.
func (m model) fieldNames() []string {
	names := make(map[string]bool)
	for _, d := range m {
		for name, f := range d.fields {
			if len(f.terms) > 0 {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// randomModel makes a segment of n documents. Some terms are in nearly every document (long lists),
// some in one. Some fields keep no lengths, and one is rare. Ids share prefixes. Some documents
// have no field at all.
func randomModel(rng *rand.Rand, n int, prefix string) model {
	m := make(model, n)
	withRank, withStored := rng.IntN(2) == 0, rng.IntN(3) > 0
	withValues, mixed := rng.IntN(3) > 0, rng.IntN(2) == 0
	for i := range m {
		d := modelDoc{id: fmt.Sprintf("%s-%d/%x", prefix, i/7, i*7919%1000003), fields: make(map[string]modelField)}
		if withStored && rng.IntN(4) > 0 {
			d.stored = strings.Repeat(fmt.Sprintf("stored %d;", i), rng.IntN(30))
		}
		if withRank && rng.IntN(3) > 0 {
			d.rank = uint16(rng.IntN(1 << 16))
		}
		for _, name := range []string{"body", "title", "key"} {
			if rng.IntN(8) > 0 {
				d.fields[name] = randomField(rng, name, n)
			}
		}
		if rng.IntN(20) == 0 {
			d.fields["seldom"] = randomField(rng, "seldom", n)
		}
		if withValues {
			d.values = randomValues(rng, n, mixed)
		}
		m[i] = d
	}
	return m
}

func randomField(rng *rand.Rand, name string, n int) modelField {
	f := modelField{norms: name != "key", terms: make(map[string]uint32)}
	for range rng.IntN(8) {
		term := fmt.Sprintf("t%d", int(rng.ExpFloat64()*3))
		if rng.IntN(4) == 0 {
			term = fmt.Sprintf("rare\x00%x", rng.IntN(2*n))
		}
		tf := uint32(1)
		if name != "key" && rng.IntN(2) == 0 {
			tf = 1 + uint32(rng.ExpFloat64()*3)
		}
		f.terms[term] = tf
		f.length += tf
	}
	return f
}

// requireEqual fails the test unless r agrees with the model on every document, field, term and id.
func requireEqual(t testing.TB, m model, r Reader) {
	t.Helper()
	if int(r.Docs()) != len(m) {
		t.Fatalf("%d documents, want %d", r.Docs(), len(m))
	}
	requireFields(t, m, r)
	requireDocuments(t, m, r)
	requireColumns(t, m, r)
	requireIDs(t, m, r)
}

func requireFields(t testing.TB, m model, r Reader) {
	t.Helper()
	var used []string
	for _, f := range r.Fields() {
		if f.Terms > 0 {
			used = append(used, f.Name)
		}
	}
	if want := m.fieldNames(); !slices.Equal(used, want) {
		t.Fatalf("fields %q, want %q", used, want)
	}
	for _, name := range m.fieldNames() {
		want, codes, lists := m.field(name)
		if got, ok := r.Field(name); !ok || got != want {
			t.Fatalf("field %+v, want %+v", got, want)
		}
		norms, err := r.Norms(name)
		if err != nil || norms.kept() != (codes != nil) {
			t.Fatalf("norms of %q: %v, %v, want %v", name, norms, err, codes)
		}
		for doc := range codes {
			if _, has := m[doc].fields[name]; has && norms.of(uint32(doc)) != codes[doc] {
				t.Fatalf("length code of field %q of document %d is %d, want %d", name, doc, norms.of(uint32(doc)), codes[doc])
			}
		}
		requireTerms(t, r, name, lists)
	}
}

func requireTerms(t testing.TB, r Reader, field string, lists map[string][]posting) {
	t.Helper()
	terms := slices.Sorted(maps.Keys(lists))
	for _, from := range []string{"", "rare", "t1", "u", terms[len(terms)/2]} {
		it, err := r.Terms(field, []byte(from))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for it.Next() {
			got = append(got, string(it.Term()))
			if from != "" {
				continue
			}
			l, err := it.List()
			if err != nil {
				t.Fatal(err)
			}
			requirePostings(t, field, string(it.Term()), l, lists[string(it.Term())])
		}
		if want := terms[sort.SearchStrings(terms, from):]; !slices.Equal(got, want) || it.Err() != nil {
			t.Fatalf("terms of %q from %q: %q, %v, want %q", field, from, got, it.Err(), want)
		}
		it.Close()
	}
	for term, want := range lists {
		l, err := r.List(field, []byte(term))
		if err != nil {
			t.Fatal(err)
		}
		requirePostings(t, field, term, l, want)
		if l, err = r.List(field, []byte(term+"\x00")); l != nil || err != nil {
			t.Fatalf("list of a term that is not there: %v, %v", l, err)
		}
	}
}

func requirePostings(t testing.TB, field, term string, l *postings.List, want []posting) {
	t.Helper()
	if l == nil {
		t.Fatalf("field %q lacks term %q", field, term)
	}
	if got := readPostings(t, l); !slices.Equal(got, want) || l.Count != len(want) {
		t.Fatalf("field %q, term %q: %d postings %v, want %d: %v", field, term, l.Count, got, len(want), want)
	}
}

func readPostings(t testing.TB, l *postings.List) []posting {
	t.Helper()
	var all []posting
	var docs, freqs [postings.BlockSize]uint32
	for b := range l.Blocks() {
		n, err := l.Docs(b, &docs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Freqs(b, &freqs); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			all = append(all, posting{docs[i], freqs[i]})
		}
	}
	return all
}

func requireDocuments(t testing.TB, m model, r Reader) {
	t.Helper()
	ranks, err := r.Rank()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range m {
		doc := uint32(i)
		rank := uint16(0)
		if ranks != nil {
			rank = ranks[doc]
		}
		id, err := r.ID(doc)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := r.Stored(doc)
		if err != nil {
			t.Fatal(err)
		}
		if id != d.id || string(stored) != d.stored || rank != d.rank {
			t.Fatalf("document %d is %q, %q, rank %d, want %q, %q, rank %d", doc, id, stored, rank, d.id, d.stored, d.rank)
		}
	}
}

func requireIDs(t testing.TB, m model, r Reader) {
	t.Helper()
	byID := make(map[string]uint32)
	for i, d := range m {
		byID[d.id] = uint32(i)
		if doc, ok, err := r.Lookup(d.id + "-"); ok || err != nil {
			t.Fatalf("lookup of an id that is not there: %d, %v", doc, err)
		}
	}
	for id, want := range byID {
		if doc, ok, err := r.Lookup(id); !ok || err != nil || doc != want {
			t.Fatalf("lookup of %q: %d, %v, %v, want %d", id, doc, ok, err, want)
		}
	}
	want := slices.Sorted(maps.Keys(byID))
	it, err := r.IDs("")
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var got []string
	for it.Next() {
		got = append(got, string(it.ID()))
		if m[it.Doc()].id != string(it.ID()) {
			t.Fatalf("id %q is said to be document %d, which is %q", it.ID(), it.Doc(), m[it.Doc()].id)
		}
	}
	if it.Err() != nil || !slices.Equal(slices.Compact(got), want) {
		t.Fatalf("ids %q, %v, want %q", got, it.Err(), want)
	}
}

// codeIn is the length code of a document in a column, which may be nil.
func codeIn(column []uint8, doc uint32) uint8 {
	if column == nil {
		return 1
	}
	return column[doc]
}
