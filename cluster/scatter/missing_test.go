package scatter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// A lossy shard is unavailable for some searches.
type lossy struct {
	local
	lost func(o *riffle.SearchOptions) bool
}

type lossySession struct {
	scatter.Session
	lost func(o *riffle.SearchOptions) bool
}

func (l lossy) Session(ctx context.Context, atLeast uint64) (scatter.Session, error) {
	s, err := l.local.Session(ctx, atLeast)
	return lossySession{s, l.lost}, err
}

func (l lossySession) Search(ctx context.Context, q riffle.Query, o *riffle.SearchOptions) (*riffle.Result, error) {
	if l.lost(o) {
		return nil, scatter.ErrUnavailable
	}
	return l.Session.Search(ctx, q, o)
}

// TestMissingAggregations: the aggregations of a search that may miss shards are of those that answer. A
// shard that is lost between its hits and its aggregations is missing, too.
func TestMissingAggregations(t *testing.T) {
	var shards []scatter.Shard
	var lost func(o *riffle.SearchOptions) bool
	for i := range 3 {
		e, err := riffle.Open(t.TempDir(), &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{"tag": {Type: riffle.FieldKeyword}}}, Durability: riffle.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		b := new(riffle.Batch)
		for n := range 10 {
			b.Put(fmt.Sprint(i, n), map[string]any{"text": "white whale", "tag": fmt.Sprint("t", i)})
		}
		b.Put(fmt.Sprint(i, "other"), map[string]any{"text": "whale", "tag": "other"})
		if err := e.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		of := lossy{local{e}, func(*riffle.SearchOptions) bool { return false }}
		if i == 1 {
			of.lost = func(o *riffle.SearchOptions) bool { return lost(o) }
		}
		shards = append(shards, of)
	}
	x, err := scatter.New(shards...)
	if err != nil {
		t.Fatal(err)
	}
	// All words are required for the aggregations, and some for the hits, which are few.
	o := &scatter.Options{AllowMissing: true, SearchOptions: riffle.SearchOptions{
		Aggregations: map[string]riffle.Aggregation{"tag": riffle.TermsAggregation{Field: "tag"}}, Selections: map[string]riffle.Query{"tag": riffle.Term{Field: "tag", Value: "other"}},
	}}
	q := riffle.Match{Field: "text", Text: "white whale", Mode: riffle.ModeAndOr}
	for name, test := range map[string]struct {
		lost    func(o *riffle.SearchOptions) bool
		hits    int
		buckets int
	}{
		"none":         {func(*riffle.SearchOptions) bool { return false }, 3, 3},
		"always":       {func(*riffle.SearchOptions) bool { return true }, 2, 2},
		"aggregations": {func(o *riffle.SearchOptions) bool { return o.NoHits && len(o.Aggregations) > 0 }, 3, 2},
	} {
		lost = test.lost
		r, err := x.Search(t.Context(), q, o)
		if err != nil {
			t.Fatal(name, err)
		}
		tag := r.Aggregations["tag"]
		if len(r.Hits) != test.hits || len(tag.Buckets) != test.buckets || tag.Buckets[0].Count != 10 {
			t.Errorf("%s: %d hits, %+v", name, len(r.Hits), tag)
		}
		if missing := test.buckets < 3; missing != (len(r.Missing) == 1) || missing == r.TotalExact || missing && r.Missing[0].Shard != 1 {
			t.Errorf("%s: %+v are missing, exact %v", name, r.Missing, r.TotalExact)
		}
	}
	o.AllowMissing = false
	lost = func(o *riffle.SearchOptions) bool { return o.NoHits && len(o.Aggregations) > 0 }
	if _, err := x.Search(t.Context(), q, o); !errors.Is(err, scatter.ErrUnavailable) {
		t.Error(err)
	}
}
