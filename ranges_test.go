package riffle

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A rangeModel has the values of the documents of an index by field.
type rangeModel map[string]map[string][]any

// rangeNumber makes a number, often one at a limit of its type.
func rangeNumber(rng *rand.Rand) any {
	limits := []any{
		int64(math.MinInt64), int64(math.MinInt64 + 1), int64(math.MaxInt64), int64(-1), int64(0), int64(1), int64(1<<53 + 1), int64(1 << 53), int64(-1<<53 - 1),
		uint64(1 << 63), uint64(1<<63 + 1), uint64(math.MaxUint64), uint64(math.MaxUint64 - 1),
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0.5, -0.5,
		float64(1 << 53), float64(1 << 63), float64(1 << 64), -float64(1 << 63), math.Nextafter(1<<63, 0), math.Nextafter(1<<64, 0),
	}
	switch rng.IntN(5) {
	case 0:
		return limits[rng.IntN(len(limits))]
	case 1:
		return rng.Float64()*20 - 10
	}
	return rng.Int64N(20) - 10
}

func rangeTime(rng *rand.Rand) any {
	switch rng.IntN(8) {
	case 0:
		return time.Date([]int{1, 1600, 2262, 2263, 9999}[rng.IntN(5)], 4, 11, 23, 47, 16, 854775807, time.UTC)
	case 1:
		return time.Unix(0, math.MaxInt64-int64(rng.IntN(2))).UTC()
	}
	return time.Date(2026, 11, 25, rng.IntN(3), rng.IntN(60), 0, rng.IntN(3), time.UTC)
}

func rangeKeyword(rng *rand.Rand) any {
	return []string{"", "a", "ab", "b", "Ab", "é", "zz", "a\x00"}[rng.IntN(8)] + strings.Repeat("x", rng.IntN(3))
}

// compareAny compares two values of a field exactly.
func compareAny(a, b any) int {
	switch x := a.(type) {
	case time.Time:
		return x.Compare(b.(time.Time))
	case string:
		return strings.Compare(x, b.(string))
	}
	return rational(a).Cmp(rational(b))
}

func rational(v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	}
	return new(big.Rat).SetFloat64(v.(float64))
}

// matches reports whether a document matches a query.
func (m rangeModel) matches(id string, q Query) bool {
	switch q := q.(type) {
	case Range:
		return slices.ContainsFunc(m[id][q.Field], func(v any) bool {
			if q.From != nil {
				if c := compareAny(v, q.From); c < 0 || c == 0 && q.ExcludeFrom {
					return false
				}
			}
			if q.To != nil {
				if c := compareAny(v, q.To); c > 0 || c == 0 && !q.IncludeTo {
					return false
				}
			}
			return true
		})
	case Term:
		return slices.ContainsFunc(m[id][q.Field], func(v any) bool { return compareAny(v, q.Value) == 0 })
	case Terms:
		return slices.ContainsFunc(q.Values, func(v any) bool { return m.matches(id, Term{Field: q.Field, Value: v}) })
	case Exists:
		return len(m[id][q.Field]) > 0
	case Match:
		return true // of the text that all have
	case Bool:
		all := func(qs []Query, want bool) bool {
			return !slices.ContainsFunc(qs, func(q Query) bool { return m.matches(id, q) != want })
		}
		return all(q.Must, true) && all(q.Filter, true) && all(q.MustNot, false) &&
			(len(q.Should) == 0 || len(q.Must)+len(q.Filter) > 0 || !all(q.Should, false))
	}
	panic(fmt.Sprintf("a query of type %T", q))
}

var rangeFields = []string{"number", "free", "date", "word", "hiddenNumber", "hiddenDate", "hiddenWord"}

func rangeValue(rng *rand.Rand, field string) any {
	switch {
	case strings.HasSuffix(strings.ToLower(field), "date"):
		return rangeTime(rng)
	case strings.HasSuffix(strings.ToLower(field), "word"):
		return rangeKeyword(rng)
	}
	return rangeNumber(rng)
}

// rangeQuery makes a query on values, or several.
func rangeQuery(rng *rand.Rand, fields []string, depth int) Query {
	field := fields[rng.IntN(len(fields))]
	switch kind := rng.IntN(10); {
	case kind < 5:
		q := Range{Field: field, ExcludeFrom: rng.IntN(2) == 0, IncludeTo: rng.IntN(2) == 0}
		for q.From == nil && q.To == nil {
			if rng.IntN(4) > 0 {
				q.From = rangeValue(rng, field)
			}
			if rng.IntN(4) > 0 {
				q.To = rangeValue(rng, field)
			}
		}
		return q
	case kind == 5:
		return Term{Field: field, Value: rangeValue(rng, field)}
	case kind == 6:
		q := Terms{Field: field}
		for range []int{1, 5, 200}[rng.IntN(3)] {
			q.Values = append(q.Values, rangeValue(rng, field))
		}
		return q
	case kind == 7 || depth == 0:
		return Exists{Field: field}
	}
	b := Bool{}
	for range 1 + rng.IntN(3) {
		to := []*[]Query{&b.Must, &b.Should, &b.Filter, &b.Filter, &b.MustNot}[rng.IntN(5)]
		*to = append(*to, rangeQuery(rng, fields, depth-1))
	}
	if rng.IntN(2) == 0 {
		b.Must = append(b.Must, Match{Field: "text", Text: "word"})
	}
	return b
}

// TestRangesExactly compares queries on values with the documents themselves: of numbers of all kinds up
// to their limits, dates and keywords, several values and none, over several segments whose columns
// have different kinds, with deletions, with and without columns, of fields with and without terms.
func TestRangesExactly(t *testing.T) {
	for seed := range uint64(6) {
		for _, columns := range []Column{ColumnStored, ColumnNone} {
			t.Run(fmt.Sprintf("seed=%d/columns=%v", seed, columns), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 16))
				hidden := func(ft FieldType) Field { return Field{Type: ft, NoIndex: true, Column: ColumnStored} }
				o := &Options{Durability: SyncNone, Schema: &Schema{Columns: columns, Fields: map[string]Field{
					"text": {Type: FieldText}, "number": {Type: FieldNumber}, "date": {Type: FieldDate}, "word": {Type: FieldKeyword},
					"hiddenNumber": hidden(FieldNumber), "hiddenDate": hidden(FieldDate), "hiddenWord": hidden(FieldKeyword),
				}, Dynamic: DynamicIndex}}
				ix := newIndex(t, o)
				m := rangeModel{}
				for part := range 3 {
					var batch Batch
					narrow := part == 1 // its columns have other kinds
					for i := range 20 + rng.IntN(300) {
						id := fmt.Sprintf("%d-%d", part, i)
						doc, values := map[string]any{"text": "word"}, map[string][]any{}
						for _, field := range rangeFields {
							for n := []int{0, 1, 1, 1, 3}[rng.IntN(5)]; n > 0; n-- {
								v := rangeValue(rng, field)
								if _, number := v.(time.Time); narrow && !number && !strings.HasSuffix(strings.ToLower(field), "word") {
									v = rng.Int64N(100)
								}
								values[field] = append(values[field], v)
							}
							if len(values[field]) > 0 {
								doc[field] = values[field]
							}
						}
						batch.Put(id, doc)
						m[id] = values
					}
					ix.must(ix.Apply(ctx, &batch))
					if part < 2 {
						ix.must(ix.Flush(ctx))
					}
				}
				var gone Batch
				for id := range m {
					if rng.IntN(10) == 0 {
						gone.Delete(id)
						delete(m, id)
					}
				}
				ix.must(ix.Apply(ctx, &gone))
				for range 200 {
					checkRange(t, ix, m, rangeQuery(rng, rangeFields, 2))
				}
				repeated := rangeQuery(rng, rangeFields, 1) // from the cache of filters
				for range 4 {
					checkRange(t, ix, m, repeated)
				}
			})
		}
	}
}

func checkRange(t *testing.T, ix *testIndex, m rangeModel, q Query) {
	t.Helper()
	want := []string{}
	for id := range m {
		if m.matches(id, q) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	n, err := ix.Count(ctx, q)
	if err != nil || n != len(want) {
		t.Fatalf("%v: counted %d, %v, want %d", q, n, err, len(want))
	}
	res, err := ix.Search(ctx, q, &SearchOptions{K: 1000, ExactTotal: true})
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	got := []string{}
	for _, h := range res.Hits {
		got = append(got, strings.Clone(h.ID))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || res.Total != len(want) {
		t.Fatalf("%v: %d hits of %d, want %d:\n%q\n%q", q, len(got), res.Total, len(want), got, want)
	}
	for _, id := range []string{"0-0", "1-5"} {
		if _, is := m[id]; !is {
			continue
		}
		x, err := ix.Explain(ctx, q, id, nil)
		if err != nil || x.Matches != m.matches(id, q) {
			t.Fatalf("%v: explaining %s: %v, %v", q, id, x, err)
		}
	}
}
