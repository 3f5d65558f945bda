package access_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/access"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A guarded is a server with a user of each role.
type guarded struct {
	t      *testing.T
	server *embedded.Server
	seeds  map[string]string // by name
	epoch  uint64
}

// people are the users of tests.
var people = []access.User{
	{Name: "reader", Roles: []access.Role{access.Reader}}, {Name: "writer", Roles: []access.Role{access.Writer}},
	{Name: "controller", Roles: []access.Role{access.Controller}}, {Name: "a", Roles: []access.Role{access.Node}},
	{Name: "b", Roles: []access.Role{access.Node}}, {Name: "both", Roles: []access.Role{access.Reader, access.Writer}},
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, seeds: map[string]string{}}
	var users []access.User
	for _, p := range people {
		u, seed, err := access.NewUser(p.Name, p.Roles...)
		if err != nil {
			t.Fatal(err)
		}
		g.seeds[p.Name] = seed
		users = append(users, u)
	}
	var err error
	g.server, err = embedded.Start(embedded.Options{Name: "test", Dir: t.TempDir(), Clients: "127.0.0.1:0", Users: users, MaxBytes: 8 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.server.Close)
	return g
}

// connect connects as a user. refused returns what it was not allowed.
func (g *guarded) connect(name string) (c *nats.Conn, refused func() []string) {
	g.t.Helper()
	o, err := access.Options(g.seeds[name])
	if err != nil {
		g.t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	o = append(o, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			mu.Lock()
			all = append(all, err.Error())
			mu.Unlock()
		}
	}))
	if c, err = nats.Connect("nats://"+g.server.ClientAddress(), o...); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(c.Close)
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func (g *guarded) client(name string) *cluster.Client {
	g.t.Helper()
	conn, _ := g.connect(name)
	c, err := cluster.Connect(g.t.Context(), conn, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// TestRoles runs a cluster in which everybody has the key of its role, and then tries everything as everybody.
func TestRoles(t *testing.T) {
	g := newGuarded(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		conn, refused := g.connect(name)
		n, err := node.Start(t.Context(), node.Options{Name: name, Dir: filepath.Join(dir, name), Conn: conn, Engine: riffle.Options{Durability: riffle.SyncNone}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		defer func() {
			if lacks := refused(); lacks != nil {
				t.Errorf("node %s lacks rights: %q", name, lacks)
			}
		}()
	}
	controller := g.client("controller")
	err := controller.Create(t.Context(), cluster.IndexOptions{Name: "books", Shards: 2, Replicas: 2, Nodes: []string{"a", "b"}, LogBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	written, err := g.index("writer").Write(t.Context(), put("moby", map[string]any{"title": "Moby Dick"}))
	if err != nil || written.Err() != nil {
		t.Fatal(err, written.Err())
	}
	reader := g.index("reader")
	g.epoch = written.Token.Epoch
	r, err := reader.Search(t.Context(), riffle.Match{Field: "title", Text: "moby"}, &cluster.SearchOptions{Token: written.Token})
	if err != nil || len(r.Hits) != 1 {
		t.Errorf("a search finds %v: %v", r, err)
	}
	if _, err := reader.Get(t.Context(), "moby", cluster.GetOptions{Token: written.Token}); err != nil {
		t.Error(err)
	}
	if _, err := g.index("both").Get(t.Context(), "moby", cluster.GetOptions{Linearizable: true}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"reader", "controller"} {
		c := g.client(name)
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) { // a replica may still open
			st, err := c.Status(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(st.Faults()) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Errorf("%s: faults %q", name, st.Faults())
				break
			}
		}
		if names, err := c.Indexes(t.Context()); err != nil || !slices.Equal(names, []string{"books"}) {
			t.Errorf("%s: indexes %v: %v", name, names, err)
		}
	}
	g.tryAll()
	if err := controller.Drop(t.Context(), "books"); err != nil {
		t.Error(err)
	}
}

func put(id string, doc any) *riffle.Batch {
	b := new(riffle.Batch)
	b.Put(id, doc)
	return b
}

func (g *guarded) index(name string) *cluster.Index {
	g.t.Helper()
	x, err := g.client(name).Index(g.t.Context(), "books")
	if err != nil {
		g.t.Fatal(err)
	}
	return x
}

// tryAll tries each deed as each user.
func (g *guarded) tryAll() {
	stream, shard := fmt.Sprintf("RIFFLE_books_%d_0", g.epoch), 0
	everybody := []string{"reader", "writer", "controller", "a", "b", "both"}
	deeds := []struct {
		what string
		may  []string
		// A deed publishes a request, or subscribes.
		publish, subscribe string
		data               string
	}{
		{"read the map", everybody, "$JS.API.STREAM.MSG.GET.KV_RIFFLE_MAP", "", `{"last_by_subj":"$KV.RIFFLE_MAP.books"}`},
		{"see the end of a log", everybody, "$JS.API.STREAM.INFO." + stream, "", ""},
		{"change the map", []string{"controller"}, "$KV.RIFFLE_MAP.other", "", "{}"},
		{"register as a", []string{"controller", "a"}, "$KV.RIFFLE_MAP.node.a", "", ""},
		{"append to a log", []string{"writer", "both"}, fmt.Sprintf("riffle.books.w.%d.0.lane", g.epoch), "", "x"},
		{"read a log by a consumer", []string{"controller", "a", "b"}, "$JS.API.CONSUMER.CREATE." + stream + ".c", "", `{"stream_name":"` + stream + `","config":{"name":"c","mem_storage":true,"inactive_threshold":1000000000}}`},
		{"read the map by a consumer", []string{"controller", "a", "b"}, "$JS.API.CONSUMER.CREATE.KV_RIFFLE_MAP.c", "", `{"stream_name":"KV_RIFFLE_MAP","config":{"name":"c","mem_storage":true,"inactive_threshold":1000000000}}`},
		{"take messages of a consumer", []string{"controller", "a", "b"}, "$JS.API.CONSUMER.MSG.NEXT." + stream + ".c", "", `{"no_wait":true,"batch":1}`},
		{"read a message", []string{"writer", "both", "controller", "a", "b"}, "$JS.API.STREAM.MSG.GET." + stream, "", `{"seq":1}`},
		{"make a stream", []string{"controller"}, "$JS.API.STREAM.CREATE.other", "", `{"name":"other","subjects":["other"]}`},
		{"empty a log", []string{"controller"}, "$JS.API.STREAM.PURGE.none", "", ""},
		{"delete a log", []string{"controller"}, "$JS.API.STREAM.DELETE.none", "", ""},
		{"list all streams", []string{"controller"}, "$JS.API.STREAM.NAMES", "", ""},
		{"search", []string{"reader", "controller", "both"}, remote.Subject("books", g.epoch, shard, "a"), "", `{"v":1,"verb":"ping"}`},
		{"ask node b", []string{"reader", "controller", "a", "b", "both"}, heartbeat.AskSubject("b"), "", ""},
		{"order node a about", []string{"controller", "a", "b"}, heartbeat.DoSubject("a"), "", "{}"},
		{"order copies of a backup", []string{"controller", "a", "b"}, heartbeat.DoSubject("restore-x"), "", "{}"},
		{"give copies of a backup", []string{"controller"}, "", heartbeat.DoSubject("restore-x"), ""},
		{"hear orders to node a", []string{"a"}, "", heartbeat.DoSubject("a"), ""},
		{"beat as a", []string{"a"}, heartbeat.BeatSubject("a"), "", "{}"},
		{"beat as b", []string{"b"}, heartbeat.BeatSubject("b"), "", "{}"},
		{"hear beats", []string{"reader", "controller", "a", "b", "both"}, "", heartbeat.BeatSubject("*"), ""},
		{"hear searches for a", []string{"a"}, "", remote.Subject("books", g.epoch, shard, "a"), ""},
		{"hear all searches", nil, "", "riffle.*.q.>", ""},
		{"hear writes", nil, "", "riffle.*.w.>", ""},
		{"hear changes of the map", nil, "", "$KV.>", ""},
		{"hear replies to others", nil, "", "_INBOX.>", ""},
		{"hear everything", nil, "", ">", ""},
		{"publish anything else", nil, "other", "", ""},
		{"publish replies to others", nil, "_INBOX.other", "", ""},
		{"use the system", nil, "$SYS.REQ.SERVER.PING", "", ""},
	}
	for _, name := range everybody {
		conn, refused := g.connect(name)
		for i, d := range deeds {
			before := len(refused())
			if d.publish != "" {
				if err := conn.PublishRequest(d.publish, conn.NewInbox(), []byte(d.data)); err != nil {
					g.t.Fatal(err)
				}
			} else if s, err := conn.SubscribeSync(d.subscribe); err != nil {
				g.t.Fatal(err)
			} else {
				defer s.Unsubscribe()
			}
			// Nobody may do this; what is refused is told in order.
			end := fmt.Sprint("end.", i)
			if err := conn.Publish(end, nil); err != nil {
				g.t.Fatal(err)
			}
			var told []string
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
				if told = refused()[before:]; len(told) > 0 && strings.Contains(told[len(told)-1], `"`+end+`"`) {
					break
				}
				if time.Now().After(deadline) {
					g.t.Fatalf("%s can publish %s", name, end)
				}
			}
			if got := len(told) == 1; got != slices.Contains(d.may, name) {
				g.t.Errorf("%s can %s: %v", name, d.what, got)
			}
		}
	}
}

// books starts node a, and creates index books there, of one shard.
func (g *guarded) books() *node.Node {
	g.t.Helper()
	conn, _ := g.connect("a")
	n, err := node.Start(g.t.Context(), node.Options{Name: "a", Dir: g.t.TempDir(), Conn: conn, Engine: riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(n.Close)
	if err := g.client("controller").Create(g.t.Context(), cluster.IndexOptions{Name: "books", Shards: 1, Replicas: 1, Nodes: []string{"a"}, LogBytes: 64 << 20}); err != nil {
		g.t.Fatal(err)
	}
	return n
}

// TestNoRightNoEffect: what a program must not do has no effect, and it does not wait for ever.
func TestNoRightNoEffect(t *testing.T) {
	g := newGuarded(t)
	g.books()
	conn, _ := g.connect("a")
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if w, err := g.index("reader").Write(short(), put("x", map[string]any{"n": 1})); err == nil && w.Err() == nil {
		t.Error("a reader writes")
	}
	if _, err := g.index("writer").Search(short(), riffle.All{}, nil); err == nil {
		t.Error("a writer searches")
	}
	if _, err := g.index("reader").Get(short(), "x", cluster.GetOptions{Linearizable: true}); err == nil || errors.Is(err, riffle.ErrNotFound) {
		t.Errorf("a reader appends a barrier: %v", err)
	}
	if err := g.client("writer").Drop(short(), "books"); err == nil {
		t.Error("a writer drops an index")
	}
	if count, err := g.index("controller").Count(t.Context(), riffle.All{}, nil); err != nil || count != 0 {
		t.Errorf("%d documents: %v", count, err)
	}
	// Node b with the key of a.
	if n, err := node.Start(short(), node.Options{Name: "b", Dir: t.TempDir(), Conn: conn}); err == nil {
		n.Close()
		t.Error("a node starts under the name of another")
	}
	m, err := topology.Open(t.Context(), streams(t, conn), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Node(t.Context(), "b"); !errors.Is(err, topology.ErrNoNode) {
		t.Errorf("node b is registered: %v", err)
	}
}

func streams(t *testing.T, c *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestStrangers: without a key, or with one that the server does not know, nobody connects.
func TestStrangers(t *testing.T) {
	g := newGuarded(t)
	url := "nats://" + g.server.ClientAddress()
	if c, err := nats.Connect(url); err == nil {
		c.Close()
		t.Error("a client without a key is let in")
	}
	_, seed, err := access.NewUser("stranger", access.Controller)
	if err != nil {
		t.Fatal(err)
	}
	o, err := access.Options(seed)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := nats.Connect(url, o...); err == nil {
		c.Close()
		t.Error("a client with an unknown key is let in")
	}
}

func TestUsers(t *testing.T) {
	u, seed, err := access.NewUser("n1", access.Node, access.Writer)
	if err != nil || !strings.HasPrefix(seed, "SU") {
		t.Fatal(seed, err)
	}
	users, err := access.ReadUsers(strings.NewReader("# people\n\n" + u.Line()))
	if err != nil || len(users) != 1 || fmt.Sprint(users[0]) != fmt.Sprint(u) {
		t.Errorf("read %v: %v", users, err)
	}
	for _, text := range []string{"n1", "n1 node", "n1 boss " + u.Key, "n.1 node " + u.Key, "n1 node UABC", u.Line() + u.Line(), "n1  " + u.Key} {
		if users, err := access.ReadUsers(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %v", text, users)
		}
	}
}
