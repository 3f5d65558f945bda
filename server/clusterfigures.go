package server

import (
	"strconv"

	"github.com/riffle-search/riffle/client"
)

// clusterFigures are those of a cluster. Each process that serves it has those of the whole: of a node that is gone
// nobody else could tell.
var clusterFigures = []figure{
	ofNodes("riffle_cluster_node_up", "1 for a node that answers, 0 for one that is silent.", func(n *client.ClusterNode) float64 { return oneIf(n.Up) }),
	ofNodes("riffle_cluster_node_replicas", "Replicas of shards on a node.", func(n *client.ClusterNode) float64 { return float64(n.Replicas) }),
	ofNodes("riffle_cluster_node_requests", "Requests about its replicas that a node is carrying out.", func(n *client.ClusterNode) float64 { return float64(n.Requests) }),
	ofNodes("riffle_cluster_node_bytes", "Bytes of the indexes on a node.", func(n *client.ClusterNode) float64 { return float64(n.Bytes) }),
	ofLogs("riffle_cluster_log_sequence", "Sequence of the last entry of a shard's log.", func(l *client.ClusterLog) float64 { return float64(l.Last) }),
	ofLogs("riffle_cluster_log_bytes", "Bytes of the entries of a shard's log.", func(l *client.ClusterLog) float64 { return float64(l.Bytes) }),
	ofLogs("riffle_cluster_log_full_bytes", "Bytes at which a shard's log takes no more changes.", func(l *client.ClusterLog) float64 { return float64(l.Full) }),
	{"riffle_cluster_log_leader", gaugeKind, "1 for the server that leads a shard's log; none has 1 if the log has no leader.", []string{"index", "shard", "server"}, nil, nil,
		func(st *client.ClusterStatus, is func(float64, ...string)) {
			eachShard(st, func(labels []string, s *client.ClusterShard) {
				if s.Log.Leader != "" {
					is(1, append(labels, s.Log.Leader)...)
				}
			})
		}},
	ofAllReplicas("riffle_cluster_replica_running", "1 for a replica that answers, 0 for another.", func(r *client.ClusterReplica) (float64, bool) {
		return oneIf(r.State == "running"), true
	}),
	ofReplicas("riffle_cluster_replica_sequence", "Sequence of the last entry of the log that a replica has applied.", func(r *client.ClusterReplica) float64 { return float64(r.Sequence) }),
	ofReplicas("riffle_cluster_replica_lag", "Entries of the log that a replica has not applied.", func(r *client.ClusterReplica) float64 { return float64(r.Lag) }),
	ofReplicas("riffle_cluster_replica_documents", "Documents of a replica.", func(r *client.ClusterReplica) float64 { return float64(r.Documents) }),
	ofReplicas("riffle_cluster_replica_bytes", "Bytes of a replica.", func(r *client.ClusterReplica) float64 { return float64(r.Bytes) }),
	ofReplicas("riffle_cluster_replica_refused", "Changes that a replica could not apply since it was opened.", func(r *client.ClusterReplica) float64 { return float64(r.Refused) }),
	ofReplicas("riffle_cluster_replica_differs", "1 for a replica that had something else than another one at an equal sequence.", func(r *client.ClusterReplica) float64 { return oneIf(len(r.Differs) > 0) }),
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func ofNodes(name, help string, of func(*client.ClusterNode) float64) figure {
	return figure{name, gaugeKind, help, []string{"node"}, nil, nil, func(st *client.ClusterStatus, is func(float64, ...string)) {
		for i := range st.Nodes {
			is(of(&st.Nodes[i]), st.Nodes[i].Name)
		}
	}}
}

func ofLogs(name, help string, of func(*client.ClusterLog) float64) figure {
	return figure{name, gaugeKind, help, []string{"index", "shard"}, nil, nil, func(st *client.ClusterStatus, is func(float64, ...string)) {
		eachShard(st, func(labels []string, s *client.ClusterShard) {
			if s.Log.Fault == "" {
				is(of(&s.Log), labels...)
			}
		})
	}}
}

// ofReplicas makes a figure of replicas of which something is known.
func ofReplicas(name, help string, of func(*client.ClusterReplica) float64) figure {
	return ofAllReplicas(name, help, func(r *client.ClusterReplica) (float64, bool) { return of(r), r.Known() })
}

func ofAllReplicas(name, help string, of func(*client.ClusterReplica) (float64, bool)) figure {
	return figure{name, gaugeKind, help, []string{"index", "shard", "node"}, nil, nil, func(st *client.ClusterStatus, is func(float64, ...string)) {
		eachShard(st, func(labels []string, s *client.ClusterShard) {
			for i := range s.Replicas {
				if v, ok := of(&s.Replicas[i]); ok {
					is(v, append(labels, s.Replicas[i].Node)...)
				}
			}
		})
	}}
}

// eachShard calls each with the labels of a shard and the shard.
func eachShard(st *client.ClusterStatus, each func(labels []string, s *client.ClusterShard)) {
	for _, x := range st.Indexes {
		for i := range x.Shards {
			labels := []string{x.Name, strconv.Itoa(i)}
			each(labels[:2:2], &x.Shards[i])
		}
	}
}
