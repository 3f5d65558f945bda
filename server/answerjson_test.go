package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// TestAnswerJSON: answers that are appended are those that package json writes.
func TestAnswerJSON(t *testing.T) {
	values := []any{
		nil, "", "whale", "<b>&amp;</b>", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028\u2029\u202a\ufffd", "\xff", "a\xed\xa0\x80b", true, false, int64(0), int64(math.MinInt64), uint64(math.MaxUint64),
		0.0, math.Copysign(0, -1), 1.0, -2.5, 1e-6, 9.99e-7, 1e-9, 1.5e-10, 1e20, 1e21, 1.5e300, 5e-324, math.MaxFloat64, 0.1 + 0.2,
		time.Date(2024, 1, 5, 12, 0, 0, 5, time.UTC), riffle.Point{Lat: 52.52, Lon: 13.405}, []any{}, []any(nil), []any{"a", int64(1), nil, []any{1.5}}, map[string]any{"a": 1},
	}
	table := []riffle.Result{
		{},
		{Hits: []riffle.Hit{}, Total: 3, TotalExact: true, Executor: `cpu/"bmm"`, Duration: 1234567, Groups: 2, Incomplete: true},
		{Hits: []riffle.Hit{{ID: "moby", Score: 1.25}, {ID: "", Score: 0}, {ID: "\xff\x00", Score: 1e-7}, {ID: "a\"é\u2028", Score: 1e22}}, Work: riffle.Work{BlocksDecoded: 1, BlocksSkipped: 2, DocsScored: 3, BytesMoved: 4, Tasks: 5}},
		{Hits: []riffle.Hit{{ID: "a", Sort: values, Group: "g", GroupSize: 7, Version: math.MaxUint64, Fields: map[string]any{}}}},
		{Hits: []riffle.Hit{{ID: "a", Fields: map[string]any{"b": "x", "a\n": int64(1), "": nil}, Fragments: map[string][]riffle.Fragment{
			"title": {{Value: 1, Start: 2, End: 9, Text: "a <w>\"&", Matches: []riffle.ByteRange{{Start: 2, End: 5}, {Start: 5, End: 6}}, Before: true, After: true, Score: 0.25}, {}},
			"none":  {},
		}}}},
		{Profile: &riffle.Profile{Choice: riffle.ProfileChoice{Why: "<w>"}, Lists: []riffle.ProfileList{{Term: "a&b", Runs: []riffle.ProfileRun{{Last: 3}}}}}},
		{Aggregations: map[string]riffle.AggregationResult{"a": {Buckets: []riffle.AggregationBucket{{Key: "<x>", Count: 2}, {Key: int64(5), Count: 1}}, Other: 3, Distinct: 2}}},
	}
	for _, v := range values {
		table = append(table, riffle.Result{Hits: []riffle.Hit{{ID: "a", Group: v, Fields: map[string]any{"v": v}}}})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		f := math.Float64frombits(rng.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := make([]byte, rng.IntN(8))
		for i := range text {
			text[i] = byte(rng.Uint32())
		}
		table = append(table, riffle.Result{Hits: []riffle.Hit{{ID: "a", Score: f, Fields: map[string]any{string(text): string(text), "f": float64(float32(f))}}}})
		if math.IsInf(float64(float32(f)), 0) {
			table = table[:len(table)-1]
		}
	}
	for i := range table {
		for _, req := range []*client.SearchRequest{{}, {Highlight: &client.Highlight{HTML: true}}} {
			notes := []client.Note{{Offset: 1, Reason: "<odd>"}}[:i%2]
			found := &Found{Result: &table[i]}
			if i%2 == 1 {
				found.Missing = []client.MissingShard{{Shard: i, Fault: "<nobody>"}}
			}
			got, err := appendAnswer([]byte("kept"), found, req, notes)
			if err != nil {
				t.Fatal(err)
			}
			answer := answerOf(found, req)
			answer.Notes = notes
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(answer); err != nil {
				t.Fatal(err)
			}
			if string(got) != "kept"+want.String() {
				t.Errorf("%+v:\n got %s\nwant %s", table[i], got[len("kept"):], &want)
			}
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if b, err := appendAnswer(nil, &Found{Result: &riffle.Result{Hits: []riffle.Hit{{ID: "a", Score: f}}}}, &client.SearchRequest{}, nil); err == nil {
			t.Errorf("%v is written as %s", f, b)
		}
	}
}

// TestCursorsOfHits: the last hit has a cursor, and each one if that is asked for; they are those of the hits.
func TestCursorsOfHits(t *testing.T) {
	ctx, c := t.Context(), serveClient(t, nil)
	must(t, c.CreateIndex(ctx, "books", nil))
	for i := range 7 {
		must(t, c.Put(ctx, "books", fmt.Sprint(i), map[string]any{"title": "whale", "n": i}))
	}
	req := &client.SearchRequest{Query: riffle.Match{Field: "title", Text: "whale"}, K: 3}
	last, err := c.Search(ctx, "books", req)
	must(t, err)
	all := *req
	all.Cursors = true
	each, err := c.Search(ctx, "books", &all)
	must(t, err)
	for i := range 3 {
		if has := last.Hits[i].Cursor != ""; has != (i == 2) {
			t.Errorf("hit %d has a cursor: %v", i, has)
		}
		if each.Hits[i].Cursor == "" {
			t.Errorf("hit %d lacks the cursor that was asked for", i)
		}
	}
	if a, b := last.Hits[2].Cursor, each.Hits[2].Cursor; a != b {
		t.Errorf("the last hit has the cursor %s or %s", a, b)
	}
	for i := range 3 {
		req.After = each.Hits[i].Cursor
		page, err := c.Search(ctx, "books", req)
		must(t, err)
		if page.Hits[0].ID != client.ID(fmt.Sprint(i+1)) {
			t.Errorf("behind hit %d comes %s", i, page.Hits[0].ID)
		}
	}
}
