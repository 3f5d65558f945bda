package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/search"
)

// sameHits compares hits, and the places of their cursors, regardless of their pages.
func sameHits(a, b []Hit) bool {
	return slices.EqualFunc(a, b, func(a, b Hit) bool {
		docA, _, scoreA, _ := search.Place(a.Cursor.at)
		docB, _, scoreB, _ := search.Place(b.Cursor.at)
		a.Cursor, b.Cursor = Cursor{}, Cursor{}
		return docA == docB && scoreA == scoreB && reflect.DeepEqual(a, b)
	})
}

// pagingIndex has 10 documents with the word x, all scores different, and n in all.
func pagingIndex(t *testing.T, n int) *testIndex {
	ix := newIndex(t, nil)
	var b Batch
	for i := range n {
		text := strings.Repeat("y ", 10)
		if i < 10 {
			text = strings.Repeat("x ", i+1) + strings.Repeat("y ", 10-i)
		}
		b.Put(fmt.Sprint("d", i), map[string]any{"t": text})
	}
	ix.must(ix.Apply(t.Context(), &b))
	return ix
}

// throughText returns a cursor after a round trip through JSON.
func throughText(t *testing.T, h Hit) Cursor {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back Hit
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(data) {
		t.Fatalf("%s became %s, %v", data, again, err)
	}
	return back.Cursor
}

// TestCursorAcrossScales: the weight of the word crosses a power of two between two pages, so that
// all integer scores double or halve.
func TestCursorAcrossScales(t *testing.T) {
	for _, c := range []struct {
		docs   int
		change func(ix *testIndex)
	}{
		{76, func(ix *testIndex) { ix.put("new", map[string]any{"t": strings.Repeat("y ", 11)}) }},
		{77, func(ix *testIndex) {
			ix.must(ix.Delete(t.Context(), "d76"))
			ix.must(ix.Compact(t.Context()))
		}},
	} {
		for k := 1; k < 10; k++ {
			ix := pagingIndex(t, c.docs)
			first := ix.search(match("t", "x"), &SearchOptions{K: k})
			c.change(ix)
			second := ix.search(match("t", "x"), &SearchOptions{K: 20, After: throughText(t, first.Hits[k-1])})
			got := append(hitIDs(first), hitIDs(second)...)
			if want := []string{"d9", "d8", "d7", "d6", "d5", "d4", "d3", "d2", "d1", "d0"}; !slices.Equal(got, want) {
				t.Errorf("%d documents, pages of %d: %v", c.docs, k, got)
			}
		}
	}
}

// TestCursorText: a cursor survives JSON, equals that of a long page on a snapshot, and is refused
// when damaged.
func TestCursorText(t *testing.T) {
	ix := pagingIndex(t, 77)
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	for _, q := range []Query{match("t", "x y"), all("t", "x y"), All{}, Match{Field: "t", Text: "x y", Mode: ModeAndOr}} {
		whole, err := s.Search(t.Context(), q, &SearchOptions{K: 3})
		ix.must(err)
		o := &SearchOptions{K: 3, Load: []string{"*"}}
		for range 2 {
			o.After = throughText(t, whole.Hits[1])
			next, err := s.Search(t.Context(), q, o)
			ix.must(err)
			if a, b := next.Hits[0], whole.Hits[2]; a.ID != b.ID || a.Score != b.Score || a.Cursor.String() != b.Cursor.String() {
				t.Errorf("%v: %v %v, want %v %v", q, a, a.Cursor, b, b.Cursor)
			}
			o.After = whole.Hits[1].Cursor
		}
	}
	text := ix.search(match("t", "x"), nil).Hits[0].Cursor.String()
	if c, err := ParseCursor(text); err != nil || c.IsZero() || c.String() != text {
		t.Errorf("%s: %v %v", text, c, err)
	}
	if c, err := ParseCursor(""); err != nil || !c.IsZero() || c.String() != "" {
		t.Errorf("an empty text: %v %v", c, err)
	}
	for i := range text {
		var qe *QueryError
		for _, bad := range []string{text[:i], text[:i] + "!" + text[i+1:], text[:i] + string("Ab"[(i+int(text[i]))%2]) + text[i+1:]} {
			if _, err := ParseCursor(bad); bad != text && bad != "" && !errors.As(err, &qe) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}

// TestCursorOfAnotherQuery is refused.
func TestCursorOfAnotherQuery(t *testing.T) {
	ix := pagingIndex(t, 20)
	for _, c := range []struct {
		q, other Query
		o        SearchOptions
		ok       bool
	}{
		{match("t", "x"), match("t", "x"), SearchOptions{K: 3}, true},
		{match("t", "x"), match("t", "y"), SearchOptions{}, false},
		{match("t", "x"), all("t", "x"), SearchOptions{}, false},
		{match("t", "x"), Match{Field: "t", Text: "x", Analyzer: "english"}, SearchOptions{}, false},
		{match("t", "x"), Boost{match("t", "x"), 2}, SearchOptions{}, false},
		{match("t", "x"), match("t", "x"), SearchOptions{Similarity: &BM25{K1: 1.2, B: 0.5}}, false},
		{Match{Field: "t", Text: "x y", Mode: ModeAndOr}, Match{Field: "t", Text: "x y", Mode: ModeAndOr}, SearchOptions{K: 10}, true},
		{Match{Field: "t", Text: "x y", Mode: ModeAndOr}, Match{Field: "t", Text: "x y", Mode: ModeAndOr}, SearchOptions{K: 11}, false},
	} {
		c.o.After = throughText(t, ix.search(c.q, nil).Hits[2])
		_, err := ix.Search(t.Context(), c.other, &c.o)
		var qe *QueryError
		if c.ok && err != nil || !c.ok && (!errors.As(err, &qe) || qe.Part != "SearchOptions.After") {
			t.Errorf("a cursor of %v for %v: %v", c.q, c.other, err)
		}
	}
	if _, err := ix.Search(t.Context(), match("t", "x"), &SearchOptions{From: 1, After: ix.search(match("t", "x"), nil).Hits[0].Cursor}); err == nil {
		t.Error("From and After together give no error")
	}
}

// TestDependsOnK: the answer to a query depends on K if a match in it, however deep, has ModeAndOr.
func TestDependsOnK(t *testing.T) {
	andOr, or := Match{Field: "t", Text: "x", Mode: ModeAndOr}, match("t", "x")
	for _, wrap := range []func(Query) Query{
		func(q Query) Query { return q },
		func(q Query) Query { return Boost{q, 2} },
		func(q Query) Query { return &ConstantScore{q, 2} },
		func(q Query) Query { return Bool{Must: []Query{All{}, q}} },
		func(q Query) Query { return Bool{Should: []Query{q}} },
		func(q Query) Query { return &Bool{MustNot: []Query{Term{"t", "x"}, q}} },
		func(q Query) Query { return Boost{Bool{Filter: []Query{nil, q}}, 1} },
	} {
		for q, want := range map[Query]bool{&andOr: true, &or: false, nil: false} {
			if got := wrap(q); dependsOnK(got) != want {
				t.Errorf("%v: %v", got, !want)
			}
		}
	}
}

// TestCursorOnChangingIndex pages while documents are added, deleted and changed, and segments are
// sealed and merged. Each unchanged document is on exactly one page, including those with equal
// scores.
func TestCursorOnChangingIndex(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ix := newIndex(t, nil)
		text := func() string { return strings.Repeat("x ", 1+rng.IntN(3)) + strings.Repeat("y ", rng.IntN(3)) + "z" }
		var b Batch
		for i := range 120 {
			b.Put(fmt.Sprintf("d%03d", i), map[string]any{"t": text()})
			if i%30 == 29 {
				ix.must(ix.Apply(t.Context(), &b))
				ix.must(ix.Flush(t.Context()))
				b.Reset()
			}
		}
		q := []Query{match("t", "x y"), Bool{Must: []Query{match("t", "x")}, Should: []Query{match("t", "y")}}, All{}, ConstantScore{match("t", "z"), 1}}[seed%4]
		touched, seen := map[string]bool{}, map[string]int{}
		o := &SearchOptions{K: 4 + rng.IntN(16)}
		for {
			res := ix.search(q, o)
			for _, h := range res.Hits {
				seen[h.ID]++
			}
			if len(res.Hits) < o.K {
				break
			}
			last := res.Hits[o.K-1]
			o.After = throughText(t, last)
			for n := range 1 + rng.IntN(3) {
				id := fmt.Sprintf("d%03d", rng.IntN(120))
				if id == last.ID {
					continue // its place may get lost, see the next test
				}
				switch rng.IntN(3) {
				case 0:
					ix.put(fmt.Sprintf("new%d-%d", len(seen), n), map[string]any{"t": text()})
				case 1:
					touched[id] = true
					ix.must(ix.Delete(t.Context(), id))
				case 2:
					touched[id] = true
					ix.put(id, map[string]any{"t": text()})
				}
			}
			switch rng.IntN(4) {
			case 0:
				ix.must(ix.Flush(t.Context()))
			case 1:
				ix.must(ix.Compact(t.Context()))
			}
		}
		for i := range 120 {
			if id := fmt.Sprintf("d%03d", i); !touched[id] && seen[id] != 1 {
				t.Errorf("seed %d, %v: %s, which stayed as it was, is on %d pages", seed, q, id, seen[id])
			}
		}
	}
}

// TestCursorWithoutItsDocument: the place of a deleted document is known while its old copy exists.
// After a merge documents with exactly the same score come again, and none is missed.
func TestCursorWithoutItsDocument(t *testing.T) {
	for _, compact := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			ix := newIndex(t, nil)
			for i := range 9 {
				ix.put(fmt.Sprint(i), map[string]any{"t": "x"})
			}
			ix.must(ix.Flush(t.Context()))
			c := throughText(t, ix.search(match("t", "x"), &SearchOptions{K: 5}).Hits[4])
			ix.must(ix.Delete(t.Context(), "4"))
			if again {
				ix.put("4", map[string]any{"t": "x"})
			}
			want := []string{"5", "6", "7", "8"}
			if compact {
				ix.must(ix.Compact(t.Context()))
				want = []string{"0", "1", "2", "3", "5", "6", "7", "8"}
			}
			if again {
				want = append(want, "4")
			}
			if got := hitIDs(ix.search(match("t", "x"), &SearchOptions{After: c})); !slices.Equal(got, want) {
				t.Errorf("compacted %v, put again %v: %v, want %v", compact, again, got, want)
			}
		}
	}
}

// TestFrom: pages by number are slices of one long page, in every mode.
func TestFrom(t *testing.T) {
	ix := pagingIndex(t, 77)
	for _, q := range []Query{
		match("t", "x y"), all("t", "x y"), All{}, Bool{Must: []Query{match("t", "y")}, Filter: []Query{match("t", "x")}},
		Match{Field: "t", Text: "x y", Mode: ModeAndOr}, // 9 documents have both
	} {
		for _, k := range []int{4, 9} {
			whole := ix.search(q, &SearchOptions{K: k}).Hits
			for len(whole)%k == 0 {
				more := ix.search(q, &SearchOptions{K: k, After: whole[len(whole)-1].Cursor}).Hits
				whole = append(whole, more...)
				if len(more) == 0 {
					break
				}
			}
			for from := 0; from < len(whole)+2*k; from += k {
				res := ix.search(q, &SearchOptions{K: k, From: from, ExactTotal: true})
				if want := whole[min(from, len(whole)):min(from+k, len(whole))]; !sameHits(res.Hits, want) || res.Total != len(whole) {
					t.Errorf("%v, %d from %d: %v of %d, want %v of %d", q, k, from, res.Hits, res.Total, want, len(whole))
				}
			}
		}
	}
	for _, o := range []SearchOptions{{From: -1}, {From: MaxK - 9}, {K: MaxK, From: 1}, {From: 1<<63 - 1}} {
		var qe *QueryError
		if _, err := ix.Search(t.Context(), All{}, &o); !errors.As(err, &qe) || qe.Part != "SearchOptions.From" {
			t.Errorf("From %d, K %d: %v", o.From, o.K, err)
		}
	}
	if _, err := ix.Search(t.Context(), All{}, &SearchOptions{From: MaxK - 10}); err != nil {
		t.Error(err)
	}
}

func FuzzParseCursor(f *testing.F) {
	e, err := Open(f.TempDir(), nil)
	if err != nil {
		f.Fatal(err)
	}
	defer e.Close()
	for i := range 3 {
		if err := e.Put(f.Context(), fmt.Sprint(i), map[string]any{"t": "x y"}); err != nil {
			f.Fatal(err)
		}
	}
	res, err := e.Search(f.Context(), match("t", "x y"), nil)
	if err != nil {
		f.Fatal(err)
	}
	first := res.Hits[0]
	_, local, score, statistics := search.Place(first.Cursor.at)
	f.Add(score, local, first.ID, statistics)
	f.Fuzz(func(t *testing.T, score, local uint32, id, statistics string) {
		c := Cursor{search.Forge(first.Cursor.at, local, score, id, statistics)}
		again, err := ParseCursor(c.String())
		if (err == nil) != (score < 1<<31) {
			t.Fatalf("%v: %v", c, err)
		}
		if err == nil && again.String() != c.String() {
			t.Fatalf("%v became %v", c, again)
		}
		_, _ = e.Search(t.Context(), match("t", "x y"), &SearchOptions{After: again}) // may fail, but must not panic
	})
}

// TestCursorWithExclusions: exclusions that come again leave the tree of a query and become a filter.
// A cursor from before that is as good as one from after.
func TestCursorWithExclusions(t *testing.T) {
	ix := newIndex(t, nil)
	var b Batch
	for i := range 5000 { // fewer have no cached filters
		b.Put(fmt.Sprint("d", i), map[string]any{"t": strings.Repeat("x ", 1+i%7) + strings.Repeat("y ", i%5), "flag": i%3 == 0})
	}
	ix.must(ix.Apply(t.Context(), &b))
	part := Bool{Should: []Query{match("t", "y"), Bool{Must: []Query{match("t", "x"), All{}}}}}
	q := Bool{Must: []Query{part, All{}}, MustNot: []Query{Term{Field: "flag", Value: true}}}
	search := func(k int, after Cursor) []Hit {
		t.Helper()
		r, err := ix.Search(t.Context(), q, &SearchOptions{K: k, After: after})
		ix.must(err)
		return r.Hits
	}
	first := search(10, Cursor{})
	early := throughText(t, first[9])
	want := search(30, Cursor{})[10:]
	late := throughText(t, search(10, Cursor{})[9])
	for name, cursor := range map[string]Cursor{"early": early, "late": late} {
		if got := search(20, cursor); !sameHits(got, want) {
			t.Errorf("the pages after the %s cursor are\n%v\nwant\n%v", name, got, want)
		}
	}
}

// TestCursorOfExactValues pages through the matches of a text in a field that has numbers and booleans and
// that no schema declares.
func TestCursorOfExactValues(t *testing.T) {
	ix := newIndex(t, nil)
	for i := range 5 {
		ix.put(fmt.Sprint(i), map[string]any{"exact": true})
	}
	o := &SearchOptions{K: 2, ExactTotal: true}
	found := 0
	for range 4 {
		res := ix.search(match("exact", "true"), o)
		texts, err := res.Cursors()
		ix.must(err)
		for i := range res.Hits {
			if texts[i] != res.Hits[i].Cursor.String() {
				t.Errorf("hit %d: %s, want %v", i, texts[i], res.Hits[i].Cursor)
			}
		}
		if found += len(res.Hits); res.Total != 5 {
			t.Fatalf("%d matches, want 5", res.Total)
		}
		if len(res.Hits) < o.K {
			break
		}
		o.After = res.Hits[o.K-1].Cursor
	}
	if found != 5 {
		t.Errorf("%d hits, want 5", found)
	}
}
