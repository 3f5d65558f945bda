// Package node runs the replicas that a cluster's map (package topology) gives to a node, and answers
// the requests of other nodes about them.
//
// A node watches the map. It opens a replica of a shard in DIR/INDEX/EPOCH/SHARD when the map names
// the node, and closes and removes it when the map does so no more, or the index is gone. A replica
// that stops for want of the log, or of its disk, starts again after a while. One whose log has
// diverged (package replica) is in quarantine: it answers nothing. If the log still has its beginning,
// the index is moved aside, to SHARD.diverged-TIME, and read anew. It may have changes that the log has
// lost; nobody but a person removes it.
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
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
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

	// Engine has the options of the indexes, but for Schema and AlterSchema. MemoryBytes is that of each
	// replica.
	Engine riffle.Options

	// Server configures how each replica is searched.
	Server remote.ServerOptions

	MapCopies int // of the map of the cluster, if this node is the first to need it: 1, 3 or 5; 0 is 1

	// TakeName lets a node with a new directory take a name that is registered for another one: that of
	// a node which has lost its disk. The old one must not run any more.
	TakeName bool

	BeatEvery  time.Duration // how often the node tells about itself (package heartbeat); 0 is a second
	RetryAfter time.Duration // how long a replica waits before it starts again; 0 is a second
	Log        *slog.Logger  // nil for none
}

// A Node runs replicas. Its methods are safe for concurrent use.
type Node struct {
	o        Options
	js       jetstream.JetStream
	m        *topology.Map
	instance string
	started  time.Time
	beats    atomic.Uint64
	cancel   context.CancelFunc
	ctx      context.Context
	running  sync.WaitGroup

	mu     sync.Mutex
	shards map[place]*shard
}

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
	if o.RetryAfter == 0 {
		o.RetryAfter = time.Second
	}
	if o.BeatEvery == 0 {
		o.BeatEvery = time.Second
	}
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
	n := &Node{o: o, js: js, m: m, instance: rand.Text(), started: time.Now().UTC(), shards: map[place]*shard{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.tell(); err != nil {
		n.cancel()
		return nil, fmt.Errorf("node: %w", err)
	}
	n.running.Go(n.run)
	return n, nil
}

// Close closes all replicas. The files stay.
func (n *Node) Close() {
	n.cancel()
	n.running.Wait()
}

// run follows the map until the node is closed.
func (n *Node) run() {
	for n.ctx.Err() == nil {
		err := n.m.Watch(n.ctx, n.changed)
		if n.ctx.Err() == nil {
			n.o.Log.Warn("the map cannot be watched", "error", err)
			n.pause()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.shards {
		s.stop()
	}
}

func (n *Node) pause() {
	select {
	case <-time.After(n.o.RetryAfter):
	case <-n.ctx.Done():
	}
}

// changed opens and closes the replicas of an index.
func (n *Node) changed(name string, x *topology.Index) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, s := range n.shards {
		if p.index == name && (x == nil || x.Epoch != p.epoch || !slices.Contains(x.Nodes[p.shard], n.o.Name)) {
			s.stop()
			delete(n.shards, p)
			if err := os.RemoveAll(n.dir(p)); err != nil {
				n.o.Log.Error("a replica cannot be removed", "index", name, "shard", p.shard, "error", err)
			}
		}
	}
	if x == nil || !x.Ready {
		return
	}
	for i, nodes := range x.Nodes {
		p := place{name, x.Epoch, i}
		if n.shards[p] == nil && slices.Contains(nodes, n.o.Name) {
			n.shards[p] = n.start(p, x)
		}
	}
}

func (n *Node) dir(p place) string {
	return filepath.Join(n.o.Dir, p.index, strconv.FormatUint(p.epoch, 10), strconv.Itoa(p.shard))
}

// A State is what a replica is doing.
type State string

const (
	Starting   State = "starting" // it opens, or waits to open again
	Running    State = "running"
	Quarantine State = "quarantine" // its log has diverged, and it cannot be read anew
)

// A Status is that of a replica.
type Status struct {
	Index    string
	Epoch    uint64
	Shard    int
	State    State
	Position replica.Position
	Refused  int64 // changes that the index refused since the replica opened
	Err      error // why it last stopped, or nil
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

func (n *Node) start(p place, x *topology.Index) *shard {
	s := &shard{n: n, place: p, schema: x.Schema, done: make(chan struct{}), state: Starting}
	s.ctx, s.cancel = context.WithCancel(n.ctx)
	go s.run()
	return s
}

// options returns those of the index of a replica.
func (n *Node) options(p place, first *riffle.Schema) func(*riffle.Schema) (*riffle.Engine, error) {
	return func(schema *riffle.Schema) (*riffle.Engine, error) {
		dir := n.dir(p)
		o := n.o.Engine
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
}

// log returns the log of a shard.
func (n *Node) log(p place) (*jetlog.Log, error) {
	return jetlog.Open(n.ctx, n.js, jetlog.Config{Index: p.index, Shard: p.shard})
}
