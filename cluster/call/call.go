// Package call carries requests to a node as a whole: to give a copy of a replica to another node, or to
// check one. Searches go to replicas themselves: package remote.
//
// Requests and replies are JSON, with a version, on the subject riffle-node.NODE.do. While a request is
// under way its caller asks every second whether the node is still there, so that a long one needs no
// deadline of its own.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle/cluster/heartbeat"
)

// Version is that of requests and replies.
const Version = 1

// Verbs of requests.
const (
	Ping  = "ping"  // nothing
	Copy  = "copy"  // a ticket for a copy of a replica: Address, Ticket, Position
	Hold  = "hold"  // a snapshot of a replica at the barrier of Request.Lane, for Check
	Check = "check" // compares what a replica has at that barrier: Contents
)

// A Request is what a node is asked for.
type Request struct {
	Version int    `json:"v"`
	Verb    string `json:"verb"`

	Index string `json:"index,omitempty"`
	Epoch uint64 `json:"epoch,omitempty"`
	Shard int    `json:"shard,omitempty"`
	Lane  string `json:"lane,omitempty"` // of a barrier

	AtLeast uint64 `json:"at_least,omitempty"` // of a copy: the entry that it must have
}

// A Reply is the answer of a node.
type Reply struct {
	Version int    `json:"v"`
	Error   string `json:"error,omitempty"`

	Position []byte `json:"position,omitempty"` // of the replica; see package replica

	Address string `json:"address,omitempty"` // of the server of copies
	Ticket  string `json:"ticket,omitempty"`  // for it

	Contents *Contents `json:"contents,omitempty"`
}

// Contents are what a check of a replica has found.
type Contents struct {
	Docs      int      `json:"docs"`
	Documents string   `json:"documents"` // digest of ids and stored fields, hexadecimal
	Terms     string   `json:"terms"`     // digest of the terms of all fields, and of how many documents have each
	Faults    []string `json:"faults,omitempty"`
	More      int      `json:"more,omitempty"` // faults that are not listed
}

var (
	// ErrGone says that a node does not answer.
	ErrGone = errors.New("call: the node does not answer")

	// ErrRefused says that a node has answered with an error.
	ErrRefused = errors.New("call: the node has refused")
)

const (
	pingEvery   = time.Second
	pingTimeout = 2 * time.Second
)

// Do sends a request to a node and returns its reply. The error matches ErrGone if the node does not
// answer, or stops while it works, and ErrRefused if it answers with an error.
func Do(ctx context.Context, c *nats.Conn, node string, r *Request) (*Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	if r.Verb != Ping {
		watching.Go(func() { watch(ctx, cancel, c, node) })
	}
	r.Version = Version
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	m, err := c.RequestWithContext(ctx, heartbeat.DoSubject(node), data)
	switch {
	case errors.Is(err, nats.ErrNoResponders), err != nil && errors.Is(context.Cause(ctx), ErrGone):
		return nil, fmt.Errorf("%w: %s", ErrGone, node)
	case err != nil:
		return nil, fmt.Errorf("call: node %s: %w", node, err)
	}
	to := &Reply{}
	if err := json.Unmarshal(m.Data, to); err != nil {
		return nil, fmt.Errorf("call: the reply of node %s: %w", node, err)
	}
	if to.Error != "" {
		return nil, fmt.Errorf("%w: %s: %s", ErrRefused, node, to.Error)
	}
	return to, nil
}

// watch asks whether a node is there until ctx ends, and cancels when it is not.
func watch(ctx context.Context, cancel context.CancelCauseFunc, c *nats.Conn, node string) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		short, done := context.WithTimeout(ctx, pingTimeout)
		_, err := Do(short, c, node, &Request{Verb: Ping})
		done()
		if err != nil && ctx.Err() == nil {
			cancel(ErrGone)
			return
		}
	}
}

// Listen answers the requests to a node with what handle returns, until stop is called, which cancels the
// context of those under way and waits for them.
func Listen(c *nats.Conn, node string, handle func(context.Context, *Request) (*Reply, error)) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	s, err := c.Subscribe(heartbeat.DoSubject(node), func(m *nats.Msg) {
		under.Go(func() { m.Respond(answer(ctx, m.Data, handle)) })
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("call: %w", err)
	}
	return func() error {
		err := s.Unsubscribe()
		cancel()
		under.Wait()
		if errors.Is(err, nats.ErrConnectionClosed) {
			return nil
		}
		return err
	}, nil
}

func answer(ctx context.Context, data []byte, handle func(context.Context, *Request) (*Reply, error)) []byte {
	to := &Reply{}
	var r Request
	err := json.Unmarshal(data, &r)
	switch {
	case err != nil:
	case r.Version != Version:
		err = fmt.Errorf("a request of version %d; the node knows version %d", r.Version, Version)
	case r.Verb != Ping:
		to, err = handle(ctx, &r)
	}
	if err != nil {
		to = &Reply{Error: err.Error()}
	}
	to.Version = Version
	data, err = json.Marshal(to)
	if err != nil {
		panic(err) // texts and numbers
	}
	return data
}
