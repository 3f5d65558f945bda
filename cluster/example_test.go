package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// A program that is a node of a cluster: it runs a server of NATS and replicas, writes, and reads what it has written.
// With Options.Cluster, Listen and Routes of package embedded, several such programs form one cluster.
func Example() {
	dir, err := os.MkdirTemp("", "riffle")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	server, err := embedded.Start(embedded.Options{Name: "n1", Dir: filepath.Join(dir, "nats")})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.WaitReady(ctx); err != nil {
		log.Fatal(err)
	}
	conn, err := server.Connect()
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	n, err := node.Start(ctx, node.Options{Name: "n1", Dir: filepath.Join(dir, "shards"), Conn: conn})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	c, err := cluster.Connect(ctx, conn, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = c.Create(ctx, cluster.IndexOptions{Name: "books", Shards: 2, Replicas: 1, Nodes: []string{"n1"}, LogBytes: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	books, err := c.Index(ctx, "books")
	if err != nil {
		log.Fatal(err)
	}

	var b riffle.Batch
	b.Put("moby", map[string]any{"title": "Moby Dick, or: the Whale"})
	b.Put("jungle", map[string]any{"title": "The Jungle Book"})
	written, err := books.Write(ctx, &b)
	if err != nil {
		log.Fatal(err) // nothing has been written
	}
	for i, o := range written.Outcomes {
		if o.Err != nil { // it matches oplog.ErrUnknown if it may still happen
			log.Fatalf("change %d: %v", i, o.Err)
		}
	}

	// The token makes the search wait until the replicas have the changes.
	found, err := books.Search(ctx, riffle.Match{Field: "title", Text: "whale"}, &cluster.SearchOptions{
		Token:   written.Token,
		Options: scatter.Options{SearchOptions: riffle.SearchOptions{K: 10, Load: []string{"title"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.ID, h.Fields["title"])
	}
	// Output: moby Moby Dick, or: the Whale
}
