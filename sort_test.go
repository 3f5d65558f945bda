package riffle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/search"
)

var sortSchema = &Schema{Fields: map[string]Field{
	"text": {}, "key": {Type: FieldKeyword}, "num": {Type: FieldNumber}, "when": {Type: FieldDate}, "flag": {Type: FieldBool},
	"plain": {Type: FieldNumber, Column: ColumnNone}, "rank": {Type: FieldNumber},
}}

// sortDocument is a random document; of some fields it has several values or none.
func sortDocument(rng *rand.Rand, kind int) map[string]any {
	several := func(one func() any) any {
		switch rng.IntN(6) {
		case 0:
			return []any{}
		case 1:
			return []any{one(), one(), one()}
		case 2:
			return []any{one(), one()}
		}
		return one()
	}
	number := func() any {
		switch (kind + rng.IntN(4)/3) % 4 {
		case 0:
			return rng.IntN(20)
		case 1:
			return float64(rng.IntN(40)) / 2
		case 2:
			return rangeNumber(rng)
		}
		return rng.Int64()
	}
	doc := map[string]any{
		"text": strings.Repeat("a ", rng.IntN(4)) + strings.Repeat("b ", rng.IntN(3)) + "c",
		"num":  several(number),
		"key":  several(func() any { return fmt.Sprint("k", rng.IntN(30)) }),
		"when": several(func() any { return time.Unix(rng.Int64N(50)*3600, rng.Int64N(2)).UTC() }),
		"flag": several(func() any { return rng.IntN(2) == 0 }),
		"rank": rng.IntN(1000),
	}
	for name, v := range doc {
		if all, ok := v.([]any); ok && len(all) == 0 {
			delete(doc, name)
		}
	}
	return doc
}

// compareValues compares values of stored fields, numbers exactly.
func compareValues(a, b any) int {
	class := func(v any) int {
		switch v.(type) {
		case bool:
			return 0
		case time.Time:
			return 2
		case string:
			return 3
		}
		return 1
	}
	if c := cmp.Compare(class(a), class(b)); c != 0 {
		return c
	}
	exact := func(v any) *big.Float {
		x := new(big.Float).SetPrec(128)
		switch n := v.(type) {
		case int64:
			return x.SetInt64(n)
		case uint64:
			return x.SetUint64(n)
		}
		return x.SetFloat64(v.(float64))
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[a], map[bool]int{true: 1}[b.(bool)])
	case time.Time:
		return a.Compare(b.(time.Time))
	case string:
		return strings.Compare(a, b.(string))
	}
	return exact(a).Cmp(exact(b))
}

// sortValue is what a hit has for a key, or nil.
func sortValue(h *Hit, k SortKey) any {
	switch {
	case k.Score:
		return h.Score
	case k.ID:
		return h.ID
	}
	v, ok := h.Fields[k.Field]
	if !ok {
		return nil
	}
	all, several := v.([]any)
	if !several {
		return v
	}
	all = slices.Clone(all)
	slices.SortFunc(all, compareValues)
	switch {
	case k.Mode == ModeMedian:
		return all[(len(all)-1)/2]
	case k.Mode == ModeMax, k.Mode == ModeDefault && k.Desc:
		return all[len(all)-1]
	}
	return all[0]
}

// sortHits puts hits in the order of keys, by comparing all.
func sortHits(hits []Hit, keys []SortKey) {
	place := func(h *Hit) (index int, doc uint32) {
		doc, _, _, _ = search.Place(h.Cursor.at)
		return h.Cursor.at.Index(), doc
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		for _, k := range keys {
			x, y := sortValue(&a, k), sortValue(&b, k)
			if x == nil || y == nil {
				if (x == nil) == (y == nil) {
					continue
				}
				if (x == nil) == (k.Missing == MissingFirst) {
					return -1
				}
				return 1
			}
			c := compareValues(x, y)
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		i, m := place(&a)
		j, n := place(&b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(m, n))
	})
}

// collapseHits returns the first hit of each value of a field, and how many have it.
func collapseHits(hits []Hit, field string) (first []Hit, sizes map[string]int) {
	sizes = map[string]int{}
	for _, h := range hits {
		value := func(h *Hit) any { return sortValue(h, SortKey{Field: field, Mode: ModeMin}) }
		v := value(&h)
		at := slices.IndexFunc(first, func(f Hit) bool {
			w := value(&f)
			return (v == nil) == (w == nil) && (v == nil || compareValues(v, w) == 0)
		})
		if at < 0 {
			at, first = len(first), append(first, h)
		}
		sizes[first[at].Engine+" "+first[at].ID]++
	}
	return first, sizes
}

func randomSort(rng *rand.Rand) (keys []SortKey) {
	for range 1 + rng.IntN(3) {
		k := SortKey{Desc: rng.IntN(2) == 0, Missing: MissingOrder(rng.IntN(2)), Mode: SortMode(rng.IntN(4))}
		switch n := rng.IntN(8); n {
		case 0:
			k.Score = true
		case 1:
			k.ID = true
		default:
			k.Field = []string{"num", "num", "key", "when", "flag", "rank"}[n-2]
		}
		keys = append(keys, k)
	}
	return keys
}

// A sortWorld is searched in one of the ways that there are.
type sortWorld struct {
	name   string
	search Searcher
}

// TestSort compares sorted searches with sorting all hits by their stored fields: on engines, snapshots
// and a Multi, with deletions, several segments and other kinds of values in each, page by page, with
// cursors as values and as text, and From.
func TestSort(t *testing.T) {
	seed, rounds := seedOf(t), 6
	if brief() {
		rounds = 3
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		var members []Member
		var worlds []sortWorld
		for i := range 2 {
			o := &Options{Schema: sortSchema, Durability: SyncNone, SearchWorkers: 1 + rng.IntN(2)}
			o.private.memoryBytes = []int64{tinyMemory, 4 << 20}[rng.IntN(2)]
			o.Merge.Disabled = true // a merge between two searches changes statistics, and so scores
			ix := newIndex(t, o)
			for batch := range 1 + rng.IntN(5) {
				var b Batch
				for range rng.IntN(300) {
					b.Put(fmt.Sprint("d", rng.IntN(2000)), sortDocument(rng, batch))
				}
				for range rng.IntN(50) {
					b.Delete(fmt.Sprint("d", rng.IntN(2000)))
				}
				ix.must(ix.Apply(t.Context(), &b))
			}
			if o.private.memoryBytes == tinyMemory {
				// A seal between two searches leaves out what was deleted, which changes statistics, too.
				ix.flush()
				ix.must(ix.Put(t.Context(), "last", sortDocument(rng, i)))
			}
			members = append(members, Member{fmt.Sprint("e", i), ix.Engine})
			s, err := ix.Snapshot()
			ix.must(err)
			defer s.Close()
			worlds = append(worlds, sortWorld{"engine", ix.Engine}, sortWorld{"snapshot", s})
		}
		m, err := NewMulti(members...)
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, sortWorld{"multi", m})
		for _, w := range worlds {
			for range 25 {
				checkSort(t, rng, w)
			}
		}
	}
}

func checkSort(t *testing.T, rng *rand.Rand, w sortWorld) {
	t.Helper()
	ctx := context.Background()
	queries := []Query{All{}, Match{Field: "text", Text: "a"}, Match{Field: "text", Text: "a b", Mode: ModeAnd},
		Term{Field: "key", Value: "k3"}, Bool{Must: []Query{All{}}, MustNot: []Query{Term{Field: "flag", Value: true}}}}
	q, keys := queries[rng.IntN(len(queries))], randomSort(rng)
	all, err := w.search.Search(ctx, q, &SearchOptions{K: MaxK, Load: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	want := all.Hits
	sortHits(want, keys)
	o := SearchOptions{K: 1 + rng.IntN(60), Sort: keys, ExactTotal: rng.IntN(2) == 0}
	matches, sizes := len(want), map[string]int{} // by engine and id
	if rng.IntN(3) == 0 {
		o.Collapse = &Collapse{Field: []string{"num", "key", "flag", "when"}[rng.IntN(4)], Count: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			keys, o.Sort = bestFirst, nil
			sortHits(want, keys)
		}
		want, sizes = collapseHits(want, o.Collapse.Field)
	}
	if rng.IntN(4) == 0 {
		o.Deadline = time.Minute
	}
	describe := fmt.Sprintf("%s, %s, sort %v, collapse %v, k %d", w.name, q, keys, o.Collapse, o.K)
	check := func(from int) *Result {
		t.Helper()
		res, err := w.search.Search(ctx, q, &o)
		if err != nil {
			t.Fatalf("%s: %v", describe, err)
		}
		rest := want[min(from, len(want)):]
		rest = rest[:min(len(rest), o.K)]
		if len(res.Hits) != len(rest) || o.ExactTotal && (res.Total != matches || !res.TotalExact) || res.Total > matches || o.Collapse != nil && res.Groups != len(want) {
			t.Fatalf("%s, from %d: %d hits of %d, want %d of %d", describe, from, len(res.Hits), res.Total, len(rest), len(want))
		}
		if o.Collapse != nil && o.Collapse.Count {
			before, documents := 0, 0
			for _, g := range res.GroupCounts {
				if documents += g.Size; g.Before {
					before++
				}
			}
			if o.From == 0 && before != from || documents != matches || len(res.GroupCounts) != len(want) {
				t.Fatalf("%s, from %d: %d groups of %d documents, %d before, want %d of %d", describe, from, len(res.GroupCounts), documents, before, len(want), matches)
			}
		}
		for i, h := range res.Hits {
			if h.ID != rest[i].ID || h.Engine != rest[i].Engine || len(h.Sort) != len(o.Sort) {
				t.Fatalf("%s, from %d: hit %d is %s %s %v, want %s %s", describe, from, i, h.Engine, h.ID, h.Sort, rest[i].Engine, rest[i].ID)
			}
			if o.Collapse != nil {
				v := sortValue(&rest[i], SortKey{Field: o.Collapse.Field, Mode: ModeMin})
				if h.GroupSize != sizes[h.Engine+" "+h.ID] || (v == nil) != (h.Group == nil) || v != nil && compareValues(v, h.Group) != 0 {
					t.Fatalf("%s: hit %s stands for %d of %v, want %d of %v", describe, h.ID, h.GroupSize, h.Group, sizes[h.Engine+" "+h.ID], v)
				}
			}
			for j, k := range o.Sort {
				v := sortValue(&rest[i], k)
				if (v == nil) != (h.Sort[j] == nil) || v != nil && compareValues(v, h.Sort[j]) != 0 {
					t.Fatalf("%s: hit %s has %v for key %d, want %v", describe, h.ID, h.Sort[j], j, v)
				}
			}
		}
		return res
	}
	got := 0
	for range 6 {
		res := check(got)
		if got += len(res.Hits); len(res.Hits) < o.K {
			break
		}
		o.After = res.Hits[o.K-1].Cursor
		if rng.IntN(2) == 0 {
			if o.After, err = ParseCursor(o.After.String()); err != nil { // JSON would round large numbers of Hit.Sort
				t.Fatal(err)
			}
		}
	}
	o.After, o.From = Cursor{}, 1+rng.IntN(100)
	check(o.From)
	o.From = 0
	results, err := w.search.SearchBatch(ctx, []Query{q, q}, &o)
	if err != nil {
		t.Fatal(err)
	}
	one := check(0)
	for _, r := range results {
		if !sameHits(r.Hits, one.Hits) {
			t.Fatalf("%s: a batch has other hits", describe)
		}
	}
}

// TestSortRefused: keys that cannot sort, and cursors of another order.
func TestSortRefused(t *testing.T) {
	ix := newIndex(t, &Options{Schema: sortSchema})
	var b Batch
	for i := range 5 {
		b.Put(fmt.Sprint("d", i), map[string]any{"text": "a", "num": i, "plain": i, "other": "some text", "many": i})
	}
	ix.must(ix.Apply(t.Context(), &b))
	for _, c := range []struct {
		keys []SortKey
		want string
	}{
		{[]SortKey{{}}, "SearchOptions.Sort[0]: must have exactly one of Field, Score and ID"},
		{[]SortKey{{Field: "num"}, {Score: true, ID: true}}, "SearchOptions.Sort[1]: must have exactly one"},
		{[]SortKey{{Field: "num", Mode: 9}}, "SearchOptions.Sort[0].Mode: must be"},
		{[]SortKey{{Field: "num", Missing: 9}}, "SearchOptions.Sort[0].Missing: must be"},
		{[]SortKey{{Field: "text"}}, `SearchOptions.Sort[0].Field: field "text" is text`},
		{[]SortKey{{Field: "other"}}, `SearchOptions.Sort[0].Field: field "other" is text`},
		{[]SortKey{{Field: "plain"}}, `SearchOptions.Sort[0].Field: field "plain" has no column: ask for one by Field.Column or Schema.Columns, and Reindex`},
		{[]SortKey{{Field: "nothing"}}, `SearchOptions.Sort[0].Field: the index has no field "nothing"`},
	} {
		_, err := ix.Search(t.Context(), All{}, &SearchOptions{Sort: c.keys})
		var qe *QueryError
		if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("sort %v: %v, want %s", c.keys, err, c.want)
		}
	}
	for field, want := range map[string]string{"": "SearchOptions.Collapse.Field: is missing", "text": `SearchOptions.Collapse.Field: field "text" is text`} {
		if _, err := ix.Search(t.Context(), All{}, &SearchOptions{Collapse: &Collapse{Field: field}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("collapse by %q: %v, want %s", field, err, want)
		}
	}
	if _, err := ix.Search(t.Context(), All{}, &SearchOptions{Sort: []SortKey{{Field: "when"}}}); err != nil {
		t.Errorf("a declared field that no document has: %v", err)
	}
	o := &SearchOptions{K: 2, Sort: []SortKey{{Field: "num"}}}
	res, err := ix.Search(t.Context(), All{}, o)
	ix.must(err)
	for _, keys := range [][]SortKey{nil, {{Field: "num", Desc: true}}, {{Field: "many"}}, {{Field: "num"}, {ID: true}}} {
		if _, err := ix.Search(t.Context(), All{}, &SearchOptions{Sort: keys, After: res.Hits[1].Cursor}); err == nil {
			t.Errorf("a cursor of another order continues %v", keys)
		}
	}
}

// TestSortCursorAfterChange: what is added or deleted between two pages moves no other document.
func TestSortCursorAfterChange(t *testing.T) {
	ix := newIndex(t, &Options{Schema: sortSchema})
	var b Batch
	for i := range 20 {
		b.Put(fmt.Sprint("d", i), map[string]any{"num": i / 4})
	}
	ix.must(ix.Apply(t.Context(), &b))
	o := &SearchOptions{K: 6, Sort: []SortKey{{Field: "num", Desc: true}}}
	first, err := ix.Search(t.Context(), All{}, o)
	ix.must(err)
	var change Batch
	change.Delete("d12")
	change.Put("new", map[string]any{"num": 2.5})
	change.Put("before", map[string]any{"num": 99})
	ix.must(ix.Apply(t.Context(), &change))
	o.After = throughText(t, first.Hits[5])
	rest, err := ix.Search(t.Context(), All{}, o)
	ix.must(err)
	var ids []string
	for _, h := range append(first.Hits, rest.Hits...) {
		ids = append(ids, h.ID)
	}
	if got, want := strings.Join(ids, " "), "d16 d17 d18 d19 d12 d13 d14 d15 new d8 d9 d10"; got != want {
		t.Errorf("pages have %s, want %s", got, want)
	}
}

// TestParseSort reads keys from texts and from JSON, and prints them.
func TestParseSort(t *testing.T) {
	for text, want := range map[string][]SortKey{
		"":                     nil,
		"-price,name":          {{Field: "price", Desc: true}, {Field: "name"}},
		"+price, -_score,_id":  {{Field: "price"}, {Score: true, Desc: true}, {ID: true}},
		"-price:first:max":     {{Field: "price", Desc: true, Missing: MissingFirst, Mode: ModeMax}},
		"a.b:median,-c:last":   {{Field: "a.b", Mode: ModeMedian}, {Field: "c", Desc: true}},
		"a-b:min,x y:default ": {{Field: "a-b", Mode: ModeMin}, {Field: "x y"}},
	} {
		got, err := ParseSort(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v: %v", text, got, want, err)
		}
		for _, k := range want {
			again, err := ParseSort(k.String())
			if err != nil || !slices.Equal(again, []SortKey{k}) {
				t.Errorf("%v printed is %v: %v", k, again, err)
			}
			data, err := json.Marshal(k)
			var back SortKey
			if err != nil || json.Unmarshal(data, &back) != nil || back != k {
				t.Errorf("%v as JSON is %s, and back %v: %v", k, data, back, err)
			}
			if json.Unmarshal(fmt.Appendf(nil, "%q", k), &back) != nil || back != k {
				t.Errorf("%v as a string is %v", k, back)
			}
		}
	}
	for text, want := range map[string]string{
		"a,,b": `sort key 2, "": it names no field`, "-": "it names no field", "a:up": `unknown option "up"`,
	} {
		if _, err := ParseSort(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCollapseBytes bounds the memory of groups: one that suffices for few values of a field does not for
// many, on one goroutine and on several, with a deadline and without.
func TestCollapseBytes(t *testing.T) {
	for _, workers := range []int{1, 2} {
		ix := newIndex(t, &Options{Durability: SyncNone, CollapseBytes: 100_000, SearchWorkers: workers})
		for range 3 {
			var b Batch
			for i := range 1500 {
				b.Put(fmt.Sprint("d", i), map[string]any{"few": i % 20, "many": i})
			}
			ix.must(ix.Apply(t.Context(), &b))
			ix.flush()
		}
		for _, deadline := range []time.Duration{0, time.Minute} {
			o := &SearchOptions{Collapse: &Collapse{Field: "few"}, Sort: []SortKey{{Field: "many"}}, Deadline: deadline}
			if res := ix.search(All{}, o); res.Groups != 20 || len(res.Hits) != DefaultK {
				t.Errorf("%d groups, %d hits", res.Groups, len(res.Hits))
			}
			o.Collapse = &Collapse{Field: "many"}
			_, err := ix.Search(t.Context(), All{}, o)
			var qe *QueryError
			if !errors.As(err, &qe) || !strings.Contains(err.Error(), "SearchOptions.Collapse: the groups take more than 100000 bytes of memory (Options.CollapseBytes)") {
				t.Errorf("%d workers: %v", workers, err)
			}
		}
	}
}
