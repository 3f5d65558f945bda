package segment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// TestKeywordsOfEveryView asks views of a growing Memory for a column that gets new terms, before, between
// and behind those that it has, and at last a number.
func TestKeywordsOfEveryView(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 5 {
		m := NewMemory()
		var want [][]columns.Value // by document
		var late *MemoryView
		for batch := range 20 {
			var c Chunk
			for range 1 + rng.IntN(40) {
				c.Begin(fmt.Sprint(len(want)))
				var values []columns.Value
				for range rng.IntN(3) {
					v := columns.OfString(fmt.Sprintf("%x", rng.IntN(40*(1+batch))))
					if batch == 19 {
						v = columns.OfInt(int64(rng.IntN(5)))
					}
					c.Value("f", v)
					values = append(values, v)
				}
				want = append(want, values)
				c.End(0, nil)
			}
			c.Group(OnePartition())
			m.AddChunk(&c)
			if v := m.View(); batch == 10 {
				late = v
			} else if rng.IntN(3) > 0 || batch == 19 {
				checkKeywords(t, v, want)
			}
		}
		checkKeywords(t, late, want)
	}
}

// checkKeywords compares the column of a view with the values of its documents.
func checkKeywords(t *testing.T, v *MemoryView, want [][]columns.Value) {
	t.Helper()
	c, err := v.Column("f")
	if err == nil && c != nil {
		err = c.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	for doc := range v.Docs() {
		var got []string
		if c != nil {
			keys, err := c.Append(nil, doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range keys {
				value, err := c.Value(k)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(value.AppendTerm(nil)))
			}
		}
		var all []string
		for _, value := range want[doc] {
			all = append(all, string(value.AppendTerm(nil)))
		}
		slices.Sort(all)
		if !slices.Equal(got, all) {
			t.Fatalf("document %d: %q, want %q", doc, got, all)
		}
	}
}
