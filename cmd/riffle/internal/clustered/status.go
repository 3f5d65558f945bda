package clustered

import (
	"context"

	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/cluster"
)

// Status implements server.Cluster.
func (x *indexes) Status(ctx context.Context) (*client.ClusterStatus, error) {
	st, err := x.c.Status(ctx)
	if err != nil {
		return nil, asServer(err)
	}
	return statusOf(st), nil
}

func statusOf(st *cluster.Status) *client.ClusterStatus {
	to := &client.ClusterStatus{
		Nodes: make([]client.ClusterNode, len(st.Nodes)), Indexes: make([]client.ClusterIndex, len(st.Indexes)), Faults: append([]string{}, st.Faults()...),
	}
	for i, n := range st.Nodes {
		to.Nodes[i] = client.ClusterNode{
			Name: n.Name, Up: n.Up, Drained: n.Drained, Started: n.Started, Program: n.Program,
			Replicas: n.Replicas, Requests: n.Requests, Snapshots: n.Leases, Bytes: n.Bytes,
		}
	}
	for i, x := range st.Indexes {
		to.Indexes[i] = client.ClusterIndex{Name: x.Name, Ready: x.Ready && !x.Dropped, Shards: make([]client.ClusterShard, len(x.Shards))}
		for j := range x.Shards {
			to.Indexes[i].Shards[j] = shardOf(&x.Shards[j])
		}
	}
	return to
}

func shardOf(s *cluster.ShardStatus) client.ClusterShard {
	to := client.ClusterShard{
		Log:      client.ClusterLog{First: s.Log.First, Last: s.Log.Last, Bytes: s.Log.Bytes, Full: s.Log.Full, Leader: s.Log.Leader, Fault: s.Log.Error},
		Replicas: make([]client.ClusterReplica, len(s.Replicas)),
	}
	for i, r := range s.Replicas {
		to.Replicas[i] = client.ClusterReplica{
			Node: r.Node, State: r.State, Sequence: r.Sequence, Durable: r.Durable, Lag: r.Lag, Documents: r.Docs, Bytes: r.Bytes,
			Refused: r.Refused, Differs: r.Differs, Fault: r.Error,
		}
		if r.Joining {
			to.Replicas[i].State = "joining"
		}
	}
	return to
}
