package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
)

// Ports of a node, in its namespace.
const (
	clientPort = "4222"
	routePort  = "6222"
	copyPort   = "7222"
)

// nodeMain is a node: a server of NATS and replicas in one process. It reads commands from its input,
// one a line, and ends with it:
//
//	status        prints the status of its replicas as a line of JSON
//	clock STEP    steps its wall clock
//	stop          closes everything and ends
func nodeMain(args []string) error {
	f := flag.NewFlagSet("node", flag.ContinueOnError)
	name := f.String("name", "", "of the node")
	address := f.String("address", "", "of the node")
	all := f.String("all", "", "addresses of all nodes")
	dir := f.String("dir", "", "of its files")
	certificate := f.String("certificate", "", "folder of the certificate")
	synced := f.Bool("synced", false, "replicas sync what they apply")
	if err := f.Parse(args); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pid", os.Getpid())
	var routes []string
	for a := range strings.SplitSeq(*all, ",") {
		routes = append(routes, a+":"+routePort)
	}
	tls, err := readCertificate(*certificate)
	if err != nil {
		return err
	}
	server, err := embedded.Start(embedded.Options{
		Name: *name, Dir: filepath.Join(*dir, "nats"), Cluster: "faults",
		Listen: *address + ":" + routePort, Clients: *address + ":" + clientPort, Routes: routes,
		Open: true, MaxBytes: 8 << 30, Log: log,
	})
	if err != nil {
		return err
	}
	conn, err := server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	o := node.Options{
		Name: *name, Dir: filepath.Join(*dir, "indexes"), Conn: conn, MapCopies: 3, Log: log,
		Copies: copies.ServerOptions{Listen: *address + ":" + copyPort, TLS: tls},
		Engine: riffle.Options{Durability: riffle.SyncNone, MemoryBytes: 16 << 20, CacheBytes: 32 << 20},
	}
	if *synced {
		o.Engine.Durability = riffle.SyncBatch
	}
	started := make(chan *node.Node, 1)
	go func() { // until the servers have a leader
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			err := server.WaitReady(ctx)
			var n *node.Node
			if err == nil {
				n, err = node.Start(ctx, o)
			}
			cancel()
			if err == nil {
				log.Info("the node has started")
				started <- n
				return
			}
			log.Warn("the node does not start", "error", err)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	var n *node.Node
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if n == nil {
			select {
			case n = <-started:
			default:
			}
		}
		command, argument, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "status":
			var all []replicaStatus
			if n != nil {
				all = []replicaStatus{} // it may have none
				for _, s := range n.Status() {
					all = append(all, statusOf(s))
				}
			}
			if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
				return err
			}
		case "clock":
			step, err := time.ParseDuration(argument)
			if err != nil {
				return err
			}
			stepClock(step)
		case "stop":
			if n != nil {
				n.Close()
			}
			conn.Close()
			server.Close()
			return nil
		default:
			return fmt.Errorf("there is no command %q", command)
		}
	}
	return lines.Err()
}

// A replicaStatus is node.Status in JSON.
type replicaStatus struct {
	Shard    int
	Epoch    uint64
	State    node.State
	Sequence uint64
	Identity string
	Digest   string
	Refused  int64
	Error    string
}

func statusOf(s node.Status) replicaStatus {
	r := replicaStatus{
		Shard: s.Shard, Epoch: s.Epoch, State: s.State, Sequence: s.Position.Sequence, Identity: s.Position.Identity,
		Digest: fmt.Sprintf("%x", s.Position.Digest), Refused: s.Refused,
	}
	if s.Err != nil {
		r.Error = s.Err.Error()
	}
	return r
}
