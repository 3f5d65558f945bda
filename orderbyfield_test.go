package riffle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// TestOrderByField adds documents with numbers of all kinds, texts, several values and none, and reads
// their order after seals and merges: that of their least values, or of their greatest descending.
func TestOrderByField(t *testing.T) {
	for _, descending := range []bool{false, true} {
		t.Run(fmt.Sprintf("descending=%v", descending), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(17, 1))
			o := Options{
				Schema: &Schema{Fields: map[string]Field{"at": {Type: FieldKeyword}}},
				Merge:  MergeOptions{Order: OrderByField, OrderField: "n", OrderDescending: descending, SegmentsPerTier: 3},
			}
			o.private.memoryBytes = tinyMemory
			ix := newIndex(t, &o)
			first := map[string]columns.Value{} // by id: what a document is ordered by
			arrived := map[string]int{}
			number := func() any {
				switch rng.IntN(4) {
				case 0:
					return rng.Float64() * 100
				case 1:
					return uint64(1)<<63 + rng.Uint64N(50)
				}
				return rng.Int64N(100) - 50
			}
			for i := range 3000 {
				id := fmt.Sprint(rng.IntN(2500))
				values := []any{number(), number(), number()}[:rng.IntN(4)]
				ix.must(ix.Put(ctx, id, map[string]any{"n": values, "word": "some"}))
				arrived[id] = i
				delete(first, id)
				for _, v := range values {
					var of columns.Value
					switch v := v.(type) {
					case float64:
						of = columns.OfFloat(v)
					case uint64:
						of = columns.OfUint(v)
					case int64:
						of = columns.OfInt(v)
					}
					if had, ok := first[id]; !ok || (columns.Compare(of, had) < 0) != descending {
						first[id] = of
					}
				}
			}
			ix.must(ix.Compact(ctx))
			st, err := ix.Stats()
			ix.must(err)
			if len(st.Segments) != 1 || st.Segments[0].Order != OrderByField || st.Segments[0].Order.String() != "field" {
				t.Fatalf("segments %+v, want one by field", st.Segments)
			}
			var want []string
			for id := range arrived {
				want = append(want, id)
			}
			slices.SortFunc(want, func(a, b string) int {
				x, hasX := first[a]
				y, hasY := first[b]
				switch c := columns.Compare(x, y); {
				case !hasX && !hasY, hasX && hasY && c == 0:
					return arrived[a] - arrived[b]
				case !hasX:
					return 1
				case !hasY:
					return -1
				case descending:
					return -c
				default:
					return c
				}
			})
			res, err := ix.Search(ctx, Term{"word", "some"}, &SearchOptions{K: MaxK}) // equal scores
			ix.must(err)
			var got []string
			for _, h := range res.Hits {
				got = append(got, strings.Clone(h.ID))
			}
			if !slices.Equal(got, want) {
				t.Errorf("documents are in the order %.10v..., want %.10v...", got, want)
			}
			again := st.Segments[0].Number
			ix.must(ix.Compact(ctx))
			if st, _ = ix.Stats(); st.Segments[0].Number != again {
				t.Error("a compact index was compacted again")
			}
		})
	}
}

// TestOrderByFieldWithoutColumn refuses fields that cannot have a column.
func TestOrderByFieldWithoutColumn(t *testing.T) {
	for _, f := range []Field{{}, {Type: FieldDate, Column: ColumnNone}, {Type: FieldNumber, NoIndex: true}} {
		_, err := Open(t.TempDir(), &Options{
			Schema: &Schema{Fields: map[string]Field{"f": f}},
			Merge:  MergeOptions{Order: OrderByField, OrderField: "f"},
		})
		if want := `Options.Merge.OrderField: field "f" has no column`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
	}
}
