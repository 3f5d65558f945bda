// Package node runs the replicas that a cluster's map (package topology) gives to a node, and answers
// the requests of other nodes about them.
//
// A node watches the map. It opens a replica of a shard in DIR/INDEX/EPOCH/SHARD when the map names
// the node. A replica that stops for want of the log, or of its disk, starts again after a while.
// One that has nothing yet answers searches when it has what the log had when it opened; others answer at once.
//
// # Copies
//
// A replica takes a checkpoint of another one (package copies) if it needs entries that the log no longer
// has, if it is new and Options.CopyBehind entries behind another one, or if it has diverged. The copy goes to
// SHARD.copy; its files have the right checksums, the engine finds no fault in it (riffle.Engine.Check), and it
// stands at a position of the same log, before it takes the place of the replica, which then reads the log from there.
//
// # Quarantine
//
// A replica has diverged if its log is no longer the one that it has read (package replica), or if
// another replica has read something else. Nodes compare the digests of their replicas at equal
// positions once a second. If more than half of the replicas of a shard have one digest, the others
// have diverged. If no digest has such a majority, as with two replicas, each node reads the log from the
// last position at which they agreed, or from its beginning, and a replica whose digest is not that of the log
// has diverged. If the log has been trimmed behind that position nobody can decide: the replicas go on, and tell
// with which nodes they differ (Status, heartbeat).
//
// A replica that has diverged is in quarantine: it answers nothing. As soon as a copy of another one is
// there, or if the log still has its beginning, from which it can be read anew, the index is moved aside, to
// SHARD.diverged-TIME. It may have changes that the log has lost; nobody but a person removes it.
//
// # What is removed
//
// When the map no longer gives a replica to the node, it goes on answering until searches have given back their
// snapshots, for Options.LeaveAfter at least and Options.LeaveWithin at most, and is removed. When the index is gone,
// it is removed at once, also when the node hears of it later. At its start a node removes copies that were not
// finished. It removes nothing of indexes of which the map has never heard, because the map may be lost, and nothing
// that was moved aside.
package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/topology"
)

// Options configure a Node.
type Options struct {
	Name string     // of the node; unique in the cluster, and never given to another one
	Dir  string     // of its indexes
	Conn *nats.Conn // to the cluster; the caller closes it

	// Copies says where the node serves copies of its replicas to other nodes, and with which TLS; Dir is
	// the node's. The zero value serves those of this machine.
	Copies copies.ServerOptions

	// CopyBehind is how many entries behind another replica a new one must be to copy it rather than to
	// read the log from its beginning; 0 is 10,000.
	CopyBehind uint64

	LeaveAfter  time.Duration // how long a replica that is given to another node still answers; 0 is 2 s
	LeaveWithin time.Duration // how long it may while searches hold its snapshots; 0 is a minute

	// Engine has the options of the indexes, but for Schema and AlterSchema. MemoryBytes is that of each
	// replica.
	Engine riffle.Options

	// CacheBytes bounds what searches of all replicas keep in memory together: see riffle.Options.CacheBytes. 0 is
	// Engine.CacheBytes, or its default.
	CacheBytes int64

	// Server configures how each replica is searched.
	Server remote.ServerOptions

	MapCopies int // of the map of the cluster, if this node is the first to need it: 1, 3 or 5; 0 is 1

	// TakeName lets a node with a new directory take a name that is registered for another one: that of
	// a node which has lost its disk. The old one must not run any more.
	TakeName bool

	// CheckEvery is how often a replica compares the log with what it has read (package replica); 0 is a
	// second.
	CheckEvery time.Duration

	// MapEvery is how often the node reads the whole map, beside watching it; 0 is ten seconds.
	MapEvery time.Duration

	BeatEvery  time.Duration // how often the node tells about itself (package heartbeat); 0 is a second
	RetryAfter time.Duration // how long a replica waits before it starts again; 0 is a second
	Log        *slog.Logger  // nil for none
}

// A Node runs replicas. Its methods are safe for concurrent use.
type Node struct {
	cache    cacheBudget
	o        Options
	js       jetstream.JetStream
	m        *topology.Map
	instance string
	started  time.Time
	beats    atomic.Uint64
	cancel   context.CancelFunc
	ctx      context.Context
	running  sync.WaitGroup
	copies   *copies.Server
	view     *heartbeat.View
	deaf     func() error  // ends the answers to requests
	fetching chan struct{} // has a place for each copy that may be fetched at a time
	checking chan struct{} // has a place for the check that runs

	changing  sync.Mutex        // held while replicas are opened, closed and removed
	revisions map[string]uint64 // of what the map told last of an index, also of one that is gone

	mu      sync.Mutex
	indexes map[string]*topology.Index // as the map told last
	shards  map[place]*shard
}

// fetches is how many copies a node fetches at a time.
const fetches = 2

// A place is which replica a shard is.
type place struct {
	index string
	epoch uint64
	shard int
}

// comparePlaces orders replicas for people.
func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.shard, b.shard), cmp.Compare(a.epoch, b.epoch))
}

// Start starts a node and registers it in the map. The error matches topology.ErrNameTaken if another
// node has the name.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Name == "" || o.Dir == "" || o.Conn == nil {
		return nil, errors.New("node: Options lack the name, the directory or the connection")
	}
	orDefault(&o.RetryAfter, time.Second)
	orDefault(&o.BeatEvery, time.Second)
	orDefault(&o.MapEvery, 10*time.Second)
	orDefault(&o.LeaveAfter, 2*time.Second)
	orDefault(&o.LeaveWithin, time.Minute)
	orDefault(&o.CopyBehind, 10_000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	m, err := topology.Open(ctx, js, max(o.MapCopies, 1))
	if err != nil {
		return nil, err
	}
	identity, err := identify(o.Dir, o.Name)
	if err != nil {
		return nil, err
	}
	if err := m.Register(ctx, o.Name, identity, o.TakeName); err != nil {
		return nil, err
	}
	o.CacheBytes = cmp.Or(o.CacheBytes, o.Engine.CacheBytes, riffle.DefaultCacheBytes())
	n := &Node{
		o: o, cache: cacheBudget{bytes: o.CacheBytes}, js: js, m: m, instance: rand.Text(), started: time.Now().UTC(), fetching: make(chan struct{}, fetches), checking: make(chan struct{}, 1),
		revisions: map[string]uint64{}, indexes: map[string]*topology.Index{}, shards: map[place]*shard{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.listen(ctx); err != nil {
		n.Close()
		return nil, err
	}
	n.running.Go(n.run)
	n.running.Go(n.readMap)
	return n, nil
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// listen begins to serve copies, to answer requests, and to hear and tell how replicas are.
func (n *Node) listen(ctx context.Context) (err error) {
	o := n.o.Copies
	o.Dir, o.Log = filepath.Join(n.o.Dir, copiesFolder), n.o.Log
	if n.copies, err = copies.Serve(o); err != nil {
		return err
	}
	if n.view, err = heartbeat.Follow(n.o.Conn, nil); err != nil {
		return err
	}
	if n.deaf, err = call.Listen(n.o.Conn, n.o.Name, n.answer); err != nil {
		return err
	}
	if err := n.tell(); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	// The server has not seen the subscriptions yet, and tells whoever asks until then that the node is not there.
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	if err := n.o.Conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

// knownWithin is how long the server may take to know that a node has started.
const knownWithin = 30 * time.Second

// Close closes all replicas. The files stay.
func (n *Node) Close() {
	n.cancel()
	var err error
	if n.deaf != nil {
		err = n.deaf()
	}
	n.running.Wait()
	if n.view != nil {
		err = errors.Join(err, n.view.Close())
	}
	if n.copies != nil {
		err = errors.Join(err, n.copies.Close())
	}
	if err != nil {
		n.o.Log.Warn("the node is closed, but for something", "error", err)
	}
}

// run follows the map until the node is closed.
func (n *Node) run() {
	for n.ctx.Err() == nil {
		err := n.m.Watch(n.ctx, n.watcher())
		if n.ctx.Err() == nil {
			n.o.Log.Warn("the map cannot be watched", "error", err)
			n.pause(n.ctx)
		}
	}
	n.changing.Lock() // from here on changed opens nothing
	n.mu.Lock()
	shards := slices.Collect(maps.Values(n.shards))
	n.mu.Unlock()
	n.changing.Unlock()
	for _, s := range shards {
		s.stop()
	}
}

func (n *Node) watcher() topology.Watcher {
	return topology.Watcher{Index: n.changed, Failed: func(name string, err error) {
		n.o.Log.Error("the map cannot be read; replicas stay as they are", "index", name, "error", err)
	}}
}

// readMap reads the map at the beginning, because a watch that starts while the map has no leader takes long to try
// again, and then now and then: the watch may have missed a change.
func (n *Node) readMap() {
	for {
		wait := n.o.MapEvery
		if err := n.m.Read(n.ctx, n.watcher()); err != nil && n.ctx.Err() == nil {
			n.o.Log.Warn("the map cannot be read", "error", err)
			wait = min(wait, n.o.RetryAfter)
		}
		select {
		case <-time.After(wait):
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) pause(ctx context.Context) {
	select {
	case <-time.After(n.o.RetryAfter):
	case <-ctx.Done():
	}
}

// A State is what a replica is doing.
type State string

const (
	Starting   State = "starting" // it opens, or waits to open again
	Running    State = "running"
	Copying    State = "copying"    // it fetches a copy of another replica
	Leaving    State = "leaving"    // it runs, but the map gives it to another node
	Quarantine State = "quarantine" // it has diverged, and there is no copy to replace it
)

// A Status is that of a replica.
type Status struct {
	Index    string
	Epoch    uint64
	Shard    int
	State    State
	Position replica.Position
	Refused  int64    // changes that the index refused since the replica opened
	Differs  []string // nodes whose replica had another digest at an equal sequence
	Err      error    // why it last stopped, or nil
}

// Status returns the status of all replicas of the node, by index and shard.
func (n *Node) Status() []Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Status
	for _, p := range slices.SortedFunc(maps.Keys(n.shards), comparePlaces) {
		all = append(all, n.shards[p].status())
	}
	return all
}

// engine opens the index of a replica in a directory: with the schema given, or the one that it has. A new one gets
// the schema first.
func (n *Node) engine(dir string, first, schema *riffle.Schema) (*riffle.Engine, error) {
	o := n.o.Engine
	o.CacheBytes = n.cache.first()
	if o.Schema = schema; schema == nil {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			o.Schema = first
		}
	}
	o.AlterSchema = true
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	return riffle.Open(dir, &o)
}

// log returns the log of a shard.
func (n *Node) log(p place) (*jetlog.Log, error) {
	return jetlog.Open(n.ctx, n.js, jetlog.Config{Index: p.index, Epoch: p.epoch, Shard: p.shard})
}
