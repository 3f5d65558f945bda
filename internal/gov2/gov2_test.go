package gov2

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/postings"
)

// TestDeterministic makes one collection with different numbers of goroutines, and another with
// another seed.
func TestDeterministic(t *testing.T) {
	o := Options{Docs: 30_000, Queries: 60, Goroutines: 1}
	a := Generate(o)
	o.Goroutines = 5
	b := Generate(o)
	o.Seed = 2
	other := Generate(o)
	if !slices.Equal(a.Norms, b.Norms) || !slices.EqualFunc(a.Queries, b.Queries, slices.Equal) || len(a.Lists) != len(b.Lists) {
		t.Fatal("documents or queries differ")
	}
	for i := range a.Lists {
		if !same(t, a.Lists[i].List, b.Lists[i].List) {
			t.Errorf("list %d differs", i)
		}
	}
	if slices.EqualFunc(a.Queries, other.Queries, slices.Equal) || slices.Equal(a.Norms, other.Norms) {
		t.Error("another seed makes no other collection")
	}
}

func same(t *testing.T, a, b *postings.List) bool {
	var x, y postings.Cursor
	x.Reset(a)
	y.Reset(b)
	for d := x.Next(); d != postings.End; d = x.Next() {
		if y.Next() != d || x.TF() != y.TF() {
			return false
		}
	}
	if x.Err() != nil || y.Err() != nil {
		t.Fatal(x.Err(), y.Err())
	}
	return y.Next() == postings.End
}

// TestShape: the collection has the shape that Options specify.
func TestShape(t *testing.T) {
	s, err := Generate(Options{Docs: 50_000, Queries: 1000}).Measure()
	if err != nil {
		t.Fatal(err)
	}
	within(t, "postings a query", s.Postings, DefaultPostings, 0.1)
	within(t, "words a query", s.Words, 2.8, 0.1)
	if s.Queries != 1000 || s.Docs != 50_000 || s.Lists < 1000 || s.Lists > 2000 {
		t.Errorf("statistics are %+v", s)
	}
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: %.4g, want %.4g within %.0f %%", what, got, want, 100*share)
	}
}

// TestLikeText compares a collection with as many of the first passages of gutenberg-a.
func TestLikeText(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a corpus")
	}
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	file := filepath.Join(dir, "gutenberg-a.jsonl.zst")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	text, err := collection.FromText("text", []string{file}, filepath.Join(dir, "queries", "terabyte05.tsv"), 50_000)
	if err != nil {
		t.Fatal(err)
	}
	want, err := text.Measure()
	if err != nil {
		t.Fatal(err)
	}
	made := Generate(Options{Docs: uint32(want.Docs), Queries: want.Queries, Postings: want.Postings, StopWords: true})
	got, err := made.Measure()
	if err != nil {
		t.Fatal(err)
	}
	within(t, "length", got.Average, want.Average, 0.1)
	within(t, "words", got.Words, want.Words, 0.1)
	within(t, "lists", float64(got.Lists), float64(want.Lists), 0.3)
	within(t, "postings", got.Postings, want.Postings, 0.05)
	for _, w := range want.Classes {
		i := slices.IndexFunc(got.Classes, func(k collection.Class) bool { return k.Log2 == w.Log2 })
		if i < 0 || w.Log2 < -11 { // lists of fewer than 24 postings
			continue
		}
		g := got.Classes[i]
		t.Logf("2^%-3d %4d lists, text %4d   tf %.2f, text %.2f   once %.2f, text %.2f   gaps %.2f, text %.2f, even %.2f   bits %.1f, text %.1f",
			g.Log2, g.Lists, w.Lists, g.TF, w.TF, g.Once, w.Once, g.Gap, w.Gap, w.EvenGap, g.BitsPosting, w.BitsPosting)
		within(t, "tf", g.TF, w.TF, 0.25)
		if math.Abs(g.Gap-w.Gap) > 1 {
			t.Errorf("gaps of lists of 2^%d: %.2f, text %.2f", g.Log2, g.Gap, w.Gap)
		}
	}
	gl, wl := made.Lifts(), text.Lifts()
	slices.Sort(gl)
	slices.Sort(wl)
	for _, tenth := range []int{1, 3, 5, 7, 9} {
		g, w := gl[len(gl)*tenth/10], wl[len(wl)*tenth/10]
		t.Logf("lift, %d of 10: %.2f, text %.2f", tenth, g, w)
		within(t, "lift", g, w, 0.6)
	}
}
