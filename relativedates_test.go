package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// relativeNow is the moment of the searches of TestRelativeDates: a Wednesday.
var relativeNow = time.Date(2026, 11, 25, 10, 30, 0, 0, time.UTC)

// relativeIndex has a document for each of some instants, with its time as id.
func relativeIndex(t *testing.T) *testIndex {
	ix := newIndex(t, &Options{Schema: &Schema{Dynamic: DynamicIndex, Fields: map[string]Field{
		"when": {Type: FieldDate}, "hidden": {Type: FieldDate, NoIndex: true, Column: ColumnStored}, "word": {Type: FieldKeyword},
	}}})
	var b Batch
	for _, at := range []string{
		"2026-11-25T10:29:59Z", "2026-11-25T09:30:00Z", "2026-11-25T00:00:00Z", "2026-11-24T23:59:59.999999999Z", "2026-11-24T23:00:00Z",
		"2026-11-24T00:00:00Z", "2026-11-23T22:59:59Z", "2026-10-31T23:30:00Z", "2025-11-25T10:30:00Z",
	} {
		when, err := time.Parse(time.RFC3339Nano, at)
		ix.must(err)
		b.Put(at, map[string]any{"when": when, "free": when, "hidden": when, "word": "now-1d"})
	}
	ix.must(ix.Apply(ctx, &b))
	return ix
}

// TestRelativeDates: relative dates in the language, in Go and in JSON, with rounding up and down and a
// time zone.
func TestRelativeDates(t *testing.T) {
	ix := relativeIndex(t)
	for _, c := range []struct {
		text string
		zone string
		q    Range
		want int
	}{
		{"when:>=now-1h", "", Range{Field: "when", From: "now-1h"}, 2},
		{"when:>now-1h", "", Range{Field: "when", From: "now-1h", ExcludeFrom: true}, 1},
		{"free:[now-1d/d TO now/d}", "", Range{Field: "free", From: "now-1d/d", To: "now/d"}, 3},
		{"when:[now-1d/d TO now-1d/d]", "", Range{Field: "when", From: "now-1d/d", To: "now-1d/d", IncludeTo: true}, 3},
		{"hidden:[now-1d/d TO now-1d/d]", "", Range{Field: "hidden", From: "now-1d/d", To: "now-1d/d", IncludeTo: true}, 3},
		{"when:>now-1d/d", "", Range{Field: "when", From: "now-1d/d", ExcludeFrom: true}, 3},
		{"when:>now-1d/d", "+01:00", Range{Field: "when", From: "now-1d/d", ExcludeFrom: true, TimeZone: "+01:00"}, 5},
		{"when:<=now/w", "", Range{Field: "when", To: "now/w", IncludeTo: true}, 9},
		{"when:<now/w", "", Range{Field: "when", To: "now/w"}, 2},
		{"when:[2026-10-15||/M TO 2026-10||+1M/d}", "", Range{Field: "when", From: "2026-10-15||/M", To: "2026-10||+1M/d"}, 1},
		{"when:[2026-11-01||/M TO *]", "+01:00", Range{Field: "when", From: "2026-11-01||/M", IncludeTo: true, TimeZone: "+01:00"}, 8},
		{`when:>="now-1y"`, "", Range{Field: "when", From: "now-1y"}, 9},
	} {
		q, err := ParseQuery(c.text, &ParseOptions{Engine: ix.Engine, TimeZone: c.zone})
		if err != nil || q != c.q {
			t.Errorf("%s reads as %#v, %v", c.text, q, err)
			continue
		}
		again, err := ParseQuery(q.String(), nil)
		if err != nil || again != q {
			t.Errorf("%s: %s reads as %#v, %v", c.text, q, again, err)
		}
		b, err := json.Marshal(q)
		ix.must(err)
		again, err = UnmarshalQuery(b)
		if err != nil || again != q {
			t.Errorf("%s: %s reads as %#v, %v", c.text, b, again, err)
		}
		o := &SearchOptions{Now: relativeNow}
		for range 3 {
			if res, err := ix.Search(ctx, q, o); err != nil || len(res.Hits) != c.want {
				t.Errorf("%s: %d hits, %v, want %d", c.text, len(res.Hits), err, c.want)
			}
		}
		later := &SearchOptions{Now: relativeNow.AddDate(100, 0, 0)} // after the sets of before may be cached
		if res, err := ix.Search(ctx, Range{Field: c.q.Field, From: "now/d"}, later); err != nil || len(res.Hits) != 0 {
			t.Errorf("%s: a hundred years later %d hits, %v", c.text, len(res.Hits), err)
		}
	}
	n, err := ix.Count(ctx, Range{Field: "when", To: "now"}) // of the clock
	if err != nil || n == 0 && time.Now().After(relativeNow) {
		t.Error(n, err)
	}
}

// TestRelativeWords: in fields that are not dates, such texts are texts.
func TestRelativeWords(t *testing.T) {
	ix := relativeIndex(t)
	q, err := ParseQuery(`word:[now-1d TO now-1d]`, &ParseOptions{Engine: ix.Engine})
	ix.must(err)
	if res, err := ix.Search(ctx, q, nil); err != nil || len(res.Hits) != 9 {
		t.Errorf("%v: %v, %v", q, res, err)
	}
	if n, err := ix.Count(ctx, Range{Field: "word", From: "now-1d", To: "now-1d", IncludeTo: true}); err != nil || n != 9 {
		t.Error(n, err)
	}
	if q, err := ParseQuery(`free:["now-1d" TO "now"]`, nil); err != nil || q != (TermRange{Field: "free", From: "now-1d", To: "now", IncludeTo: true}) {
		t.Errorf("%#v, %v", q, err)
	}
	if q, err := ParseQuery(`free:>nowhere`, nil); err != nil || q != (TermRange{Field: "free", From: "nowhere", ExcludeFrom: true}) {
		t.Errorf("%#v, %v", q, err)
	}
}

// TestRelativeErrors name what is wrong.
func TestRelativeErrors(t *testing.T) {
	ix := relativeIndex(t)
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Range{Field: "when", From: "now-1x"}, `Range.From: field "when": "now-1x" is no date: byte 3`},
		{Range{Field: "when", To: "now/2d"}, `Range.To: field "when"`},
		{Range{Field: "when", To: "now", TimeZone: "Atlantis"}, `Range.TimeZone: "Atlantis" is no time zone`},
		{Range{Field: "free", From: "yesterday"}, "no schema says what it means"},
		{Range{Field: "word", From: 1}, "the schema declares keyword, not number"},
		{Prefix{Field: "hidden", Prefix: "a"}, "it has a column, which Range, Terms, Term and Exists use"},
	} {
		var qe *QueryError
		if _, err := ix.Search(ctx, c.q, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
	_, err := ParseQuery("+word:a +when:>now-1x", &ParseOptions{Engine: ix.Engine})
	var pe *ParseError
	if !errors.As(err, &pe) || pe.Offset != 15 || !strings.Contains(pe.Reason, "byte 3") {
		t.Errorf("%+v", err)
	}
	if _, err := ParseQuery("a:b", &ParseOptions{TimeZone: "Atlantis"}); err == nil || !strings.Contains(err.Error(), "ParseOptions.TimeZone") {
		t.Error(err)
	}
}

// TestRangeWays: the same range as a filter of many words, of one rare word and of nothing, wherever
// its documents lie; each way of answering it gives the same documents.
func TestRangeWays(t *testing.T) {
	ix := newIndex(t, &Options{Durability: SyncNone})
	const docs = 20_000
	var b Batch
	for i := range docs {
		text := "many"
		if i%5000 == 7 {
			text = "many rare"
		}
		b.Put(rangeID(i), map[string]any{"text": text, "spread": i * 7919 % docs, "rising": i})
	}
	ix.must(ix.Apply(ctx, &b))
	ix.must(ix.Flush(ctx))
	for _, field := range []string{"spread", "rising"} {
		for _, width := range []int{2, 200, 10_000} {
			for from := 0; from < docs; from += docs / 7 {
				in := func(i int) bool {
					v := i
					if field == "spread" {
						v = i * 7919 % docs
					}
					return v >= from && v < from+width
				}
				for _, text := range []string{"many", "rare", "many rare", "none"} {
					q := Bool{Must: []Query{Match{Field: "text", Text: text}}, Filter: []Query{Range{Field: field, From: from, To: from + width}}}
					var want []string
					for i := range docs {
						if in(i) && (strings.Contains(text, "many") || text == "rare" && i%5000 == 7) {
							want = append(want, rangeID(i))
						}
					}
					res, err := ix.Search(ctx, q, &SearchOptions{K: MaxK, ExactTotal: true})
					ix.must(err)
					var got []string
					for _, h := range res.Hits {
						got = append(got, strings.Clone(h.ID))
					}
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want[:min(len(want), MaxK)]) && len(want) <= MaxK || res.Total != len(want) {
						t.Fatalf("%v: %d hits of %d, want %d", q, len(got), res.Total, len(want))
					}
				}
			}
		}
	}
}

func rangeID(i int) string { return fmt.Sprint("passage ", i) }
