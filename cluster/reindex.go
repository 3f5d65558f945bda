package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
	"github.com/riffle-search/riffle/cluster/writer"
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
// So no change that was acknowledged is lost, and the changes of a document keep their order. A token of the old index
// stands for the same changes in the new one. Logs of the new index that become full are trimmed meanwhile. If Reindex fails before step 3 the old index stays as it was; afterwards it is
// read, and takes no changes, until Reindex is called again, which begins anew. A document that the new schema refuses
// makes it fail.
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
	if err := r.begin(ctx, name); err != nil {
		return err
	}
	if err := r.run(ctx); err != nil {
		if r.sealed {
			return fmt.Errorf("cluster: %s takes no changes until it is reindexed again: %w", name, err)
		}
		return errors.Join(err, c.shut(r.to.name), c.undo(ctx, r.entry))
	}
	from := ""
	if alias != nil {
		from = alias.Index
	}
	if err := c.m.SetAlias(ctx, name, from, r.to.name); err != nil {
		return fmt.Errorf("cluster: %s takes no changes until it is reindexed again: %w", name, err)
	}
	o.Progress("dropping the old index")
	select {
	case <-time.After(2 * c.o.FollowEvery): // all clients follow
	case <-ctx.Done(): // Control does it
		return ctx.Err()
	}
	return c.dropReplaced(ctx, r.entry)
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

// begin creates the new index, after it has dropped one that an earlier call did not finish.
func (r *reindexing) begin(ctx context.Context, name string) error {
	names, err := r.c.m.List(ctx)
	if err != nil {
		return err
	}
	for _, other := range names {
		x, err := r.c.m.Get(ctx, other)
		if errors.Is(err, topology.ErrNoIndex) {
			continue
		}
		if err == nil && (x.Reindexes == r.old.Epoch || slices.Contains(x.Replaces.Epochs, r.old.Epoch)) {
			err = errors.Join(r.c.shut(other), r.c.drop(ctx, x))
		}
		if err != nil {
			return err
		}
	}
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
		b, err := log.Bounds(ctx)
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

// bytes is how many bytes of changes are forwarded together: less than the log of a shard can hold.
func (r *reindexing) bytes() int {
	if r.o.LogBytes > 0 {
		return int(min(forwardBytes, r.o.LogBytes/8))
	}
	return forwardBytes
}

// forwarding appends what is in a shard of the old index to the logs of the new one.
type forwarding struct {
	r     *reindexing
	shard int
	log   *jetlog.Log
	at    uint64 // the last entry that was forwarded
}

// Changes that are forwarded together, and how many shards are read at a time.
const (
	forwardShards  = 8
	forwardChanges = 1000
	forwardBytes   = 4 << 20
)

// copy forwards the documents of a copy, unless the log has all of them, and perhaps fields that are not stored.
func (f *forwarding) copy(ctx context.Context, dir string) error {
	b, err := f.log.Bounds(ctx)
	if err != nil || b.First == 1 {
		return err
	}
	s, err := f.r.c.copyShard(ctx, f.r.old, f.shard, dir)
	if err != nil {
		return err
	}
	f.r.progress("shard %d: %d documents from a copy of node %s", f.shard, s.Docs, s.Node)
	defer os.RemoveAll(dir)
	o := f.r.c.o.Engine
	o.ReadOnly, o.GPU, o.Schema = true, nil, nil
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return err
	}
	if err := stored(e.Schema()); err != nil {
		return errors.Join(err, e.Close())
	}
	f.at = s.Sequence
	return errors.Join(f.documents(ctx, e), e.Close())
}

// stored returns an error unless a schema stores all fields.
func stored(s *riffle.Schema) error {
	if s.NoStore || s.Dynamic == riffle.DynamicIgnore {
		return ErrNotStored
	}
	for name, f := range s.Fields {
		if f.NoStore {
			return fmt.Errorf("%w: %s", ErrNotStored, name)
		}
	}
	return nil
}

func (f *forwarding) documents(ctx context.Context, e *riffle.Engine) error {
	s, err := e.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	var b riffle.Batch
	for d, err := range s.Documents("") {
		if err != nil {
			return err
		}
		b.Put(d.ID, d.Fields)
		if b.Len() >= forwardChanges || b.Size() >= f.r.bytes() {
			if err := f.write(ctx, &b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return f.write(ctx, &b)
}

// fullPause is how long a log of the new index may stay full before it is trimmed and tried again.
const fullPause = 100 * time.Millisecond

// write writes a batch to the new index. While a log there is full it trims what replicas have. It then
// writes the whole batch again, in order, which leaves the same behind, however much of it has happened.
func (f *forwarding) write(ctx context.Context, b *riffle.Batch) error {
	if err := f.r.to.checker.validate(ctx, b); err != nil {
		return err
	}
	changes, err := b.Encode()
	if err != nil || len(changes) == 0 {
		return err
	}
	for {
		err := f.r.to.write(ctx, changes).Err()
		again := errors.Is(err, oplog.ErrFull) || errors.Is(err, writer.ErrBusy) || errors.Is(err, oplog.ErrUnknown)
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(fullPause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
		if errors.Is(err, oplog.ErrFull) {
			if _, err := f.r.c.Trim(ctx, f.r.to.name); err != nil {
				return err
			}
		}
	}
}

// until forwards the changes of the log up to an entry, in order: a batch after the other.
func (f *forwarding) until(ctx context.Context, last uint64) error {
	if f.at >= last {
		return nil
	}
	var b riffle.Batch
	for e, err := range f.log.Read(ctx, f.at+1) {
		if err != nil {
			return err
		}
		r, err := oplog.Parse(e.Data)
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.Sequence, err)
		}
		if r.Kind == oplog.Changes {
			for change, err := range oplog.EachChange(r.Body) {
				if err == nil {
					err = b.AddEncoded(change)
				}
				if err != nil {
					return fmt.Errorf("entry %d: %w", e.Sequence, err)
				}
			}
		}
		if b.Len() >= forwardChanges || b.Size() >= f.r.bytes() || e.Sequence == last {
			if err := f.write(ctx, &b); err != nil {
				return fmt.Errorf("entries up to %d: %w", e.Sequence, err)
			}
			f.at = e.Sequence
			b.Reset()
		}
		if e.Sequence == last {
			return nil
		}
	}
	return ctx.Err()
}
