package client

import (
	"context"
	"net/http"
	"time"
)

// A ClusterStatus says how the cluster of a server is doing. A server without a cluster has no nodes.
type ClusterStatus struct {
	Nodes   []ClusterNode  `json:"nodes"`   // by name
	Indexes []ClusterIndex `json:"indexes"` // by name
	Faults  []string       `json:"faults"`  // what a person should look at, a sentence each
}

// A ClusterNode is a node of a cluster.
type ClusterNode struct {
	Name      string    `json:"name"`
	Up        bool      `json:"up"`      // it has answered; otherwise nothing is known below but Drained
	Drained   bool      `json:"drained"` // it is to have no replicas
	Started   time.Time `json:"started,omitzero"`
	Program   string    `json:"program,omitempty"` // version of riffle
	Replicas  int       `json:"replicas"`
	Requests  int       `json:"requests"`  // under way
	Snapshots int       `json:"snapshots"` // held for searches
	Bytes     int64     `json:"bytes"`     // of its indexes
}

// A ClusterIndex is an index of a cluster.
type ClusterIndex struct {
	Name   string         `json:"name"`
	Ready  bool           `json:"ready"` // false while it is being created or dropped
	Shards []ClusterShard `json:"shards"`
}

// A ClusterShard is a part of the documents of an index.
type ClusterShard struct {
	Log      ClusterLog       `json:"log"`
	Replicas []ClusterReplica `json:"replicas"`
}

// A ClusterLog is the log of a shard.
type ClusterLog struct {
	First  uint64 `json:"first"`           // sequence of the first entry that it has
	Last   uint64 `json:"last"`            // of the last one
	Bytes  int64  `json:"bytes"`           // of its entries
	Full   int64  `json:"full"`            // bytes at which it takes no more entries
	Leader string `json:"leader"`          // name of the server of NATS; empty if there is none
	Fault  string `json:"fault,omitempty"` // why nothing is known about it
}

// A ClusterReplica is an index with the documents of a shard, on a node.
type ClusterReplica struct {
	Node      string   `json:"node"`
	State     string   `json:"state"`    // "running", or why it does not answer: "starting", "quarantine", "silent", "missing"…
	Sequence  uint64   `json:"sequence"` // of the last entry of the log that it has applied
	Durable   uint64   `json:"durable"`  // of the last one that would survive a loss of power
	Lag       uint64   `json:"lag"`      // entries that it has not applied
	Documents int      `json:"documents"`
	Bytes     int64    `json:"bytes"`
	Refused   int64    `json:"refused"`           // changes that it could not apply, since it was opened
	Differs   []string `json:"differs,omitempty"` // nodes whose replica had something else at an equal sequence
	Fault     string   `json:"fault,omitempty"`   // why it stopped
}

// Known reports whether the node of the replica has told of it. Otherwise all figures are 0, and Lag is the whole log.
func (r *ClusterReplica) Known() bool { return r.State != "silent" && r.State != "missing" }

// Cluster returns how the cluster of the server is doing.
func (c *Client) Cluster(ctx context.Context) (*ClusterStatus, error) {
	st := new(ClusterStatus)
	return st, c.do(ctx, call{method: http.MethodGet, path: []string{"v1", "cluster"}}, st)
}
