package segment

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/postings"
)

// ranged is a pattern of all terms in a range.
type ranged struct{ from, to string }

func (r ranged) Range() (from, to []byte, all bool) {
	if r.to != "" {
		to = []byte(r.to)
	}
	return []byte(r.from), to, true
}

func (ranged) Find(*dictionary.Dictionary, func(int) bool) { panic("BUG: a range needs no search") }

// holding is a pattern of the terms with a substring.
type holding string

func (h holding) Range() (from, to []byte, all bool) { return nil, nil, false }

func (h holding) Find(d *dictionary.Dictionary, yield func(int) bool) {
	for i := range d.Len() {
		if strings.Contains(string(d.Term(i)), string(h)) && !yield(i) {
			return
		}
	}
}

// unionOf gathers the documents of a reader that a pattern picks.
func unionOf(t *testing.T, r interface {
	Docs() uint32
	Matching(field string, p Pattern, visit func(*Match) error) error
}, field string, p Pattern) (docs []uint32, terms []string) {
	t.Helper()
	u := Union{Set: make([]uint64, (r.Docs()+63)/64)}
	u.Opened = func(term []byte) *postings.List { // of some
		if len(term)%2 == 0 {
			return nil
		}
		l, err := r.(*Disk).List(field, term)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	err := r.Matching(field, p, func(m *Match) error {
		n, err := m.Postings()
		if n > 0 {
			terms = append(terms, string(m.Term))
		}
		if err != nil {
			return err
		}
		return u.Add(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	for d := range r.Docs() {
		if u.Set[d/64]>>(d%64)&1 == 1 {
			docs = append(docs, d)
		}
	}
	slices.Sort(terms)
	return docs, terms
}

// requireMatching compares what a pattern picks with the model's documents from one on.
func requireMatching(t *testing.T, lists map[string][]posting, docs []uint32, terms []string, first, end uint32, picks func(term string) bool) {
	t.Helper()
	var wantTerms []string
	want := map[uint32]bool{}
	for term, list := range lists {
		some := false
		for _, p := range list {
			if p.doc >= first && p.doc < end && picks(term) {
				want[p.doc-first], some = true, true
			}
		}
		if some {
			wantTerms = append(wantTerms, term)
		}
	}
	slices.Sort(wantTerms)
	if !slices.Equal(terms, wantTerms) {
		t.Fatalf("terms %q, want %q", terms, wantTerms)
	}
	if len(docs) != len(want) {
		t.Fatalf("%d documents, want %d", len(docs), len(want))
	}
	for _, d := range docs {
		if !want[d] {
			t.Fatalf("document %d is wrong", d)
		}
	}
}

func TestMatching(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for round := range 40 {
		m := randomModel(rng, 1+rng.IntN(300), "d")
		memory := m.memory()
		view := memory.View()
		tail := view.Tail(NewTailLists(view.Docs() / 2))
		disk, _, _ := merge(t, []Input{{Reader: view}}, MergeOptions{})
		for _, field := range append(m.fieldNames(), "no such field") {
			lists := map[string][]posting{}
			if field != "no such field" {
				_, _, lists = m.field(field)
			}
			all := slices.Sorted(func(yield func(string) bool) {
				for term := range lists {
					if !yield(term) {
						return
					}
				}
			})
			some := func() string {
				if len(all) == 0 || rng.IntN(8) == 0 {
					return ""
				}
				w := all[rng.IntN(len(all))]
				return w[:rng.IntN(len(w)+1)]
			}
			r := ranged{some(), some()}
			h := holding(some())
			for _, p := range []struct {
				Pattern
				picks func(string) bool
			}{
				{r, func(term string) bool { return term >= r.from && (r.to == "" || term < r.to) }},
				{h, func(term string) bool { return strings.Contains(term, string(h)) }},
			} {
				t.Run(fmt.Sprint(round, field, p.Pattern), func(t *testing.T) {
					n := view.Docs()
					docs, terms := unionOf(t, view, field, p)
					requireMatching(t, lists, docs, terms, 0, n, p.picks)
					docs, terms = unionOf(t, disk, field, p)
					requireMatching(t, lists, docs, terms, 0, n, p.picks)
					docs, terms = unionOf(t, tail, field, p)
					requireMatching(t, lists, docs, terms, n/2, n, p.picks)
				})
			}
		}
	}
}

// Terms that come between searches are found, and views without them do not show them.
func TestMatchingWhileGrowing(t *testing.T) {
	m := NewMemory()
	var views []*MemoryView
	for i := range 300 {
		m.Add(Document{ID: fmt.Sprint(i), Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{Term: fmt.Appendf(nil, "w%d", i*7%300), TF: 1}}}}})
		if i%10 == 9 {
			views = append(views, m.View())
		}
		if i%30 == 29 {
			for _, v := range views {
				docs, terms := unionOf(t, v, "f", ranged{"w", "x"})
				if len(docs) != int(v.Docs()) || len(terms) != int(v.Docs()) {
					t.Fatalf("view of %d documents: %d documents, %d terms", v.Docs(), len(docs), len(terms))
				}
			}
		}
	}
	if runs := m.fields["f"].words.runs; len(runs) > 9 {
		t.Errorf("%d runs", len(runs))
	}
}

// Searches of views find their terms while documents are added. (The race detector looks on.)
func TestMatchingWhileAdding(t *testing.T) {
	m := NewMemory()
	var done atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		defer done.Store(true)
		for i := range 2000 {
			m.Add(Document{ID: fmt.Sprint(i), Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{Term: fmt.Appendf(nil, "w%d", i%700), TF: 1}}}}})
		}
	})
	for range 3 {
		all.Go(func() {
			for last := false; !last; {
				last = done.Load()
				v := m.View()
				for _, p := range []Pattern{ranged{"w", "x"}, holding("w")} {
					u := Union{Set: make([]uint64, (v.Docs()+63)/64)}
					if err := v.Matching("f", p, u.Add); err != nil {
						t.Error(err)
					}
					found := 0
					for _, word := range u.Set {
						found += bits.OnesCount64(word)
					}
					if found != int(v.Docs()) {
						t.Errorf("%d of %d documents found", found, v.Docs())
					}
				}
			}
		})
	}
	all.Wait()
}

// Damage to a row is found and named.
func TestMatchingDamage(t *testing.T) {
	m := NewMemory()
	for i := range 100 {
		m.Add(Document{ID: fmt.Sprint(i), Fields: []FieldTerms{{Name: "f", Terms: []TermFreq{{Term: fmt.Appendf(nil, "w%02d", i), TF: 1}}}}})
	}
	_, _, values := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	for key, value := range values.values {
		if key[0] == byte(kindTerm) && strings.HasSuffix(key, "w42") {
			value[len(value)-1] ^= 1
		}
	}
	d, err := Open(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Pattern{ranged{"w", "x"}, holding("42")} {
		u := Union{Set: make([]uint64, 2)}
		if err := d.Matching("f", p, u.Add); err == nil || !strings.Contains(err.Error(), "w42") {
			t.Errorf("%v: error %v", p, err)
		}
	}
}
