package columns

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// A naiveColumn is the values of documents, as terms in ascending order.
type naiveColumn map[uint32][]string

// fromNaive encodes documents of a naive column.
func fromNaive(t testing.TB, docs uint32, of map[uint32][]Value) *Column {
	t.Helper()
	var numbers, ends []uint32
	var values []Value
	for _, doc := range slices.Sorted(maps.Keys(of)) {
		if len(of[doc]) > 0 {
			values = append(values, of[doc]...)
			numbers, ends = append(numbers, doc), append(ends, uint32(len(values)))
		}
	}
	c, err := FromValues(docs, numbers, ends, values)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// patchOf returns the patch that gives documents some values, perhaps none.
func patchOf(t testing.TB, docs uint32, of map[uint32][]Value) Patch {
	t.Helper()
	marks := map[uint32][]Value{}
	for doc := range of {
		marks[doc] = []Value{OfBool(true)}
	}
	return Patch{Docs: fromNaive(t, docs, marks), Values: fromNaive(t, docs, of)}
}

// requireNaive compares a column, and what its parts say, with a naive one.
func requireNaive(t testing.TB, docs uint32, c *Column, want naiveColumn) {
	t.Helper()
	have := 0
	for _, terms := range want {
		have += min(len(terms), 1)
	}
	if c == nil {
		if have > 0 {
			t.Fatalf("no column, want %d documents with a value", have)
		}
		return
	}
	if c.Docs() != have {
		t.Fatalf("%d documents with a value, want %d", c.Docs(), have)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	parts := map[uint32][]byte{}
	last := int64(-1)
	if err := c.Parts(func(part uint32, data []byte) error {
		if int64(part) <= last {
			t.Errorf("part %d behind %d", part, last)
		}
		parts[part], last = slices.Clone(data), int64(part)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(parts[DirectoryPart], func(part uint32) ([]byte, error) { return parts[part], nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Check(); err != nil {
		t.Fatal(err)
	}
	for doc := uint32(0); doc < docs; doc += 1 + docs/997 {
		for _, col := range []*Column{c, again} {
			keys, err := col.Append(nil, doc)
			if err != nil {
				t.Fatal(err)
			}
			var terms []string
			for _, key := range keys {
				v, err := col.Value(key)
				if err != nil {
					t.Fatal(err)
				}
				terms = append(terms, string(v.AppendTerm(nil)))
			}
			if !slices.Equal(terms, want[doc]) {
				t.Fatalf("document %d has %q, want %q", doc, terms, want[doc])
			}
		}
	}
}

// TestReplace: a column that was patched again and again has the last values of each document, whatever kind
// of value they are, and its ancestors stay as they were.
func TestReplace(t *testing.T) {
	values := map[string]func(r *rand.Rand) Value{
		"ints":     func(r *rand.Rand) Value { return OfInt(r.Int64N(1000)) },
		"rises":    func(r *rand.Rand) Value { return OfInt(r.Int64()) },
		"bools":    func(r *rand.Rand) Value { return OfBool(r.IntN(2) == 0) },
		"keywords": func(r *rand.Rand) Value { return OfString(fmt.Sprint("k", r.IntN(50))) },
		"few":      func(r *rand.Rand) Value { return OfString(fmt.Sprint("k", r.IntN(3)*r.IntN(40))) },
		"mixed": func(r *rand.Rand) Value {
			return []Value{OfInt(r.Int64N(9)), OfFloat(r.Float64()), OfInt(1<<62 + 1), OfUint(1<<63 + 5)}[min(3, r.IntN(40))]
		},
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			for _, docs := range []uint32{1, 700, TileDocs + 100} {
				naive, c := naiveColumn{}, (*Column)(nil)
				for round := range 6 {
					before, old := maps.Clone(naive), c
					of := map[uint32][]Value{}
					for range []int{int(docs), 1, 40, 0, 300, 2}[round] {
						doc := r.Uint32N(docs)
						of[doc] = nil
						for range min(3, r.IntN(5)) {
							of[doc] = append(of[doc], value(r))
						}
					}
					if round == 3 { // all are removed
						for doc := range docs {
							of[doc] = nil
						}
					}
					for doc, values := range of {
						naive[doc] = nil
						for _, v := range values {
							naive[doc] = append(naive[doc], string(v.AppendTerm(nil)))
						}
						slices.Sort(naive[doc])
					}
					var err error
					if c, err = Replace(c, docs, patchOf(t, docs, of)); err != nil {
						t.Fatal(err)
					}
					requireNaive(t, docs, c, naive)
					if round == 4 {
						requireNaive(t, docs, old, before)
					}
				}
			}
		})
	}
}

// TestReplaceByReplaced: the terms of a patch that no document has any more need no place in the column.
func TestReplaceByReplaced(t *testing.T) {
	const docs = 9
	c := fromNaive(t, docs, map[uint32][]Value{0: {OfString("b")}, 7: {OfString("d")}})
	p := patchOf(t, docs, map[uint32][]Value{3: {OfString("a")}})
	for _, term := range []string{"c", "e"} {
		q := patchOf(t, docs, map[uint32][]Value{3: {OfString(term)}})
		var err error
		if p.Values, err = Replace(p.Values, docs, q); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Values.Dictionary().Len(); n > 2 {
		t.Errorf("the patch keeps %d terms, want those of two rounds at most", n)
	}
	c, err := Replace(c, docs, p)
	if err != nil {
		t.Fatal(err)
	}
	requireNaive(t, docs, c, naiveColumn{0: {"b"}, 3: {"e"}, 7: {"d"}})
}

// TestReplaceSharesTiles: only the tiles of the patch are encoded, and a dropped part is read again.
func TestReplaceSharesTiles(t *testing.T) {
	const docs = 8 * TileDocs
	of := map[uint32][]Value{}
	for doc := range uint32(docs) {
		of[doc] = []Value{OfInt(int64(doc * 2654435761 % 100003))}
	}
	parts, loads := map[uint32][]byte{}, 0
	if err := fromNaive(t, docs, of).Parts(func(part uint32, data []byte) error { parts[part] = data; return nil }); err != nil {
		t.Fatal(err)
	}
	c, err := Open(parts[DirectoryPart], func(part uint32) ([]byte, error) { loads++; return parts[part], nil })
	if err != nil {
		t.Fatal(err)
	}
	p := patchOf(t, docs, map[uint32][]Value{5*TileDocs + 3: {OfInt(-1)}})
	patched, err := Replace(c, docs, p)
	if err != nil {
		t.Fatal(err)
	}
	if loads != 1 {
		t.Errorf("a patch of one document read %d parts", loads)
	}
	if least, _ := patched.Bounds(); KeyInt(least) != -1 {
		t.Errorf("least value %d, want -1", KeyInt(least))
	}
	encoded := 0
	for i := range patched.d.tiles {
		if patched.d.tiles[i].data != nil {
			encoded++
		}
	}
	if encoded != 1 {
		t.Errorf("%d tiles were encoded, want 1", encoded)
	}
	c.Drop()
	of[5*TileDocs+3] = []Value{OfInt(-1)}
	want := naiveColumn{}
	for doc, values := range of {
		want[doc] = []string{string(values[0].AppendTerm(nil))}
	}
	requireNaive(t, docs, patched, want)
}

// BenchmarkReplace patches documents of a column of 1,000,000.
func BenchmarkReplace(b *testing.B) {
	const docs = 1_000_000
	for _, kind := range []string{"ints", "keywords"} {
		value := func(i uint32) Value {
			if kind == "keywords" {
				return OfString(fmt.Sprint("word", i%5000))
			}
			return OfInt(int64(i % 100003))
		}
		of := map[uint32][]Value{}
		for doc := range uint32(docs) {
			of[doc] = []Value{value(doc * 2654435761)}
		}
		c := fromNaive(b, docs, of)
		for _, n := range []uint32{1, 1000, 100_000} {
			some := map[uint32][]Value{}
			for i := range n {
				some[(i*2654435761+7)%docs] = []Value{value(i)}
			}
			p := patchOf(b, docs, some)
			b.Run(fmt.Sprintf("values=%s/documents=%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Replace(c, docs, p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		p := patchOf(b, docs, map[uint32][]Value{9: {OfString("new")}})
		b.Run(fmt.Sprintf("values=%s/new-term", kind), func(b *testing.B) {
			for b.Loop() {
				if _, err := Replace(c, docs, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
