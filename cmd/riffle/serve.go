package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cmd/riffle/internal/clustered"
	"github.com/riffle-search/riffle/server"
)

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve {--dir DIR | --db [NAME=]DIR... | --demo | --cluster NAME --node NAME --dir DIR | --nats URL}",
		Short: "Serve indexes over HTTP, with a page",
		Long: `Serves indexes over HTTP, and a page to search them and to look inside. With --dir every
folder of DIR that is an index is served, and clients can create and drop indexes in it. With --db
single indexes are served, too, under the names of their folders or others. --demo serves an index of
Go's standard library, for reading, under the name go.

With --cluster the process is a node of a cluster, and serves its indexes, whose documents are divided
over the nodes: DIR has the node's part of them, and the logs. --nats joins a cluster whose servers of
NATS run elsewhere.

Listens on this machine alone unless --listen says otherwise. For other machines give --keys, a file
of keys that riffle key makes, and a certificate (--tls-cert, --tls-key). Keys and certificates are
read again when their files change, and on SIGHUP.

The address goes to standard output, the log to standard error. The first interrupt, or SIGTERM, ends
the server: for --drain it takes new connections and /readyz says no, then no more come in, and
requests under way are answered. The second one ends it at once.`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return serve(c.Context(), &f, c.OutOrStdout(), c.ErrOrStderr())
	}
	f.declare(c.Flags())
	c.Flags().SortFlags = false
	c.MarkFlagDirname("dir")
	c.MarkFlagsOneRequired("dir", "db", "demo", "nats")
	return c
}

// serve serves until ctx ends.
func serve(ctx context.Context, f *serveFlags, out, errw io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.logger(errw)
	if err != nil {
		return err
	}
	o := f.limits
	o.Log, o.CacheBytes = log, int64(f.cache)
	if !f.cluster.given() {
		o.Dir = f.dir
	}
	o.MaxBody, o.MaxBulk, o.AnswerBytes, o.IdempotencyBytes = int64(f.maxBody), int64(f.maxBulk), int64(f.answerMemory), int64(f.keptMemory)
	if f.keys != "" {
		if o.Keys, err = readKeys(f.keys); err != nil {
			return fmt.Errorf("--keys: %w", err)
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close()
	if err := f.checkAccess(listener.Addr().(*net.TCPAddr)); err != nil {
		return err
	}
	tracer, endTraces, err := newTracer(ctx, f.otlp, log)
	if err != nil {
		return err
	}
	if tracer != nil {
		o.Tracer = tracer
	}
	if f.cluster.given() {
		m, failed := f.cluster.join(ctx, f.dir, int64(f.cache), log)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, m.close()) }()
		o.Cluster = clustered.New(m.client, clustered.Options{LogCopies: f.cluster.copies()})
	}
	s, err := server.New(&o)
	if err != nil {
		return err
	}
	engines, err := mount(ctx, s, f, errw)
	if err == nil {
		err = serveUntil(ctx, s, listener.(*net.TCPListener), f, log, out)
	}
	end, cancel := context.WithTimeout(context.Background(), lastSteps)
	defer cancel()
	err = errors.Join(err, s.Close(end))
	for _, e := range engines {
		err = errors.Join(err, e.Close())
	}
	if failed := endTraces(end); failed != nil { // a collector that does not answer is no failure of the server
		log.Warn("the last spans were not sent", "error", failed)
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// lastSteps is how long requests may take to notice that their connections have been cut off.
const lastSteps = 5 * time.Second

// mount mounts the indexes that flags name one by one. The caller closes them, those that come with an error, too.
func mount(ctx context.Context, s *server.Server, f *serveFlags, log io.Writer) (engines []*riffle.Engine, err error) {
	for _, db := range f.dbs {
		name, dir := nameOf(db)
		e, err := openToChange(dir, &riffle.Options{Listener: s.Listener(name)})
		if err != nil {
			return engines, fmt.Errorf("--db: %w", err)
		}
		engines = append(engines, e)
		if err := s.Mount(name, e); err != nil {
			return engines, fmt.Errorf("--db %s: %w", db, err)
		}
	}
	if f.demo {
		e, err := openDemo(ctx, log, s.Listener("go"))
		if err != nil {
			return engines, fmt.Errorf("--demo: %w", err)
		}
		engines = append(engines, e)
		if err := s.Mount("go", e); err != nil {
			return engines, fmt.Errorf("--demo: %w", err)
		}
	}
	return engines, nil
}

// serveUntil answers requests until ctx ends, and then those under way.
func serveUntil(ctx context.Context, s *server.Server, listener *net.TCPListener, f *serveFlags, log *slog.Logger, out io.Writer) error {
	connections := limitConnections(listener, f.connections)
	h := &http.Server{
		Handler: s, ConnState: connections.state,
		ReadHeaderTimeout: f.headerTimeout, IdleTimeout: f.idleTimeout, MaxHeaderBytes: 64 << 10,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: 32},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	scheme, run, files := "http", func() error { return h.Serve(connections) }, []*reloaded{}
	if f.keys != "" {
		files = append(files, &reloaded{"--keys", []string{f.keys}, func() error { return replaceKeys(s, f.keys) }, nil})
	}
	if f.tlsCert != "" {
		c := certificate{certFile: f.tlsCert, keyFile: f.tlsKey}
		if err := c.load(); err != nil {
			return fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		files = append(files, &reloaded{"--tls-cert", []string{c.certFile, c.keyFile}, c.load, nil})
		h.TLSConfig = c.config()
		scheme, run = "https", func() error { return h.ServeTLS(connections, "", "") }
	} else if f.keys != "" && !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		log.Warn("keys cross the network in the clear; give --tls-cert and --tls-key, or put a proxy with TLS before this server")
	}
	stop := reload(log, files)
	defer stop()
	fmt.Fprintf(out, "Serving on %s://%v\n", scheme, listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- run() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", "drain", f.drain)
	s.Drain()
	time.Sleep(f.drain)
	connections.end()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		log.Warn("connections that wait may be lost", "error", err)
	}
	end, cancel := context.WithTimeout(context.Background(), f.stopTimeout)
	defer cancel()
	if err := h.Shutdown(end); err != nil {
		return errors.Join(fmt.Errorf("--stop-timeout: requests have been cut off: %w", err), h.Close())
	}
	return nil
}

func readKeys(path string) (*server.Keys, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	keys, err := server.ReadKeys(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

func replaceKeys(s *server.Server, path string) error {
	keys, err := readKeys(path)
	if err != nil {
		return err
	}
	return s.SetKeys(keys)
}
