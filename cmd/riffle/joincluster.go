package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
)

// clusterFlags say which cluster a process joins, and as which node.
type clusterFlags struct {
	cluster   string   // name; empty without an embedded server of NATS
	nats      string   // URL of an external server, instead
	node      string   // name; empty for a process that only serves HTTP
	listen    string   // for the other servers
	routes    []string // addresses of all servers
	clients   string   // for clients of NATS
	logCopies int
	logSpace  byteSize
	takeName  bool
}

// declare adds the flags to a command's.
func (f *clusterFlags) declare(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", "name of a cluster: run a server of NATS of it in this process, with its files in --dir")
	flags.StringVar(&f.nats, "nats", "", "URL of the servers of NATS of a cluster, instead of --cluster")
	flags.StringVar(&f.node, "node", "", "name of this node; without it --nats serves indexes of other nodes alone")
	flags.StringVar(&f.listen, "cluster-listen", "", "with --cluster: address for the other servers, such as 10.0.0.1:6222 (none: a cluster of one)")
	flags.StringSliceVar(&f.routes, "routes", nil, "with --cluster: the --cluster-listen of all servers")
	flags.StringVar(&f.clients, "nats-listen", "", "with --cluster: address for other programs, such as riffle cluster (none: no others)")
	flags.IntVar(&f.logCopies, "log-copies", 0, "copies of each log, 1, 3 or 5 (0: 3 with three servers or more in --routes, 1 otherwise)")
	flags.Var(&f.logSpace, "log-space", "with --cluster: disk space for logs (0: three quarters of what is free)")
	flags.BoolVar(&f.takeName, "take-name", false, "let this node, which has lost its disk, take the name of the old one")
}

func (f *clusterFlags) given() bool { return f.cluster != "" || f.nats != "" }

// check returns the faults of the flags, of which dir is --dir.
func (f *clusterFlags) check(dir string) (errs []error) {
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !f.given() {
		for _, flag := range []struct {
			name  string
			given bool
		}{{"--node", f.node != ""}, {"--cluster-listen", f.listen != ""}, {"--routes", f.routes != nil}, {"--nats-listen", f.clients != ""},
			{"--log-copies", f.logCopies != 0}, {"--take-name", f.takeName}} {
			if flag.given {
				fault("%s goes with --cluster or --nats", flag.name)
			}
		}
		return errs
	}
	if f.cluster != "" && f.nats != "" {
		fault("--cluster and --nats contradict each other")
	}
	if f.cluster != "" && f.node == "" {
		fault("--cluster needs --node")
	}
	if f.node != "" && dir == "" {
		fault("a node needs --dir, for its indexes")
	}
	if f.nats != "" && (f.listen != "" || f.routes != nil || f.clients != "") {
		fault("--cluster-listen, --routes and --nats-listen go with --cluster")
	}
	if f.routes != nil && f.listen == "" {
		fault("--routes needs --cluster-listen")
	}
	if !slices.Contains([]int{0, 1, 3, 5}, f.logCopies) {
		fault("--log-copies is 1, 3 or 5, not %d", f.logCopies)
	}
	return errs
}

// copies returns how many copies logs have, unless who creates an index says something else.
func (f *clusterFlags) copies() int {
	if f.logCopies == 0 && len(f.routes) >= 3 {
		return 3
	}
	return max(f.logCopies, 1)
}

// A member is what a process is in a cluster.
type member struct {
	server *embedded.Server // nil with an external one
	conn   *nats.Conn
	node   *node.Node // nil without a name
	client *cluster.Client
}

// join joins the cluster. It waits until enough servers are up to decide, or until ctx ends.
func (f *clusterFlags) join(ctx context.Context, dir string, log *slog.Logger) (m *member, err error) {
	m = &member{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
			m = nil
		}
	}()
	if f.cluster != "" {
		o := embedded.Options{
			Name: f.node, Dir: filepath.Join(dir, "nats"), Cluster: f.cluster, Listen: f.listen, Routes: f.routes, Clients: f.clients,
			MaxBytes: int64(f.logSpace), Log: log.With("of", "nats"),
		}
		if f.listen == "" {
			o.Cluster = ""
		}
		if m.server, err = embedded.Start(o); err != nil {
			return m, fmt.Errorf("--cluster: %w", err)
		}
		told := time.AfterFunc(5*time.Second, func() { log.Info("waiting for the other servers of the cluster", "routes", f.routes) })
		err = m.server.WaitReady(ctx)
		told.Stop()
		if err != nil {
			return m, err
		}
		m.conn, err = m.server.Connect(f.connection(log)...)
	} else {
		m.conn, err = nats.Connect(f.nats, f.connection(log)...)
	}
	if err != nil {
		return m, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if f.node != "" {
		m.node, err = node.Start(ctx, node.Options{
			Name: f.node, Dir: filepath.Join(dir, "shards"), Conn: m.conn, MapCopies: f.copies(), TakeName: f.takeName, Log: log.With("of", "node"),
		})
		if err != nil {
			return m, fmt.Errorf("--node: %w", err)
		}
	}
	m.client, err = cluster.Connect(ctx, m.conn, &cluster.Options{MapCopies: f.copies()})
	return m, err
}

// connection returns the options of a connection to NATS, which is kept up for as long as the process runs.
func (f *clusterFlags) connection(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("riffle " + f.node), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to the cluster is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("the connection to the cluster is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) { log.Warn("NATS", "error", err) }),
	}
}

// close leaves the cluster.
func (m *member) close() error {
	var err error
	if m.client != nil {
		err = m.client.Close()
	}
	if m.node != nil {
		m.node.Close()
	}
	if m.conn != nil {
		m.conn.Close()
	}
	if m.server != nil {
		m.server.Close()
	}
	return err
}
