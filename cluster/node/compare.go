package node

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/replica"
)

// compared is what is known of a replica beside the others of its shard. The package comment says how it
// is decided which has diverged.
type compared struct {
	reading sync.WaitGroup // of the log

	mu      sync.Mutex
	ctx     context.Context         // of the running replica; nil if it does not run
	condemn context.CancelCauseFunc // stops it
	agreed  replica.Position        // the last one at which all others that were compared agreed
	cleared uint64                  // up to here the log has decided that this replica is right
	busy    bool                    // the log is being read
	differs map[string]uint64       // nodes whose digest was another one, and where
	better  []string                // nodes that were right when this replica was not
}

// begin begins to compare a replica that runs now.
func (c *compared) begin(ctx context.Context, condemn context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.condemn, c.agreed, c.cleared, c.differs = ctx, condemn, replica.Position{}, 0, map[string]uint64{}
}

// end waits until the replica, whose context has ended, is no longer compared.
func (c *compared) end() {
	c.mu.Lock()
	c.ctx = nil
	c.mu.Unlock()
	c.reading.Wait()
}

// forget forgets who was right, after the replica has been replaced.
func (c *compared) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.better, c.differs = nil, nil
}

// nodes returns the nodes that differ.
func (c *compared) nodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.differs))
}

func (c *compared) right() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.better)
}

// diverged stops the replica.
func (c *compared) diverged(r *replica.Replica, sequence uint64, right []string, why string) {
	c.better = right
	c.condemn(&replica.DivergedError{Position: r.Position(), Why: fmt.Sprintf("up to entry %d %s", sequence, why)})
}

// compare compares the replicas of the node with what others have told of theirs.
func (n *Node) compare() {
	n.mu.Lock()
	shards := slices.Collect(maps.Values(n.shards))
	n.mu.Unlock()
	heard := n.view.All()
	for _, s := range shards {
		s.mu.Lock()
		r := s.replica
		s.mu.Unlock()
		if r != nil {
			s.compare(r, heard)
		}
	}
}

// A vote is the digest of a replica at a sequence.
type vote struct {
	node     string
	sequence uint64
	digest   replica.Digest
}

// votes returns what others have told of their replicas of a shard.
func (s *shard) votes(heard []heartbeat.Heard) []vote {
	var all []vote
	members := s.index.Load().Members(s.place.shard)
	for _, h := range heard {
		if h.Node == s.n.o.Name || time.Since(h.At) > heardWithin || !slices.Contains(members, h.Node) {
			continue
		}
		b := h.Replica(s.place.index, s.place.epoch, s.place.shard)
		if b == nil || State(b.State) != Running {
			continue
		}
		for _, at := range []struct {
			sequence uint64
			digest   string
		}{{b.Sequence, b.Digest}, {b.Mark, b.MarkDigest}} {
			v := vote{node: h.Node, sequence: at.sequence}
			if n, err := hex.Decode(v.digest[:], []byte(at.digest)); err == nil && n == len(v.digest) && at.sequence > 0 {
				all = append(all, v)
			}
		}
	}
	return all
}

func (s *shard) compare(r *replica.Replica, heard []heartbeat.Heard) {
	c := &s.compared
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		return
	}
	votes := s.votes(heard)
	worst := uint64(0) // the last entry at which somebody differs
	var ownThere replica.Digest
	for _, v := range votes {
		own, ok := r.DigestAt(v.sequence)
		switch {
		case !ok:
		case own != v.digest:
			if c.differs[v.node] = v.sequence; v.sequence > worst {
				worst, ownThere = v.sequence, own
			}
		case v.sequence >= c.differs[v.node]:
			delete(c.differs, v.node)
		}
	}
	if worst == 0 {
		for _, v := range votes {
			if own, ok := r.DigestAt(v.sequence); ok && v.sequence > c.agreed.Sequence && len(c.differs) == 0 {
				c.agreed = replica.Position{Sequence: v.sequence, Digest: own}
			}
		}
		return
	}
	if worst > c.cleared && !c.busy {
		s.decide(r, worst, ownThere, votes)
	}
}

// decide decides by the majority whether the replica has diverged, or begins to read the log. The caller
// holds the lock of what was compared.
func (s *shard) decide(r *replica.Replica, sequence uint64, own replica.Digest, votes []vote) {
	c := &s.compared
	with := map[replica.Digest][]string{own: {s.n.o.Name}}
	for _, v := range votes {
		if v.sequence == sequence && !slices.Contains(with[v.digest], v.node) {
			with[v.digest] = append(with[v.digest], v.node)
		}
	}
	all := len(s.index.Load().Members(s.place.shard))
	for d, nodes := range with {
		if 2*len(nodes) <= all {
			continue
		}
		if d == own {
			c.cleared = sequence
		} else {
			c.diverged(r, sequence, nodes, "most replicas have read something else: those of "+strings.Join(nodes, ", "))
		}
		return
	}
	c.busy = true
	ctx, from := c.ctx, c.agreed
	c.reading.Go(func() { s.consult(ctx, r, from, sequence, own, with) })
}

// consultTimeout is how long reading the log to decide may take. It is tried again later.
const consultTimeout = 10 * time.Minute

// consult reads the log up to an entry and compares the digest with that of the replica.
func (s *shard) consult(outer context.Context, r *replica.Replica, from replica.Position, sequence uint64, own replica.Digest, with map[replica.Digest][]string) {
	ctx, cancel := context.WithTimeout(outer, consultTimeout)
	defer cancel()
	d, err := r.DigestOf(ctx, from, sequence)
	if err != nil && from.Sequence > 0 && ctx.Err() == nil { // perhaps its beginning is still there
		d, err = r.DigestOf(ctx, replica.Position{}, sequence)
	}
	c := &s.compared
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	switch {
	case outer.Err() != nil:
	case err != nil:
		s.n.o.Log.Warn("replicas differ, and the log cannot say which is right", "index", s.place.index, "shard", s.place.shard,
			"nodes", slices.Collect(maps.Keys(c.differs)), "error", err)
	case d == own:
		c.cleared = sequence
	default:
		c.diverged(r, sequence, with[d], "the log has something else")
	}
}
