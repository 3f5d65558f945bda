package riffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// logSchema is that of the rows of logIndex.
var logSchema = &Schema{Fields: map[string]Field{
	"message": {Type: FieldText}, "host": {Type: FieldKeyword}, "level": {Type: FieldKeyword}, "tags": {Type: FieldKeyword},
	"latency": {Type: FieldNumber}, "at": {Type: FieldDate}, "plain": {Type: FieldKeyword, Column: ColumnNone},
}}

var logStart = time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC) // the clock is changed in the night after

func logRow(i int, rng *rand.Rand) map[string]any {
	row := map[string]any{
		"message": strings.Join([]string{"request", []string{"failed", "served", "late"}[rng.IntN(3)], fmt.Sprint("w", rng.IntN(30))}, " "),
		"host":    fmt.Sprintf("h%02d", min(rng.IntN(40), rng.IntN(40))), "level": []string{"info", "info", "warn", "error"}[rng.IntN(4)],
		"at": logStart.Add(time.Duration(i) * 15 * time.Second), "plain": "x",
	}
	if rng.IntN(10) > 0 {
		row["latency"] = float64(rng.IntN(5000)) / 4
	}
	var tags []string
	for range rng.IntN(4) {
		tags = append(tags, fmt.Sprint("t", rng.IntN(6)))
	}
	if len(tags) > 0 {
		row["tags"] = tags
	}
	return row
}

// logIndex has sealed segments, one in memory, and deleted documents in all.
func logIndex(t testing.TB, opts *Options, seed uint64, from, to int) *testIndex {
	if opts == nil {
		opts = &Options{}
	}
	opts.Schema = logSchema
	ix := newIndex(t, opts)
	rng := rand.New(rand.NewPCG(seed, 4))
	for part := range 3 {
		b := new(Batch)
		for i := from + part*(to-from)/3; i < from+(part+1)*(to-from)/3; i++ {
			b.Put(fmt.Sprint("d", i), logRow(i, rng))
		}
		ix.must(ix.Apply(context.Background(), b))
		if part < 2 {
			ix.flush()
		}
	}
	b := new(Batch)
	for i := from; i < to; i += 7 {
		b.Delete(fmt.Sprint("d", i))
	}
	ix.must(ix.Apply(context.Background(), b))
	return ix
}

// TestAggregations checks buckets against counts and searches that a filter restricts to each of them,
// in an index of several segments with deletions, in a Multi and in a snapshot.
func TestAggregations(t *testing.T) {
	a, b := logIndex(t, nil, 1, 0, 9000), logIndex(t, nil, 2, 9000, 15000)
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	hours := func(q Query, sub map[string]Aggregation) *SearchOptions {
		return &SearchOptions{K: 3, Aggregations: map[string]Aggregation{
			"hosts": TermsAggregation{Field: "host", Size: 7, Sub: sub},
			"tags":  TermsAggregation{Field: "tags", Order: "key", Sub: sub},
			"slow":  RangeAggregation{Field: "latency", Ranges: []AggregationRange{{To: 100}, {From: 100, To: 1000.5, IncludeTo: true}, {Name: "slow", From: 1000}}, Sub: sub},
			"steps": HistogramAggregation{Field: "latency", Interval: 250, Sub: sub},
			"hours": DateHistogramAggregation{Field: "at", Unit: CalendarHour, Zone: "Europe/Berlin", Sub: sub},
			"days":  DateHistogramAggregation{Field: "at", Unit: CalendarDay, Zone: "Europe/Berlin", Sub: sub},
			"which": FiltersAggregation{Filters: map[string]Query{"bad": Term{"level", "error"}, "late": Match{Field: "message", Text: "late"}}, Sub: sub},
			"none":  MissingAggregation{Field: "tags", Sub: sub},
		}}
	}
	filterOf := func(name string, key any, opts *SearchOptions) Query {
		switch name {
		case "hosts":
			return Term{"host", key}
		case "tags":
			return Term{"tags", key}
		case "slow":
			for _, r := range opts.Aggregations[name].(RangeAggregation).Ranges {
				if r.key() == key {
					return Range{Field: "latency", From: r.From, To: r.To, IncludeTo: r.IncludeTo}
				}
			}
		case "steps":
			return Range{Field: "latency", From: key, To: key.(float64) + 250}
		case "hours":
			return Range{Field: "at", From: key, To: key.(time.Time).Add(time.Hour)}
		case "days":
			return Range{Field: "at", From: key, To: key.(time.Time).AddDate(0, 0, 1)}
		case "which":
			return opts.Aggregations[name].(FiltersAggregation).Filters[key.(string)]
		case "none":
			return Bool{MustNot: []Query{Exists{"tags"}}, Must: []Query{All{}}}
		}
		panic("no filter for " + name)
	}
	for name, s := range map[string]Searcher{"engine": a.Engine, "multi": m, "snapshot": snapshot} {
		for _, q := range []Query{All{}, Match{Field: "message", Text: "failed w7"}, Bool{Must: []Query{Match{Field: "message", Text: "served"}}, Filter: []Query{Term{"level", "warn"}}}} {
			opts := hours(q, map[string]Aggregation{"top": TopHitsAggregation{Size: 2}, "latency": StatsAggregation{Field: "latency"}})
			res, err := s.Search(t.Context(), q, opts)
			if err != nil {
				t.Fatal(name, err)
			}
			for agg, r := range res.Aggregations {
				if len(r.Buckets) == 0 {
					t.Errorf("%s %v: %s has no buckets", name, q, agg)
				}
				for _, bucket := range r.Buckets {
					in := Bool{Must: []Query{q}, Filter: []Query{filterOf(agg, bucket.Key, opts)}}
					if n, err := s.Count(t.Context(), in); err != nil || n != bucket.Count {
						t.Fatalf("%s %v: %s[%v] has %d documents, Count %d %v", name, q, agg, bucket.Key, bucket.Count, n, err)
					}
					want, err := s.Search(t.Context(), in, &SearchOptions{K: 2})
					if err != nil {
						t.Fatal(err)
					}
					top := bucket.Sub["top"].Hits
					if len(top) != len(want.Hits) {
						t.Fatalf("%s %v: %s[%v] has hits %v, want %v", name, q, agg, bucket.Key, top, want.Hits)
					}
					for i, h := range want.Hits {
						if top[i].ID != h.ID || top[i].Engine != h.Engine {
							t.Errorf("%s %v: %s[%v]: hit %d is %s, want %s", name, q, agg, bucket.Key, i, top[i].ID, h.ID)
						}
					}
					if n, err := s.Count(t.Context(), Bool{Must: []Query{in}, Filter: []Query{Exists{"latency"}}}); err != nil || n != bucket.Sub["latency"].Stats.Count {
						t.Errorf("%s %v: %s[%v] has %d latencies, want %d %v", name, q, agg, bucket.Key, bucket.Sub["latency"].Stats.Count, n, err)
					}
				}
			}
			n, err := s.Count(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			hosts := res.Aggregations["hosts"]
			sum := hosts.Other + hosts.Missing
			for _, b := range hosts.Buckets {
				sum += b.Count
			}
			if sum != n || len(hosts.Buckets) != 7 || !slices.IsSortedFunc(hosts.Buckets, func(a, b AggregationBucket) int { return b.Count - a.Count }) {
				t.Errorf("%s %v: hosts of %d documents: %+v", name, q, n, hosts)
			}
			for _, b := range res.Aggregations["hours"].Buckets {
				if key := b.Key.(time.Time); key.Location().String() != berlin.String() || key.Minute() != 0 {
					t.Errorf("an hour begins at %v", key)
				}
			}
			if batch, err := s.SearchBatch(t.Context(), []Query{q, q}, opts); err != nil || !reflect.DeepEqual(batch[1].Aggregations, res.Aggregations) {
				t.Errorf("%s %v: a batch has other aggregations: %v", name, q, err)
			}
		}
	}
	// Ranges relative to now, in a time zone.
	today := a.search(All{}, &SearchOptions{Now: time.Date(2026, 3, 29, 9, 0, 0, 0, time.UTC), Aggregations: map[string]Aggregation{
		"at": RangeAggregation{Field: "at", TimeZone: "Europe/Berlin", Ranges: []AggregationRange{{From: "now-1d/d", To: "now/d"}, {Name: "today", From: "now/d"}}},
	}}).Aggregations["at"]
	midnight := time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC)
	for i, r := range []Range{{Field: "at", To: midnight}, {Field: "at", From: midnight}} {
		if n, err := a.Count(t.Context(), r); err != nil || n != today.Buckets[i].Count || n == 0 {
			t.Errorf("%v: %d documents, want %d %v", today.Buckets[i].Key, today.Buckets[i].Count, n, err)
		}
	}
	// The night of 2026-03-29 has no hour from 2 to 3 in Berlin.
	res := a.search(All{}, hours(All{}, nil))
	var times []string
	for _, b := range res.Aggregations["hours"].Buckets {
		times = append(times, b.Key.(time.Time).Format("02 15:04"))
	}
	if got := strings.Join(times[:8], ", "); got != "28 21:00, 28 22:00, 28 23:00, 29 00:00, 29 01:00, 29 03:00, 29 04:00, 29 05:00" {
		t.Errorf("hours: %s", got)
	}
}

// TestTopHitsSorted compares the first hits of buckets with those of a search that a filter restricts to
// the bucket, whatever the order of the search is.
func TestTopHitsSorted(t *testing.T) {
	a, b := logIndex(t, nil, 21, 0, 6000), logIndex(t, nil, 22, 6000, 9000)
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, keys := range []string{"-at", "latency:first", "-latency,-_id", "tags:max,_id", "-_score,host,-at", "-_score", "_score,at", "level,-tags:median:first"} {
		sort, err := ParseSort(keys)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]Searcher{"engine": a.Engine, "multi": m} {
			q := Match{Field: "message", Text: "failed w7 w9"}
			top := TopHitsAggregation{Size: 3, Sort: sort, Load: []string{"host"}}
			o := &SearchOptions{K: 1, Sort: []SortKey{{Field: "latency"}}, Aggregations: map[string]Aggregation{
				"hosts": TermsAggregation{Field: "host", Size: 5, Sub: map[string]Aggregation{"top": top}}, "all": top,
			}}
			if name == "multi" {
				o.Sort, o.Selections = nil, map[string]Query{"hosts": Term{"level", "info"}, "all": Term{"level", "warn"}}
			}
			res, err := s.Search(t.Context(), q, o)
			if err != nil {
				t.Fatal(err)
			}
			check := func(got []Hit, filters ...Query) {
				t.Helper()
				want, err := s.Search(t.Context(), Bool{Must: []Query{q}, Filter: filters}, &SearchOptions{K: 3, Sort: sort, Load: []string{"host"}})
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.Hits {
					want.Hits[i].Cursor = Cursor{}
				}
				if compared += len(got); !reflect.DeepEqual(got, want.Hits) {
					t.Errorf("%s, sort %s, %v:\n%+v, want\n%+v", name, keys, filters, got, want.Hits)
				}
			}
			all, hosts := []Query{}, []Query{}
			if name == "multi" {
				all, hosts = []Query{Term{"level", "info"}}, []Query{Term{"level", "warn"}}
			}
			check(res.Aggregations["all"].Hits, all...)
			for _, bucket := range res.Aggregations["hosts"].Buckets {
				check(bucket.Sub["top"].Hits, append(hosts, Term{"host", bucket.Key})...)
			}
		}
	}
	if compared < 200 {
		t.Errorf("%d hits compared", compared)
	}
}

// TestSelections selects in two facets: each sees the other's selection, and not its own.
func TestSelections(t *testing.T) {
	ix := logIndex(t, nil, 3, 0, 4000)
	q := Match{Field: "message", Text: "served"}
	host, level := Term{"host", "h01"}, Terms{Field: "level", Values: []any{"warn", "error"}}
	res := ix.search(q, &SearchOptions{
		ExactTotal: true,
		Selections: map[string]Query{"host": host, "level": level},
		Aggregations: map[string]Aggregation{
			"host": TermsAggregation{Field: "host", Size: 100}, "level": TermsAggregation{Field: "level"}, "tags": TermsAggregation{Field: "tags"},
		},
	})
	count := func(filters ...Query) int {
		n, err := ix.Count(t.Context(), Bool{Must: []Query{q}, Filter: filters})
		ix.must(err)
		return n
	}
	if res.Total != count(host, level) || res.Total == 0 {
		t.Errorf("%d hits, want %d", res.Total, count(host, level))
	}
	for name, filters := range map[string][]Query{"host": {level}, "level": {host}, "tags": {host, level}} {
		if len(res.Aggregations[name].Buckets) < 2 {
			t.Errorf("%s has %d buckets", name, len(res.Aggregations[name].Buckets))
		}
		for _, b := range res.Aggregations[name].Buckets {
			if n := count(append(filters, Term{name, b.Key})...); n != b.Count {
				t.Errorf("%s[%v]: %d, want %d", name, b.Key, b.Count, n)
			}
		}
	}
}

// TestAggregationErrors names the place of each fault.
func TestAggregationErrors(t *testing.T) {
	ix := logIndex(t, nil, 5, 0, 600)
	sub := func(a Aggregation) Aggregation {
		return TermsAggregation{Field: "host", Sub: map[string]Aggregation{"s": a}}
	}
	deep := Aggregation(StatsAggregation{"latency"})
	for range MaxAggregationDepth + 1 {
		deep = sub(deep)
	}
	for _, c := range []struct {
		a    Aggregation
		want string
	}{
		{nil, `SearchOptions.Aggregations["x"]: is nil`},
		{TermsAggregation{}, `Aggregations["x"].Field: is empty`},
		{TermsAggregation{Field: "hots"}, `Aggregations["x"].Field: `},
		{TermsAggregation{Field: "message"}, `field "message" `},
		{TermsAggregation{Field: "plain"}, `field "plain" has no column: ask for one by Field.Column or Schema.Columns, and Reindex`},
		{TermsAggregation{Field: "host", Size: -1}, `Aggregations["x"].Size: must lie in`},
		{TermsAggregation{Field: "host", MinCount: -1}, `.MinCount: must not be negative`},
		{TermsAggregation{Field: "host", Order: "-counts"}, `.Order: "-counts" is neither count nor key`},
		{TermsAggregation{Field: "host", Order: "s.middle", Sub: map[string]Aggregation{"s": StatsAggregation{"latency"}}}, `stats have count, min`},
		{TermsAggregation{Field: "host", Order: "s.101", Sub: map[string]Aggregation{"s": PercentilesAggregation{Field: "latency"}}}, `"101" is no percent`},
		{sub(StatsAggregation{}), `Aggregations["x"].Sub["s"].Field: is empty`},
		{sub(HistogramAggregation{Field: "latency"}), `Sub["s"].Interval: must be above 0`},
		{HistogramAggregation{Field: "latency", Interval: 1, Bounds: &[2]float64{2, 1}}, `.Bounds: must ascend`},
		{HistogramAggregation{Field: "latency", Interval: 1, MinCount: 1, Bounds: &[2]float64{1, 2}}, `.Bounds: go with MinCount 0`},
		{HistogramAggregation{Field: "latency", Interval: 1e-300}, `intervals of 1e-300 away`},
		{DateHistogramAggregation{Field: "at"}, `has either a Unit or Every`},
		{DateHistogramAggregation{Field: "at", Unit: CalendarDay, Zone: "Mars/Base"}, `.Zone: unknown time zone`},
		{RangeAggregation{Field: "latency"}, `.Ranges: are none`},
		{RangeAggregation{Field: "at", TimeZone: "Mars/Base", Ranges: []AggregationRange{{From: "now"}}}, `.TimeZone: `},
		{RangeAggregation{Field: "at", Ranges: []AggregationRange{{From: "now-1x"}}}, `.Ranges[0].From: field "at"`},
		{RangeAggregation{Field: "latency", Ranges: []AggregationRange{{From: "much"}}}, `.Ranges[0].From: field "latency"`},
		{FiltersAggregation{}, `.Filters: are none`},
		{FiltersAggregation{Filters: map[string]Query{"f": nil}}, `.Filters["f"]: is nil`},
		{FiltersAggregation{Filters: map[string]Query{"f": Term{"hots", "x"}}}, `.Filters["f"]: `},
		{PercentilesAggregation{Field: "latency", Percents: []float64{101}}, `.Percents: must lie in 0 to 100`},
		{TopHitsAggregation{Size: -1}, `.Size: must lie in`},
		{sub(TopHitsAggregation{Sort: []SortKey{{Field: "host"}, {}}}), `Aggregations["x"].Sub["s"].Sort[1]: must have exactly one of`},
		{TopHitsAggregation{Sort: []SortKey{{Field: "message"}}}, `Aggregations["x"].Sort[0].Field: `},
		{deep, `more than 32 levels`},
	} {
		_, err := ix.Search(t.Context(), All{}, &SearchOptions{Aggregations: map[string]Aggregation{"x": c.a}})
		var qe *QueryError
		if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.a, err, c.want)
		}
	}
}

// TestAggregationBytes bounds memory: by buckets, by values, and by empty buckets.
func TestAggregationBytes(t *testing.T) {
	ix := logIndex(t, &Options{AggregationBytes: 30_000}, 6, 0, 6000)
	for _, a := range []Aggregation{
		TermsAggregation{Field: "at", Sub: map[string]Aggregation{"s": StatsAggregation{"latency"}}},
		PercentilesAggregation{Field: "latency"},
		DateHistogramAggregation{Field: "at", Unit: CalendarSecond},
		TermsAggregation{Field: "host", Sub: map[string]Aggregation{"s": CardinalityAggregation{Field: "at"}}},
		TermsAggregation{Field: "host", Sub: map[string]Aggregation{"s": TopHitsAggregation{Size: 50, Sort: []SortKey{{Field: "at"}}}}},
	} {
		_, err := ix.Search(t.Context(), All{}, &SearchOptions{Aggregations: map[string]Aggregation{"x": a}})
		if err == nil || !strings.Contains(err.Error(), `Aggregations["x"]`) || !strings.Contains(err.Error(), "takes more than 30000 bytes of memory") || !strings.Contains(err.Error(), "Options.AggregationBytes") {
			t.Errorf("%T: %v", a, err)
		}
	}
	for _, a := range []Aggregation{
		TermsAggregation{Field: "host", Sub: map[string]Aggregation{"s": CardinalityAggregation{"level"}}},
		CardinalityAggregation{Field: "at"}, // a bit for each second
	} {
		ix.search(All{}, &SearchOptions{Aggregations: map[string]Aggregation{"x": a}})
	}
}

// TestNoHits asks for aggregations and the total alone.
func TestNoHits(t *testing.T) {
	ix := logIndex(t, nil, 7, 0, 3000)
	as := map[string]Aggregation{"hosts": TermsAggregation{Field: "host"}}
	for _, q := range []Query{All{}, Term{"level", "error"}, Term{"level", "none"}, Range{Field: "latency", From: 10}} {
		want := ix.search(q, &SearchOptions{ExactTotal: true, Aggregations: as})
		got := ix.search(q, &SearchOptions{NoHits: true, Aggregations: as})
		if len(got.Hits) > 0 || got.Total != want.Total || !got.TotalExact || !reflect.DeepEqual(got.Aggregations, want.Aggregations) {
			t.Errorf("%v: %d hits, total %d, want none and %d, and\n%v\n%v", q, len(got.Hits), got.Total, want.Total, got.Aggregations, want.Aggregations)
		}
	}
	batch, err := ix.SearchBatch(t.Context(), []Query{All{}, Term{"level", "error"}}, &SearchOptions{NoHits: true})
	if err != nil || len(batch[0].Hits) > 0 || batch[0].Total != 3000-429 { // every seventh is deleted
		t.Errorf("batch: %v, %v", batch, err)
	}
	for part, o := range map[string]SearchOptions{
		"K": {K: 1}, "From": {From: 1}, "Sort": {Sort: []SortKey{{Field: "at"}}}, "Collapse": {Collapse: &Collapse{Field: "host"}},
		"Load": {Load: []string{"*"}}, "Highlight": {Highlight: &HighlightOptions{}}, "Deadline": {Deadline: time.Second},
	} {
		o.NoHits = true
		if _, err := ix.Search(t.Context(), All{}, &o); err == nil || !strings.Contains(err.Error(), "SearchOptions.NoHits: goes without "+part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestAggregationJSON writes aggregations, reads them back, and pins the form.
func TestAggregationJSON(t *testing.T) {
	sub := map[string]Aggregation{"p": PercentilesAggregation{"latency", []float64{50, 99.9}}, "top": TopHitsAggregation{2, []string{"message"}, []SortKey{{Field: "at", Desc: true}, {ID: true}}}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, c := range []struct {
		a    Aggregation
		want string
	}{
		{TermsAggregation{"host", 5, 2, "-p.99.9", sub}, `{"terms":{"field":"host","size":5,"min_count":2,"order":"-p.99.9","sub":{"p":{"percentiles":{"field":"latency","percents":[50,99.9]}},"top":{"top_hits":{"size":2,"load":["message"],"sort":[{"field":"at","desc":true},{"id":true}]}}}}}`},
		{RangeAggregation{"at", []AggregationRange{{"old", nil, at, false, true}, {"", int64(3), "x", true, false}}, "Asia/Tokyo", nil}, `{"range":{"field":"at","ranges":[{"name":"old","to":{"time":"2026-01-02T03:04:05.000000006Z"},"include_to":true},{"from":3,"to":"x","exclude_from":true}],"time_zone":"Asia/Tokyo"}}`},
		{HistogramAggregation{"latency", 2.5, 1, 0, &[2]float64{0, 9}, nil}, `{"histogram":{"field":"latency","interval":2.5,"offset":1,"bounds":[0,9]}}`},
		{DateHistogramAggregation{Field: "at", Unit: CalendarWeek, Zone: "Asia/Tokyo", Offset: -time.Hour, MinCount: 1}, `{"date_histogram":{"field":"at","unit":"week","zone":"Asia/Tokyo","offset":"-1h0m0s","min_count":1}}`},
		{DateHistogramAggregation{Field: "at", Every: 90 * time.Second, Bounds: &[2]time.Time{at, at}}, `{"date_histogram":{"field":"at","every":"1m30s","bounds":["2026-01-02T03:04:05.000000006Z","2026-01-02T03:04:05.000000006Z"]}}`},
		{FiltersAggregation{map[string]Query{"f": Term{"level", "error"}}, sub}, `{"filters":{"filters":{"f":{"term":{"field":"level","value":"error"}}},"sub":{"p":{"percentiles":{"field":"latency","percents":[50,99.9]}},"top":{"top_hits":{"size":2,"load":["message"],"sort":[{"field":"at","desc":true},{"id":true}]}}}}}`},
		{MissingAggregation{"tags", nil}, `{"missing":{"field":"tags"}}`},
		{StatsAggregation{"latency"}, `{"stats":{"field":"latency"}}`},
		{CardinalityAggregation{"host"}, `{"cardinality":{"field":"host"}}`},
	} {
		form, err := json.Marshal(c.a)
		if err != nil || string(form) != c.want {
			t.Errorf("%s %v\nwant %s", form, err, c.want)
		}
		if again, err := UnmarshalAggregation(form); err != nil || !reflect.DeepEqual(again, c.a) {
			t.Errorf("%s reads as %+v %v", form, again, err)
		}
	}
	for form, want := range map[string]string{
		`{}`:                                    `has one member`,
		`{"facet":{}}`:                          `facet: there is no such aggregation`,
		`{"terms":{"feld":"x"}}`:                `feld`,
		`{"stats":{"field":"x","sub":{"a":1}}}`: `it has no "sub"`,
		`{"terms":{"field":"x","sub":{"a":{"date_histogram":{"field":"t","unit":"eon"}}}}}`: `unknown unit "eon"`,
	} {
		if _, err := UnmarshalAggregation([]byte(form)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", form, err, want)
		}
	}
}
