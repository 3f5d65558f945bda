package node

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/replica"
)

// answer answers a request to the node.
func (n *Node) answer(ctx context.Context, r *call.Request) (*call.Reply, error) {
	n.mu.Lock()
	s := n.shards[place{r.Index, r.Epoch, r.Shard}]
	n.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("there is no replica of shard %d of index %s", r.Shard, r.Index)
	}
	s.mu.Lock()
	running := s.replica
	s.mu.Unlock()
	if running == nil {
		return nil, errNotRunning
	}
	switch r.Verb {
	case call.Copy:
		short, cancel := context.WithTimeout(ctx, barrierWait)
		defer cancel()
		if err := running.Wait(short, r.AtLeast); err != nil {
			return nil, err
		}
		return n.giveCopy(s, running)
	case call.Hold:
		running.Hold(r.Lane, holdFor)
		return &call.Reply{}, nil
	case call.Check:
		return n.check(ctx, running, r.Lane)
	}
	return nil, fmt.Errorf("%q is nothing that the node can do", r.Verb)
}

// giveCopy gives a ticket for a copy of a replica.
func (n *Node) giveCopy(s *shard, r *replica.Replica) (*call.Reply, error) {
	p := r.Position() // that of the copy is this one or a later one
	ticket, err := n.copies.Ticket(s.checkpoint)
	if err != nil {
		return nil, err
	}
	return &call.Reply{Position: p.Append(nil), Address: n.copies.Address(), Ticket: ticket}, nil
}
