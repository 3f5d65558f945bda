package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// Trimmed says what Trim has done with the log of a shard.
type Trimmed struct {
	Shard  int    `json:"shard"`
	Before uint64 `json:"before"` // the first entry that the log had
	First  uint64 `json:"first"`  // the first one that it has now
	Last   uint64 `json:"last"`

	// Held says why entries stay that would not be kept, or is empty.
	Held string `json:"held,omitempty"`
}

// Trim removes entries from the logs of an index that all replicas have on disk, also those that are joining,
// but for those that topology.Keep covers. A replica of which nothing is known holds all entries that it may
// not have: when its node does not come back, drain the node before the log is full. So do replicas of which two
// differ, and an index that is made of this one, until the log is half full. The connection needs the
// permission to purge streams, which only those have that control the cluster.
func (c *Client) Trim(ctx context.Context, index string) ([]Trimmed, error) {
	x, err := c.find(ctx, index)
	if err != nil {
		return nil, err
	}
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	var all []Trimmed
	var errs []error
	for i := range x.Nodes {
		t, err := c.trim(ctx, v, x, i)
		if err != nil {
			errs = append(errs, fmt.Errorf("shard %d: %w", i, err))
			continue
		}
		all = append(all, *t)
	}
	return all, errors.Join(errs...)
}

func (c *Client) trim(ctx context.Context, v *look, x *topology.Index, shard int) (*Trimmed, error) {
	config := jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: shard}
	log, err := jetlog.Open(ctx, c.js, config)
	if err != nil {
		return nil, err
	}
	d, err := jetlog.Describe(ctx, c.js, config)
	if err != nil {
		return nil, err
	}
	t := &Trimmed{Shard: shard, Before: d.First, First: d.First, Last: d.Last}
	upTo := d.Last // the last entry to remove
	for _, node := range x.Members(shard) {
		r := v.replica(x, shard, node, d.Last)
		switch {
		case r.State == Silent || r.State == Missing:
			t.Held, upTo = fmt.Sprintf("the replica on node %s is %s", node, r.State), 0
		case len(r.Differs) > 0:
			t.Held, upTo = fmt.Sprintf("the replica on node %s differs from that on %s", node, r.Differs[0]), 0
		case r.Durable < upTo:
			t.Held, upTo = fmt.Sprintf("the replica on node %s is %s at entry %d", node, r.State, r.Durable), r.Durable
		}
	}
	reads := func(o *topology.Index) bool { return o.Reindexes == x.Epoch && !o.Dropped }
	if i := slices.IndexFunc(v.indexes, reads); i >= 0 && d.Bytes < d.MaxBytes/2 {
		t.Held, upTo = fmt.Sprintf("%s is being made of it", v.indexes[i].Name), 0
	}
	if !d.Sure {
		t.Held, upTo = "no quorum follows the leader of the log", 0
	}
	kept, err := keptFrom(ctx, log, d, x.Keep)
	if err != nil {
		return nil, err
	}
	if kept <= upTo+1 {
		t.Held = ""
	}
	before := min(upTo+1, kept)
	if before <= d.First {
		return t, nil
	}
	if err := log.Trim(ctx, before); err != nil {
		return nil, err
	}
	t.First = before
	return t, nil
}

// keptFrom returns the first entry of a log that is kept although all replicas have it.
func keptFrom(ctx context.Context, log *jetlog.Log, d *jetlog.Description, k topology.Keep) (uint64, error) {
	if k == (topology.Keep{}) {
		k.Bytes = d.MaxBytes / 4
	}
	entries := d.Last + 1 - d.First
	from := d.Last + 1
	last := func(n uint64) { from = min(from, d.Last+1-min(n, entries)) }
	last(k.Messages)
	if entries > 0 && k.Bytes > 0 {
		last(uint64(float64(entries) * min(float64(k.Bytes)/float64(max(d.Bytes, 1)), 1)))
	}
	if entries > 0 && k.Age > 0 {
		young, err := log.Since(ctx, time.Now().Add(-k.Age))
		if err != nil {
			return 0, err
		}
		from = min(from, young)
	}
	return from, nil
}

// ControlOptions configure Control.
type ControlOptions struct {
	Every time.Duration // how often the logs are trimmed; 0 is ten seconds
	Log   *slog.Logger  // nil for none
}

// Control does what a cluster needs now and then until ctx ends: it trims the logs and finishes drops and reindexing that
// failed in their last step.
// One program of the cluster should do so; several do no harm.
func (c *Client) Control(ctx context.Context, o ControlOptions) {
	if o.Every == 0 {
		o.Every = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	replacing := map[uint64]time.Time{} // when an index by its epoch was first seen beside that which replaces it
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		names, err := c.m.List(ctx)
		if err != nil {
			o.Log.Warn("the map cannot be read", "error", err)
			continue
		}
		for _, name := range names {
			if err := c.control(ctx, name, replacing, o.Log); err != nil && ctx.Err() == nil {
				o.Log.Warn("an index cannot be kept in order", "index", name, "error", err)
			}
		}
	}
}

func (c *Client) control(ctx context.Context, name string, replacing map[uint64]time.Time, log *slog.Logger) error {
	if err := c.finishDrop(ctx, name); err != nil {
		return err
	}
	x, err := c.m.Get(ctx, name)
	if errors.Is(err, topology.ErrNoIndex) {
		return nil
	}
	if err != nil || !x.Ready {
		return err
	}
	if len(x.Replaces.Epochs) > 0 {
		since, known := replacing[x.Epoch]
		if !known {
			replacing[x.Epoch] = time.Now()
		} else if time.Since(since) > 2*c.o.FollowEvery { // all clients follow
			if err := c.dropReplaced(ctx, x); err != nil {
				return err
			}
		}
	}
	all, err := c.Trim(ctx, name)
	for _, t := range all {
		switch {
		case t.First > t.Before:
			log.Debug("a log has been trimmed", "index", name, "shard", t.Shard, "first", t.First, "last", t.Last)
		case t.Held != "":
			log.Debug("a log cannot be trimmed", "index", name, "shard", t.Shard, "first", t.First, "last", t.Last, "why", t.Held)
		}
	}
	return err
}
