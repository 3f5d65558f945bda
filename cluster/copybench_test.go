package cluster_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
)

// BenchmarkNewReplica makes a second replica of a shard with passages: by a copy of the first one, verified, or by reading
// the log from its beginning. Each operation makes one, until it takes part in searches.
func BenchmarkNewReplica(b *testing.B) {
	const documents = 20_000
	ids, docs := passages(b, documents)
	dir := b.TempDir()
	s, err := embedded.Start(embedded.Options{Name: "s", Dir: filepath.Join(dir, "nats"), MaxBytes: 64 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	for _, o := range []node.Options{{Name: "first"}, {Name: "copy", CopyBehind: 1}, {Name: "log", CopyBehind: 1 << 62}} {
		conn, err := s.Connect()
		if err != nil {
			b.Fatal(err)
		}
		o.Dir, o.Conn, o.LeaveAfter = filepath.Join(dir, o.Name), conn, time.Millisecond
		n, err := node.Start(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { n.Close(); conn.Close() })
	}
	conn, err := s.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	c, err := cluster.Connect(b.Context(), conn, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if err := c.Create(b.Context(), cluster.IndexOptions{Name: "bench", Shards: 1, Replicas: 1, Nodes: []string{"first"}, LogBytes: 4 << 30}); err != nil {
		b.Fatal(err)
	}
	x, err := c.Index(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	token := write(b, x, ids, docs)
	if n, err := x.Count(b.Context(), riffle.All{}, &cluster.SearchOptions{Token: token}); err != nil || n != documents {
		b.Fatal(n, err)
	}
	for _, by := range []string{"log", "copy"} {
		b.Run("by="+by, func(b *testing.B) {
			for b.Loop() {
				if err := c.AddReplica(b.Context(), "bench", 0, by); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := c.RemoveReplica(b.Context(), "bench", 0, by); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(documents)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
