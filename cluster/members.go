package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// Replicas move in steps, each of which is one change of the map: the new replica joins, copies another one and reads
// the log; when it has what the log has, it takes the place of the old one in searches; the old one is
// removed when no search uses it any more. So no shard ever has fewer replicas than before. Whoever moves may fail
// after any step, and so may the nodes: the same call goes on where the last one ended.

// memberPause is how often a node is asked how far its replica is.
const memberPause = 50 * time.Millisecond

// Move moves the replica of a shard from one node to another, and returns when the old one is gone. It waits
// for the new one until ctx ends; RemoveReplica calls it off then. That from does not answer is no hindrance, but another
// replica must.
func (c *Client) Move(ctx context.Context, index string, shard int, from, to string) error {
	if from == to {
		return fmt.Errorf("cluster: shard %d of %s moves from node %s to itself", shard, index, from)
	}
	x, err := c.shardOf(ctx, index, shard)
	if err != nil {
		return err
	}
	if !slices.Contains(x.Nodes[shard], to) {
		if !slices.Contains(x.Nodes[shard], from) {
			return fmt.Errorf("cluster: node %s has no replica of shard %d of %s", from, shard, index)
		}
		if err := c.join(ctx, x, shard, to); err != nil {
			return err
		}
	}
	err = c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		switch {
		case now.Epoch != x.Epoch:
			return fmt.Errorf("%w: %s was dropped meanwhile", topology.ErrNoIndex, index)
		case slices.Contains(now.Nodes[shard], from):
			return now.Replace(shard, from, to)
		case !slices.Contains(now.Nodes[shard], to): // somebody else has moved it elsewhere
			now.Remove(shard, to)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if x, err = c.shardOf(ctx, x.Name, shard); err != nil {
		return err
	}
	if !slices.Contains(x.Nodes[shard], to) {
		return fmt.Errorf("cluster: the replica of shard %d of %s on node %s was moved elsewhere meanwhile", shard, index, from)
	}
	return c.left(ctx, x, shard, from)
}

// AddReplica adds a replica to a shard and returns when it takes part in searches.
func (c *Client) AddReplica(ctx context.Context, index string, shard int, on string) error {
	x, err := c.shardOf(ctx, index, shard)
	if err != nil || slices.Contains(x.Nodes[shard], on) {
		return err
	}
	if err := c.join(ctx, x, shard, on); err != nil {
		return err
	}
	return c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if now.Epoch != x.Epoch {
			return fmt.Errorf("%w: %s was dropped meanwhile", topology.ErrNoIndex, index)
		}
		return now.Replace(shard, "", on)
	})
}

// RemoveReplica removes a replica from a shard, also one that is joining, and returns when it is gone. The
// last one is not removed.
func (c *Client) RemoveReplica(ctx context.Context, index string, shard int, on string) error {
	x, err := c.shardOf(ctx, index, shard)
	if err != nil {
		return err
	}
	err = c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if now.Epoch != x.Epoch {
			return fmt.Errorf("%w: %s was dropped meanwhile", topology.ErrNoIndex, index)
		}
		if len(now.Nodes[shard]) == 1 && now.Nodes[shard][0] == on {
			return fmt.Errorf("cluster: the replica of shard %d of %s on node %s is the only one", shard, index, on)
		}
		now.Remove(shard, on)
		return nil
	})
	if err != nil {
		return err
	}
	return c.left(ctx, x, shard, on)
}

// shardOf returns the entry of an index, by its name or an alias, that has a shard.
func (c *Client) shardOf(ctx context.Context, index string, shard int) (*topology.Index, error) {
	x, err := c.find(ctx, index)
	if err == nil && (shard < 0 || shard >= len(x.Nodes)) {
		err = fmt.Errorf("cluster: index %s has the shards 0 to %d, not %d", index, len(x.Nodes)-1, shard)
	}
	return x, err
}

// join lets a node join a shard, and waits until its replica has what the log had when it was nearly there.
func (c *Client) join(ctx context.Context, x *topology.Index, shard int, on string) error {
	n, err := c.m.Node(ctx, on)
	if err != nil {
		return err
	}
	if n.Drained {
		return fmt.Errorf("cluster: node %s is drained; add it again to give it replicas", on)
	}
	err = c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if now.Epoch != x.Epoch {
			return fmt.Errorf("%w: %s was dropped meanwhile", topology.ErrNoIndex, x.Name)
		}
		now.Join(shard, on)
		return nil
	})
	if err != nil {
		return err
	}
	for range 2 { // the second wait is short: it is for what has come during the first
		if err := c.current(ctx, x, shard, on); err != nil {
			return err
		}
	}
	return nil
}

// current waits until a replica has what its log has now.
func (c *Client) current(ctx context.Context, x *topology.Index, shard int, on string) error {
	log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: shard})
	if err != nil {
		return err
	}
	b, err := oplog.SureBounds(ctx, log)
	if err != nil {
		return err
	}
	state := ""
	return c.poll(ctx, func() error {
		return fmt.Errorf("cluster: the replica of shard %d of %s on node %s is not ready: %s", shard, x.Name, on, state)
	}, on, func(h *heartbeat.Heard) bool {
		if h == nil {
			state = "the node does not answer"
			return false
		}
		r := h.Replica(x.Name, x.Epoch, shard)
		if r == nil {
			state = "the node does not have it yet"
			return false
		}
		state = fmt.Sprintf("it is %s at entry %d of %d %s", r.State, r.Sequence, b.Last, r.Error)
		return node.State(r.State) == node.Running && r.Sequence >= b.Last
	})
}

// left waits until a node has removed a replica. A node that does not answer will do so when it starts.
func (c *Client) left(ctx context.Context, x *topology.Index, shard int, on string) error {
	return c.poll(ctx, func() error {
		return fmt.Errorf("cluster: node %s still has its replica of shard %d of %s", on, shard, x.Name)
	}, on, func(h *heartbeat.Heard) bool {
		return h == nil || h.Replica(x.Name, x.Epoch, shard) == nil
	})
}

// poll asks a node until its answer, nil for none, is as it should be. late is the error when ctx ends.
func (c *Client) poll(ctx context.Context, late func() error, on string, good func(*heartbeat.Heard) bool) error {
	for {
		all, err := heartbeat.Ask(ctx, c.conn, []string{on}, answerWait)
		if ctx.Err() != nil {
			return errors.Join(late(), ctx.Err())
		}
		if err != nil {
			return err
		}
		var answer *heartbeat.Heard
		for i := range all {
			if all[i].Node == on {
				answer = &all[i]
			}
		}
		if good(answer) {
			return nil
		}
		select {
		case <-time.After(memberPause):
		case <-ctx.Done():
			return errors.Join(late(), ctx.Err())
		}
	}
}
