package remote_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// TestAggregationsExact compares aggregations over NATS with those of a Multi. Few fit into a message.
func TestAggregationsExact(t *testing.T) {
	s, err := embedded.Start(embedded.Options{Name: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	shards := overNATS(c, remote.ServerOptions{MessageBytes: 200})
	scattertest.RunAggregations(t, 12, shards)
	// Once more, with statistics that are remembered.
	terms, err := riffle.Open(t.TempDir(), &riffle.Options{Schema: scattertest.FacetSchema})
	if err != nil {
		t.Fatal(err)
	}
	defer terms.Close()
	scattertest.RunAggregations(t, 12, func(t *testing.T, engines []*riffle.Engine) *scatter.Index {
		x := shards(t, engines)
		x.CacheStatistics(func() riffle.Searcher { return terms })
		return x
	})
}

// replicas are servers of this process, by node. Before a request is answered, ask sees it.
type replicas struct {
	servers map[string]*remote.Server
	ask     func(node string, request []byte) error
}

func (r *replicas) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	if err := r.ask(node, request); err != nil {
		return nil, err
	}
	return r.servers[node].Handle(ctx, request), nil
}

// replicated returns an index of one shard with two replicas of 300 documents.
func replicated(t *testing.T, o remote.ServerOptions, ask func(node string, request []byte) error) *scatter.Index {
	t.Helper()
	r := &replicas{map[string]*remote.Server{}, ask}
	for _, name := range []string{"a", "b"} {
		e, err := riffle.Open(t.TempDir(), &riffle.Options{Durability: riffle.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		b := new(riffle.Batch)
		for i := range 300 {
			b.Put(fmt.Sprint("d", i), map[string]any{"n": i})
		}
		if err := e.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r.servers[name] = remote.NewServer(&fixed{Engine: e}, o)
		t.Cleanup(r.servers[name].Close)
	}
	x, err := scatter.New(remote.NewShard(r, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var facets = &scatter.Options{SearchOptions: riffle.SearchOptions{
	Aggregations: map[string]riffle.Aggregation{"n": riffle.TermsAggregation{Field: "n"}, "top": riffle.TopHitsAggregation{Load: []string{"n"}}},
}}

// TestGoneBetweenPieces loses a replica when it has sent a part of its aggregations. The other one answers.
func TestGoneBetweenPieces(t *testing.T) {
	lost, more := "", 0
	x := replicated(t, remote.ServerOptions{MessageBytes: 100}, func(node string, request []byte) error {
		if strings.Contains(string(request), `"verb":"more"`) {
			if more++; more == 3 {
				lost = node
			}
		}
		if node == lost {
			return errors.New("connection refused")
		}
		return nil
	})
	r, err := x.Search(t.Context(), riffle.All{}, facets)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Aggregations["n"]; n.Distinct != 300 || n.Other != 290 || len(n.Buckets) != 10 || lost == "" {
		t.Errorf("%+v, lost %q", n, lost)
	}
	if hits := r.Aggregations["top"].Hits; len(hits) != 3 || hits[1].Fields["n"] != int64(1) || hits[1].Engine != "" {
		t.Errorf("%+v", hits)
	}
}

// TestAggregationsTooLarge: a node refuses to send too much.
func TestAggregationsTooLarge(t *testing.T) {
	x := replicated(t, remote.ServerOptions{AggregationBytes: 200}, func(string, []byte) error { return nil })
	_, err := x.Search(t.Context(), riffle.All{}, facets)
	if !errors.Is(err, remote.ErrAggregations) || !strings.Contains(err.Error(), "more than the 200 that a node sends") {
		t.Error(err)
	}
	// Nor does who asks take more than it wants.
	x = replicated(t, remote.ServerOptions{}, func(string, []byte) error { return nil })
	few := *facets
	few.AggregationBytes = 1000
	if _, err := x.Search(t.Context(), riffle.All{}, &few); err == nil || !strings.Contains(err.Error(), `Aggregations["n"]`) {
		t.Error(err)
	}
}
