package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/topology"
)

// indexName is that of the index of a run.
const indexName = "faults"

// A runner is a run under way.
type runner struct {
	s        *settings
	network  *network
	machines []*machine
	conns    []*nats.Conn
	clients  []*cluster.Client
	history  *history
	load     *load
	report   *report
	js       jetstream.JetStream // of the first connection
	tails    []*tail             // of the logs
	epoch    uint64              // of the index

	mu    sync.Mutex
	happy []time.Duration // of each node: when all its replicas last ran
	empty map[int]bool    // nodes that may have none, because they are drained
}

// run runs a cluster, and returns what was found. An error says that the run itself has failed.
func run(ctx context.Context, s *settings, faults []fault) (_ *report, err error) {
	unlock, err := freshDir(s.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r := &runner{s: s, history: &history{began: time.Now()}, report: &report{settings: s}, happy: make([]time.Duration, s.nodes), empty: map[int]bool{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	var watching sync.WaitGroup
	for i := range r.machines {
		watching.Go(func() { r.watch(watched, i) })
	}
	if err := r.begun(ctx); err != nil {
		return nil, err
	}
	tailed, untail := context.WithCancel(ctx)
	var tailing sync.WaitGroup
	defer tailing.Wait()
	defer untail()
	if r.js, err = jetstream.New(r.conns[0]); err != nil {
		return nil, err
	}
	for i := range s.shards {
		t := &tail{shard: i, config: r.config(i)}
		r.tails = append(r.tails, t)
		tailing.Go(func() { t.run(tailed, r.js) })
	}
	loaded, stop := context.WithTimeout(ctx, s.time)
	defer stop()
	began := r.history.now()
	var running sync.WaitGroup
	running.Go(func() { r.load.run(loaded) })
	r.inject(loaded, faults, began)
	running.Wait()
	unwatch()
	watching.Wait()
	r.report.took, r.report.missed = r.history.now()-began, r.load.missed
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.report, r.settle(ctx)
}

// freshDir makes an empty folder and locks it. What an earlier run has left there is removed.
func freshDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, err
	}
	lock, err := os.Create(dir + ".lock")
	if err != nil {
		return nil, err
	}
	unlock = func() { lock.Close() }
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another run uses %s: %w", dir, err), lock.Close())
	}
	disks, err := filepath.Glob(filepath.Join(dir, "disk-*"))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	for _, d := range disks { // left mounted by a run that was killed
		if err := syscall.Unmount(d, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			return nil, errors.Join(fmt.Errorf("unmounting %s: %w", d, err), lock.Close())
		}
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o750)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return unlock, nil
}

// start starts the nodes.
func (r *runner) start(context.Context) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if len(r.s.only) == 0 || slices.Contains(r.s.only, clock) {
		if program, err = buildNode(filepath.Join(filepath.Dir(r.s.dir), "node")); err != nil {
			return fmt.Errorf("a node whose clock steps: %w", err)
		}
	}
	if r.network, err = newNetwork(os.Getpid(), r.s.nodes); err != nil {
		return err
	}
	var addresses []string
	for i := range r.s.nodes {
		addresses = append(addresses, r.network.address(i))
	}
	if err := writeCertificate(r.s.dir, addresses); err != nil {
		return err
	}
	synced := r.s.seed/2%2 == 1
	for i := range r.s.nodes {
		m, err := newMachine(r.s, r.network, i, program, synced)
		if err != nil {
			return err
		}
		r.machines = append(r.machines, m)
		if err := m.start(); err != nil {
			return err
		}
	}
	return nil
}

// clusterStarts is how long servers may take to have a leader.
const clusterStarts = time.Minute

// create connects the clients and creates the index.
func (r *runner) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterStarts)
	defer cancel()
	o := &cluster.Options{MapCopies: 3}
	var indexes []*cluster.Index
	for i := range r.machines {
		conn, err := connect(r.network, i)
		if err != nil {
			return err
		}
		r.conns = append(r.conns, conn)
		c, err := connectCluster(ctx, conn, o)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, c)
		if i == 0 {
			var names []string
			for _, m := range r.machines {
				names = append(names, m.name)
			}
			err = c.Create(ctx, cluster.IndexOptions{
				Name: indexName, Shards: r.s.shards, Replicas: r.s.replicas, Nodes: names, LogCopies: 3, LogBytes: 1 << 30, Schema: schema,
				Keep: topology.Keep{Messages: 100},
			})
			if err != nil {
				return err
			}
			st, err := c.Status(ctx)
			if err != nil {
				return err
			}
			r.epoch = st.Indexes[0].Epoch
		}
		x, err := c.Index(ctx, indexName)
		if err != nil {
			return err
		}
		indexes = append(indexes, x)
	}
	r.load = newLoad(r.s, r.history, indexes)
	return nil
}

// begun waits until all replicas run for the first time.
func (r *runner) begun(ctx context.Context) error {
	began := r.history.now()
	for i, m := range r.machines {
		for r.whenHappy(i) == 0 {
			if r.history.now()-began > clusterStarts {
				return fmt.Errorf("%s has no replicas after %v: see %s.log", m.name, clusterStarts, m.name)
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	r.report.begun = r.history.now() - began
	return nil
}

// connectCluster connects a client once the cluster answers.
func connectCluster(ctx context.Context, conn *nats.Conn, o *cluster.Options) (*cluster.Client, error) {
	for {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		c, err := cluster.Connect(short, conn, o)
		cancel()
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// inject lets the faults happen, and returns when all have ended.
func (r *runner) inject(ctx context.Context, faults []fault, began time.Duration) {
	var under sync.WaitGroup
	for _, f := range faults {
		select {
		case <-time.After(began + f.At - r.history.now()):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		under.Go(func() { r.happen(ctx, f) })
	}
	under.Wait()
}

// happen is one fault from its beginning until its nodes have recovered.
func (r *runner) happen(ctx context.Context, f fault) {
	nodes := []int{f.Node}
	switch f.Kind {
	case killLeader:
		nodes[0] = r.leader(ctx, f.Shard, f.Node)
	case killTwo:
		nodes = append(nodes, f.Other)
	}
	e := &event{fault: f, nodes: nodes, began: r.history.now()}
	r.report.begin(e)
	r.say("%v", f)
	end, err := r.begin(&f, nodes)
	switch {
	case err != nil:
	case f.Kind.operated():
		if e := r.operate(ctx, &f); e != nil { // other faults may hinder it
			r.say("%v: %v", f, e)
			r.report.hindered(f.Kind)
		}
	default:
		select {
		case <-time.After(f.For):
		case <-ctx.Done():
		}
		err = end()
	}
	ended := r.history.now()
	if err != nil {
		r.report.fail("harness", "fault %v: %v", f, err)
	}
	if f.Kind.operated() { // no node has lost anything
		nodes = nil
	}
	r.report.mu.Lock()
	e.ended = ended
	r.report.mu.Unlock()
	for _, i := range nodes {
		for r.whenHappy(i) < ended && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	r.report.mu.Lock()
	e.recovered = r.history.now()
	r.report.mu.Unlock()
	r.say("recovered after %.1f s: %v", (e.recovered - ended).Seconds(), f)
}

func (r *runner) say(format string, args ...any) {
	if r.s.verbose {
		fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", r.history.now().Seconds(), fmt.Sprintf(format, args...))
	}
}

// config returns which log is that of a shard.
func (r *runner) config(shard int) jetlog.Config {
	return jetlog.Config{Index: indexName, Epoch: r.epoch, Shard: shard}
}

// leader returns the node that leads the log of a shard, or otherwise if that is not known.
func (r *runner) leader(ctx context.Context, shard, otherwise int) int {
	for _, conn := range r.conns {
		js, err := jetstream.New(conn)
		if err != nil {
			continue
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		config := r.config(shard)
		stream, err := js.Stream(short, config.Stream())
		cancel()
		if err != nil || stream.CachedInfo().Cluster == nil {
			continue
		}
		leader := stream.CachedInfo().Cluster.Leader
		if i := slices.IndexFunc(r.machines, func(m *machine) bool { return m.name == leader }); i >= 0 {
			return i
		}
	}
	return otherwise
}

// begin lets a fault of nodes begin, and returns what ends it.
func (r *runner) begin(f *fault, nodes []int) (end func() error, err error) {
	m := r.machines[nodes[0]]
	switch f.Kind {
	case kill, killLeader, killTwo, wipe:
		for _, i := range nodes {
			err = errors.Join(err, r.machines[i].kill())
		}
		return func() (err error) {
			switch {
			case f.Kind != wipe:
			case r.othersHappy(f.Node):
				// Another fault of this node may have started it.
				err = errors.Join(m.kill(), m.wipe())
			default: // the last replica of a shard must not go
				r.say("nothing is wiped, because other nodes have not all their replicas: %v", f)
				r.report.hindered(f.Kind)
			}
			for _, i := range nodes {
				err = errors.Join(err, r.machines[i].start())
			}
			return err
		}, err
	case pause:
		return func() error { return m.signal(syscall.SIGCONT) }, m.signal(syscall.SIGSTOP)
	case cut, isolate, oneWay, deaf:
		links := r.network.links(f)
		return func() error { return r.network.change(links, -1) }, r.network.change(links, 1)
	case slowSync:
		return m.slow(f.Delay)
	case full:
		return m.fill()
	case clock:
		step := func(d time.Duration) error {
			if err := m.tell(fmt.Sprint("clock ", d)); err != nil && !errors.Is(err, errDown) && !strings.Contains(err.Error(), "pipe") {
				return err
			}
			return nil
		}
		return func() error { return step(0) }, step(f.Step)
	}
	if f.Kind.operated() {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no fault %q", f.Kind)
}

// watch asks a node for its replicas, again and again, and starts it anew if its process has died.
func (r *runner) watch(ctx context.Context, i int) {
	m := r.machines[i]
	refused := map[int]int64{}
	for ctx.Err() == nil {
		if m.died() {
			r.report.fail("processes", "%s has ended by itself at %v: see %s.log", m.name, r.history.now(), m.name)
			if err := m.start(); err != nil {
				r.report.fail("harness", "%s cannot be started: %v", m.name, err)
			}
		}
		asked := r.history.now()
		all, err := m.status()
		running := err == nil && (len(all) > 0 || all != nil && r.mayBeEmpty(i))
		for _, s := range all {
			running = running && s.State == node.Running
			if s.Refused > refused[s.Shard] {
				r.report.fail("refused", "%s refused changes of shard %d: %+v", m.name, s.Shard, s)
			}
			refused[s.Shard] = s.Refused
		}
		if running {
			r.mu.Lock()
			r.happy[i] = asked
			r.mu.Unlock()
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// mayBeEmpty reports whether a node may have no replicas.
func (r *runner) mayBeEmpty(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.empty[i]
}

func (r *runner) setEmpty(i int, empty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.empty[i] = empty
}

// whenHappy returns when all replicas of a node last ran.
func (r *runner) whenHappy(i int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.happy[i]
}

// othersHappy reports whether all replicas of all other nodes run.
func (r *runner) othersHappy(than int) bool {
	for i := range r.machines {
		if i != than && r.history.now()-r.whenHappy(i) > time.Second {
			return false
		}
	}
	return true
}

// close ends everything.
func (r *runner) close() error {
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	for _, c := range r.conns {
		c.Close()
	}
	for _, m := range r.machines {
		errs = append(errs, m.close())
	}
	if r.network != nil {
		errs = append(errs, r.network.close())
	}
	return errors.Join(errs...)
}

// openReplica opens the index of a replica of a node that does not run.
func (r *runner) openReplica(m *machine, epoch uint64, shard int) (*riffle.Engine, error) {
	dir := filepath.Join(m.disk, "indexes", indexName, fmt.Sprint(epoch), fmt.Sprint(shard))
	return riffle.Open(dir, &riffle.Options{Durability: riffle.SyncNone})
}
