package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/writer"
)

// An Index is an index of the cluster, by its name or by an alias, which it follows: when the index is
// reindexed into another one, calls go to that one. Its methods are safe for concurrent use.
type Index struct {
	c    *Client
	name string
	now  atomic.Pointer[generation]
}

// Schema returns the schema of the index.
func (ix *Index) Schema() *riffle.Schema { return ix.now.Load().Schema() }

// Analyzer returns an analyzer by its name in the schema, as the index applies it.
func (ix *Index) Analyzer(name string) (analysis.Analyzer, error) {
	return ix.now.Load().Analyzer(name)
}

// Shards returns the number of shards.
func (ix *Index) Shards() int { return ix.now.Load().Shards() }

// Replicas returns the number of replicas of the shard with fewest.
func (ix *Index) Replicas() int { return ix.now.Load().Replicas() }

// Check returns an error that matches ErrToken unless a token is of this index, or of one that was
// reindexed into it.
func (ix *Index) Check(t Token) error { return ix.now.Load().Check(t) }

// mapWait is how long a read that has failed waits for the map.
const mapWait = time.Second

// read calls read, and calls it again if another index, or another place of the replicas, has come in between.
func (ix *Index) read(ctx context.Context, read func(*generation) error) error {
	g := ix.now.Load()
	err := read(g)
	if ctx.Err() != nil || !errors.Is(err, remote.ErrUnreachable) && !errors.Is(err, ErrToken) && !closed(err) {
		return err
	}
	before := g.seen.Load()
	short, cancel := context.WithTimeout(ctx, mapWait) // while the map has no leader, the caller gets its error soon
	defer cancel()
	if _, failed := ix.c.Index(short, ix.name); failed != nil {
		return errors.Join(err, failed)
	}
	if again := ix.now.Load(); again != g || again.seen.Load().Changed(before) || closed(err) {
		return read(again)
	}
	return err
}

// closed reports whether an error is of a generation, or of a replica, that is closed.
func closed(err error) bool {
	return errors.Is(err, riffle.ErrClosed) || errors.Is(err, writer.ErrClosed)
}

// Search ranks the documents that match a query.
func (ix *Index) Search(ctx context.Context, q riffle.Query, o *SearchOptions) (r *scatter.Result, err error) {
	err = ix.read(ctx, func(g *generation) error { r, err = g.Search(ctx, q, o); return err })
	return r, err
}

// Count returns exactly how many documents match a query. Of the options, Token and Now count.
func (ix *Index) Count(ctx context.Context, q riffle.Query, o *SearchOptions) (n int, err error) {
	err = ix.read(ctx, func(g *generation) error { n, err = g.Count(ctx, q, o); return err })
	return n, err
}

// Explain derives the score that Search gives the document with an id.
func (ix *Index) Explain(ctx context.Context, q riffle.Query, id string, o *SearchOptions) (x *riffle.Explanation, err error) {
	err = ix.read(ctx, func(g *generation) error { x, err = g.Explain(ctx, q, id, o); return err })
	return x, err
}

// Get returns the stored fields of a document. The error matches riffle.ErrNotFound if there is none. While Reindex
// switches to another index, a linearizable Get waits, and reads that one.
func (ix *Index) Get(ctx context.Context, id string, o GetOptions) (fields map[string]any, err error) {
	for {
		var from *generation
		err = ix.read(ctx, func(g *generation) error { from = g; fields, err = g.Get(ctx, id, o); return err })
		if !errors.Is(err, oplog.ErrSealed) || ix.after(ctx, from) == nil {
			return fields, err
		}
	}
}

// Fields returns figures of the fields that documents have, added up over all shards, by name. It asks one replica
// of each shard, which has what the token stands for.
func (ix *Index) Fields(ctx context.Context, t Token) (all []riffle.FieldStats, err error) {
	err = ix.read(ctx, func(g *generation) error { all, err = g.Fields(ctx, t); return err })
	return all, err
}

// ParseQuery reads a text of the query language; see riffle.ParseQuery. Without ParseOptions.Fields it searches
// all texts that documents have, as of the token.
func (ix *Index) ParseQuery(ctx context.Context, text string, o *riffle.ParseOptions, t Token) (q riffle.Query, err error) {
	err = ix.read(ctx, func(g *generation) error { q, err = g.ParseQuery(ctx, text, o, t); return err })
	return q, err
}

// sealedPause is how often the map is read while an index takes no more changes.
const sealedPause = 50 * time.Millisecond

// Write carries out the changes of a batch, each on its own: several shards have no common moment. The
// error is that of a batch of which nothing is carried out, because a document cannot be indexed or the
// batch has conditions or a position. What becomes of each change is in Written.Outcomes.
//
// While Reindex switches to another index, for about a second, Write waits, and goes on with that one.
func (ix *Index) Write(ctx context.Context, b *riffle.Batch) (*Written, error) {
	if len(b.Position) > 0 {
		return nil, errors.New("cluster: a batch with a position; the positions of replicas are the cluster's")
	}
	g := ix.now.Load()
	if err := g.checker.validate(ctx, b); err != nil {
		return nil, err
	}
	changes, err := b.Encode()
	if err != nil { // it is valid, and so has a condition
		return nil, fmt.Errorf("%w: %w", ErrCondition, err)
	}
	w := g.write(ctx, changes)
	for {
		var left []int // changes of which nothing has happened, because the log is sealed
		for i := range w.Outcomes {
			if err := w.Outcomes[i].Err; errors.Is(err, oplog.ErrSealed) && !errors.Is(err, oplog.ErrUnknown) {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return w, nil
		}
		next := ix.after(ctx, g)
		if next == nil {
			return w, nil
		}
		ix.again(ctx, next, changes, left, w)
		g = next
	}
}

// after waits for the index that takes the place of one whose logs are sealed. It returns nil when ctx ends before.
func (ix *Index) after(ctx context.Context, g *generation) *generation {
	for {
		if _, err := ix.c.Index(ctx, ix.name); err == nil {
			if next := ix.now.Load(); next != g {
				return next
			}
		}
		select {
		case <-time.After(sealedPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// again carries out the changes that are left in another index, whose schema may refuse some.
func (ix *Index) again(ctx context.Context, g *generation, changes []riffle.EncodedChange, left []int, w *Written) {
	var allowed []riffle.EncodedChange
	var from []int
	for _, i := range left {
		var b riffle.Batch
		err := b.AddEncoded(changes[i].Data)
		if err == nil {
			err = g.checker.validate(ctx, &b)
		}
		if err != nil {
			w.Outcomes[i].Err = err
			continue
		}
		allowed, from = append(allowed, changes[i]), append(from, i)
	}
	more := g.write(ctx, allowed)
	for j, o := range more.Outcomes {
		w.Outcomes[from[j]] = o
	}
	w.Token = more.Token // stands for changes of the index before, too
}
