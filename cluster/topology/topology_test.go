package topology_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/topology"
)

func jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
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
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func open(t *testing.T) *topology.Map {
	t.Helper()
	m, err := topology.Open(t.Context(), jetStream(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMap(t *testing.T) {
	m := open(t)
	x := &topology.Index{
		Name: "books", LogCopies: 1, Nodes: [][]string{{"a", "b"}, {"b"}},
		Schema: &riffle.Schema{Fields: map[string]riffle.Field{"n": {Type: riffle.FieldNumber}}},
	}
	if err := m.Create(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := m.Create(t.Context(), x); !errors.Is(err, topology.ErrExists) {
		t.Error(err)
	}
	got, err := m.Get(t.Context(), "books")
	if err != nil || got.Epoch == 0 || !reflect.DeepEqual(got.Nodes, x.Nodes) || got.Schema.Fields["n"].Type != riffle.FieldNumber {
		t.Errorf("%+v: %v", got, err)
	}
	if names, err := m.List(t.Context()); err != nil || !reflect.DeepEqual(names, []string{"books"}) {
		t.Errorf("%v: %v", names, err)
	}
	ahead := uint64(time.Now().Add(time.Hour).UnixNano()) // by the clock of another program
	next := &topology.Index{Name: "next", LogCopies: 1, Nodes: x.Nodes, Reindexes: ahead}
	if err := m.Create(t.Context(), next); err != nil || next.Epoch <= ahead {
		t.Errorf("epoch %d after %d: %v", next.Epoch, ahead, err)
	}
	for name, bad := range map[string]func(*topology.Index) error{
		"shards": func(x *topology.Index) error { x.Nodes = x.Nodes[:1]; return nil },
		"name":   func(x *topology.Index) error { x.Name = "other"; return nil },
		"nodes":  func(x *topology.Index) error { x.Nodes[0] = []string{"a", "a"}; return nil },
		"error":  func(*topology.Index) error { return errors.New("no") },
	} {
		if err := m.Update(t.Context(), "books", bad); err == nil {
			t.Errorf("%s was changed", name)
		}
	}
	if err := m.Delete(t.Context(), "books", got.Epoch-1); !errors.Is(err, topology.ErrNoIndex) {
		t.Errorf("one of another epoch: %v", err)
	}
	if err := m.Delete(t.Context(), "books", got.Epoch); err != nil {
		t.Error(err)
	}
	for _, err := range []error{m.Delete(t.Context(), "books", got.Epoch), m.Update(t.Context(), "books", nil), m.Delete(t.Context(), "a.b", 1)} {
		if !errors.Is(err, topology.ErrNoIndex) {
			t.Error(err)
		}
	}
	epoch := got.Epoch
	if err := m.Create(t.Context(), x); err != nil || x.Epoch <= epoch {
		t.Errorf("created again with epoch %d, before %d: %v", x.Epoch, epoch, err)
	}
}

// TestUpdates lets many programs change one index at once: no change is lost.
func TestUpdates(t *testing.T) {
	m := open(t)
	if err := m.Create(t.Context(), &topology.Index{Name: "books", LogCopies: 1, Nodes: [][]string{{}}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			err := m.Update(t.Context(), "books", func(x *topology.Index) error {
				x.Nodes[0] = append(x.Nodes[0], fmt.Sprint("n", i))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	x, err := m.Get(t.Context(), "books")
	if err != nil || len(x.Nodes[0]) != 8 {
		t.Errorf("%+v: %v", x, err)
	}
}

func TestWatch(t *testing.T) {
	m := open(t)
	create := func(name string) {
		if err := m.Create(t.Context(), &topology.Index{Name: name, LogCopies: 1, Nodes: [][]string{{"a"}}}); err != nil {
			t.Error(err)
		}
	}
	create("before")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	if err := m.Register(t.Context(), "a", "its directory", false); err != nil { // no index
		t.Fatal(err)
	}
	var before uint64
	loaded := func() { told = append(told, "loaded") }
	err := m.Watch(ctx, topology.Watcher{Loaded: loaded, Index: func(name string, x *topology.Index, _ uint64) {
		told = append(told, fmt.Sprint(name, " ", x != nil))
		switch len(told) {
		case 1:
			before = x.Epoch
			create("after")
		case 3:
			if err := m.Delete(t.Context(), "before", before); err != nil {
				t.Error(err)
			}
		case 4:
			cancel()
		}
	}})
	if want := []string{"before true", "loaded", "after true", "before false"}; !errors.Is(err, context.Canceled) || !reflect.DeepEqual(told, want) {
		t.Errorf("%q: %v", told, err)
	}
}

func TestPlace(t *testing.T) {
	nodes := []string{"a", "b", "c", "d", "e"}
	places, err := topology.Place("books", 13, 3, nodes)
	if err != nil {
		t.Fatal(err)
	}
	load := map[string]int{}
	for i, p := range places {
		seen := map[string]bool{}
		for _, n := range p {
			load[n]++
			seen[n] = true
		}
		if len(seen) != 3 {
			t.Errorf("shard %d is on %q", i, p)
		}
	}
	for _, n := range nodes {
		if load[n] < 7 || load[n] > 8 {
			t.Errorf("node %s has %d replicas of %d", n, load[n], 13*3)
		}
	}
	again, err := topology.Place("books", 13, 3, []string{"e", "d", "c", "b", "a"})
	if err != nil || !reflect.DeepEqual(places, again) {
		t.Errorf("%v and %v: %v", places, again, err)
	}
	if _, err := topology.Place("books", 1, 6, nodes); err == nil {
		t.Error("six replicas on five nodes")
	}
}

// TestMembers moves the replica of a shard through the map.
func TestMembers(t *testing.T) {
	x := &topology.Index{Name: "books", LogCopies: 1, Nodes: [][]string{{"a", "b"}, {"b", "c"}}}
	for range 2 { // doing it again changes nothing
		x.Join(0, "c")
		x.Join(0, "b")
		if got := fmt.Sprint(x.Nodes, x.Joining, x.Members(0), x.Members(1), x.Check()); got != "[[a b] [b c]] [[c] []] [a b c] [b c] <nil>" {
			t.Error(got)
		}
	}
	for range 2 {
		if err := x.Replace(0, "a", "c"); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(x.Nodes, x.Joining, x.Check()); got != "[[b c] [b c]] [] <nil>" {
			t.Error(got)
		}
	}
	x.Join(1, "a")
	x.Remove(1, "a")
	if err := x.Replace(1, "b", "a"); err == nil || len(x.Nodes[1]) != 2 { // it was called off
		t.Error(err, x.Nodes)
	}
	x.Remove(1, "b")
	if got := fmt.Sprint(x.Nodes, x.Joining, x.Check()); got != "[[b c] [c]] [] <nil>" {
		t.Error(got)
	}
	x.Joining = [][]string{{"b"}, nil}
	if err := x.Check(); err == nil {
		t.Error("a node that is in a shard joins it")
	}
}

// TestRegister: a name belongs to one directory, until another one takes it.
func TestRegister(t *testing.T) {
	m := open(t)
	for _, c := range []struct {
		name, identity string
		replace        bool
		err            error
	}{
		{"a", "one", false, nil}, {"a", "one", false, nil}, {"a", "two", false, topology.ErrNameTaken}, {"b", "two", false, nil},
		{"a", "two", true, nil}, {"a", "one", false, topology.ErrNameTaken},
	} {
		if err := m.Register(t.Context(), c.name, c.identity, c.replace); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := m.Register(t.Context(), "a.b", "x", false); err == nil {
		t.Error("a name with a point")
	}
	if err := m.Register(t.Context(), "restore-a", "x", false); err == nil {
		t.Error("the name of a program that restores")
	}
	if err := m.UpdateNode(t.Context(), "b", func(n *topology.Node) error { n.Drained = true; return nil }); err != nil {
		t.Fatal(err)
	}
	all, err := m.Nodes(t.Context())
	if err != nil || len(all) != 2 || all[0].Identity != "two" || all[0].Drained || !all[1].Drained {
		t.Errorf("%+v: %v", all, err)
	}
	if _, err := m.Node(t.Context(), "c"); !errors.Is(err, topology.ErrNoNode) {
		t.Error(err)
	}
	if names, err := m.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("indexes %q: %v", names, err)
	}
}

// TestRead reads the map as a whole: indexes, and those that were removed, with the revisions that Watch tells.
func TestRead(t *testing.T) {
	m := open(t)
	for _, name := range []string{"a", "b", "c"} {
		if err := m.Create(t.Context(), &topology.Index{Name: name, LogCopies: 1, Nodes: [][]string{{"n"}}}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := m.Get(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), "b", b.Epoch); err != nil {
		t.Fatal(err)
	}
	if err := m.SetAlias(t.Context(), "d", "", "a"); err != nil {
		t.Fatal(err)
	}
	tell := func(all map[string]string) topology.Watcher {
		return topology.Watcher{
			Index:  func(name string, x *topology.Index, revision uint64) { all[name] = fmt.Sprint(x != nil, " ", revision) },
			Failed: func(name string, err error) { all[name] = "newer " + fmt.Sprint(errors.Is(err, topology.ErrNewer)) },
		}
	}
	read, watched := map[string]string{}, map[string]string{}
	if err := m.Read(t.Context(), tell(read)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := tell(watched)
	w.Loaded = cancel
	if err := m.Watch(ctx, w); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if want := map[string]string{"a": "true 1", "b": "false 4", "c": "true 3"}; !reflect.DeepEqual(read, want) || !reflect.DeepEqual(watched, want) {
		t.Errorf("read %v, watched %v", read, watched)
	}
}

// TestNewer: an entry that a newer release has written is not touched, and does not hide others.
func TestNewer(t *testing.T) {
	js := jetStream(t)
	m, err := topology.Open(t.Context(), js, 1)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"new": `{"v":2,"name":"new"}`, "node.new": `{"v":2}`, "alias.newer": `{"v":2}`} {
		if _, err := js.Publish(t.Context(), "$KV."+topology.Bucket+"."+key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Create(t.Context(), &topology.Index{Name: "old", LogCopies: 1, Nodes: [][]string{{"n"}}}); err != nil {
		t.Fatal(err)
	}
	_, err1 := m.Get(t.Context(), "new")
	_, err2 := m.Node(t.Context(), "new")
	_, err3 := m.Alias(t.Context(), "newer")
	err4 := m.Update(t.Context(), "new", func(*topology.Index) error { return nil })
	for _, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, topology.ErrNewer) {
			t.Error(err)
		}
	}
	all := map[string]string{}
	err = m.Read(t.Context(), topology.Watcher{
		Index:  func(name string, _ *topology.Index, _ uint64) { all[name] = "index" },
		Failed: func(name string, err error) { all[name] = "newer " + fmt.Sprint(errors.Is(err, topology.ErrNewer)) },
	})
	if want := map[string]string{"new": "newer true", "old": "index"}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%v: %v", all, err)
	}
}
