package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
	"github.com/riffle-search/riffle/cluster/topology"
)

// Deadlines of operations. Writes and linearizable reads wait for the next leader of a log.
const (
	readDeadline  = 5 * time.Second
	writeDeadline = 15 * time.Second

	// underWay is how many operations a writer or reader has under way at most.
	underWay = 32
)

// A load is the writers and readers of a run. A writer or reader begins operations at a rate, whether
// or not earlier ones have ended, so that one which waits does not hide what happens to others.
type load struct {
	s       *settings
	history *history
	indexes []*cluster.Index // of clients, each of which prefers another node
	ofShard [][]int          // ids

	mu     sync.Mutex
	handed []cluster.Token // of each writer: stands for all that it knows to be done
	missed int             // operations that did not begin, because too many were under way
}

// connect returns a connection to all nodes that begins with one of them.
func connect(n *network, first int) (*nats.Conn, error) {
	options := []nats.Option{
		nats.DontRandomize(), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.Timeout(time.Second),
		// A node that is paused or cut off closes no connection.
		nats.PingInterval(500 * time.Millisecond), nats.MaxPingsOutstanding(1),
		nats.RetryOnFailedConnect(true), nats.IgnoreDiscoveredServers(),
	}
	servers := ""
	for i := range n.nodes {
		if i > 0 {
			servers += ","
		}
		servers += "nats://" + n.address((first+i)%n.nodes) + ":" + clientPort
	}
	return nats.Connect(servers, options...)
}

func newLoad(s *settings, h *history, indexes []*cluster.Index) *load {
	l := &load{s: s, history: h, indexes: indexes, handed: make([]cluster.Token, writers), ofShard: make([][]int, s.shards)}
	for i := range ids {
		n := topology.ShardOf(idOf(i), s.shards)
		l.ofShard[n] = append(l.ofShard[n], i)
	}
	return l
}

// run runs writers and readers until ctx ends, and returns when all operations have ended.
func (l *load) run(ctx context.Context) {
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() { l.pace(ctx, i, l.s.writes/writers, l.write) })
	}
	for i := range readers {
		running.Go(func() { l.pace(ctx, writers+i, l.s.reads/readers, l.read) })
	}
	running.Wait()
}

// pace begins operations of a client at a rate, in operations a second. The random numbers of each
// follow from the seed, the client and the number of the operation.
func (l *load) pace(ctx context.Context, client int, rate float64, operate func(rng *rand.Rand, client, n int)) {
	gaps := rand.New(rand.NewPCG(l.s.seed, uint64(100+client)))
	slots := make(chan struct{}, underWay)
	var running sync.WaitGroup
	defer running.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration((0.5 + gaps.Float64()) / rate * float64(time.Second))):
		}
		select {
		case slots <- struct{}{}:
			running.Go(func() {
				operate(rand.New(rand.NewPCG(l.s.seed, uint64(client)<<32|uint64(n))), client, n)
				<-slots
			})
		default:
			l.mu.Lock()
			l.missed++
			l.mu.Unlock()
		}
	}
}

func (l *load) index(client int) *cluster.Index { return l.indexes[max(client, 0)%len(l.indexes)] }

// write writes one to three documents, mostly of one shard.
func (l *load) write(rng *rand.Rand, client, n int) {
	shard := rng.IntN(l.s.shards)
	from := l.ofShard[shard]
	if rng.IntN(10) == 0 {
		shard, from = -1, slices.Concat(l.ofShard...)
	}
	var b riffle.Batch
	var ops []operation
	for _, i := range rng.Perm(len(from))[:min(1+rng.IntN(3), len(from))] {
		op := operation{Client: client, Action: put, ID: idOf(from[i]), Shard: shard}
		if rng.IntN(5) == 0 {
			op.Action = remove
			b.Delete(op.ID)
		} else {
			op.Value = fmt.Sprintf("w%d.%d.%d", client, n, len(ops))
			b.Put(op.ID, document(op.Value))
		}
		ops = append(ops, op)
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeDeadline)
	defer cancel()
	call := l.history.now()
	w, err := l.index(client).Write(ctx, &b)
	end := l.history.now()
	for i := range ops {
		op := &ops[i]
		op.Call, op.Return, op.Outcome = call, end, refused
		e := err
		if w != nil {
			op.Sequence, e = w.Outcomes[i].Sequence, w.Outcomes[i].Err
		}
		if e != nil {
			op.Error = e.Error()
		}
		switch {
		case e == nil:
			op.Outcome = done
		case errors.Is(e, oplog.ErrUnknown):
			if op.Outcome = unknown; l.s.plant == plantDone {
				op.Outcome = done
			}
		}
	}
	l.history.add(ops...)
	if w == nil {
		return
	}
	l.hand(client, w.Token)
	if rng.IntN(3) == 0 && w.Err() == nil {
		l.get(client, ops[0].ID, getToken, w.Token)
	}
}

// hand lets readers have a token of a writer.
func (l *load) hand(writer int, t cluster.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handed[writer] = l.handed[writer].And(t)
}

func (l *load) token(writer int) cluster.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handed[writer]
}

// read reads in one of the ways that there are.
func (l *load) read(rng *rand.Rand, client, _ int) {
	id, token := idOf(rng.IntN(ids)), l.token(rng.IntN(writers))
	tag := fmt.Sprint("t", rng.IntN(6))
	switch n := rng.IntN(100); {
	case n < 30:
		l.get(client, id, getLatest, cluster.Token{})
	case n < 45:
		l.get(client, id, getToken, token)
	case n < 55:
		l.get(client, id, getAny, cluster.Token{})
	case n < 70:
		l.search(client, searchToken, tag, riffle.Term{Field: "tag", Value: tag}, token)
	case n < 80:
		l.search(client, searchAny, tag, riffle.Term{Field: "tag", Value: tag}, cluster.Token{})
	default:
		l.search(client, searchRandom, "", scattertest.Query(rng, rng.IntN(3)), cluster.Token{})
	}
}

func (l *load) get(client int, id string, a action, token cluster.Token) {
	op := operation{Client: client, Action: a, ID: id, Shard: topology.ShardOf(id, l.s.shards), AtLeast: token.Sequences}
	o := cluster.GetOptions{Token: token, Linearizable: a == getLatest && l.s.plant != plantStaleGet}
	deadline := readDeadline
	if a == getLatest {
		deadline = writeDeadline
	}
	if l.s.plant == plantForget {
		o.Token = cluster.Token{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	op.Call = l.history.now()
	doc, err := l.index(client).Get(ctx, id, o)
	op.Return, op.Outcome = l.history.now(), done
	switch {
	case err == nil:
		op.Value, _ = doc[valueField].(string)
	case !errors.Is(err, riffle.ErrNotFound):
		op.Outcome, op.Error = failed, err.Error()
	}
	l.history.add(op)
}

func (l *load) search(client int, a action, tag string, q riffle.Query, token cluster.Token) {
	op := operation{Client: client, Action: a, Shard: -1, Tag: tag, AtLeast: token.Sequences}
	o := &cluster.SearchOptions{Token: token, Options: scatter.Options{SearchOptions: riffle.SearchOptions{K: 10, Load: []string{valueField}}}}
	if tag != "" {
		o.K = ids
	}
	if l.s.plant == plantForget {
		o.Token = cluster.Token{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), readDeadline)
	defer cancel()
	op.Call = l.history.now()
	r, err := l.index(client).Search(ctx, q, o)
	op.Return, op.Outcome = l.history.now(), done
	_, query := errors.AsType[*riffle.QueryError](err)
	switch {
	case query: // some random queries are refused
	case err != nil:
		op.Outcome, op.Error = failed, err.Error()
	default:
		op.Partial = r.Incomplete
		for i := range r.Hits {
			value, _ := r.Hits[i].Fields[valueField].(string)
			op.Found = append(op.Found, found{r.Hits[i].ID, value, r.Hits[i].Shard})
		}
	}
	l.history.add(op)
}
