package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/access"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
)

// clusterFlags say which cluster a process joins, and as which node.
type clusterFlags struct {
	connectFlags // nats is instead of cluster

	cluster    string   // name; empty without an embedded server of NATS
	node       string   // name; empty for a process that only serves HTTP
	listen     string   // for the other servers
	routes     []string // addresses of all servers
	clients    string   // for clients of NATS
	users      string   // file of who may be one
	copiesAt   string   // for other nodes that fetch copies
	inTheClear bool     // without them
	logCopies  int
	logSpace   byteSize
	takeName   bool
}

// declare adds the flags to a command's.
func (f *clusterFlags) declare(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", "name of a cluster: run a server of NATS of it in this process, with its files in --dir")
	f.connectFlags.declare(flags, "", "URL of the servers of NATS of a cluster, instead of --cluster")
	flags.StringVar(&f.node, "node", "", "name of this node; without it --nats serves indexes of other nodes alone")
	flags.StringVar(&f.listen, "cluster-listen", "", "with --cluster: address for the other servers, such as 10.0.0.1:6222 (none: a cluster of one)")
	flags.StringSliceVar(&f.routes, "routes", nil, "with --cluster: the --cluster-listen of all servers")
	flags.StringVar(&f.clients, "nats-listen", "", "with --cluster: address for other programs, such as riffle cluster (none: no others)")
	flags.StringVar(&f.users, "nats-users", "", "with --nats-listen: file of who may connect, which riffle cluster key writes")
	flags.StringVar(&f.copiesAt, "copies-listen", "", "address at which other nodes fetch copies of indexes (none: nodes of this machine alone)")
	flags.BoolVar(&f.inTheClear, "no-cluster-tls", false, "connect to other machines without certificates: whoever reaches the ports can read and change everything")
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
			{"--nats-users", f.users != ""}, {"--nats-key", f.key != ""}, {"--copies-listen", f.copiesAt != ""}, {"--cluster-cert", f.cert != ""},
			{"--cluster-key", f.certKey != ""}, {"--cluster-ca", f.ca != ""}, {"--no-cluster-tls", f.inTheClear}, {"--log-copies", f.logCopies != 0}, {"--take-name", f.takeName}} {
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
	if (f.routes == nil) != (f.listen == "") {
		fault("--routes and --cluster-listen need each other")
	}
	if f.users != "" && f.clients == "" {
		fault("--nats-users goes with --nats-listen")
	}
	if f.key != "" && f.nats == "" {
		fault("--nats-key goes with --nats")
	}
	if err := f.connectFlags.check(); err != nil {
		errs = append(errs, err)
	}
	for _, at := range []struct{ flag, address string }{{"--cluster-listen", f.listen}, {"--nats-listen", f.clients}, {"--copies-listen", f.copiesAt}} {
		if at.address != "" && f.cert == "" && !f.inTheClear && !ofThisMachine(at.address) {
			fault("%s: other machines reach %s: give --cluster-cert, --cluster-key and --cluster-ca, or --no-cluster-tls", at.flag, at.address)
		}
	}
	if f.clients != "" && f.users == "" && !f.inTheClear && !ofThisMachine(f.clients) {
		fault("--nats-listen: other machines reach %s: give --nats-users", f.clients)
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

// ofThisMachine reports whether only processes of this machine reach an address.
func ofThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// readUsers reads the file of users, which may be none.
func (f *clusterFlags) readUsers() ([]access.User, error) {
	if f.users == "" {
		return nil, nil
	}
	file, err := os.Open(f.users)
	if err != nil {
		return nil, fmt.Errorf("--nats-users: %w", err)
	}
	defer file.Close()
	users, err := access.ReadUsers(file)
	if err != nil {
		return nil, fmt.Errorf("--nats-users: %s: %w", f.users, err)
	}
	return users, nil
}

// A member is what a process is in a cluster.
type member struct {
	server *embedded.Server // nil with an external one
	conn   *nats.Conn
	node   *node.Node // nil without a name
	client *cluster.Client

	stop        context.CancelFunc // of Control, in a process with a server
	controlling sync.WaitGroup
}

// join joins the cluster; searches of the replicas of a node keep cache bytes in memory together. It waits until enough servers are up to decide, or until ctx ends.
func (f *clusterFlags) join(ctx context.Context, dir string, cache int64, log *slog.Logger) (m *member, err error) {
	m = &member{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
			m = nil
		}
	}()
	config, err := f.tls()
	if err != nil {
		return m, err
	}
	if f.cluster != "" {
		users, err := f.readUsers()
		if err != nil {
			return m, err
		}
		o := embedded.Options{
			Name: f.node, Dir: filepath.Join(dir, "nats"), Cluster: f.cluster, Listen: f.listen, Routes: f.routes, Clients: f.clients,
			Users: users, Open: f.clients != "" && f.users == "", ServerTLS: config,
			MaxBytes: int64(f.logSpace), Log: log.With("of", "nats"),
		}
		if f.cert != "" {
			o.ClientTLS = config
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
		if m.conn, err = m.server.Connect(keptUp("riffle "+f.node, log)...); err != nil {
			return m, err
		}
	} else if m.conn, err = f.connect("riffle "+f.node, log); err != nil {
		return m, err
	}
	if f.node != "" {
		m.node, err = node.Start(ctx, node.Options{
			Name: f.node, Dir: filepath.Join(dir, "shards"), Conn: m.conn, Copies: copies.ServerOptions{Listen: f.copiesAt, TLS: mutual(config)}, CacheBytes: cache, MapCopies: f.copies(), TakeName: f.takeName, Log: log.With("of", "node"),
		})
		if err != nil {
			return m, fmt.Errorf("--node: %w", err)
		}
	}
	if m.client, err = cluster.Connect(ctx, m.conn, &cluster.Options{MapCopies: f.copies(), CopyTLS: mutual(config)}); err != nil {
		return m, err
	}
	if m.server != nil { // the connection may do everything
		control, stop := context.WithCancel(context.Background())
		m.stop = stop
		m.controlling.Go(func() { m.client.Control(control, cluster.ControlOptions{Log: log.With("of", "cluster")}) })
	}
	return m, nil
}

// mutual returns a configuration in which clients must show a certificate.
func mutual(c *tls.Config) *tls.Config {
	if c == nil || len(c.Certificates) == 0 {
		return nil
	}
	c = c.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c
}

// close leaves the cluster.
func (m *member) close() error {
	var err error
	if m.stop != nil {
		m.stop()
		m.controlling.Wait()
	}
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
