package riffle

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// allKinds are aggregations of an index of logSchema, of all kinds but those of places.
func allKinds() map[string]Aggregation {
	sub := map[string]Aggregation{
		"latency": StatsAggregation{Field: "latency"}, "levels": CardinalityAggregation{Field: "level"},
		"slowest": TopHitsAggregation{Size: 2, Sort: []SortKey{{Field: "latency", Desc: true}, {Score: true}, {ID: true}}},
		"best":    TopHitsAggregation{Size: 3}, "p": PercentilesAggregation{Field: "latency", Percents: []float64{99, 50}},
	}
	return map[string]Aggregation{
		"hosts": TermsAggregation{Field: "host", Size: 7, Sub: sub}, "fast": TermsAggregation{Field: "host", Order: "latency.mean", Sub: sub},
		"tags":  TermsAggregation{Field: "tags", Order: "key", Sub: map[string]Aggregation{"hosts": TermsAggregation{Field: "host", Size: 3, Sub: sub}}},
		"slow":  RangeAggregation{Field: "latency", Ranges: []AggregationRange{{To: 100}, {From: 100, To: 1000.5}, {Name: "slow", From: 1000}}, Sub: sub},
		"steps": HistogramAggregation{Field: "latency", Interval: 250, Sub: sub},
		"days":  DateHistogramAggregation{Field: "at", Unit: CalendarDay, Zone: "Europe/Berlin", Sub: sub},
		"which": FiltersAggregation{Filters: map[string]Query{"bad": Term{"level", "error"}, "late": Match{Field: "message", Text: "late"}}, Sub: sub},
		"none":  MissingAggregation{Field: "tags", Sub: sub},
		"users": CardinalityAggregation{Field: "host"}, "all": StatsAggregation{Field: "latency"}, "when": StatsAggregation{Field: "at"},
		"top": TopHitsAggregation{Size: 5}, "percent": PercentilesAggregation{Field: "at"},
	}
}

// TestPartialAggregations compares the partial aggregations of two indexes, merged and finished, with those
// of a Multi.
func TestPartialAggregations(t *testing.T) {
	a, b := logIndex(t, nil, 1, 0, 3000), logIndex(t, nil, 2, 3000, 5000)
	m, err := NewMulti(Member{"a", a.Engine}, Member{"b", b.Engine})
	if err != nil {
		t.Fatal(err)
	}
	as := allKinds()
	for _, q := range []Query{All{}, Match{Field: "message", Text: "failed w7"}, Term{"level", "none"}} {
		for _, selections := range []map[string]Query{nil, {"hosts": Term{"host", "h03"}, "other": Range{Field: "latency", To: 700}}} {
			want, err := m.Search(t.Context(), q, &SearchOptions{Aggregations: as, Selections: selections})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := m.Statistics(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			var whole *PartialAggregations
			for name, e := range map[string]*testIndex{"a": a, "b": b} {
				res, err := e.Search(t.Context(), q, &SearchOptions{Aggregations: as, Selections: selections, Statistics: sum, PartialAggregations: true})
				if err != nil || res.Aggregations != nil {
					t.Fatal(res, err)
				}
				res.PartialAggregations.SetEngine(name)
				data, err := res.PartialAggregations.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				part, err := UnmarshalPartialAggregations(data, as, 0)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case whole == nil:
					whole = part
				case name == "a": // documents of a come first
					err = part.Merge(whole)
					whole = part
				default:
					err = whole.Merge(part)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := whole.Finish()
			if err != nil {
				t.Fatal(err)
			}
			for name := range as {
				if !reflect.DeepEqual(got[name], want.Aggregations[name]) {
					t.Errorf("%v, selections %v: %s is\n%+v, want\n%+v", q, selections, name, got[name], want.Aggregations[name])
				}
			}
		}
	}
}

// TestPartialAggregationsRefused: bytes of other aggregations, too much memory, and a second use.
func TestPartialAggregationsRefused(t *testing.T) {
	ix := logIndex(t, nil, 3, 0, 900)
	as := map[string]Aggregation{"hosts": TermsAggregation{Field: "host"}, "at": CardinalityAggregation{Field: "at"}}
	search := func() *PartialAggregations {
		return ix.search(All{}, &SearchOptions{NoHits: true, Aggregations: as, PartialAggregations: true}).PartialAggregations
	}
	if none := ix.search(All{}, &SearchOptions{PartialAggregations: true}); none.PartialAggregations != nil || none.Aggregations != nil {
		t.Error("there are aggregations, and none were asked for")
	}
	p := search()
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]Aggregation{"hosts": TermsAggregation{Field: "level"}, "at": CardinalityAggregation{Field: "at"}}
	if _, err := UnmarshalPartialAggregations(data, other, 0); err == nil || !strings.Contains(err.Error(), "other aggregations") {
		t.Error(err)
	}
	if _, err := UnmarshalPartialAggregations(data[:len(data)-1], as, 0); err == nil || !strings.Contains(err.Error(), "riffle: partial aggregations: ") {
		t.Error(err)
	}
	if _, err := UnmarshalPartialAggregations(data, map[string]Aggregation{"x": TermsAggregation{Field: "host", Size: -1}}, 0); !errors.As(err, new(*QueryError)) {
		t.Error(err)
	}
	tooLarge := func(err error) {
		t.Helper()
		if !errors.As(err, new(*QueryError)) || !strings.Contains(err.Error(), `SearchOptions.Aggregations["at"]`) || !strings.Contains(err.Error(), "PartialAggregations.MaxBytes") {
			t.Error(err)
		}
	}
	_, err = UnmarshalPartialAggregations(data, as, 1000)
	tooLarge(err)
	q := search()
	q.MaxBytes = 1000
	tooLarge(q.Merge(search()))
	if err := p.Merge(p); err == nil {
		t.Error("merged into itself")
	}
	next := search()
	if err := p.Merge(next); err != nil || next.Merge(search()) == nil || p.Merge(next) == nil || next.Bytes() != 0 {
		t.Error("used after it was merged:", err)
	}
	if _, err := p.Finish(); err != nil {
		t.Error(err)
	}
	if _, err := p.Finish(); err == nil {
		t.Error("finished twice")
	}
	if _, err := p.MarshalBinary(); err == nil {
		t.Error("has bytes after it was finished")
	}
}

// TestPartialAggregationsFill merges histograms with so much between them that the empty buckets take too
// much memory.
func TestPartialAggregationsFill(t *testing.T) {
	as := map[string]Aggregation{"far": HistogramAggregation{Field: "latency", Interval: 1}}
	var whole *PartialAggregations
	for _, latency := range []float64{0, 1e9} {
		ix := newIndex(t, &Options{Schema: logSchema})
		ix.put("d", map[string]any{"latency": latency})
		next := ix.search(All{}, &SearchOptions{Aggregations: as, PartialAggregations: true}).PartialAggregations
		if next.MaxBytes != DefaultAggregationBytes {
			t.Errorf("MaxBytes is %d", next.MaxBytes)
		}
		if whole == nil {
			whole = next
			whole.MaxBytes = 1 << 20
		} else if err := whole.Merge(next); err != nil {
			t.Fatal(err)
		}
	}
	_, err := whole.Finish()
	if !errors.As(err, new(*QueryError)) || !strings.Contains(err.Error(), `SearchOptions.Aggregations["far"]`) || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Error(err)
	}
}
