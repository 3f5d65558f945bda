package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/examples/stdlib/library"
	"github.com/riffle-search/riffle/internal/freeport"
)

func newClusterDemo() *cobra.Command {
	var d clusterDemo
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a cluster of three nodes on this machine",
		Long: `Runs three nodes, each a process of riffle serve --cluster, and puts Go's standard library into an index of
three shards with two replicas each, whose logs have three copies. Then it searches, says what to try next,
and runs until it is interrupted. What it has made is removed then, unless --dir says where to keep it.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&d.dir, "dir", "", "directory for the nodes' files, which stay (default: one that is removed)")
	c.Flags().StringVar(&d.goroot, "goroot", "", "Go installation (default: that of the go command)")
	c.Flags().StringVar(&d.query, "query", "read a file line by line", "what to search for")
	c.MarkFlagDirname("dir")
	c.MarkFlagDirname("goroot")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d.out, d.errw = c.OutOrStdout(), c.ErrOrStderr()
		return d.run(c.Context())
	}
	return c
}

const (
	demoNodes = 3
	demoIndex = "go"
	demoReady = time.Minute // for all nodes to be up, and to end

	demoSaid = 2000 // bytes of the log of a node that does not start

	demoHTTP = 7701 // first port, if it is free
	demoNATS = 4222
)

// A clusterDemo is a cluster of processes of this machine.
type clusterDemo struct {
	dir, goroot, query string
	out, errw          io.Writer
	nodes              []*demoNode
	removed            bool   // dir is, at the end
	token              string // of what was written
	running            sync.WaitGroup
}

// A demoNode is a process.
type demoNode struct {
	name       string
	http, nats string // addresses
	args       []string
	process    int // its number
}

func (d *clusterDemo) run(ctx context.Context) (err error) {
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "riffle-demo-"); err != nil {
			return err
		}
		d.removed = true
		defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	}
	defer d.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	if err := d.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d nodes in %.1f s, with their files and logs in %s.\n", demoNodes, time.Since(began).Seconds(), d.dir)
	c := client.New("http://"+d.nodes[0].http, nil)
	if err := d.fill(ctx, c); err != nil {
		return err
	}
	if err := d.search(ctx, c); err != nil {
		return err
	}
	d.advise()
	<-ctx.Done()
	fmt.Fprintln(d.out, "\nStopping.")
	return nil
}

// start starts the nodes and waits until they serve.
func (d *clusterDemo) start(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	// All servers must know the addresses of all from the beginning.
	var routes []string
	for i := range demoNodes {
		n := &demoNode{name: fmt.Sprint("n", i+1)}
		route, err := freeport.Address()
		if err == nil {
			n.nats, err = freeAt(fmt.Sprint("127.0.0.1:", demoNATS+i))
		}
		if err == nil {
			n.http, err = freeAt(fmt.Sprint("127.0.0.1:", demoHTTP+i))
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(d.dir, n.name), 0o750)
		}
		if err != nil {
			return err
		}
		d.nodes, routes = append(d.nodes, n), append(routes, route)
	}
	started := make(chan error, demoNodes)
	for i, n := range d.nodes {
		n.args = []string{program, "serve", "--cluster", "demo", "--node", n.name, "--dir", filepath.Join(d.dir, n.name),
			"--cluster-listen", routes[i], "--routes", strings.Join(routes, ","), "--nats-listen", n.nats, "--listen", n.http}
		d.running.Go(func() { d.serve(ctx, n, started) })
	}
	for range d.nodes {
		select {
		case err := <-started:
			if err != nil {
				return err
			}
		case <-time.After(demoReady):
			return fmt.Errorf("the nodes are not ready within %v; their logs are in %s", demoReady, d.dir)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// freeAt returns an address at which nobody listens: the one given, or one of another port.
func freeAt(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return freeport.Address()
	}
	return l.Addr().String(), l.Close()
}

// serve runs a node until ctx ends. It tells when the node serves, or why it does not, and if it ends by itself.
func (d *clusterDemo) serve(ctx context.Context, n *demoNode, started chan<- error) {
	log, err := os.OpenFile(filepath.Join(d.dir, n.name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		started <- err
		return
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, n.args[0], n.args[1:]...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(d.dir, n.name)) // a node that is killed leaves its own there
	if !d.removed {                                                        // otherwise there is nothing worth closing
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	}
	cmd.WaitDelay = demoReady
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		started <- err
		return
	}
	n.process = cmd.Process.Pid
	line, _ := bufio.NewReader(out).ReadString('\n')
	serves := strings.HasPrefix(line, "Serving on ")
	if serves {
		started <- nil
	}
	io.Copy(io.Discard, out)
	err = cmd.Wait()
	switch {
	case !serves:
		said, _ := os.ReadFile(log.Name())
		started <- fmt.Errorf("node %s has not started: %v\n%s", n.name, err, said[max(0, len(said)-demoSaid):])
	case ctx.Err() == nil:
		fmt.Fprintf(d.out, "\nNode %s has ended: %v. To start it again:\n  %s\n", n.name, err, strings.Join(n.args, " "))
	}
}

// fill makes the index, unless the directory has it from an earlier demo.
func (d *clusterDemo) fill(ctx context.Context, c *client.Client) error {
	schema, err := library.Schema()
	if err != nil {
		return err
	}
	err = c.CreateSharded(ctx, demoIndex, &client.NewIndex{Schema: schema, Shards: demoNodes, Replicas: 2, LogCopies: 3})
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Status == http.StatusConflict {
		fmt.Fprintf(d.out, "The index %s is there already.\n", demoIndex)
		return nil
	}
	if err != nil {
		return err
	}
	began, n := time.Now(), 0
	w := c.Writer(ctx, demoIndex, nil)
	version, err := library.Each(ctx, d.goroot, func(id string, doc any) error {
		n++
		return w.Put(id, doc)
	})
	if err != nil {
		return fmt.Errorf("indexing Go's standard library: %w", err)
	}
	sum, err := w.Close()
	if err != nil {
		return err
	}
	d.token = sum.Token
	took := time.Since(began).Seconds()
	fmt.Fprintf(d.out, "%d documents of %s in %.1f s: 3 shards, 2 replicas of each, 3 copies of each log, all synced.\n", n, version, took)
	return nil
}

// search searches, as of all that fill has written, and prints the hits.
func (d *clusterDemo) search(ctx context.Context, c *client.Client) error {
	r, err := c.SearchAfter(ctx, demoIndex, d.token, &client.SearchRequest{Text: &client.Text{Text: d.query}, K: 5, Load: []string{"doc"}, ExactTotal: true})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n%d documents for %q in %.1f ms, from %s:\n", r.Total, d.query, r.Took, r.Executor)
	for _, h := range r.Hits {
		doc, _ := h.Fields["doc"].(string)
		first, _, _ := strings.Cut(doc, "\n")
		fmt.Fprintf(d.out, "  %7.3f  %-36s %s\n", h.Score, h.ID, first)
	}
	return nil
}

// advise says what to try.
func (d *clusterDemo) advise() {
	var nats []string
	for _, n := range d.nodes {
		nats = append(nats, n.nats)
	}
	last := d.nodes[len(d.nodes)-1]
	fmt.Fprintf(d.out, `
Each node answers for all shards:
`)
	for _, n := range d.nodes {
		fmt.Fprintf(d.out, "  %s  http://%s  process %d\n", n.name, n.http, n.process)
	}
	fmt.Fprintf(d.out, `
Try:
  kill -9 %d
  curl 'http://%s/v1/indexes/%s/search?q=%s'
  %s cluster status --nats %s
Ctrl-C ends all nodes.
`, last.process, d.nodes[0].http, demoIndex, url.QueryEscape(d.query), filepath.Base(d.nodes[0].args[0]), strings.Join(nats, ","))
}
