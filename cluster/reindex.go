package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// ReindexOptions say what the new index is like.
type ReindexOptions struct {
	Shards   int      // 0 is as many as there are
	Replicas int      // of each shard; 0 is as many as there are
	Nodes    []string // as for IndexOptions

	Schema *riffle.Schema // nil for that of the old one

	LogCopies int // 0 is as many as there are
	LogBytes  int64

	Work string // directory for the time of the call; empty is one for temporary files

	// Progress, unless nil, is told of each step, by one goroutine at a time.
	Progress func(step string)
}

// ErrNotStored says that an index cannot be reindexed: it has fields that are not stored, and its logs have been trimmed.
var ErrNotStored = errors.New("cluster: fields that are not stored would be lost")

// Reindex makes an index anew, with another number of shards or another schema, and lets its name stand for the new
// one (an alias), which is called NAME-2, NAME-3 and so on. It is searched and written meanwhile:
//
//  1. The new index gets the documents of a copy of each shard, or of the whole log if that has its beginning.
//  2. Changes that came later are read from the logs and appended to those of the new index, until few are left.
//  3. The old logs are sealed: they refuse changes, of which the log can say that they never happen. The rest is appended.
//  4. The alias is set. Writers, which wait since step 3, go on with the new index. The old one is dropped.
//
// So no change that was acknowledged is lost, and the changes of a document keep their order. A token of the
// old index stands for the same changes in the new one. Logs of the new index that become full are trimmed
// meanwhile. If Reindex fails before step 3 the old index stays as it was; afterwards it is read, and takes no
// changes, until Reindex is called again, which begins anew, or sets the alias if only that was left. A
// document that the new schema refuses makes it fail. Of two calls at a time, the later one makes the other
// fail.
func (c *Client) Reindex(ctx context.Context, name string, o ReindexOptions) error {
	old, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	if err := c.dropReplaced(ctx, old); err != nil {
		return err
	}
	alias, err := c.m.Alias(ctx, name)
	if err != nil && !errors.Is(err, topology.ErrNoIndex) {
		return err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &reindexing{c: c, o: &o, old: old}
	done, err := r.begin(ctx, name)
	if err != nil {
		return err
	}
	if done != nil {
		if err := r.switchTo(ctx, name, alias, done); err != nil || o.has(done) {
			return err
		}
		return c.Reindex(ctx, name, o)
	}
	if err := r.run(ctx); err != nil {
		if r.sealed {
			return fmt.Errorf("cluster: %s takes no changes until it is reindexed again: %w", name, err)
		}
		return errors.Join(err, c.shut(r.to.name), c.undo(ctx, r.entry))
	}
	return r.switchTo(ctx, name, alias, r.entry)
}

// switchTo lets the name stand for the new index, which has all changes, and drops the old one.
func (r *reindexing) switchTo(ctx context.Context, name string, alias *topology.Alias, to *topology.Index) error {
	from := ""
	if alias != nil {
		from = alias.Index
	}
	if err := r.c.m.SetAlias(ctx, name, from, to.Name); err != nil {
		return fmt.Errorf("cluster: %s takes no changes until it is reindexed again: %w", name, err)
	}
	r.progress("dropping the old index")
	select {
	case <-time.After(2 * r.c.o.FollowEvery): // all clients follow
	case <-ctx.Done(): // Control does it
		return ctx.Err()
	}
	return r.c.dropReplaced(ctx, to)
}

// has reports whether an index is as it is to be made.
func (o *ReindexOptions) has(x *topology.Index) bool {
	if o.Schema != nil {
		schema, err := asStored(o.Schema)
		if err != nil || x.Altered != nil || !reflect.DeepEqual(x.Schema, schema) {
			return false
		}
	}
	return o.Shards == 0 || o.Shards == len(x.Nodes)
}

// dropReplaced drops the index that another one was made of, if it is still there.
func (c *Client) dropReplaced(ctx context.Context, x *topology.Index) error {
	x, err := c.m.Get(ctx, x.Name)
	if err != nil || len(x.Replaces.Epochs) == 0 {
		return err
	}
	aliases, err := c.m.Aliases(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(aliases, func(a *topology.Alias) bool { return a.Index == x.Name }) {
		return nil // the switch has not happened
	}
	names, err := c.m.List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		old, err := c.m.Get(ctx, name)
		if errors.Is(err, topology.ErrNoIndex) {
			continue
		}
		if err == nil && slices.Contains(x.Replaces.Epochs, old.Epoch) {
			err = errors.Join(c.shut(name), c.drop(ctx, old))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reindexing is a call of Reindex.
type reindexing struct {
	c     *Client
	o     *ReindexOptions
	old   *topology.Index
	entry *topology.Index // of the new index
	to    *generation

	telling sync.Mutex
	sealed  bool
}

func (r *reindexing) progress(format string, args ...any) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.o.Progress(fmt.Sprintf(format, args...))
}

// begin creates the new index, after it has dropped one that an earlier call did not finish. It returns one that has
// all changes instead, of which only the alias may be missing: the name may stand for it at this moment.
func (r *reindexing) begin(ctx context.Context, name string) (done *topology.Index, err error) {
	names, err := r.c.m.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range names {
		x, err := r.c.m.Get(ctx, other)
		if errors.Is(err, topology.ErrNoIndex) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if x.Reindexes == r.old.Epoch {
			if x, err = r.dropUnfinished(ctx, x); err != nil {
				return nil, err
			}
		}
		if x != nil && !x.Dropped && slices.Contains(x.Replaces.Epochs, r.old.Epoch) {
			return x, nil
		}
	}
	return nil, r.create(ctx, name)
}

// dropUnfinished drops an index that an earlier call, or that of another program, did not finish. If it has been finished
// meanwhile, dropUnfinished returns it.
func (r *reindexing) dropUnfinished(ctx context.Context, x *topology.Index) (done *topology.Index, err error) {
	err = r.c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if done = nil; now.Epoch == x.Epoch && now.Reindexes != r.old.Epoch {
			done = now
			return errFinished
		}
		if now.Epoch == x.Epoch {
			now.Ready, now.Dropped = false, true
		}
		return nil
	})
	switch {
	case errors.Is(err, errFinished):
		return done, nil
	case errors.Is(err, topology.ErrNoIndex):
		return nil, nil
	case err != nil:
		return nil, err
	}
	err = errors.Join(r.c.shut(x.Name), r.c.drop(ctx, x))
	if errors.Is(err, topology.ErrNoIndex) {
		err = nil
	}
	return nil, err
}

var errFinished = errors.New("the index has all changes")

// create creates the new index.
func (r *reindexing) create(ctx context.Context, name string) error {
	to := IndexOptions{
		Shards: r.o.Shards, Replicas: r.o.Replicas, Nodes: r.o.Nodes, LogCopies: r.o.LogCopies, LogBytes: r.o.LogBytes,
		Keep: r.old.Keep, Schema: r.o.Schema, reindexes: r.old.Epoch,
	}
	if to.Shards == 0 {
		to.Shards = len(r.old.Nodes)
	}
	if to.Replicas == 0 {
		to.Replicas = len(r.old.Nodes[0])
	}
	if to.LogCopies == 0 {
		to.LogCopies = r.old.LogCopies
	}
	if to.Schema == nil {
		if to.Schema = r.old.Schema; r.old.Altered != nil {
			to.Schema = r.old.Altered
		}
	}
	for n := 2; to.Name == ""; n++ {
		next := fmt.Sprintf("%s-%d", name, n)
		switch _, err := r.c.m.Get(ctx, next); {
		case errors.Is(err, topology.ErrNoIndex):
			to.Name = next
		case err != nil:
			return err
		}
	}
	r.progress("creating %s with %d shards", to.Name, to.Shards)
	if err := r.c.Create(ctx, to); err != nil {
		return err
	}
	ix, err := r.c.Index(ctx, to.Name)
	if err != nil {
		return err
	}
	r.to = ix.now.Load()
	r.entry = r.to.seen.Load()
	return nil
}

func (r *reindexing) run(ctx context.Context) error {
	work, err := os.MkdirTemp(r.o.Work, "riffle-reindex-")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer os.RemoveAll(work)
	shards := make([]*forwarding, len(r.old.Nodes))
	for i := range shards {
		f := &forwarding{r: r, shard: i}
		if f.log, err = jetlog.Open(ctx, r.c.js, jetlog.Config{Index: r.old.Name, Epoch: r.old.Epoch, Shard: i}); err != nil {
			return err
		}
		shards[i] = f
	}
	each := func(do func(*forwarding) error) error {
		errs := make([]error, len(shards))
		var wg sync.WaitGroup
		slots := make(chan struct{}, forwardShards)
		for i, f := range shards {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if err := do(f); err != nil {
					errs[i] = fmt.Errorf("shard %d: %w", i, err)
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	for _, f := range shards { // one after the other: copies need space
		if err := f.copy(ctx, filepath.Join(work, strconv.Itoa(f.shard))); err != nil {
			return fmt.Errorf("shard %d: %w", f.shard, err)
		}
	}
	r.progress("reading the logs of %s", r.old.Name)
	for range 3 { // each time there is less left
		err := each(func(f *forwarding) error {
			b, err := f.log.Bounds(ctx)
			if err != nil {
				return err
			}
			return f.until(ctx, b.Last)
		})
		if err != nil {
			return err
		}
	}
	r.progress("sealing the logs of %s", r.old.Name)
	r.sealed = true
	err = each(func(f *forwarding) error {
		last, err := f.log.Seal(ctx)
		if err != nil {
			return err
		}
		return f.until(ctx, last)
	})
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// finish says in the map what the new index has, when a search can see it.
func (r *reindexing) finish(ctx context.Context) error {
	t := Token{Epoch: r.to.epoch}
	for i := range r.to.shards {
		log, err := jetlog.Open(ctx, r.c.js, jetlog.Config{Index: r.to.name, Epoch: r.to.epoch, Shard: i})
		if err != nil {
			return err
		}
		b, err := oplog.SureBounds(ctx, log)
		if err != nil {
			return err
		}
		t.Sequences = append(t.Sequences, b.Last)
	}
	if _, err := r.to.Count(ctx, riffle.All{}, &SearchOptions{Token: t}); err != nil {
		return err
	}
	return r.c.update(ctx, r.entry, func(now *topology.Index) {
		now.Reindexes = 0
		now.Replaces = topology.Replaced{Epochs: append(slices.Clone(r.old.Replaces.Epochs), r.old.Epoch), Sequences: t.Sequences}
	})
}
