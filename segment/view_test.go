package segment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestViewsStandStill takes a view after every few documents and reads all views repeatedly while
// documents are added. Under the race detector it also shows that readers need no lock that Add
// does not take.
func TestViewsStandStill(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	m := randomModel(rng, 700, "doc")
	m[50].id = m[10].id // replaced
	m[51].id = m[10].id
	mem := NewMemory()
	var readers sync.WaitGroup
	for i, d := range m {
		if doc := mem.Add(d.document()); int(doc) != i {
			t.Fatalf("document %d got number %d", i, doc)
		}
		if i%47 != 0 && i != 50 {
			continue
		}
		view := mem.View()
		if again := mem.View(); again != view {
			t.Error("a second view was made although nothing was added")
		}
		readers.Go(func() {
			for range 3 {
				requireEqual(t, m[:i+1], view)
			}
		})
	}
	readers.Wait()
	if got := mem.Docs(); int(got) != len(m) {
		t.Errorf("%d documents, want %d", got, len(m))
	}
}

// TestMemoryBytes compares the estimate with the least that documents must take, and with a
// generous upper limit, because tables of terms double at times.
func TestMemoryBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	mem, before := NewMemory(), int64(0)
	for _, d := range randomModel(rng, 3000, "doc") {
		least := int64(len(d.id) + len(d.stored))
		mem.Add(d.document())
		grown := mem.Bytes() - before
		if most := least + 4096*4 + before; grown < least || grown > most {
			t.Fatalf("a document made it grow by %d bytes, want %d to %d", grown, least, most)
		}
		before = mem.Bytes()
	}
}

func TestAddPanicsOnBugs(t *testing.T) {
	for name, doc := range map[string]Document{
		"frequency 0": {ID: "a", Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{[]byte("x"), 0}}}}},
		"term twice":  {ID: "a", Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{[]byte("x"), 1}, {[]byte("x"), 1}}}}},
		"field twice": {ID: "a", Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{[]byte("x"), 1}}}, {Name: "f", Terms: []TermFreq{{[]byte("x"), 1}}}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			NewMemory().Add(doc)
		}()
	}
}

// TestTermsOfManyPieces: the terms of a view are complete and sorted, however many pieces they are
// gathered in, and terms added later are not among them.
func TestTermsOfManyPieces(t *testing.T) {
	for _, n := range []int{0, 1, gatheredTerms - 1, gatheredTerms, gatheredTerms + 1, 5*gatheredTerms + 7} {
		m := NewMemory()
		name := func(i int) string { return fmt.Sprintf("w%06d", (i*7919)%1_000_003) }
		add := func(from, to int) {
			d := Document{ID: fmt.Sprint(from), Fields: []FieldTerms{{Name: "f"}}}
			for i := from; i < to; i++ {
				d.Fields[0].Terms = append(d.Fields[0].Terms, TermFreq{[]byte(name(i)), 1})
			}
			m.Add(d)
		}
		add(0, n)
		v := m.View()
		add(n, 2*n+10)
		var want []string
		for i := range n {
			want = append(want, name(i))
		}
		slices.Sort(want)
		for _, from := range []int{0, n / 2} {
			first := ""
			if n > 0 {
				first = want[from]
			}
			it, err := v.Terms("f", []byte(first))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for it.Next() {
				got = append(got, string(it.Term()))
			}
			if !slices.Equal(got, want[from:]) {
				t.Errorf("%d terms from %d: got %d, want %d", n, from, len(got), n-from)
			}
		}
	}
}
