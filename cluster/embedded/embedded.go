// Package embedded runs a server of NATS with JetStream in the process of a node, with the settings
// that package cluster needs: what it acknowledges is on disk (SyncAlways).
package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle/cluster/access"
)

// Options configure a Server.
type Options struct {
	Name string // of the server, unique in the cluster
	Dir  string // of its files

	Cluster string   // name of the cluster; all servers have the same
	Listen  string   // address for the other servers, such as "10.0.0.1:6222"; empty for a server alone
	Routes  []string // addresses of all servers, at the first start; later one that is up is enough

	// Clients is the address for clients of other processes; empty for none.
	Clients string

	// Users are who may connect at Clients, and what they may do. Without users nobody can, unless Open is set: then
	// everybody may do everything. Connect needs no user.
	Users []access.User
	Open  bool

	// ClientTLS is for clients; nil for connections in the clear. ServerTLS is for connections between servers: its
	// certificates are shown to other servers, which must be known by RootCAs and ClientCAs. Nil, too, stands for
	// connections in the clear, and then whoever reaches Listen can become a server of the cluster.
	ClientTLS, ServerTLS *tls.Config

	MaxBytes int64        // disk space for logs; 0 is what the disk has
	Log      *slog.Logger // nil for none
}

// A Server is a running server.
type Server struct {
	s        *server.Server
	seed     string // of the user of Connect; empty for none
	dir      string
	maxBytes int64
	log      *slog.Logger
	stop     chan struct{}
	reviving sync.WaitGroup
}

// A server that is paused, or that no packets reach, closes no connection. Others take it for gone after
// about routePings * (routePingsOut + 1), rather than after the minutes that NATS takes by default, and
// connect anew once it is there again.
const (
	routePings    = time.Second
	routePingsOut = 2
)

// ready is how long a server may take to start.
const ready = 30 * time.Second

// Start starts a server. With routes it does not wait for the others: WaitReady does.
func Start(o Options) (*Server, error) {
	if o.Name == "" || o.Dir == "" {
		return nil, errors.New("embedded: Options lack the name or the directory")
	}
	so := &server.Options{
		ServerName: o.Name, JetStream: true, StoreDir: o.Dir, SyncAlways: true, JetStreamMaxStore: o.MaxBytes,
		NoSigs: true, DontListen: o.Clients == "",
	}
	seed, err := allow(so, &o)
	if err != nil {
		return nil, err
	}
	if o.Listen != "" && o.Clients == "" {
		// A server that does not listen for clients does not listen for other servers either. It lets in none.
		so.DontListen, so.Host, so.Port = false, "127.0.0.1", server.RANDOM_PORT
	}
	if o.Clients != "" {
		if so.Host, so.Port, err = split(o.Clients); err != nil {
			return nil, err
		}
	}
	if o.Listen != "" {
		if o.Cluster == "" || len(o.Routes) == 0 {
			return nil, errors.New("embedded: Options.Listen goes with the name of a Cluster, and Routes to its servers")
		}
		so.Cluster.Name = o.Cluster
		so.Cluster.PingInterval, so.Cluster.MaxPingsOut = routePings, routePingsOut
		if so.Cluster.Host, so.Cluster.Port, err = split(o.Listen); err != nil {
			return nil, err
		}
		so.Cluster.TLSConfig, so.Cluster.TLSTimeout = verified(o.ServerTLS), tlsTimeout.Seconds()
		for _, r := range o.Routes {
			so.Routes = append(so.Routes, &url.URL{Scheme: "nats-route", Host: r})
		}
	}
	s, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if o.Log != nil {
		s.SetLoggerV2(logger{o.Log}, false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(ready) {
		s.Shutdown()
		return nil, fmt.Errorf("embedded: server %s does not start", o.Name)
	}
	x := &Server{s: s, seed: seed, dir: o.Dir, maxBytes: o.MaxBytes, log: o.Log, stop: make(chan struct{})}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.reviving.Go(x.revive)
	return x, nil
}

func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("embedded: %q is no address: %w", address, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// WaitReady waits until JetStream answers: in a cluster, until its servers have a leader.
func (s *Server) WaitReady(ctx context.Context) error {
	for {
		if s.s.JetStreamIsCurrent() || !s.s.JetStreamIsClustered() && s.s.JetStreamEnabled() {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("embedded: server %s has no cluster: %w", s.s.Name(), ctx.Err())
		}
	}
}

// Connect returns a connection without a socket.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	var own []nats.Option
	if s.seed != "" {
		var err error
		if own, err = access.Options(s.seed); err != nil {
			return nil, err
		}
	}
	c, err := nats.Connect("", slices.Concat(options, own, []nats.Option{nats.InProcessServer(s.s)})...)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return c, nil
}

// ClusterAddress returns the address at which other servers find this one, or "".
func (s *Server) ClusterAddress() string {
	if a := s.s.ClusterAddr(); a != nil {
		return a.String()
	}
	return ""
}

// ClientAddress returns the address at which the server listens for clients, or "".
func (s *Server) ClientAddress() string {
	if a := s.s.Addr(); a != nil {
		return a.String()
	}
	return ""
}

// Peers returns the number of other servers that this one is connected to.
func (s *Server) Peers() int {
	rz, err := s.s.Routez(&server.RoutezOptions{})
	if err != nil {
		return 0
	}
	names := map[string]bool{}
	for _, r := range rz.Routes { // a few connections to each
		names[r.RemoteName] = true
	}
	return len(names)
}

// Close stops the server and waits until its files are closed.
func (s *Server) Close() {
	close(s.stop)
	s.reviving.Wait()
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// A logger writes what a server of NATS logs.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) } // some fifty lines at the start
func (l logger) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l logger) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l logger) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l logger) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l logger) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
