package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// A pretended is a Cluster of engines of this process, whose changes fail as the ids of their documents say.
type pretended struct {
	t testing.TB

	mu      sync.Mutex
	indexes map[string]*pretendedIndex
	down    bool
}

func (c *pretended) Names(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, fmt.Errorf("%w: no server of the cluster", ErrUnavailable)
	}
	return slices.Sorted(maps.Keys(c.indexes)), nil
}

func (c *pretended) Indexes(ctx context.Context) ([]client.Index, error) {
	names, err := c.Names(ctx)
	all := []client.Index{}
	for _, name := range names {
		x := c.indexes[name]
		n, err := x.Count(ctx, riffle.All{}, Reading{})
		if err != nil {
			return nil, err
		}
		all = append(all, client.Index{Name: name, Documents: uint64(n), Shards: x.shards, Replicas: 2})
	}
	return all, err
}

func (c *pretended) Index(_ context.Context, name string) (Index, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.indexes[name]; x != nil {
		return x, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoIndex, name)
}

func (c *pretended) Create(_ context.Context, name string, o *client.NewIndex) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexes[name] != nil {
		return fmt.Errorf("%w: %s", ErrExists, name)
	}
	e, err := riffle.Open(c.t.TempDir(), &riffle.Options{Schema: o.Schema, Durability: riffle.SyncNone})
	if err != nil {
		return err
	}
	c.t.Cleanup(func() { e.Close() })
	c.indexes[name] = &pretendedIndex{engineReader: engineReader{e}, shards: max(o.Shards, 1)}
	return nil
}

func (c *pretended) Drop(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexes[name] == nil {
		return fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	delete(c.indexes, name)
	return nil
}

func (c *pretended) Status(context.Context) (*client.ClusterStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := &client.ClusterStatus{Nodes: []client.ClusterNode{}, Indexes: []client.ClusterIndex{}, Faults: []string{"node b does not answer"}}
	st.Nodes = append(st.Nodes, client.ClusterNode{Name: "a", Up: true, Started: time.Unix(1e9, 0).UTC(), Program: "v1", Replicas: 3, Bytes: 4096}, client.ClusterNode{Name: "b", Drained: true})
	for _, name := range slices.Sorted(maps.Keys(c.indexes)) {
		x := client.ClusterIndex{Name: name, Ready: true}
		for i := range c.indexes[name].shards {
			s := client.ClusterShard{Log: client.ClusterLog{First: 1, Last: 1200, Bytes: 5000, Full: 1 << 20, Leader: "a"}}
			if i == 1 {
				s.Log = client.ClusterLog{Fault: "nobody answers"}
			}
			s.Replicas = append(s.Replicas, client.ClusterReplica{Node: "a", State: "running", Sequence: 1190, Durable: 1100, Lag: 10, Documents: 7, Bytes: 4096})
			s.Replicas = append(s.Replicas, client.ClusterReplica{Node: "b", State: "silent", Lag: 1200, Differs: []string{"a"}})
			x.Shards = append(x.Shards, s)
		}
		st.Indexes = append(st.Indexes, x)
	}
	return st, nil
}

type pretendedIndex struct {
	engineReader
	shards int

	mu      sync.Mutex
	changes int
	asked   []string // tokens of requests
}

// allows checks a token, which is t and the number of changes it stands for.
func (x *pretendedIndex) allows(r Reading) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, r.Token)
	for token := range strings.SplitSeq(r.Token, ",") {
		var n int
		if _, err := fmt.Sscanf(token, "t%d", &n); token != "" && (err != nil || n > x.changes) {
			return fmt.Errorf("%w: the token %q is of another index", ErrRequest, token)
		}
	}
	return nil
}

func (x *pretendedIndex) Document(ctx context.Context, id string, r Reading) (riffle.Document, error) {
	if err := x.allows(r); err != nil {
		return riffle.Document{}, err
	}
	d, err := x.engineReader.Document(ctx, id, Reading{})
	d.Version = 0
	return d, err
}

func (x *pretendedIndex) Search(ctx context.Context, q riffle.Query, o *SearchOptions) (*Found, error) {
	if err := x.allows(o.Reading); err != nil {
		return nil, err
	}
	if o.Profile != nil {
		return nil, fmt.Errorf("%w: profiles", ErrUnsupported)
	}
	plain := *o
	plain.Reading = Reading{}
	f, err := x.engineReader.Search(ctx, q, &plain)
	if f != nil {
		if o.AllowMissing {
			f.Missing, f.TotalExact = []client.MissingShard{{Shard: 1, Fault: "nobody answers"}}, false
		}
		f.Executor = fmt.Sprint(x.shards, " shards")
		hits := f.Hits
		f.Cursor = func(i int) (client.Cursor, error) { return client.Cursor(hits[i].Cursor.String()), nil }
	}
	return f, err
}

func (x *pretendedIndex) Count(ctx context.Context, q riffle.Query, r Reading) (int, error) {
	if err := x.allows(r); err != nil {
		return 0, err
	}
	return x.engineReader.Count(ctx, q, Reading{})
}

func (x *pretendedIndex) Explain(ctx context.Context, q riffle.Query, id string, r Reading) (*riffle.Explanation, error) {
	if err := x.allows(r); err != nil {
		return nil, err
	}
	return x.engineReader.Explain(ctx, q, id, Reading{})
}

func (x *pretendedIndex) Write(ctx context.Context, b *riffle.Batch, token string) (*Written, error) {
	if err := x.allows(Reading{Token: token}); err != nil {
		return nil, err
	}
	if err := x.Validate(ctx, b); err != nil {
		return nil, err
	}
	changes, err := b.Encode()
	if err != nil {
		return nil, err
	}
	w := &Written{Outcomes: make([]error, len(changes))}
	for i, change := range changes {
		switch {
		case strings.HasPrefix(change.ID, "unknown"):
			w.Outcomes[i] = fmt.Errorf("%w: no answer", ErrUnknown)
			continue
		case strings.HasPrefix(change.ID, "large"):
			w.Outcomes[i] = fmt.Errorf("%w: 2 MB", ErrTooLarge)
			continue
		case strings.HasPrefix(change.ID, "gone"):
			return nil, errors.New("the cluster is gone")
		}
		var one riffle.Batch
		if err := errors.Join(one.AddEncoded(change.Data), x.Apply(ctx, &one)); err != nil {
			return nil, err
		}
		x.mu.Lock()
		x.changes++
		x.mu.Unlock()
	}
	w.Token = fmt.Sprint("t", x.changes)
	return w, nil
}

// TestCluster sends the requests of testdata/cluster to a server with a cluster. Answers must be as the OpenAPI document
// says. The command down takes the cluster away.
func TestCluster(t *testing.T) {
	c := readTheContract(t)
	datadriven.Walk(t, "testdata/cluster", func(t *testing.T, path string) {
		cluster := &pretended{t: t, indexes: map[string]*pretendedIndex{}}
		s, err := New(&Options{Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "http":
				return printAnswer(t, exchange(t, c, s, readRequest(t, d.Input)))
			case "page":
				r := httptest.NewRequestWithContext(t.Context(), "GET", d.Input, nil)
				r.Host = "localhost"
				res := send(s, r)
				body, err := readAll(&res.Body)
				if err != nil {
					t.Fatal(err)
				}
				var found []string
				for _, a := range d.CmdArgs {
					for _, text := range a.Vals {
						found = append(found, fmt.Sprintf("%s: %v", text, strings.Contains(string(body), text)))
					}
				}
				return fmt.Sprintln(res.StatusCode) + strings.Join(found, "\n")
			case "figures":
				r := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
				r.Host = "localhost"
				res := send(s, r)
				body, err := readAll(&res.Body)
				if err != nil {
					t.Fatal(err)
				}
				var found strings.Builder
				for line := range strings.Lines(string(body)) {
					if strings.HasPrefix(line, d.Input) {
						found.WriteString(line)
					}
				}
				return found.String()
			case "down":
				cluster.mu.Lock()
				cluster.down = true
				cluster.mu.Unlock()
				return ""
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// TestSession: the reads of a session have the token of its changes, and those of others have none.
func TestSession(t *testing.T) {
	cluster := &pretended{t: t, indexes: map[string]*pretendedIndex{}}
	s, err := New(&Options{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	h := httptest.NewServer(s)
	defer h.Close()
	ctx, other := t.Context(), client.New(h.URL, nil)
	c := other.Session()
	must(t, c.CreateSharded(ctx, "books", &client.NewIndex{Shards: 2}))
	must(t, c.Put(ctx, "books", "moby", map[string]any{"title": "Moby Dick"}))
	_, err = c.Search(ctx, "books", &client.SearchRequest{})
	must(t, err)
	must(t, c.Delete(ctx, "books", "moby"))
	w := c.Writer(ctx, "books", &client.WriterOptions{Changes: 1})
	for i := range 3 {
		must(t, w.Put(fmt.Sprint(i), map[string]any{"n": i}))
	}
	sum, err := w.Close()
	must(t, err)
	_, err = c.Document(ctx, "books", "1")
	must(t, err)
	_, err = other.Count(ctx, "books", &client.CountRequest{})
	must(t, err)
	_, err = other.SearchAfter(ctx, "books", sum.Token, &client.SearchRequest{})
	must(t, err)
	if got, want := fmt.Sprint(cluster.indexes["books"].asked), "[ t1 t1 t2 t3 t4 t5  t5]"; got != want {
		t.Errorf("requests had the tokens %s, want %s", got, want)
	}
	must(t, c.DropIndex(ctx, "books"))
	must(t, c.CreateSharded(ctx, "books", &client.NewIndex{Shards: 2}))
	_, err = c.Search(ctx, "books", &client.SearchRequest{})
	must(t, err)
}

// TestClusterOrDir: new indexes are made in one place.
func TestClusterOrDir(t *testing.T) {
	if s, err := New(&Options{Cluster: &pretended{t: t}, Dir: t.TempDir()}); err == nil {
		s.Close(t.Context())
		t.Error("a server has both")
	}
}
