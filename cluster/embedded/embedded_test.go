package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/oplog/oplogtest"
	"github.com/riffle-search/riffle/cluster/writer"
)

// A trio is three servers of this process that form a cluster.
type trio struct {
	t       *testing.T
	options [3]embedded.Options
	servers [3]*embedded.Server
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	c := &trio{t: t}
	dir := t.TempDir()
	var addresses []string
	for range c.servers { // every server must know all from the beginning
		addresses = append(addresses, freeAddress(t))
	}
	for i := range c.servers {
		name := fmt.Sprint("n", i)
		c.options[i] = embedded.Options{Name: name, Dir: filepath.Join(dir, name), Cluster: "test", Listen: addresses[i], Routes: addresses, MaxBytes: 8 << 30}
	}
	for i := range c.servers {
		c.start(i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.Close()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, s := range c.servers {
		if err := s.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *trio) start(i int) {
	c.t.Helper()
	var err error
	if c.servers[i], err = embedded.Start(c.options[i]); err != nil {
		c.t.Fatal(err)
	}
}

func (c *trio) connect(i int) jetstream.JetStream {
	c.t.Helper()
	conn, err := c.servers[i].Connect()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	return js
}

// TestThreeCopies runs the tests of logs on streams of three copies.
func TestThreeCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take some seconds to start")
	}
	c := newTrio(t)
	js := c.connect(1)
	shard := 0
	oplogtest.Run(t, func(t *testing.T, limit int) oplog.Log {
		shard++
		l, err := jetlog.Create(t.Context(), js, jetlog.Config{Index: "books", Shard: shard, Replicas: 3, MaxBytes: max(int64(limit), 1<<20)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

// TestRevived: a server that has switched JetStream off switches it on again, and has the entries that it
// missed.
func TestRevived(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take some seconds to start")
	}
	c := newTrio(t)
	js := c.connect(1)
	log, err := jetlog.Create(t.Context(), js, jetlog.Config{Index: "books", Replicas: 3, MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	after := uint64(0)
	put := func(n int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			s, err := log.Append(ctx, "a", after, oplog.Message{ID: fmt.Sprint(n)})
			cancel()
			if err == nil {
				after = s
				return
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	for n := range 10 {
		put(n)
	}
	if err := c.servers[2].SwitchOff(); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		put(10 + n)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		stream, err := js.Stream(t.Context(), "RIFFLE_books_0_0")
		if err == nil {
			current := 0
			for _, r := range stream.CachedInfo().Cluster.Replicas {
				if r.Current && !r.Offline {
					current++
				}
			}
			if current == 2 {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%+v: %v", stream, err)
		}
	}
	c.servers[0].Close() // of three copies the revived one is needed now
	c.start(0)
	put(20)
	if b, err := log.Bounds(t.Context()); err == nil && b.Last != 21 {
		t.Errorf("the log ends with entry %d", b.Last)
	}
}

// TestLostServers stops one server after the other, while changes are written through another one.
// Every change that was acknowledged is in the log afterwards, once.
func TestLostServers(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take some seconds to start")
	}
	c := newTrio(t)
	log, err := jetlog.Create(t.Context(), c.connect(0), jetlog.Config{Index: "books", Replicas: 3, MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w := writer.New(log, writer.Options{Lanes: 2, Attempt: time.Second})
	defer w.Close()
	stop := make(chan struct{})
	var done sync.Map // by id
	var writers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("w%d-%d", i, n)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				o := w.Write(ctx, []writer.Change{{ID: id, Data: []byte(id)}})[0]
				cancel()
				if o.Err != nil {
					t.Errorf("%s: %v", id, o.Err)
					return
				}
				done.Store(id, o.Sequence)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, i := range []int{1, 2} {
		time.Sleep(200 * time.Millisecond)
		c.servers[i].Close()
		time.Sleep(300 * time.Millisecond)
		c.start(i)
		if err := c.servers[i].WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writers.Wait()
	b, err := log.Bounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for e, err := range log.Read(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := oplog.Parse(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		for change, err := range oplog.EachChange(r.Body) {
			if err != nil {
				t.Fatal(err)
			}
			found[string(change)]++
		}
		if e.Sequence == b.Last {
			break
		}
	}
	n := 0
	done.Range(func(id, _ any) bool {
		n++
		if found[id.(string)] != 1 {
			t.Errorf("%s is in the log %d times", id, found[id.(string)])
		}
		return true
	})
	if n < 20 {
		t.Errorf("%d changes were written", n)
	}
}

func TestOptions(t *testing.T) {
	for i, o := range []embedded.Options{
		{}, {Name: "a"}, {Name: "a", Dir: t.TempDir(), Listen: "127.0.0.1:0"},
		{Name: "a", Dir: t.TempDir(), Cluster: "c", Listen: "here"}, {Name: "a", Dir: t.TempDir(), Clients: "127.0.0.1:x"},
	} {
		if s, err := embedded.Start(o); err == nil {
			s.Close()
			t.Errorf("%d: %+v was accepted", i, o)
		}
	}
}

// TestAlone starts a server for clients of other processes, and one without.
func TestAlone(t *testing.T) {
	for _, clients := range []string{"", "127.0.0.1:0"} {
		s, err := embedded.Start(embedded.Options{Name: "a", Dir: t.TempDir(), Clients: clients})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		c, err := s.Connect()
		if err := errors.Join(err, s.WaitReady(ctx)); err != nil {
			t.Fatal(err)
		}
		c.Close()
		s.Close()
	}
}
