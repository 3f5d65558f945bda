package browser

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/server"
)

// A cluster is one of an engine of this process, whose status tests set.
type cluster struct {
	books *shards

	mu     sync.Mutex
	status client.ClusterStatus
}

func (c *cluster) Names(context.Context) ([]string, error) { return []string{"books"}, nil }
func (c *cluster) Indexes(context.Context) ([]client.Index, error) {
	return []client.Index{{Name: "books", Shards: 2, Replicas: 2}}, nil
}
func (c *cluster) Index(_ context.Context, name string) (server.Index, error) {
	if name != "books" {
		return nil, server.ErrNoIndex
	}
	return c.books, nil
}
func (c *cluster) Create(context.Context, string, *client.NewIndex) error { return server.ErrExists }
func (c *cluster) Drop(context.Context, string) error                     { return server.ErrNoIndex }
func (c *cluster) Status(context.Context) (*client.ClusterStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.status
	return &st, nil
}

// set changes the status.
func (c *cluster) set(change func(*client.ClusterStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}

// shards is the index of the cluster.
type shards struct{ *riffle.Engine }

func (x *shards) ParseQuery(_ context.Context, text string, o *riffle.ParseOptions, _ server.Reading) (riffle.Query, error) {
	o.Engine, o.Fields = x.Engine, []string{"title"}
	return riffle.ParseQuery(text, o)
}
func (x *shards) Document(ctx context.Context, id string, _ server.Reading) (riffle.Document, error) {
	return x.Engine.Document(ctx, id)
}
func (x *shards) Search(ctx context.Context, q riffle.Query, o *server.SearchOptions) (*server.Found, error) {
	r, err := x.Engine.Search(ctx, q, &o.SearchOptions)
	if err != nil {
		return nil, err
	}
	r.Executor = "2 shards"
	return &server.Found{Result: r}, nil
}
func (x *shards) Count(ctx context.Context, q riffle.Query, _ server.Reading) (int, error) {
	return x.Engine.Count(ctx, q)
}
func (x *shards) Explain(ctx context.Context, q riffle.Query, id string, _ server.Reading) (*riffle.Explanation, error) {
	return x.Engine.Explain(ctx, q, id, nil)
}
func (x *shards) Write(context.Context, *riffle.Batch, string) (*server.Written, error) {
	return nil, server.ErrUnavailable
}

// serveCluster returns a cluster and the address of a server with it.
func serveCluster(t *testing.T) (*cluster, string) {
	t.Helper()
	if chromium == nil {
		t.Skip(noChromium)
	}
	e, err := riffle.Open(t.TempDir(), &riffle.Options{Durability: riffle.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for id, title := range map[string]string{"moby": "Moby Dick, or: the Whale", "jungle": "The Jungle Book"} {
		if err := e.Put(t.Context(), id, map[string]any{"title": title}); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{books: &shards{e}}
	since := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	c.status.Nodes = []client.ClusterNode{
		{Name: "n1", Up: true, Started: since, Program: "v1.0.0", Replicas: 2, Bytes: 5 << 30},
		{Name: "a-node-with-a-name-of-sixty-four-letters-which-is-the-most-allowed", Up: true, Started: since, Program: "v1.0.0", Replicas: 2, Bytes: 5 << 30},
	}
	shard := client.ClusterShard{Log: client.ClusterLog{First: 1, Last: 1_234_567, Bytes: 1 << 30, Full: 4 << 30, Leader: "n1"}}
	for _, n := range c.status.Nodes {
		shard.Replicas = append(shard.Replicas, client.ClusterReplica{Node: n.Name, State: "running", Sequence: 1_234_567, Documents: 20_000_000, Bytes: 2 << 30})
	}
	c.status.Indexes = []client.ClusterIndex{{Name: "books", Ready: true, Shards: []client.ClusterShard{shard, shard}}}
	s, err := server.New(&server.Options{Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		s.Close(context.Background())
	})
	return c, h.URL
}

// TestCluster: the view of the cluster follows what happens, unless somebody is in one of its tables, and is as
// accessible as the others.
func TestCluster(t *testing.T) {
	t.Parallel()
	c, base := serveCluster(t)
	b := newTab(t, base)
	b.open("/cluster")
	b.wait(`document.querySelector("#live").innerText.includes("nothing is wrong")`)
	for _, width := range []int64{320, 800, 1280} {
		b.size(width, 800)
		for _, e := range eval[[]string](b, sticksOut) {
			t.Errorf("at %d: %s", width, e)
		}
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			for _, f := range faultsOf(b) {
				t.Errorf("%s, %d wide: %s", scheme, width, f)
			}
		}
	}
	for _, f := range keyFaults(b) {
		t.Error(f)
	}
	eval[any](b, `document.activeElement.blur()`)
	c.set(func(st *client.ClusterStatus) {
		nodes := append([]client.ClusterNode{}, st.Nodes...)
		nodes[0] = client.ClusterNode{Name: "n1"}
		st.Nodes, st.Faults = nodes, []string{"node n1 does not answer"}
	})
	b.wait(`document.querySelector("#live .fault").innerText.includes("node n1 does not answer")`)
	for _, f := range faultsOf(b) {
		t.Errorf("with a fault: %s", f)
	}
	eval[any](b, `document.querySelector("#live .wide").focus()`)
	c.set(func(st *client.ClusterStatus) { st.Faults = nil })
	eval[any](b, `(async () => { const n = performance.getEntriesByType("resource").length; while (performance.getEntriesByType("resource").length < n + 2) await new Promise((r) => setTimeout(r, 50)); })()`)
	if said := eval[string](b, `document.querySelector("#live").innerText`); !strings.Contains(said, "node n1 does not answer") {
		t.Errorf("the table changes under who reads it: %s", said)
	}
	eval[any](b, `document.activeElement.blur()`)
	b.wait(`document.querySelector("#live").innerText.includes("nothing is wrong")`)
}

// TestShards: an index of a cluster is searched as the user types; views that it does not have are not offered.
func TestShards(t *testing.T) {
	t.Parallel()
	_, base := serveCluster(t)
	b := newTab(t, base)
	b.open("/?index=books")
	b.query("whal")
	b.keys("e")
	b.wait(`document.querySelectorAll(".hits > li").length === 1 && document.querySelector(".hits").innerText.includes("Moby Dick")`)
	if links := eval[[]string](b, `[...document.querySelectorAll("nav a")].map((a) => a.innerText)`); strings.Join(links, ",") != "Search,Cluster" {
		t.Errorf("the views are %q", links)
	}
	b.click("[data-why]")
	b.wait(`document.querySelector(".why .tree")`)
}
