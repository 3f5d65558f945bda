package columns

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// due compares tiles until the order pays, and then sorts.
func due(t *testing.T, c *Column) {
	t.Helper()
	var set [64]uint64
	least, greatest := c.Bounds()
	for i := 0; !c.OrderDue(); i++ {
		if i > 2*len(c.d.tiles)*TileDocs {
			t.Fatal("no order is due")
		}
		if _, err := c.RangeTile(i%c.Tiles(), least+1, greatest, &set); err != nil {
			t.Fatal(err)
		}
	}
	if c.OrderDue() {
		t.Error("an order is due twice")
	}
	if err := c.Sort(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOrder compares the documents of ranges with the keys of documents, before the column has an order and
// after.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	sorted := 0
	for _, s := range shapes() {
		for _, docs := range []int{1, 300, 2*TileDocs + 77} {
			m := random(rng, s, densities()[0], docs)
			c := open(t, build(t, m))
			grown := 0
			c.KeepOrder(func() { grown++ })
			check := func(when string) {
				t.Helper()
				for range 40 {
					a, b := anyKey(rng, m.docs[rng.IntN(docs)]), anyKey(rng, m.docs[rng.IntN(docs)])
					span := Span{min(a, b), max(a, b)}
					spans := NewSpans(c, span)
					got, ok := spans.Known()
					if ok != (c.order.Load() != nil) {
						t.Fatalf("%s, %s: documents are known: %v", s.name, when, ok)
					}
					if !ok {
						continue
					}
					var want []uint32
					for doc, keys := range m.docs {
						if keys[0] >= span.Lo && keys[0] <= span.Hi {
							want = append(want, uint32(doc))
						}
					}
					got = slices.Sorted(slices.Values(got))
					if !slices.Equal(got, want) {
						t.Fatalf("%s, %s, %v: %d documents, want %d", s.name, when, span, len(got), len(want))
					}
					if n, tiles := spans.Estimate(); n != len(want) || tiles > n || n > 0 && tiles == 0 {
						t.Fatalf("%s, %s, %v: estimated %d documents in %d tiles, want %d", s.name, when, span, n, tiles, len(want))
					}
				}
			}
			check("at first")
			if !c.canOrder() || docs == 1 || c.d.least == c.d.greatest {
				continue
			}
			if len(c.d.tiles) > 0 && slices.ContainsFunc(c.d.tiles, func(t tile) bool { return t.form == constant }) {
				continue // not compared
			}
			due(t, c)
			sorted++
			check("sorted")
			if grown != 1 || c.OrderBytes() < 4*int64(docs) {
				t.Errorf("%s: grown %d times, to %d bytes", s.name, grown, c.OrderBytes())
			}
			c.Drop()
			if c.OrderBytes() != 0 || c.OrderDue() {
				t.Errorf("%s: Drop leaves %d bytes, or an order is due", s.name, c.OrderBytes())
			}
			check("dropped")
			due(t, c)
			check("sorted again")
		}
	}
	if sorted < 50 {
		t.Errorf("%d columns were sorted: the comparison proved little", sorted)
	}
}

// TestNoOrder has columns that get no order: of documents with no value or several, and of keys that lie too
// far apart.
func TestNoOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	var width20 shape
	for _, s := range shapes() {
		if s.name == "width20" {
			width20 = s
		}
	}
	for name, m := range map[string]model{
		"missing": {kind: Uint, docs: [][]uint64{{1}, {}, {3}}},
		"several": {kind: Uint, docs: [][]uint64{{1}, {2, 4}, {3}}},
		"wide":    {kind: Uint, docs: [][]uint64{{1}, {0}, {1 << 32}}},
	} {
		c := open(t, build(t, m))
		c.KeepOrder(func() {})
		if c.ranged.Store(1 << 40); c.OrderDue() {
			t.Errorf("%s: an order is due", name)
		}
	}
	c := open(t, build(t, random(rng, width20, densities()[0], 5000)))
	if c.ranged.Store(1 << 40); c.OrderDue() {
		t.Error("an order is due without KeepOrder")
	}
	c.KeepOrder(func() { t.Error("grown without an order") })
	if !c.OrderDue() {
		t.Fatal("no order is due")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Sort(ctx); !errors.Is(err, context.Canceled) || c.OrderBytes() != 0 {
		t.Errorf("an ended context: %v, %d bytes", err, c.OrderBytes())
	}
}

// BenchmarkSort measures what tilesPerDoc says.
func BenchmarkSort(b *testing.B) {
	c := benchColumn(b, ofWidth(20), one)
	c.KeepOrder(func() {})
	for b.Loop() {
		if err := c.Sort(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	perDoc(b, c.SegmentDocs())
}
