// Package heartbeat is what the nodes of a cluster tell about themselves: which replicas they have, how
// far these are, and how busy they are.
//
// A node publishes about once a second, on a subject of its own, and answers at once to whoever asks it. Both
// carry the same message, a Beat in JSON, with a version. A beat of many replicas goes in parts of at most
// PartReplicas.
//
//	riffle-node.NODE.beat    what node NODE publishes
//	riffle-node.NODE.ask     it answers with the same to the reply subject of a message
//	riffle-node.NODE.do      requests to node NODE (package call)
//	riffle-restore.ID.do     requests to a program that restores an index
//
// A View follows the beats. Ask asks once. Who may ask need not be allowed to request something.
package heartbeat

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle/cluster/topology"
)

// Version is that of beats. Whoever receives one of another version ignores it.
const Version = 1

// AskSubject returns the subject of questions to a node.
func AskSubject(node string) string { return "riffle-node." + node + ".ask" }

// BeatSubject returns the subject of the beats of a node; "*" stands for all nodes.
func BeatSubject(node string) string { return "riffle-node." + node + ".beat" }

// DoSubject returns the subject of requests to a node, or to a program that restores an index.
func DoSubject(node string) string {
	if id, restore := strings.CutPrefix(node, topology.RestorePrefix); restore {
		return "riffle-restore." + id + ".do"
	}
	return "riffle-node." + node + ".do"
}

// A Beat is the state of a node.
type Beat struct {
	Version  int       `json:"v"`
	Node     string    `json:"node"`
	Instance string    `json:"instance"` // another one after each start
	Started  time.Time `json:"started"`  // by the clock of the node
	Number   uint64    `json:"number"`   // rises with each beat of an instance

	// Part of Parts: the replicas of a node may need several messages. Parts of one beat have one number.
	Part  int `json:"part"`
	Parts int `json:"parts"`

	Program  string `json:"program"`          // version of riffle
	Messages int    `json:"messages"`         // the latest version of messages of logs that it reads
	Copies   string `json:"copies,omitempty"` // address at which other nodes fetch copies of its replicas

	Replicas []Replica `json:"replicas"`
}

// A Replica is the state of a replica.
type Replica struct {
	Index string `json:"index"`
	Epoch uint64 `json:"epoch"` // of the index
	Shard int    `json:"shard"`

	State    string `json:"state"`    // a node.State
	Sequence uint64 `json:"sequence"` // of the last entry of the log that it has applied
	Durable  uint64 `json:"durable"`  // of the last one that it would have after a loss of power
	Digest   string `json:"digest"`   // of all entries up to Sequence, hexadecimal; see package replica

	// Mark is the last sequence that it has passed at which replicas are compared (replica.MarkEvery), or 0.
	Mark       uint64 `json:"mark,omitempty"`
	MarkDigest string `json:"mark_digest,omitempty"`

	LogLast uint64 `json:"log_last"` // the end of the log when the replica looked last, 0 before it did

	Requests int   `json:"requests"` // under way
	Leases   int   `json:"leases"`   // snapshots held for searches
	Docs     int   `json:"docs"`
	Bytes    int64 `json:"bytes"`   // of its files
	Refused  int64 `json:"refused"` // changes that the index refused since the replica opened

	Differs []string `json:"differs,omitempty"` // nodes whose replica had another digest at an equal sequence
	Error   string   `json:"error,omitempty"`   // why it stopped last
}

// PartReplicas is the most replicas in one message: with 400 to 500 bytes for each, it stays far below the
// greatest message of NATS.
const PartReplicas = 500

// messages returns the messages of a beat, with so many replicas in each.
func (b *Beat) messages(partReplicas int) ([][]byte, error) {
	var all [][]byte
	parts := max(1, (len(b.Replicas)+partReplicas-1)/partReplicas)
	for i := range parts {
		part := *b
		part.Version, part.Part, part.Parts = Version, i, parts
		part.Replicas = b.Replicas[i*partReplicas : min((i+1)*partReplicas, len(b.Replicas))]
		data, err := json.Marshal(&part)
		if err != nil {
			return nil, fmt.Errorf("heartbeat: %w", err)
		}
		all = append(all, data)
	}
	return all, nil
}

// Encode returns the messages of a beat, of which it sets Version, Part and Parts.
func (b *Beat) Encode() ([][]byte, error) { return b.messages(PartReplicas) }

// Parse reads a message.
func Parse(data []byte) (*Beat, error) {
	b := &Beat{}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	switch {
	case b.Version != Version:
		return nil, fmt.Errorf("heartbeat: a beat of version %d; this program reads version %d", b.Version, Version)
	case b.Node == "" || b.Parts < 1 || b.Part < 0 || b.Part >= b.Parts:
		return nil, fmt.Errorf("heartbeat: part %d of %d of node %q", b.Part, b.Parts, b.Node)
	}
	return b, nil
}

// Beats are those of several nodes, put together from their parts. Its methods are safe for concurrent use.
type Beats struct {
	mu    sync.Mutex
	nodes map[string]*gathered
}

type gathered struct {
	whole  *Beat
	at     time.Time // when it came
	number uint64    // of parts
	from   string    // instance of parts
	parts  []*Beat
	have   int
}

// Add adds a message that has come, and reports whether it completes a beat.
func (s *Beats) Add(part *Beat, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]*gathered{}
	}
	g := s.nodes[part.Node]
	if g == nil {
		g = &gathered{}
		s.nodes[part.Node] = g
	}
	if g.from != part.Instance || g.number != part.Number || len(g.parts) != part.Parts {
		g.from, g.number, g.parts, g.have = part.Instance, part.Number, make([]*Beat, part.Parts), 0
	}
	if g.parts[part.Part] == nil {
		g.have++
	}
	g.parts[part.Part] = part
	if g.have < len(g.parts) {
		return false
	}
	whole := *g.parts[0]
	whole.Part, whole.Parts, whole.Replicas = 0, 1, nil
	for _, p := range g.parts {
		whole.Replicas = append(whole.Replicas, p.Replicas...)
	}
	g.whole, g.at, g.parts, g.have = &whole, now, nil, 0
	return true
}

// Heard is a beat and when it came.
type Heard struct {
	*Beat
	At time.Time // by the clock of the listener
}

// All returns the last beat of each node, by name.
func (s *Beats) All() []Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Heard
	for _, g := range s.nodes {
		if g.whole != nil {
			all = append(all, Heard{g.whole, g.at})
		}
	}
	slices.SortFunc(all, func(a, b Heard) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// Of returns the last beat of a node.
func (s *Beats) Of(node string) (Heard, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.nodes[node]; g != nil && g.whole != nil {
		return Heard{g.whole, g.at}, true
	}
	return Heard{}, false
}

// Replica returns the replica of a shard, or nil.
func (b *Beat) Replica(index string, epoch uint64, shard int) *Replica {
	for i := range b.Replicas {
		if r := &b.Replicas[i]; r.Index == index && r.Epoch == epoch && r.Shard == shard {
			return r
		}
	}
	return nil
}

const module = "github.com/riffle-search/riffle"

// Program returns the version of riffle that this program is built from, or "devel".
var Program = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if (m.Path == module || strings.HasPrefix(m.Path, module+"/")) && m.Version != "" && m.Version != "(devel)" && m.Version != "v0.0.0" {
			return m.Version
		}
	}
	return "devel"
})
