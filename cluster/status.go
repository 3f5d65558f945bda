package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A Status says how a cluster is doing.
type Status struct {
	Nodes   []NodeStatus  `json:"nodes"`   // by name
	Indexes []IndexStatus `json:"indexes"` // by name

	Aliases map[string]string `json:"aliases,omitempty"` // names that stand for indexes
}

// A NodeStatus is that of a node which has registered, or which the map names.
type NodeStatus struct {
	Name string `json:"name"`

	// Up is set if the node has answered. All below is empty or 0 otherwise, but for Drained.
	Up         bool      `json:"up"`
	Registered bool      `json:"registered"` // false of a name that is only in the map
	Drained    bool      `json:"drained"`    // it is to have no replicas
	Started    time.Time `json:"started,omitzero"`

	Program  string `json:"program,omitempty"`  // version of riffle
	Messages int    `json:"messages,omitempty"` // the latest version of messages of logs that it reads
	Copies   string `json:"copies,omitempty"`   // address at which other nodes fetch copies

	Replicas int   `json:"replicas"`
	Requests int   `json:"requests"` // under way
	Leases   int   `json:"leases"`   // snapshots held for searches
	Bytes    int64 `json:"bytes"`    // of its indexes
}

// An IndexStatus is that of an index.
type IndexStatus struct {
	Name    string        `json:"name"`
	Epoch   uint64        `json:"epoch"`
	Ready   bool          `json:"ready"`             // false while it is being created
	Dropped bool          `json:"dropped,omitempty"` // it is being removed
	Shards  []ShardStatus `json:"shards"`
}

// A ShardStatus is that of a shard.
type ShardStatus struct {
	Shard int `json:"shard"`

	Log      LogStatus       `json:"log"`
	Replicas []ReplicaStatus `json:"replicas"` // as the map names them, and then others that a node has
}

// A LogStatus is that of the log of a shard.
type LogStatus struct {
	First  uint64 `json:"first"`  // sequence of the first entry that it has
	Last   uint64 `json:"last"`   // of the last one
	Bytes  int64  `json:"bytes"`  // of its entries
	Full   int64  `json:"full"`   // bytes at which it takes no more entries
	Leader string `json:"leader"` // name of the server of NATS; empty if there is none

	Copies []jetlog.Copy `json:"copies,omitempty"` // on other servers
	Error  string        `json:"error,omitempty"`  // why nothing is known about the log
}

// A ReplicaStatus is that of a replica of a shard.
type ReplicaStatus struct {
	Node string `json:"node"`

	// Joining is set while a replica is made: it does not answer searches yet.
	Joining bool `json:"joining,omitempty"`

	State    string `json:"state"`    // a node.State, or Silent, Missing
	Sequence uint64 `json:"sequence"` // of the last entry that it has applied
	Durable  uint64 `json:"durable"`  // of the last one that would survive a loss of power
	Lag      uint64 `json:"lag"`      // entries that it has not applied
	Digest   string `json:"digest"`   // of all entries up to Sequence

	// Differs has the nodes whose replica had another digest at an equal sequence.
	Differs []string `json:"differs,omitempty"`

	Docs     int    `json:"docs"`
	Bytes    int64  `json:"bytes"`
	Requests int    `json:"requests"`
	Leases   int    `json:"leases"`
	Refused  int64  `json:"refused"` // changes that the index refused since the replica opened
	Error    string `json:"error,omitempty"`
}

// States of a replica of which its node tells nothing.
const (
	Silent  = "silent"  // the node does not answer
	Missing = "missing" // the node answers, and does not have it
)

// answerWait is how long nodes may take to tell about themselves.
const answerWait = time.Second

// Status asks all nodes, and the leaders of all logs. Nodes that do not answer within a second are not up.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	st := &Status{}
	if st.Aliases, err = c.Aliases(ctx); err != nil {
		return nil, err
	}
	for _, name := range v.names() {
		st.Nodes = append(st.Nodes, v.node(name))
	}
	for _, x := range v.indexes {
		st.Indexes = append(st.Indexes, IndexStatus{Name: x.Name, Epoch: x.Epoch, Ready: x.Ready, Dropped: x.Dropped, Shards: make([]ShardStatus, len(x.Nodes))})
	}
	slots := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i, x := range v.indexes {
		for n := range x.Nodes {
			slots <- struct{}{}
			wg.Go(func() {
				st.Indexes[i].Shards[n] = c.shardStatus(ctx, v, x, n)
				<-slots
			})
		}
	}
	wg.Wait()
	return st, ctx.Err()
}

// A look is what the map has and what nodes say.
type look struct {
	indexes []*topology.Index
	nodes   map[string]*topology.Node
	beats   map[string]heartbeat.Heard
}

// look reads the map and asks the nodes.
func (c *Client) look(ctx context.Context) (*look, error) {
	v := &look{nodes: map[string]*topology.Node{}, beats: map[string]heartbeat.Heard{}}
	names, err := c.m.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		x, err := c.m.Get(ctx, name)
		if errors.Is(err, topology.ErrNoIndex) { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		v.indexes = append(v.indexes, x)
	}
	nodes, err := c.m.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		v.nodes[n.Name] = n
	}
	beats, err := heartbeat.Ask(ctx, c.conn, v.names(), answerWait)
	if err != nil {
		return nil, err
	}
	for _, b := range beats {
		v.beats[b.Node] = b
	}
	return v, nil
}

// names returns the names of all nodes: those that have registered or answered, and those in the map.
func (v *look) names() []string {
	seen := map[string]bool{}
	for name := range v.nodes {
		seen[name] = true
	}
	for name := range v.beats {
		seen[name] = true
	}
	for _, x := range v.indexes {
		for i := range x.Nodes {
			for _, name := range x.Members(i) {
				seen[name] = true
			}
		}
	}
	all := make([]string, 0, len(seen))
	for name := range seen {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (v *look) node(name string) NodeStatus {
	st := NodeStatus{Name: name}
	if n := v.nodes[name]; n != nil {
		st.Registered, st.Drained = true, n.Drained
	}
	b, ok := v.beats[name]
	if !ok {
		return st
	}
	st.Up, st.Started, st.Program, st.Messages, st.Copies = true, b.Started, b.Program, b.Messages, b.Copies
	st.Replicas = len(b.Replicas)
	for i := range b.Replicas {
		r := &b.Replicas[i]
		st.Requests, st.Leases, st.Bytes = st.Requests+r.Requests, st.Leases+r.Leases, st.Bytes+r.Bytes
	}
	return st
}

func (c *Client) shardStatus(ctx context.Context, v *look, x *topology.Index, n int) ShardStatus {
	st := ShardStatus{Shard: n, Log: c.logStatus(ctx, x, n)}
	for _, node := range x.Members(n) {
		r := v.replica(x, n, node, st.Log.Last)
		r.Joining = !slices.Contains(x.Nodes[n], node)
		st.Replicas = append(st.Replicas, r)
	}
	for _, node := range v.names() {
		b, up := v.beats[node]
		if up && !slices.Contains(x.Members(n), node) && b.Replica(x.Name, x.Epoch, n) != nil {
			st.Replicas = append(st.Replicas, v.replica(x, n, node, st.Log.Last))
		}
	}
	for i := range st.Replicas { // what the nodes have not noticed yet
		a := &st.Replicas[i]
		for _, b := range st.Replicas {
			if a.Sequence == b.Sequence && a.Digest != "" && b.Digest != "" && a.Digest != b.Digest && !slices.Contains(a.Differs, b.Node) {
				a.Differs = append(a.Differs, b.Node)
			}
		}
	}
	return st
}

// logWait is how long the leader of a log may take to answer.
const logWait = 2 * time.Second

func (c *Client) logStatus(ctx context.Context, x *topology.Index, n int) LogStatus {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	d, err := jetlog.Describe(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: n})
	if err != nil {
		return LogStatus{Error: err.Error()}
	}
	return LogStatus{First: d.First, Last: d.Last, Bytes: d.Bytes, Full: d.MaxBytes, Leader: d.Leader, Copies: d.Copies}
}

func (v *look) replica(x *topology.Index, shard int, node string, last uint64) ReplicaStatus {
	st := ReplicaStatus{Node: node, State: Silent, Lag: last}
	b, ok := v.beats[node]
	if !ok {
		return st
	}
	r := b.Replica(x.Name, x.Epoch, shard)
	if r == nil {
		st.State = Missing
		return st
	}
	st = ReplicaStatus{
		Node: node, State: r.State, Sequence: r.Sequence, Durable: r.Durable, Digest: r.Digest, Differs: slices.Clone(r.Differs),
		Docs: r.Docs, Bytes: r.Bytes, Requests: r.Requests, Leases: r.Leases, Refused: r.Refused, Error: r.Error,
	}
	if last > r.Sequence {
		st.Lag = last - r.Sequence
	}
	return st
}

// fullPercent is how full a log is when a person should look at it. Trimming keeps it at a quarter, unless something
// holds it.
const fullPercent = 75

// Faults returns what a person should look at, a sentence each: nodes that are not up, logs without a
// leader or nearly full, replicas that do not run, or differ.
func (st *Status) Faults() []string {
	var all []string
	for _, n := range st.Nodes {
		if !n.Up && !n.Drained {
			all = append(all, fmt.Sprintf("node %s does not answer", n.Name))
		}
	}
	for _, x := range st.Indexes {
		if x.Dropped {
			all = append(all, fmt.Sprintf("index %s has not been dropped wholly; drop it again", x.Name))
			continue
		}
		if !x.Ready {
			all = append(all, fmt.Sprintf("index %s has not been created wholly; drop it and create it again", x.Name))
			continue
		}
		for _, s := range x.Shards {
			at := fmt.Sprintf("shard %d of index %s", s.Shard, x.Name)
			if s.Log.Error != "" {
				all = append(all, fmt.Sprintf("the log of %s: %s", at, s.Log.Error))
			} else if s.Log.Leader == "" {
				all = append(all, fmt.Sprintf("the log of %s has no leader", at))
			} else if s.Log.Full > 0 && s.Log.Bytes > s.Log.Full/100*fullPercent {
				all = append(all, fmt.Sprintf("the log of %s is %d %% full; a replica that is behind or away holds its entries", at, s.Log.Bytes*100/s.Log.Full))
			}
			for _, r := range s.Replicas {
				if r.State != string(node.Running) && r.State != string(node.Leaving) && !r.Joining {
					all = append(all, strings.TrimSuffix(fmt.Sprintf("the replica of %s on node %s is %s: %s", at, r.Node, r.State, r.Error), ": "))
				}
				if len(r.Differs) > 0 {
					all = append(all, fmt.Sprintf("the replica of %s on node %s differs from that on %s", at, r.Node, strings.Join(r.Differs, ", ")))
				}
			}
		}
	}
	return all
}
