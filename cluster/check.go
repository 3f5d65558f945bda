package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A CheckResult says what a check of an index has found.
type CheckResult struct {
	Index  string       `json:"index"`
	Shards []ShardCheck `json:"shards"`
}

// A ShardCheck is the check of a shard.
type ShardCheck struct {
	Shard    int            `json:"shard"`
	Sequence uint64         `json:"sequence"` // of the barrier at which its replicas were compared
	Replicas []ReplicaCheck `json:"replicas"`
	Error    string         `json:"error,omitempty"` // why its replicas were not compared
}

// A ReplicaCheck is the check of a replica.
type ReplicaCheck struct {
	Node   string `json:"node"`
	Digest string `json:"digest"` // of the entries that it has read
	call.Contents
	Error string `json:"error,omitempty"` // why it was not checked
}

// Check compares the replicas of each shard at one entry of its log, while others are written: which entries they have
// read, their documents, and the terms of these. And each replica verifies all of its checksums
// (riffle.Engine.Check). What is wrong is in the result; the error says only why the check ended early. Fields of
// numbers and dates that are not stored are verified, not compared.
func (c *Client) Check(ctx context.Context, index string) (*CheckResult, error) {
	x, err := c.find(ctx, index)
	if err != nil {
		return nil, err
	}
	r := &CheckResult{Index: x.Name}
	for i := range x.Nodes {
		s := ShardCheck{Shard: i}
		if err := c.checkShard(ctx, x, &s); err != nil {
			s.Error = err.Error()
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.Shards = append(r.Shards, s)
	}
	return r, nil
}

func (c *Client) checkShard(ctx context.Context, x *topology.Index, s *ShardCheck) error {
	lane := "check-" + rand.Text()
	request := func(verb string) *call.Request {
		return &call.Request{Verb: verb, Index: x.Name, Epoch: x.Epoch, Shard: s.Shard, Lane: lane}
	}
	for _, node := range x.Nodes[s.Shard] {
		r := ReplicaCheck{Node: node}
		if _, err := call.Do(ctx, c.conn, node, request(call.Hold)); err != nil {
			r.Error = err.Error()
		}
		s.Replicas = append(s.Replicas, r)
	}
	var err error
	if s.Sequence, err = c.barrier(ctx, x, s.Shard, lane); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Error != "" {
			continue
		}
		wg.Go(func() {
			to, err := call.Do(ctx, c.conn, r.Node, request(call.Check))
			if err == nil {
				err = r.fill(to, s.Sequence)
			}
			if err != nil {
				r.Error = err.Error()
			}
		})
	}
	wg.Wait()
	return nil
}

func (r *ReplicaCheck) fill(to *call.Reply, sequence uint64) error {
	p, err := replica.ParsePosition(to.Position)
	switch {
	case err != nil:
		return err
	case to.Contents == nil:
		return errors.New("cluster: a reply without contents")
	case p.Sequence != sequence:
		return fmt.Errorf("cluster: the replica was checked at entry %d, not at %d", p.Sequence, sequence)
	}
	r.Digest, r.Contents = hex.EncodeToString(p.Digest[:]), *to.Contents
	return nil
}

// barrierTries is how often a barrier is appended whose fate is not known. Its id is the same each time.
const barrierTries = 5

// barrier appends a barrier to a lane of its own.
func (c *Client) barrier(ctx context.Context, x *topology.Index, shard int, lane string) (sequence uint64, err error) {
	log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: shard})
	if err != nil {
		return 0, err
	}
	return appendAlone(ctx, log, lane, &oplog.Record{Kind: oplog.Barrier, Epoch: x.Epoch})
}

// appendAlone appends a record to a lane of its own, which has no other.
func appendAlone(ctx context.Context, log oplog.Log, lane string, r *oplog.Record) (sequence uint64, err error) {
	data, err := r.Append(nil)
	if err != nil {
		return 0, err
	}
	for range barrierTries {
		sequence, err = log.Append(ctx, lane, 0, oplog.Message{ID: "1", Data: data})
		if at, landed := errors.AsType[*oplog.LaneError](err); landed && at.LastID == "1" {
			return at.Last, nil
		}
		if !errors.Is(err, oplog.ErrUnknown) || ctx.Err() != nil {
			break
		}
	}
	return sequence, err
}

// Faults returns what is wrong, a sentence each.
func (r *CheckResult) Faults() []string {
	var all []string
	for _, s := range r.Shards {
		at := fmt.Sprintf("shard %d of index %s", s.Shard, r.Index)
		if s.Error != "" {
			all = append(all, fmt.Sprintf("%s was not compared: %s", at, s.Error))
		}
		first := -1 // that was checked
		for i, x := range s.Replicas {
			if x.Error != "" {
				all = append(all, fmt.Sprintf("the replica of %s on node %s was not checked: %s", at, x.Node, x.Error))
				continue
			}
			for _, f := range x.Faults {
				all = append(all, fmt.Sprintf("the replica of %s on node %s: %s", at, x.Node, f))
			}
			if x.More > 0 {
				all = append(all, fmt.Sprintf("the replica of %s on node %s: and %d other faults", at, x.Node, x.More))
			}
			if first < 0 {
				first = i
				continue
			}
			if why := s.Replicas[first].differs(&x); why != "" {
				all = append(all, fmt.Sprintf("the replicas of %s on nodes %s and %s differ at entry %d: %s", at, s.Replicas[first].Node, x.Node, s.Sequence, why))
			}
		}
	}
	return all
}

// differs says in what two replicas differ, or returns nothing.
func (r *ReplicaCheck) differs(o *ReplicaCheck) string {
	switch {
	case r.Digest != o.Digest:
		return "they have read different entries"
	case r.Docs != o.Docs:
		return fmt.Sprintf("%d and %d documents", r.Docs, o.Docs)
	case r.Documents != o.Documents:
		return "documents"
	case r.Terms != o.Terms:
		return "terms of equal documents"
	}
	return ""
}
