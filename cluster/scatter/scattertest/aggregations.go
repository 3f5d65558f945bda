package scattertest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// FacetSchema is that of the documents of RunAggregations, with values of all types. It does not declare loose and scarce, whose
// values are of several types; few shards have scarce.
var FacetSchema = &riffle.Schema{Fields: map[string]riffle.Field{
	"body": {Type: riffle.FieldText}, "title": {Type: riffle.FieldText}, "tag": {Type: riffle.FieldKeyword}, "words": {Type: riffle.FieldKeyword},
	"year": {Type: riffle.FieldNumber}, "price": {Type: riffle.FieldNumber}, "rare": {Type: riffle.FieldNumber},
	"at": {Type: riffle.FieldDate}, "flag": {Type: riffle.FieldBool}, "place": {Type: riffle.FieldPlace},
}}

var facetZones = []string{"", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}

func facetDocument(rng *rand.Rand) map[string]any {
	doc := map[string]any{"title": text(rng, 3), "body": text(rng, 12), "year": 1800 + rng.IntN(100)}
	maybe := func(field string, of int, value func() any) {
		if rng.IntN(of) > 0 {
			doc[field] = value()
		}
	}
	several := func(value func() any) func() any {
		return func() any {
			list := []any{value()}
			for range rng.IntN(3) {
				list = append(list, value())
			}
			return list
		}
	}
	maybe("tag", 5, func() any { return fmt.Sprint("t", min(rng.IntN(40), rng.IntN(40))) })
	maybe("words", 4, several(func() any { return word(rng) }))
	maybe("price", 3, several(func() any { return math.Round(rng.NormFloat64()*1e6) / 1e3 }))
	maybe("at", 6, func() any { return time.Unix(1700000000+rng.Int64N(400)*3600*7, rng.Int64N(1e9)).UTC() })
	maybe("flag", 3, func() any { return rng.IntN(2) == 0 })
	maybe("place", 3, func() any { return riffle.Point{Lat: 52 + rng.Float64(), Lon: 13 + rng.Float64()} })
	if rng.IntN(100) == 0 {
		doc["scarce"] = []any{word(rng), rng.IntN(9), time.Unix(int64(rng.IntN(9))*86400, 0).UTC(), rng.IntN(2) == 0}[rng.IntN(4)]
	}
	if rng.IntN(50) == 0 {
		doc["rare"] = []any{1e300, -1e300, 0.5, 1 << 53}[rng.IntN(4)]
	}
	maybe("loose", 3, func() any {
		return []any{word(rng), rng.IntN(9), float64(rng.IntN(9)) / 2, rng.IntN(2) == 0, time.Unix(int64(rng.IntN(9))*86400, 0).UTC()}[rng.IntN(5)]
	})
	return doc
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// aggregation returns a random aggregation with so many levels below it, at most, of documents of
// RunAggregations.
func aggregation(rng *rand.Rand, depth int) riffle.Aggregation {
	anyField := pick(rng, "tag", "words", "year", "price", "rare", "at", "flag", "loose", "scarce")
	measured := pick(rng, "year", "price", "rare", "at", "flag", "loose", "scarce")
	if depth == 0 || rng.IntN(4) == 0 {
		switch rng.IntN(4) {
		case 0:
			return riffle.StatsAggregation{Field: measured}
		case 1:
			return riffle.CardinalityAggregation{Field: pick(rng, anyField, "place")}
		case 2:
			a := riffle.PercentilesAggregation{Field: measured}
			if rng.IntN(2) == 0 {
				a.Percents = []float64{99.5, 0, 50}
			}
			return a
		}
		a := riffle.TopHitsAggregation{Size: rng.IntN(5)}
		if a.Sort = order(rng); len(a.Sort) > 0 && rng.IntN(3) == 0 {
			a.Sort[0] = pick(rng, riffle.SortKey{Field: "place"}, riffle.SortKey{Field: "place", From: &riffle.Point{Lat: 52.5, Lon: 13.4}}, riffle.SortKey{Field: "loose", Desc: true})
		}
		if rng.IntN(2) == 0 {
			a.Load = pick(rng, []string{"tag"}, []string{"*"})
		}
		return a
	}
	sub := aggregations(rng, rng.IntN(3), depth-1)
	switch rng.IntN(9) {
	case 0:
		a := riffle.RangeAggregation{Field: pick(rng, "year", "price", "loose", "scarce"), Sub: sub}
		for range 1 + rng.IntN(3) {
			a.Ranges = append(a.Ranges, riffle.AggregationRange{From: rng.IntN(1850), To: 1800 + rng.IntN(100), IncludeTo: rng.IntN(2) == 0})
		}
		return a
	case 1:
		return riffle.RangeAggregation{Field: "at", Ranges: []riffle.AggregationRange{{Name: "old", To: "now-1M/d"}, {From: "now-1M/d"}}, TimeZone: "Europe/Berlin", Sub: sub}
	case 2:
		a := riffle.HistogramAggregation{Field: pick(rng, "year", "price", "loose", "scarce"), Interval: pick(rng, 5, 0.7, 100), Offset: pick(rng, 0, 0.5), MinCount: rng.IntN(3), Sub: sub}
		if a.MinCount == 0 && a.Field == "year" && rng.IntN(2) == 0 {
			a.Bounds = &[2]float64{1790, 1920}
		}
		return a
	case 3:
		return riffle.DateHistogramAggregation{
			Field: pick(rng, "at", "loose"), Unit: pick(rng, riffle.CalendarDay, riffle.CalendarWeek, riffle.CalendarMonth, riffle.CalendarYear), Zone: pick(rng, facetZones...),
			Offset: pick(rng, 0, 6*time.Hour), MinCount: rng.IntN(2), Sub: sub,
		}
	case 4:
		return riffle.FiltersAggregation{Filters: map[string]riffle.Query{"a": withoutAndOr(rng), "b": riffle.Term{Field: "tag", Value: "t1"}}, Sub: sub}
	case 5:
		if rng.IntN(2) == 0 {
			return riffle.GeohashAggregation{Field: "place", Precision: 3 + rng.IntN(4), Size: 1 + rng.IntN(9), MinCount: rng.IntN(3), Sub: sub}
		}
		return riffle.DistanceAggregation{Field: "place", From: riffle.Point{Lat: 52.5, Lon: 13.4}, Ranges: []riffle.DistanceRange{{To: 20000}, {Name: "far", From: 20000}}, Sub: sub}
	case 6:
		return riffle.MissingAggregation{Field: anyField, Sub: sub}
	}
	a := riffle.TermsAggregation{Field: pick(rng, anyField, "place"), Size: rng.IntN(12), MinCount: rng.IntN(3), Order: pick(rng, "", "count", "key", "-key"), Sub: sub}
	for name, metric := range a.Sub {
		switch metric.(type) {
		case riffle.StatsAggregation:
			a.Order = pick(rng, "", "-") + name + pick(rng, ".count", ".min", ".max", ".sum", ".mean", ".variance")
		case riffle.CardinalityAggregation:
			a.Order = "-" + name
		case riffle.PercentilesAggregation:
			a.Order = name + ".90"
		}
	}
	return a
}

func aggregations(rng *rand.Rand, n, depth int) map[string]riffle.Aggregation {
	all := map[string]riffle.Aggregation{}
	for i := range n {
		all[fmt.Sprint("a", i)] = aggregation(rng, depth)
	}
	return all
}

func selections(rng *rand.Rand) map[string]riffle.Query {
	all := map[string]riffle.Query{}
	for i := range rng.IntN(3) {
		all[fmt.Sprint("a", i)] = pick[riffle.Query](rng, riffle.Term{Field: "words", Value: word(rng)}, riffle.Range{Field: "year", From: 1800 + rng.IntN(50)}, withoutAndOr(rng), riffle.Range{Field: "scarce", From: "1970-01-03"}, riffle.Term{Field: "scarce", Value: "3"})
	}
	return all
}

// RunAggregations compares random searches with aggregations and selections of 1, 3 and 8 shards with those
// of a Multi. It makes so many for each number of shards, and a multiple with the flag -more.
func RunAggregations(t *testing.T, rounds int, make Make) {
	rounds *= *more
	refused, either, loaded, all := 0, 0, 0, 0
	for _, shards := range []int{1, 3, 8} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(*seed, uint64(100+shards)))
			x, m := open(t, make, rng, shards, 400, FacetSchema, facetDocument)
			all += rounds
			for n := range rounds {
				q := Query(rng, rng.IntN(2))
				if rng.IntN(5) == 0 {
					q = riffle.All{}
				}
				o := scatter.Options{SearchOptions: riffle.SearchOptions{
					K: 1 + rng.IntN(15), ExactTotal: true, Now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
					Aggregations: aggregations(rng, 1+rng.IntN(3), rng.IntN(4)), Selections: selections(rng),
				}}
				if o.NoHits = rng.IntN(4) == 0; o.NoHits {
					o.K = 0
				}
				whole := o.SearchOptions
				for page := range 2 {
					want, wantErr := m.Search(t.Context(), q, &whole)
					got, err := x.Search(t.Context(), q, &o)
					what := fmt.Sprintf("search %d, page %d: %#v, K %d, selections %#v", n, page, q, o.K, o.Selections)
					if (err == nil) != (wantErr == nil) {
						t.Fatalf("%v, the Multi says %v: %s, aggregations %#v", err, wantErr, what, o.Aggregations)
					}
					if err != nil {
						if !refuses(wantErr) {
							t.Fatalf("%v: %s", wantErr, what)
						}
						refused++
						break
					}
					Compare(t, what, got, want)
					CompareAggregations(t, what, o.Aggregations, got.Aggregations, want.Aggregations)
					if t.Failed() {
						return
					}
					if strings.Contains(fmt.Sprint(got.Aggregations), "map[tag:") {
						loaded++
					}
					if o.NoHits || len(got.Hits) < o.K {
						break
					}
					if o.After, err = got.Hits[o.K-1].Cursor(); err != nil {
						t.Fatal(err)
					}
					whole.After = want.Hits[o.K-1].Cursor
				}
				if strings.Contains(fmt.Sprintf("%#v", q), "Mode:0x2") && len(o.Selections) > 0 {
					either++
				}
			}
		})
	}
	if refused > all/3 || loaded == 0 || either == 0 && all > 100 {
		t.Errorf("%d of %d refused, %d with selections and ModeAndOr, %d with loaded fields", refused, all, either, loaded)
	}
}

// CompareAggregations compares results with those of a Multi or of one index.
func CompareAggregations(t *testing.T, what string, given map[string]riffle.Aggregation, got, want map[string]riffle.AggregationResult) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		g, w := lines(got[name]), lines(want[name])
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				t.Errorf("%s: aggregation %s, %#v: line %d is\n%v, want\n%v", what, name, given[name], i, g[min(i, len(g)):], w[min(i, len(w)):])
				return
			}
		}
	}
}

// lines writes a result with the types and all bits of its values.
func lines(r riffle.AggregationResult) []string {
	var all []string
	var write func(indent string, r riffle.AggregationResult)
	write = func(indent string, r riffle.AggregationResult) {
		line := fmt.Sprintf("%sother %d missing %d distinct %d", indent, r.Other, r.Missing, r.Distinct)
		if s := r.Stats; s != nil {
			line += fmt.Sprintf(" count %d min %s max %s sum %x mean %x variance %x", s.Count, exact(s.Min), exact(s.Max), s.Sum, s.Mean, s.Variance)
		}
		for _, p := range r.Percentiles {
			line += fmt.Sprintf(" %v%%: %s", p.Percent, exact(p.Value))
		}
		all = append(all, line)
		for _, h := range r.Hits {
			line := fmt.Sprintf("%shit %q %x", indent, h.ID, h.Score)
			for _, key := range h.Sort {
				line += " " + exact(key)
			}
			all = append(all, line+fmt.Sprintf(" %v", h.Fields))
		}
		for _, b := range r.Buckets {
			all = append(all, fmt.Sprintf("%s[%s] %d", indent, exact(b.Key), b.Count))
			for _, name := range slices.Sorted(maps.Keys(b.Sub)) {
				write(indent+"  ", b.Sub[name])
			}
		}
	}
	write("", r)
	return all
}

func exact(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("float64 %x", v)
	case time.Time:
		return v.Format(time.RFC3339Nano) + " " + v.Location().String()
	}
	return fmt.Sprintf("%T %v", v, v)
}
