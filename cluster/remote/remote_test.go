package remote_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// A fixed replica has an index that does not change.
type fixed struct {
	*riffle.Engine
	waited atomic.Uint64
}

func (f *fixed) Use(use func(*riffle.Engine) error) error { return use(f.Engine) }

func (f *fixed) Wait(_ context.Context, sequence uint64) error {
	f.waited.Store(sequence)
	return nil
}

// nodes are nodes of this process, by name, of which some are down or slow.
type nodes struct {
	mu      sync.Mutex
	servers map[string]*remote.Server
	engines map[string]*riffle.Engine
	down    map[string]bool
	slow    map[string]chan struct{} // answers when it is closed
	calls   map[string]int
	lose    func(request []byte) bool // reports whether a request is lost; called with mu held
	under   int                       // requests that nodes have, also of callers that have gone
}

func (n *nodes) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	n.mu.Lock()
	s, down, slow := n.servers[node], n.down[node], n.slow[node]
	n.calls[node]++
	lost := n.lose != nil && n.lose(request)
	if n.under++; lost || down || s == nil {
		n.under--
	}
	n.mu.Unlock()
	if lost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if down || s == nil {
		return nil, errors.New("connection refused")
	}
	handle := func(ctx context.Context) []byte {
		defer n.set(func() { n.under-- })
		return s.Handle(ctx, request)
	}
	if slow != nil {
		select {
		case <-slow:
		case <-ctx.Done():
			go func() {
				<-slow
				handle(context.WithoutCancel(ctx))
			}()
			return nil, ctx.Err()
		}
	}
	return handle(ctx), nil
}

// called returns the nodes that were called. The caller holds mu.
func (n *nodes) called() map[string]bool {
	names := map[string]bool{}
	for name := range n.calls {
		names[name] = true
	}
	return names
}

func (n *nodes) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// two returns a shard with two replicas on nodes a and b, which have the same documents.
func two(t *testing.T) (*nodes, *remote.Shard, *scatter.Index) {
	t.Helper()
	n := &nodes{servers: map[string]*remote.Server{}, engines: map[string]*riffle.Engine{}, down: map[string]bool{}, slow: map[string]chan struct{}{}, calls: map[string]int{}}
	for _, name := range []string{"a", "b"} {
		e, err := riffle.Open(t.TempDir(), &riffle.Options{Durability: riffle.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		for i := range 20 {
			if err := e.Put(t.Context(), fmt.Sprint("d", i), map[string]any{"text": "whale", "n": i}); err != nil {
				t.Fatal(err)
			}
		}
		s := remote.NewServer(&fixed{Engine: e}, remote.ServerOptions{LeaseFor: time.Second})
		t.Cleanup(s.Close)
		n.servers[name], n.engines[name] = s, e
	}
	shard := remote.NewShard(n, "a", "b")
	x, err := scatter.New(shard)
	if err != nil {
		t.Fatal(err)
	}
	return n, shard, x
}

// TestExact compares searches over NATS with those of a Multi.
func TestExact(t *testing.T) {
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
	if scattertest.Run(t, 30, overNATS(c, remote.ServerOptions{})) == 0 {
		t.Error("no answer was by cached statistics")
	}
}

// TestPassages compares queries of gutenberg-dev over NATS, with pages to the end.
func TestPassages(t *testing.T) {
	s, err := embedded.Start(embedded.Options{Name: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	scattertest.RunPassages(t, 400, 24, overNATS(c, remote.ServerOptions{}))
}

// termsOf returns an index without documents that finds the terms of queries.
func termsOf(t *testing.T, of *riffle.Engine) func() riffle.Searcher {
	t.Helper()
	e, err := riffle.Open(t.TempDir(), &riffle.Options{Schema: of.Schema(), Durability: riffle.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return func() riffle.Searcher { return e }
}

// overNATS makes indexes whose shards are asked over NATS.
func overNATS(c *nats.Conn, o remote.ServerOptions) scattertest.Make {
	generation := 0
	return func(t *testing.T, engines []*riffle.Engine) *scatter.Index {
		generation++
		index := fmt.Sprint("books", generation)
		var shards []scatter.Shard
		for i, e := range engines {
			s := remote.NewServer(&fixed{Engine: e}, o)
			stop, err := remote.Listen(c, remote.Subject(index, 1, i, "node"), s)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for deadline := time.Now().Add(10 * time.Second); s.Leases() > 0; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Errorf("%d snapshots are held", s.Leases())
						break
					}
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				s.Close()
			})
			shards = append(shards, remote.NewShard(remote.NATS(c, index, 1, i), "node"))
		}
		x, err := scatter.New(shards...)
		if err != nil {
			t.Fatal(err)
		}
		x.CacheStatistics(termsOf(t, engines[0]))
		return x
	}
}

// waitForLeases waits until all snapshots have been given back.
func waitForLeases(t *testing.T, n *nodes) {
	t.Helper()
	for name, s := range n.servers {
		for deadline := time.Now().Add(10 * time.Second); s.Leases() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("node %s holds %d snapshots", name, s.Leases())
			}
		}
	}
}

// TestDown: with one replica down, no search fails; with both, the error says so.
func TestDown(t *testing.T) {
	n, shard, x := two(t)
	for _, down := range []string{"a", "b"} {
		n.set(func() { n.down = map[string]bool{down: true} })
		for range 20 {
			r, err := x.Search(t.Context(), riffle.All{}, nil)
			if err != nil || r.Total != 20 {
				t.Fatalf("%s is down: %v", down, err)
			}
		}
	}
	n.set(func() { n.down = map[string]bool{"a": true, "b": true} })
	_, err := x.Search(t.Context(), riffle.All{}, nil)
	if !errors.Is(err, remote.ErrUnreachable) || !strings.Contains(err.Error(), "node a") || !strings.Contains(err.Error(), "node b") {
		t.Error(err)
	}
	n.set(func() { n.down = map[string]bool{"a": true} })
	shard.SetNodes("a")
	if _, err := x.Search(t.Context(), riffle.All{}, nil); !errors.Is(err, remote.ErrUnreachable) {
		t.Error(err)
	}
	waitForLeases(t, n)
}

// TestSlowGivesBack: a search that is over, or whose caller has gone, leaves no snapshot on a node that answers later.
func TestSlowGivesBack(t *testing.T) {
	n, _, x := two(t)
	for _, e := range n.engines { // snapshots that nobody gives back stay
		s := remote.NewServer(&fixed{Engine: e}, remote.ServerOptions{LeaseFor: time.Hour})
		t.Cleanup(s.Close)
		for name := range n.engines {
			if n.engines[name] == e {
				n.servers[name] = s
			}
		}
	}
	answer := make(chan struct{})
	n.set(func() { n.slow = map[string]chan struct{}{"a": answer} })
	for range 20 { // some begin with the slow one, and go on with the other
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := x.Search(ctx, riffle.All{}, nil); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	n.set(func() { n.slow["b"] = answer })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	if _, err := x.Search(ctx, riffle.All{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	n.set(func() {
		if n.calls["a"] == 0 {
			t.Error("the slow node was never asked")
		}
	})
	close(answer)
	for under := 1; under > 0; time.Sleep(time.Millisecond) {
		n.set(func() { under = n.under })
	}
	waitForLeases(t, n)
}

// TestSilence: a connection that carries nothing for a while, because its server is paused, fails no search, and the
// search does not wait for what was lost meanwhile.
func TestSilence(t *testing.T) {
	n, _, x := two(t)
	for _, lost := range []time.Duration{200 * time.Millisecond, 1500 * time.Millisecond} {
		n.set(func() { n.lose = func([]byte) bool { return true } })
		time.AfterFunc(lost, func() { n.set(func() { n.lose = nil }) })
		if r, err := x.Search(deadline(t), riffle.All{}, nil); err != nil || r.Total != 20 {
			t.Errorf("after %v: %v", lost, err)
		}
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestDownBetweenPhases: the replica of a session goes down after its first answer. The search begins
// again with the other one.
func TestDownBetweenPhases(t *testing.T) {
	n, shard, _ := two(t)
	falling := &fallingShard{Shard: shard, n: n}
	x, err := scatter.New(falling)
	if err != nil {
		t.Fatal(err)
	}
	fell := 0
	for range 10 {
		n.set(func() { n.down = map[string]bool{} })
		falling.fell = false
		r, err := x.Search(t.Context(), riffle.Match{Field: "text", Text: "whale"}, &scatter.Options{SearchOptions: riffle.SearchOptions{ExactTotal: true}})
		if err != nil || r.Total != 20 {
			t.Fatalf("%+v, %v", r, err)
		}
		if falling.fell {
			fell++
		}
	}
	if fell == 0 {
		t.Error("no replica went down")
	}
	n.set(func() { n.down = map[string]bool{} })
}

// A fallingShard takes down the node that has answered the first request.
type fallingShard struct {
	*remote.Shard
	n    *nodes
	fell bool
}

func (f *fallingShard) Session(ctx context.Context, atLeast uint64) (scatter.Session, error) {
	s, err := f.Shard.Session(ctx, atLeast)
	return &fallingSession{Session: s, f: f}, err
}

type fallingSession struct {
	scatter.Session
	f *fallingShard
}

func (s *fallingSession) Statistics(ctx context.Context, q riffle.Query, o *riffle.SearchOptions) (*riffle.Statistics, error) {
	s.f.n.set(func() { clear(s.f.n.calls) })
	st, err := s.Session.Statistics(ctx, q, o)
	s.f.n.set(func() {
		if len(s.f.n.calls) == 1 && !s.f.fell { // no second replica was asked
			s.f.fell, s.f.n.down = true, s.f.n.called()
		}
	})
	return st, err
}

// TestHedge: a replica that does not answer delays no search.
func TestHedge(t *testing.T) {
	n, _, x := two(t)
	stuck := make(chan struct{})
	n.set(func() { n.slow["a"] = stuck })
	for range 10 {
		if _, err := x.Search(t.Context(), riffle.All{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(stuck)
	waitForLeases(t, n)
}

// TestDeadline: the deadline of the caller ends the work of a node.
func TestDeadline(t *testing.T) {
	n, _, x := two(t)
	n.set(func() {
		n.slow["a"] = make(chan struct{})
		n.slow["b"] = n.slow["a"]
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := x.Search(ctx, riffle.All{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestRestart: a node loses a request because it starts again. Nobody waits for the deadline.
func TestRestart(t *testing.T) {
	n, shard, _ := two(t)
	shard.SetNodes("a")
	x, err := scatter.New(shard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), riffle.All{}, nil); err != nil {
		t.Fatal(err)
	}
	var lost atomic.Int64
	n.set(func() {
		n.lose = func(request []byte) bool {
			if strings.Contains(string(request), `"search"`) && lost.Add(1) == 1 {
				n.servers["a"].Close()
				n.servers["a"] = remote.NewServer(&fixed{Engine: n.engines["a"]}, remote.ServerOptions{LeaseFor: time.Second})
				return true
			}
			return false
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if r, err := x.Search(ctx, riffle.All{}, nil); err != nil || r.Total == 0 || lost.Load() < 2 {
		t.Errorf("after %d searches: %v", lost.Load(), err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	n.set(func() { n.servers["a"].Close() })
}

func TestErrors(t *testing.T) {
	n, shard, x := two(t)
	_, err := x.Search(t.Context(), riffle.Phrase{Field: "text", Text: "a b", Slop: -1}, nil)
	if q, ok := errors.AsType[*riffle.QueryError](err); !ok || q.Part == "" {
		t.Errorf("a bad query: %v", err)
	}
	if _, err := x.Explain(t.Context(), riffle.All{}, "nobody", nil); !errors.Is(err, riffle.ErrNotFound) {
		t.Errorf("explaining nobody: %v", err)
	}
	if _, err := shard.Get(t.Context(), "nobody", 0); !errors.Is(err, riffle.ErrNotFound) {
		t.Errorf("getting nobody: %v", err)
	}
	doc, err := shard.Get(t.Context(), "d7", 3)
	if want := map[string]any{"text": "whale", "n": int64(7)}; err != nil || !reflect.DeepEqual(doc, want) {
		t.Errorf("%v: %v", doc, err)
	}
	for _, request := range []string{"", "{}", `{"v": 1}`, `{"v": 2, "verb": "dance", "query": {"all": {}}}`, `{"v": 2, "verb": "search", "lease": "x", "query": {"all": {}}}`, `{"v": 2, "verb": "get"}`} {
		if got := string(n.servers["a"].Handle(t.Context(), []byte(request))); !strings.Contains(got, `"error":{"kind":"`) {
			t.Errorf("%s: %s", request, got)
		}
	}
	waitForLeases(t, n)
}

// TestLeases: a snapshot ends by itself, and there are not more of them than allowed.
func TestLeases(t *testing.T) {
	e, err := riffle.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := remote.NewServer(&fixed{Engine: e}, remote.ServerOptions{Leases: 2, LeaseFor: 3 * time.Second})
	defer s.Close()
	n := &nodes{servers: map[string]*remote.Server{"a": s}, calls: map[string]int{}}
	shard := remote.NewShard(n, "a")
	for i := range 3 {
		session, err := shard.Session(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = session.Count(t.Context(), riffle.All{})
		if (i == 2) != errors.Is(err, remote.ErrBusy) {
			t.Errorf("snapshot %d: %v", i, err)
		}
		defer session.Close()
	}
	waitForLeases(t, n)
}

// TestAtLeast: a session waits for the replica.
func TestAtLeast(t *testing.T) {
	e, err := riffle.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f := &fixed{Engine: e}
	s := remote.NewServer(f, remote.ServerOptions{})
	defer s.Close()
	x, err := scatter.New(remote.NewShard(&nodes{servers: map[string]*remote.Server{"a": s}, calls: map[string]int{}}, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), riffle.All{}, &scatter.Options{AtLeast: []uint64{17}}); err != nil || f.waited.Load() != 17 {
		t.Errorf("waited for %d: %v", f.waited.Load(), err)
	}
}

// TestValues sends values of all types as stored fields.
func TestValues(t *testing.T) {
	n, shard, _ := two(t)
	doc := map[string]any{
		"text": "white \u2028 <whale>", "bytes": "\xff\x00", "empty": "", "true": true, "false": false,
		"int": int64(math.MinInt64), "uint": uint64(math.MaxUint64), "whole": 3.0, "tiny": 5e-324, "huge": math.MaxFloat64,
		"negative zero": math.Copysign(0, -1), "when": time.Date(1851, 10, 18, 1, 2, 3, 4, time.UTC),
		"where": riffle.Point{Lat: 52.5, Lon: -13.25}, "many": []any{int64(1), 1.5, "x", true},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		doc[fmt.Sprint("float", i)] = math.Float64frombits(rng.Uint64()&^(0x7ff<<52) | 1023<<52)
		doc[fmt.Sprint("int", i)] = int64(rng.Uint64())
	}
	var want map[string]any
	for _, s := range []string{"a", "b"} {
		e := n.engines[s]
		if err := e.Put(t.Context(), "all", doc); err != nil {
			t.Fatal(err)
		}
		var err error
		if want, err = e.Get(t.Context(), "all"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := shard.Get(t.Context(), "all", 0)
	if err != nil || !reflect.DeepEqual(got, want) {
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s: %T %v, want %T %v", name, got[name], got[name], want[name], want[name])
			}
		}
		t.Error(err)
	}
}
