package remote_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// three returns an index of three shards with one replica each, on the nodes 0, 1 and 2.
func three(t *testing.T, server remote.ServerOptions, options func(shard int) *riffle.Options) (*nodes, *scatter.Index) {
	t.Helper()
	n := &nodes{servers: map[string]*remote.Server{}, engines: map[string]*riffle.Engine{}, down: map[string]bool{}, slow: map[string]chan struct{}{}, calls: map[string]int{}}
	var shards []scatter.Shard
	for i := range 3 {
		e, err := riffle.Open(t.TempDir(), options(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		var b riffle.Batch
		for d := range 10 {
			b.Put(fmt.Sprint("d", 10*i+d), map[string]any{"text": "whales and ships", "n": d})
		}
		if err := e.Apply(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		s := remote.NewServer(&fixed{Engine: e}, server)
		t.Cleanup(s.Close)
		name := fmt.Sprint(i)
		n.servers[name], n.engines[name] = s, e
		shards = append(shards, remote.NewShard(n, name))
	}
	x, err := scatter.New(shards...)
	if err != nil {
		t.Fatal(err)
	}
	return n, x
}

func plain(int) *riffle.Options { return &riffle.Options{Durability: riffle.SyncNone} }

// TestMissing: a shard that does not answer is an error, or is left out on request.
func TestMissing(t *testing.T) {
	n, x := three(t, remote.ServerOptions{}, plain)
	x.CacheStatistics(termsOf(t, n.engines["0"]))
	q := riffle.Match{Field: "text", Text: "whales"}
	o := &scatter.Options{AllowMissing: true, SearchOptions: riffle.SearchOptions{ExactTotal: true, K: 100, Load: []string{"n"}}}
	for range 2 { // the second has cached statistics, of a shard that is missing then
		if r, err := x.Search(t.Context(), q, o); err != nil || len(r.Missing) > 0 || r.Total != 30 || !r.TotalExact {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	n.set(func() { n.down = map[string]bool{"1": true} })
	if _, err := x.Search(t.Context(), q, nil); !errors.Is(err, scatter.ErrUnavailable) || !strings.Contains(err.Error(), "shard 1") {
		t.Errorf("without AllowMissing: %v", err)
	}
	r, err := x.Search(t.Context(), q, o)
	if err != nil || len(r.Missing) != 1 || r.Missing[0].Shard != 1 || !errors.Is(r.Missing[0].Err, scatter.ErrUnavailable) {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Total != 20 || r.TotalExact || len(r.Hits) != 20 || r.Cached {
		t.Errorf("%d hits of %d, exact: %v, cached: %v", len(r.Hits), r.Total, r.TotalExact, r.Cached)
	}
	n.set(func() { n.down = map[string]bool{"0": true, "1": true, "2": true} })
	if _, err := x.Search(t.Context(), q, o); !errors.Is(err, scatter.ErrUnavailable) {
		t.Errorf("without any shard: %v", err)
	}
}

// TestMismatch: a shard whose analyzers make other terms is not compared with the others.
func TestMismatch(t *testing.T) {
	_, x := three(t, remote.ServerOptions{}, func(shard int) *riffle.Options {
		own := analysis.English()
		if shard == 1 {
			own = analysis.Standard()
		}
		return &riffle.Options{Durability: riffle.SyncNone, Analyzers: map[string]analysis.Analyzer{"own": own}, Schema: &riffle.Schema{Fields: map[string]riffle.Field{"text": {Type: riffle.FieldText, Analyzer: "own"}}}}
	})
	_, err := x.Search(t.Context(), riffle.Match{Field: "text", Text: "whales"}, nil)
	if !errors.Is(err, scatter.ErrMismatch) || !strings.Contains(err.Error(), "shards 0, 2 as against 1") {
		t.Error(err)
	}
}

// TestRevisions: an answer is never by statistics of a shard as it was before.
func TestRevisions(t *testing.T) {
	n, x := three(t, remote.ServerOptions{}, plain)
	x.CacheStatistics(termsOf(t, n.engines["0"]))
	one, err := riffle.NewMulti(riffle.Member{Name: "0", Engine: n.engines["0"]}, riffle.Member{Name: "1", Engine: n.engines["1"]}, riffle.Member{Name: "2", Engine: n.engines["2"]})
	if err != nil {
		t.Fatal(err)
	}
	q := riffle.Match{Field: "text", Text: "whales ships", Mode: riffle.ModeAndOr}
	cached := 0
	for round := range 6 {
		for deadline := time.Now().Add(10 * time.Second); ; {
			want, err := one.Search(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Search(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			same := func(a scatter.Hit, b riffle.Hit) bool { return a.ID == b.ID && a.Score == b.Score }
			if !slices.EqualFunc(got.Hits, want.Hits, same) {
				t.Fatalf("round %d, cached: %v: %+v, want %+v", round, got.Cached, got.Hits, want.Hits)
			}
			if got.Cached {
				cached++
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no answer is by cached statistics")
			}
		}
		e := n.engines[fmt.Sprint(round%3)]
		if round%2 == 0 {
			err = e.Put(t.Context(), fmt.Sprint("new", round), map[string]any{"text": "whales whales"})
		} else {
			err = e.Delete(t.Context(), fmt.Sprint("d", 10*(round%3)+round))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if cached != 6 {
		t.Errorf("%d answers by cached statistics", cached)
	}
	waitForLeases(t, n)
}

// A held replica makes requests that wait for an entry wait until hold is closed.
type held struct {
	*riffle.Engine
	hold    chan struct{}
	holding chan<- struct{}
}

func (h *held) Use(use func(*riffle.Engine) error) error { return use(h.Engine) }

func (h *held) Wait(ctx context.Context, _ uint64) error {
	h.holding <- struct{}{}
	select {
	case <-h.hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestBusy: a node refuses requests beyond its limit at once, while those under way are answered.
func TestBusy(t *testing.T) {
	const most = 4
	hold, holding := make(chan struct{}), make(chan struct{}, most)
	e, err := riffle.Open(t.TempDir(), plain(0))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(t.Context(), "1", map[string]any{"text": "whale"}); err != nil {
		t.Fatal(err)
	}
	s := remote.NewServer(&held{Engine: e, hold: hold, holding: holding}, remote.ServerOptions{Requests: most})
	defer s.Close()
	shard := remote.NewShard(&nodes{servers: map[string]*remote.Server{"a": s}, calls: map[string]int{}}, "a")
	var answered atomic.Int64
	var wg sync.WaitGroup
	for range most {
		wg.Go(func() {
			if _, err := shard.Get(t.Context(), "1", 1); err != nil {
				t.Error(err)
				return
			}
			answered.Add(1)
		})
	}
	for range most {
		<-holding
	}
	if answer := string(s.Handle(t.Context(), []byte(`{"v": 2, "verb": "search", "query": {"all": {}}}`))); !strings.Contains(answer, `"kind":"busy"`) {
		t.Errorf("a request beyond the limit: %s", answer)
	}
	if requests, leases := s.Load(); requests != most || leases != 0 {
		t.Errorf("%d requests are under way, %d snapshots held", requests, leases)
	}
	close(hold)
	wg.Wait()
	if answered.Load() != most {
		t.Errorf("%d of %d requests were answered", answered.Load(), most)
	}
	if _, err := shard.Get(t.Context(), "1", 0); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
