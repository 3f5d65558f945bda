package segment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// TestMemoryTail: the lists, norms and ranks of tails are those of the whole view from a document on,
// for views of any age, while the segment grows.
func TestMemoryTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 10))
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	mem := NewMemory()
	fields := []string{"text", "rare", "tags"}
	add := func(n int) *MemoryView {
		for range n {
			d := Document{ID: fmt.Sprint(mem.Docs()), rank: uint16(mem.Docs() / 500)}
			for i, name := range fields {
				if i == 1 && rng.IntN(30) > 0 {
					continue // its norms are sparse
				}
				ft := FieldTerms{Name: name, Norms: i != 2, Length: 1 + rng.Uint32N(60)}
				for w, every := range []int{1, 2, 9, 200} {
					if rng.IntN(every) == 0 {
						ft.Terms = append(ft.Terms, TermFreq{[]byte{'a' + byte(w)}, 1 + rng.Uint32N(1<<rng.IntN(4))})
					}
				}
				d.Fields = append(d.Fields, ft)
			}
			mem.Add(d)
		}
		return mem.View()
	}
	read := func(l *postings.List) (docs, tfs []uint32) {
		if l == nil {
			return nil, nil
		}
		var d, f [postings.BlockSize]uint32
		for b := range l.Blocks() {
			n, err := l.Docs(b, &d)
			if err == nil {
				_, err = l.Freqs(b, &f)
			}
			if err != nil {
				t.Fatal(err)
			}
			docs, tfs = append(docs, d[:n]...), append(tfs, f[:n]...)
		}
		return docs, tfs
	}
	check := func(v *MemoryView, lists *TailLists) {
		t.Helper()
		tail, first := v.Tail(lists), lists.First()
		if tail.Docs() != v.Docs()-first {
			t.Fatalf("%d documents of %d, from %d on", tail.Docs(), v.Docs(), first)
		}
		ranks, _ := tail.Rank()
		if whole, _ := v.Rank(); !slices.Equal(ranks, whole[min(int(first), len(whole)):]) {
			t.Errorf("ranks %v", ranks)
		}
		for _, name := range fields {
			n, err := v.Norms(name)
			if err != nil {
				t.Fatal(err)
			}
			norms, err := tail.Norms(name)
			if err != nil || n.kept() && !slices.Equal(norms, n.Expand()[first:]) && !slices.Equal(norms, n.Column()[min(int(first), len(n.Column())):]) {
				t.Fatalf("field %s: norms %v, %v", name, norms, err)
			}
			holders := map[string][]uint32{}
			for _, term := range []string{"a", "b", "c", "d", "e"} {
				whole, err := v.List(name, []byte(term))
				if err != nil {
					t.Fatal(err)
				}
				docs, tfs := read(whole)
				at, _ := slices.BinarySearch(docs, first)
				docs, tfs = docs[at:], tfs[at:]
				holders[term] = docs
				l, err := tail.List(name, term)
				if err != nil {
					t.Fatal(err)
				}
				got, gotTFs := read(l)
				for i := range got {
					got[i] += first
				}
				if !slices.Equal(got, docs) || !slices.Equal(gotTFs, tfs) {
					t.Fatalf("field %s, term %s, documents %d to %d: %v, want %v", name, term, first, v.Docs(), got, docs)
				}
				if l == nil {
					continue
				}
				bounds := Bounds(l, table)
				for i, doc := range got {
					code := uint8(1)
					if norms != nil {
						code = norms[doc-first]
					}
					if impact := table.Impact(gotTFs[i], code); impact > bounds.Block[i/postings.BlockSize] || impact > bounds.List {
						t.Fatalf("field %s, term %s: document %d is above its bound", name, term, doc)
					}
				}
			}
			for _, terms := range []string{"a", "ab", "dc", "dcba", "cbd", "ea", "ae"} {
				want := slices.ContainsFunc(holders[terms[:1]], func(doc uint32) bool {
					for _, term := range terms {
						if !slices.Contains(holders[string(term)], doc) {
							return false
						}
					}
					return true
				})
				if got := tail.HasAll(name, strings.Split(terms, "")); got != want {
					t.Fatalf("field %s, documents %d to %d: a document with all of %s: %v", name, first, v.Docs(), terms, got)
				}
			}
		}
	}
	for range 4 {
		v := add(200 + rng.IntN(700))
		lists := NewTailLists(v.Docs())
		var views []*MemoryView
		for range 12 {
			views = append(views, add(1+rng.IntN(1<<rng.IntN(8))))
			check(views[len(views)-1], lists)
			check(views[rng.IntN(len(views))], lists)
		}
	}
}
