// Package cluster keeps an index on several machines: its documents are divided into shards, each shard
// has a replicated log on NATS JetStream, and replicas on several nodes read the log into ordinary riffle
// indexes.
//
// A Client creates indexes, writes and searches. It may be a node itself (package node) or not.
//
//	c, err := cluster.Connect(ctx, conn, nil)
//	err = c.Create(ctx, cluster.IndexOptions{Name: "books", Shards: 4, Replicas: 2, Nodes: nodes})
//	books, err := c.Index(ctx, "books")
//	written, err := books.Write(ctx, &batch)
//	r, err := books.Search(ctx, q, &cluster.SearchOptions{Token: written.Token})
//
// # What is promised
//
// A change whose outcome is without error is in the log of its shard on a quorum of disks, synced, if
// the servers run with SyncAlways. All replicas apply it in the order of the log. See package writer
// for what is known of others.
//
//	read                            sees
//	Search, Get                     what one replica of each shard has applied
//	with a Token                    that, and at least the changes that the token stands for
//	Get with Linearizable           all changes of the document acknowledged before the call
//
// Searches answer as one index of all documents would: see package scatter.
//
// # Operation
//
// Status says how nodes, logs and replicas are. Move, AddReplica, RemoveReplica, AddNode and Drain change where
// replicas are; a shard never has fewer than before meanwhile. Trim shortens logs, and Control does so now and
// then. Check compares replicas. TakeBackup and Restore keep an index outside of the cluster. Reindex divides it into
// another number of shards behind an alias, and AlterSchema changes its schema. Calls that take long
// can fail at any moment, with their program, a node or a server; the same call made again goes on or begins
// anew, as its comment says.
package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/topology"
	"github.com/riffle-search/riffle/cluster/writer"
)

// Options configure a Client. The zero value, and nil, have the defaults.
type Options struct {
	// Writer configures the writers of shards, but for Epoch and Schema.
	Writer writer.Options

	// Engine has the options of riffle that decide which documents can be indexed, such as Analyzers.
	// They must be those of the nodes.
	Engine riffle.Options

	// MapCopies is how many copies the map of the cluster has (package topology), if this client is the
	// first to need it: 1, 3 or 5, at most the number of servers; 0 is 1. Without a copy of the map no
	// index can be opened, created or dropped.
	MapCopies int

	// FollowEvery is how often the client looks where the replicas of its open indexes are, for which index an
	// alias stands, and which schema is in force; 0 is a second. It should be the same for all clients:
	// AlterSchema and Reindex wait twice as long for the others. A replica that moves answers for longer
	// (node.Options.LeaveAfter).
	FollowEvery time.Duration

	// CopyTLS is the configuration with which Backup and Reindex fetch copies of replicas, and Restore serves
	// some; see package copies. Without one they work with nodes of this machine only.
	CopyTLS *tls.Config
}

// A Client uses the indexes of a cluster. Its methods are safe for concurrent use.
type Client struct {
	conn *nats.Conn
	js   jetstream.JetStream
	m    *topology.Map
	o    Options

	stop    context.CancelFunc // ends following the map
	running sync.WaitGroup

	mu          sync.Mutex
	indexes     map[string]*Index        // by the name that they were asked for
	generations map[string]*generation   // by the name of the map
	opening     map[string]chan struct{} // closed when the index of that name of the map is open, or failed to
	closed      bool
}

// Connect returns a client that uses a connection, which the caller closes after the client.
func Connect(ctx context.Context, conn *nats.Conn, o *Options) (*Client, error) {
	c := &Client{conn: conn, indexes: map[string]*Index{}, generations: map[string]*generation{}, opening: map[string]chan struct{}{}}
	if o != nil {
		c.o = *o
	}
	if c.o.FollowEvery == 0 {
		c.o.FollowEvery = time.Second
	}
	var err error
	if c.js, err = jetstream.New(conn); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if c.m, err = topology.Open(ctx, c.js, max(c.o.MapCopies, 1)); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.running.Go(func() { c.follow(following) })
	return c, nil
}

// follow lets open indexes know what the map has, until ctx ends. It asks rather than watches, which needs less rights.
func (c *Client) follow(ctx context.Context) {
	tick := time.NewTicker(c.o.FollowEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		names := slices.Collect(maps.Keys(c.indexes))
		c.mu.Unlock()
		there := map[*generation]bool{}
		for _, name := range names {
			if ix, err := c.Index(ctx, name); err == nil { // what it cannot do now, the calls of the index will tell
				there[ix.now.Load()] = true
			}
		}
		c.closeGone(ctx, there)
	}
}

// closeGone closes what is open of indexes that are gone: dropped, or reindexed into others. Some are known to be there.
func (c *Client) closeGone(ctx context.Context, there map[*generation]bool) {
	c.mu.Lock()
	open := slices.Collect(maps.Values(c.generations))
	c.mu.Unlock()
	for _, g := range open {
		if there[g] {
			continue
		}
		x, err := c.m.Get(ctx, g.name)
		if err == nil && x.Epoch == g.epoch && !x.Dropped || err != nil && !errors.Is(err, topology.ErrNoIndex) {
			continue
		}
		c.mu.Lock()
		is := c.generations[g.name] == g
		if is {
			delete(c.generations, g.name)
		}
		c.mu.Unlock()
		if is {
			g.close() // its files are temporary
		}
	}
}

// ErrClosed says that a client is closed.
var ErrClosed = errors.New("cluster: the client is closed")

// Close ends the writers of the client. What is under way is not known then.
func (c *Client) Close() error {
	c.stop()
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for _, x := range c.generations {
		errs = append(errs, x.close())
	}
	clear(c.indexes)
	clear(c.generations)
	return errors.Join(errs...)
}

// IndexOptions describe a new index.
type IndexOptions struct {
	Name     string
	Shards   int      // 1 to topology.MaxShards; never changes
	Replicas int      // of each shard
	Nodes    []string // that may have replicas; empty for all that have registered, answer, and are not drained

	LogCopies int   // of the log of each shard: 1, 3 or 5; 0 is 1
	LogBytes  int64 // of each log: see jetlog.Config

	Keep topology.Keep // what stays in the logs although all replicas have it: see Client.Trim

	Schema *riffle.Schema // nil for one of any fields

	reindexes uint64 // epoch of the index that this one is made of
}

// Check returns an error if no cluster can have such an index.
func (o *IndexOptions) Check() error {
	if o.Shards < 1 || o.Shards > topology.MaxShards {
		return fmt.Errorf("cluster: %d shards; 1 to %d are allowed", o.Shards, topology.MaxShards)
	}
	places, err := topology.Place(o.Name, o.Shards, o.Replicas, o.Nodes)
	if err != nil {
		return err
	}
	return o.entry(places).Check()
}

// entry returns the entry of the map for a new index.
func (o *IndexOptions) entry(places [][]string) *topology.Index {
	return &topology.Index{Name: o.Name, LogCopies: max(o.LogCopies, 1), Nodes: places, Schema: o.Schema, Keep: o.Keep, Reindexes: o.reindexes}
}

// Create creates an index and waits until each of its shards answers. The error matches topology.ErrExists if
// there is an index of the name. When it fails nothing is left; if its program fails, Drop removes what is.
func (c *Client) Create(ctx context.Context, o IndexOptions) error {
	if len(o.Nodes) == 0 {
		v, err := c.look(ctx)
		if err != nil {
			return err
		}
		o.Nodes = v.fit()
	}
	if err := o.Check(); err != nil {
		return err
	}
	if err := c.finishDrop(ctx, o.Name); err != nil {
		return err
	}
	if err := c.noAlias(ctx, o.Name); err != nil {
		return err
	}
	places, err := topology.Place(o.Name, o.Shards, o.Replicas, o.Nodes)
	if err != nil {
		return err
	}
	x := o.entry(places)
	if err := c.m.Create(ctx, x); err != nil {
		if !errors.Is(err, topology.ErrExists) { // it may be there all the same
			err = errors.Join(err, c.undo(ctx, x))
		}
		return err
	}
	for i := range places {
		config := jetlog.Config{Index: o.Name, Epoch: x.Epoch, Shard: i, Replicas: x.LogCopies, MaxBytes: o.LogBytes}
		if _, err := jetlog.Create(ctx, c.js, config); err != nil {
			return errors.Join(err, c.undo(ctx, x))
		}
	}
	err = c.update(ctx, x, func(now *topology.Index) { now.Ready = true })
	if err == nil {
		err = c.answered(ctx, o.Name)
	}
	if err != nil {
		return errors.Join(err, c.shut(o.Name), c.undo(ctx, x))
	}
	return nil
}

// undo drops an index that could not be made. If somebody else has dropped it, some logs may have been made since.
func (c *Client) undo(ctx context.Context, x *topology.Index) error {
	ctx = context.WithoutCancel(ctx)
	err := c.drop(ctx, x)
	if errors.Is(err, topology.ErrNoIndex) {
		return c.dropLogs(ctx, x)
	}
	return err
}

// answered waits until a replica of each shard of an index answers.
func (c *Client) answered(ctx context.Context, name string) error {
	ix, err := c.Index(ctx, name)
	if err != nil {
		return err
	}
	for {
		_, err := ix.Count(ctx, riffle.All{}, nil)
		if !errors.Is(err, remote.ErrUnreachable) {
			return err
		}
		select {
		case <-time.After(answerPause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

const answerPause = 50 * time.Millisecond

// Drop removes an index with all its documents, and the alias if name is one. The error matches
// topology.ErrNoIndex if there is none of the name. If it fails midway, nobody sees the index any more; Drop
// again finishes it, and Create and Control do but for the alias. Nodes that are away remove their replicas
// when they come back.
func (c *Client) Drop(ctx context.Context, name string) error {
	a, err := c.m.Alias(ctx, name)
	if errors.Is(err, topology.ErrNoIndex) {
		x, err := c.m.Get(ctx, name)
		if err != nil {
			return err
		}
		return errors.Join(c.shut(name), c.drop(ctx, x))
	}
	if err != nil {
		return err
	}
	// The alias goes last: without it another call would not find the index.
	x, err := c.m.Get(ctx, a.Index)
	if err == nil {
		err = errors.Join(c.shut(a.Index), c.drop(ctx, x))
	}
	if err != nil && !errors.Is(err, topology.ErrNoIndex) { // dropped by an earlier call
		return err
	}
	return c.m.DeleteAlias(ctx, name)
}

// shut closes an index of the map.
func (c *Client) shut(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.generations[name]
	if open == nil {
		return nil
	}
	delete(c.generations, name)
	return open.close()
}

// drop lets nobody use an index any more, and then removes its logs and its entry of the map.
func (c *Client) drop(ctx context.Context, x *topology.Index) error {
	err := c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if now.Epoch != x.Epoch {
			return fmt.Errorf("%w: %s was dropped and created again", topology.ErrNoIndex, x.Name)
		}
		now.Ready, now.Dropped = false, true
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.dropLogs(ctx, x); err != nil {
		return err
	}
	return c.m.Delete(ctx, x.Name, x.Epoch)
}

// dropLogs removes the logs of an index, which are of its epoch alone.
func (c *Client) dropLogs(ctx context.Context, x *topology.Index) (err error) {
	for i := range x.Nodes {
		err = errors.Join(err, jetlog.Delete(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: i}))
	}
	return err
}

// finishDrop removes what a Drop that failed has left of an index, if there is something.
func (c *Client) finishDrop(ctx context.Context, name string) error {
	x, err := c.m.Get(ctx, name)
	if errors.Is(err, topology.ErrNoIndex) {
		return nil
	}
	if err != nil || !x.Dropped {
		return err
	}
	return c.drop(ctx, x)
}

// Indexes returns the names of all indexes, also of those that are being created or dropped.
func (c *Client) Indexes(ctx context.Context) ([]string, error) { return c.m.List(ctx) }

// Index returns an index of the cluster by its name, or by an alias, which goes before. It is open until the client
// is closed. The error matches topology.ErrNoIndex if there is none of the name.
func (c *Client) Index(ctx context.Context, name string) (*Index, error) {
	x, err := c.find(ctx, name)
	if err != nil {
		return nil, err
	}
	open, err := c.generation(ctx, x)
	if err != nil {
		return nil, err
	}
	if err := open.told(ctx, x); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	ix := c.indexes[name]
	if ix == nil {
		ix = &Index{c: c, name: name}
		c.indexes[name] = ix
	}
	ix.now.Store(open)
	return ix, nil
}

// generation returns the index of an entry of the map, open. Opening one asks servers, which may take long: it keeps
// only those waiting who want the same.
func (c *Client) generation(ctx context.Context, x *topology.Index) (*generation, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, ErrClosed
		}
		if open := c.generations[x.Name]; open != nil && (open.epoch == x.Epoch || open.seen.Load().Revision > x.Revision) {
			c.mu.Unlock()
			return open, nil
		}
		other := c.opening[x.Name]
		if other == nil {
			break
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	done := make(chan struct{})
	c.opening[x.Name] = done
	c.mu.Unlock()
	made, err := c.open(ctx, x)
	c.mu.Lock()
	delete(c.opening, x.Name)
	close(done)
	if err == nil && c.closed {
		err = ErrClosed
	}
	if err != nil {
		c.mu.Unlock()
		if made != nil {
			err = errors.Join(err, made.close())
		}
		return nil, err
	}
	before := c.generations[x.Name] // dropped, and created again
	c.generations[x.Name] = made
	c.mu.Unlock()
	if before != nil {
		err = before.close()
	}
	return made, err
}

// find returns the entry of the map for the name of an index or an alias.
func (c *Client) find(ctx context.Context, name string) (*topology.Index, error) {
	a, err := c.m.Alias(ctx, name)
	to := name
	switch {
	case err == nil:
		to = a.Index
	case !errors.Is(err, topology.ErrNoIndex):
		return nil, err
	}
	x, err := c.m.Get(ctx, to)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Dropped:
		return nil, fmt.Errorf("%w: %s", topology.ErrNoIndex, name)
	case !x.Ready:
		return nil, fmt.Errorf("%w: %s is being created", topology.ErrNoIndex, name)
	}
	return x, nil
}
