package remote

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
)

var someStatistics = &riffle.Statistics{
	Fields: map[string]riffle.FieldStatistics{
		"title": {Documents: 3, Tokens: math.MaxUint64, Terms: map[string]uint64{"whale": 2, "\x00n\xff": 1}}, "body": {Terms: map[string]uint64{}},
	},
	Functions: []float64{1.5, math.Inf(1)},
	Traits:    &riffle.Traits{Fields: map[string]riffle.FieldTraits{"rare": 9}},
}

var someResult = &riffle.Result{
	Total: 7, TotalExact: true, Groups: 2, Fingerprint: math.MaxUint64, Executor: "cpu/bmm", Duration: time.Second, Work: riffle.Work{BlocksDecoded: 1, Tasks: 5},
	GroupCounts: []riffle.GroupCount{{Group: int64(-5), Size: 3, Before: true}, {Size: 4}},
	Hits: []riffle.Hit{
		{ID: "a\xff", Score: 1.25, Sort: []any{nil, true, false, uint64(math.MaxUint64), "x", riffle.Point{Lat: 1, Lon: -2}}, Group: int64(-5), GroupSize: 3},
		{ID: "", Fields: map[string]any{"list": []any{int64(1), 2.5}, "at": time.Unix(5, 7).UTC()}, Version: 9, Fragments: map[string][]riffle.Fragment{"t": {{Text: "whale", End: 5}}}},
		{ID: "none", Fields: map[string]any{}},
	},
}

// TestBinary writes and reads statistics and results, and reads all beginnings of what was written.
func TestBinary(t *testing.T) {
	for _, s := range []*riffle.Statistics{someStatistics, {}, {Fields: map[string]riffle.FieldStatistics{}, Functions: []float64{2}}} {
		data, err := appendStatistics(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseStatistics(data); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v, %v, want %+v", got, err, s)
		}
		for n := range data {
			if got, err := parseStatistics(data[:n]); err == nil {
				t.Fatalf("%d of %d bytes are %+v", n, len(data), got)
			}
		}
	}
	data, err := appendResult(nil, someResult)
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := parseResult(append(data, "more"...))
	if err != nil || string(rest) != "more" || !reflect.DeepEqual(got, someResult) {
		t.Errorf("%+v, %q, %v, want %+v", got, rest, err, someResult)
	}
	for n := range data {
		if got, _, err := parseResult(data[:n]); err == nil {
			t.Fatalf("%d of %d bytes are %+v", n, len(data), got)
		}
	}
}

// FuzzBinary reads any bytes.
func FuzzBinary(f *testing.F) {
	statistics, err := appendStatistics(nil, someStatistics)
	if err != nil {
		f.Fatal(err)
	}
	result, err := appendResult(nil, someResult)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(statistics)
	f.Add(result)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parseStatistics(data)
		_, _, _ = parseResult(data)
	})
}
