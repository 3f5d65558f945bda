// Package remote lets a search use the shards of other nodes (package scatter): a Server answers for
// one replica, and a Shard asks the replicas of a shard, one of which answers for a session.
//
// # Which replica
//
// A session begins with the better of two replicas chosen at random: that with fewer requests under
// way. If it has not answered after the time in which 95 of 100 requests were answered lately, a
// second one is asked as well, and the first answer counts. If one fails, the next is asked at once.
// A session stays with the replica that answered, because it holds the session's snapshot. When that
// replica is gone, the error matches scatter.ErrGone, and the search begins again with another.
//
// While a request is under way, its node is asked twice a second whether it is there. If it does not
// say so, says that it has started again, or says twice that it does not have the request, which was lost with a
// connection, the request has failed: whoever waits does not wait for the deadline.
//
// # Requests and replies
//
// Both are JSON, with a version; statistics and results of searches, which are sent most, stand behind it in a
// binary form (binary.go). Values keep their types: an int64 is written without a point, a
// float64 with one, and others as objects. A request has the time that is left to its caller. A reply has
// the partial aggregations of a search behind its JSON; more requests fetch what one message cannot hold.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// A Caller carries a request to a node and its reply back.
type Caller interface {
	// Call returns the reply of a node for a shard. An error means that there is none.
	Call(ctx context.Context, node string, request []byte) ([]byte, error)
}

// A Shard is a shard with replicas on nodes. Its methods are safe for concurrent use.
type Shard struct {
	caller Caller

	mu    sync.Mutex
	nodes []*node
	pace  pace
}

// A node has a replica.
type node struct {
	name     string
	under    int    // requests under way
	instance string // of its server, as far as it is known
	revision string // of the last snapshot of its replica, likewise
}

// NewShard returns a shard with replicas on the nodes of these names.
func NewShard(c Caller, nodes ...string) *Shard {
	s := &Shard{caller: c}
	s.SetNodes(nodes...)
	return s
}

// SetNodes says which nodes have a replica from now on.
func (s *Shard) SetNodes(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []*node
	for _, name := range names {
		i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
		if i >= 0 {
			nodes = append(nodes, s.nodes[i])
		} else {
			nodes = append(nodes, &node{name: name})
		}
	}
	s.nodes = nodes
}

// Nodes returns the names of the nodes with a replica.
func (s *Shard) Nodes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, n := range s.nodes {
		names = append(names, n.name)
	}
	return names
}

// Session implements scatter.Shard.
func (s *Shard) Session(_ context.Context, atLeast uint64) (scatter.Session, error) {
	return &session{shard: s, atLeast: atLeast}, nil
}

// Get returns the stored fields of a document, which the replica that answers has applied up to the
// entry atLeast. The error matches riffle.ErrNotFound if there is none.
func (s *Shard) Get(ctx context.Context, id string, atLeast uint64) (map[string]any, error) {
	r, _, err := s.first(ctx, &request{Verb: verbGet, ID: &value{id}, AtLeast: atLeast}, nil)
	if err != nil {
		return nil, err
	}
	return plainOf(r.Fields), nil
}

// Fields returns figures of the fields that documents have, as the replica that answers has them, which has
// applied the entry atLeast.
func (s *Shard) Fields(ctx context.Context, atLeast uint64) ([]riffle.FieldStats, error) {
	r, _, err := s.first(ctx, &request{Verb: verbFields, AtLeast: atLeast}, nil)
	if err != nil {
		return nil, err
	}
	return r.FieldStats, nil
}

// order returns the nodes as they should be asked: the better of two first.
func (s *Shard) order() []*node {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := slices.Clone(s.nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	if len(nodes) > 1 && nodes[1].under < nodes[0].under {
		nodes[0], nodes[1] = nodes[1], nodes[0]
	}
	return nodes
}

// revisionOf returns the last known revision of the first node in an order.
func (s *Shard) revisionOf(nodes []*node) string {
	if len(nodes) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nodes[0].revision
}

// call asks one node.
func (s *Shard) call(ctx context.Context, n *node, r *request) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	n.under++
	instance := n.instance
	s.mu.Unlock()
	r.Call = strconv.FormatUint(rand.Uint64(), 36)
	watch := time.AfterFunc(pingEvery, func() { s.watch(ctx, cancel, n, instance, r.Call) })
	defer watch.Stop()
	began := time.Now()
	to, err := s.exchange(ctx, n, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	n.under--
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errGone):
		return nil, &callError{n.name, errGone}
	case err != nil:
		return nil, err
	}
	s.pace.add(time.Since(began))
	n.instance = to.Instance
	if r.Lease == "" && to.Revision != "" {
		n.revision = to.Revision
	}
	if to.Error != nil {
		return to, fmt.Errorf("node %s: %w", n.name, to.Error.err())
	}
	return to, nil
}

// exchange sends a request to a node and reads the reply.
func (s *Shard) exchange(ctx context.Context, n *node, r *request) (*reply, error) {
	r.Version = messageVersion
	if deadline, ok := ctx.Deadline(); ok {
		if r.Timeout = time.Until(deadline); r.Timeout <= 0 {
			return nil, context.DeadlineExceeded
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	if data, err = s.caller.Call(ctx, n.name, join(data, r.attached)); err != nil {
		return nil, &callError{n.name, err}
	}
	to := &reply{}
	data, to.attached = cut(data)
	if err := json.Unmarshal(data, to); err != nil {
		return nil, fmt.Errorf("remote: the reply of node %s: %w", n.name, err)
	}
	return to, nil
}

const (
	pingEvery   = 500 * time.Millisecond
	pingTimeout = 400 * time.Millisecond
	lostAfter   = 2 // pings that do not find the request
)

var errGone = errors.New("it does not answer any more")

// watch asks a node whether it is there until ctx ends, and cancels when it is not, when it is not the instance that
// a request was sent to, or when it does not have the request.
func (s *Shard) watch(ctx context.Context, cancel context.CancelCauseFunc, n *node, instance, call string) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for idle := 0; ; {
		short, done := context.WithTimeout(ctx, pingTimeout)
		to, err := s.exchange(short, n, &request{Verb: verbPing, Call: call})
		done()
		if err == nil && to.Working != nil && !*to.Working {
			idle++ // the reply may be on its way
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || instance != "" && to.Instance != instance || idle == lostAfter:
			cancel(errGone)
			return
		}
		instance = to.Instance
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// A callError says that a node did not answer.
type callError struct {
	node string
	err  error
}

func (e *callError) Error() string { return fmt.Sprintf("node %s: %v", e.node, e.err) }
func (e *callError) Unwrap() error { return e.err }

// another reports whether another replica may answer what one did not.
func another(err error) bool {
	_, unanswered := errors.AsType[*callError](err)
	return unanswered || errors.Is(err, ErrBusy) || errors.Is(err, riffle.ErrClosed) || errors.Is(err, ErrVersion) || errors.Is(err, ErrLease)
}

// An answer is what a node has said.
type answered struct {
	node  *node
	reply *reply
	err   error
}

// Replicas that do not answer are asked again for a while: they may be opening. If one is silent, the
// connection may be one to a server that is paused or cut off, and another server be found soon.
const (
	patience        = time.Second
	silencePatience = 3 * time.Second
	pause           = 20 * time.Millisecond
)

// waits is how long replicas are asked again after an error.
func waits(err error) time.Duration {
	if errors.Is(err, errGone) {
		return silencePatience
	}
	return patience
}

// first asks replicas until one answers: those of nodes in the first round, if it is not nil, and then in an
// order of its own.
func (s *Shard) first(ctx context.Context, r *request, nodes []*node) (*reply, *node, error) {
	for began := time.Now(); ; nodes = nil {
		if nodes == nil {
			nodes = s.order()
		}
		to, n, err := s.round(ctx, r, nodes)
		if !errors.Is(err, ErrUnreachable) || time.Since(began) > waits(err) {
			return to, n, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, nil, errors.Join(ctx.Err(), err)
		}
	}
}

// round asks each replica once, until one answers.
func (s *Shard) round(ctx context.Context, r *request, nodes []*node) (*reply, *node, error) {
	answers := make(chan answered, len(nodes))
	calls, cancel := outlive(ctx)
	ask := func(n *node) {
		own := *r
		go func() {
			to, err := s.call(calls, n, &own)
			answers <- answered{n, to, err}
		}()
	}
	asked, open := 0, 0
	var errs []error
	next := func() {
		if asked < len(nodes) {
			ask(nodes[asked])
			asked, open = asked+1, open+1
		}
	}
	next()
	hedge := time.NewTimer(s.hedgeAfter())
	defer hedge.Stop()
	defer func() { go s.forget(answers, open, cancel) }()
	for open > 0 {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case a := <-answers:
			open--
			if a.err == nil || !another(a.err) || ctx.Err() != nil {
				return a.reply, a.node, a.err
			}
			errs = append(errs, a.err)
			next()
		case <-hedge.C:
			next()
		}
	}
	return nil, nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(errs...))
}

// outlive returns a context with the deadline of another one that does not end with it. A node that has a
// request may hold a snapshot for it, whose name comes with the answer.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// forget gives back the snapshots of answers that come too late, and cancels when all have come.
func (s *Shard) forget(answers <-chan answered, open int, cancel context.CancelFunc) {
	defer cancel()
	for range open {
		if a := <-answers; a.reply != nil && a.reply.Lease != "" {
			s.giveBack(a.node, a.reply.Lease)
		}
	}
}

const giveBackTimeout = 5 * time.Second

func (s *Shard) giveBack(n *node, lease string) {
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTimeout)
	defer cancel()
	s.call(ctx, n, &request{Verb: verbClose, Lease: lease}) // otherwise the node ends it by itself
}

func (s *Shard) hedgeAfter() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace.p95()
}

// A pace is how long the last requests took.
type pace struct {
	times [128]time.Duration
	n     int
}

const (
	firstHedge = 50 * time.Millisecond // until enough requests are known
	leastHedge = time.Millisecond
)

func (p *pace) add(d time.Duration) {
	p.times[p.n%len(p.times)] = d
	p.n++
}

// p95 is the time within which 95 of 100 requests were answered.
func (p *pace) p95() time.Duration {
	n := min(p.n, len(p.times))
	if n < 20 {
		return firstHedge
	}
	sorted := p.times
	slices.Sort(sorted[:n])
	return max(leastHedge, sorted[n*95/100])
}
