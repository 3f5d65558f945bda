package riffle

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTrigrams: patterns find the same documents with indexes of terms as without, and as a scan of the
// values does. The indexes are counted, bounded, and gone with their segment.
func TestTrigrams(t *testing.T) {
	const docs = 12_000
	rng := rand.New(rand.NewPCG(1, 1))
	values := map[string]string{}
	put := func(ix *testIndex, ids ...int) {
		var batch Batch
		for _, i := range ids {
			id := fmt.Sprint(i)
			if values[id] == "" {
				values[id] = fmt.Sprintf("%06x-é%c語-%06x", rng.Uint32N(1<<24), 'α'+rune(rng.IntN(20)), rng.Uint32N(1<<24))
			}
			batch.Put(id, map[string]any{"key": values[id]})
		}
		if err := ix.Apply(ctx, &batch); err != nil {
			t.Fatal(err)
		}
	}
	numbers := make([]int, docs)
	for i := range numbers {
		numbers[i] = i
	}
	schema := &Schema{Fields: map[string]Field{"key": {Type: FieldKeyword}}}
	with := newIndex(t, &Options{Schema: schema, TrigramBytes: 400_000, Merge: MergeOptions{Disabled: true}})
	without := newIndex(t, &Options{Schema: schema, TrigramBytes: NoTrigrams, Merge: MergeOptions{Disabled: true}})
	for _, ix := range []*testIndex{with, without} {
		put(ix, numbers[:6_000]...)
		ix.flush()
		put(ix, numbers[6_000:11_900]...)
		ix.flush()
		put(ix, numbers[11_900:]...)
		for i := range 50 {
			var batch Batch
			batch.Delete(fmt.Sprint(i * 37))
			if err := ix.Apply(ctx, &batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 50 {
		delete(values, fmt.Sprint(i*37))
	}
	ids := slices.Sorted(func(yield func(string) bool) {
		for id := range values {
			if !yield(id) {
				return
			}
		}
	})
	compare := func(rounds int) {
		t.Helper()
		for range rounds {
			letters := []rune(values[ids[rng.IntN(len(ids))]])
			from := rng.IntN(len(letters) - 4)
			part := string(letters[from : from+2+rng.IntN(3)])
			var q Query
			var expr string
			switch rng.IntN(4) {
			case 0:
				q, expr = Wildcard{Field: "key", Pattern: "*" + part + "*"}, ".*"+part+".*"
			case 1:
				q, expr = Wildcard{Field: "key", Pattern: "?*" + part + "?*語*"}, "..*"+part+"..*語.*"
			case 2:
				expr = ".*(" + part + "|zzz)[0-9a-f-]*"
				q = Regexp{Field: "key", Expr: expr}
			case 3:
				expr = "[0-9a-f]+-é[α-ω].-.*" + part + "?"
				q = Regexp{Field: "key", Expr: expr}
			}
			match := regexp.MustCompile(`\A(?:` + expr + `)\z`)
			var want []string
			for _, id := range ids {
				if match.MatchString(values[id]) {
					want = append(want, id)
				}
			}
			for _, ix := range []*testIndex{with, without} {
				if n, err := ix.Count(ctx, q); err != nil || int(n) != len(want) {
					t.Fatalf("%v: %d documents, %v; want %d", q, n, err, len(want))
				}
			}
			if len(want) <= 1000 {
				if got := with.sortedIDs(q); !slices.Equal(got, want) {
					t.Fatalf("%v finds %s, want %s", q, strings.Join(got, " "), strings.Join(want, " "))
				}
			}
		}
	}
	trigrams := func(ix *testIndex) int64 {
		t.Helper()
		st, err := ix.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return st.Resident.Trigrams
	}
	compare(40)
	if n := trigrams(without); n != 0 {
		t.Errorf("%d bytes of indexes that are switched off", n)
	}
	before := trigrams(with)
	if before == 0 || before > 400_000 {
		t.Errorf("%d bytes of indexes", before)
	}
	for _, ix := range []*testIndex{with, without} {
		if err := ix.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := trigrams(with); n != 0 {
		t.Errorf("%d bytes of indexes of merged segments", n)
	}
	compare(25)
	if n := trigrams(with); n == 0 || n > 400_000 {
		t.Errorf("%d bytes of indexes after a merge, %d before", n, before)
	}
}
