package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/topology"
	"github.com/riffle-search/riffle/cluster/writer"
)

// A generation is an index of the map that is open. An Index has one at a time.
type generation struct {
	name    string
	epoch   uint64
	seen    atomic.Pointer[topology.Index] // as the map had it last
	writers []*writer.Writer
	shards  []*remote.Shard
	all     *scatter.Index

	telling sync.Mutex // held while told
	checker checker
	engine  riffle.Options
}

func (c *Client) open(ctx context.Context, x *topology.Index) (_ *generation, err error) {
	ix := &generation{name: x.Name, epoch: x.Epoch, engine: c.o.Engine}
	defer func() {
		if err != nil {
			err = errors.Join(err, ix.close())
		}
	}()
	if err := ix.checker.use(ctx, x, ix.engine); err != nil {
		return nil, err
	}
	var all []scatter.Shard
	for i, nodes := range x.Nodes {
		log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: i})
		if err != nil {
			return nil, err
		}
		w := c.o.Writer
		w.Epoch = x.Epoch
		ix.writers = append(ix.writers, writer.New(log, w))
		s := remote.NewShard(remote.NATS(c.conn, x.Name, x.Epoch, i), nodes...)
		ix.shards, all = append(ix.shards, s), append(all, s)
	}
	if ix.all, err = scatter.New(all...); err != nil {
		return nil, err
	}
	ix.all.SetEpoch(x.Epoch)
	ix.all.CacheStatistics(func() riffle.Searcher { return ix.checker.current() })
	ix.seen.Store(x)
	return ix, nil
}

// told says what the map has now: where the replicas are, and the schema. What it had before is of no interest.
func (ix *generation) told(ctx context.Context, x *topology.Index) error {
	ix.telling.Lock()
	defer ix.telling.Unlock()
	if x.Epoch != ix.epoch || x.Revision < ix.seen.Load().Revision {
		return nil
	}
	for i, nodes := range x.Nodes {
		ix.shards[i].SetNodes(nodes...)
	}
	ix.seen.Store(x)
	return ix.checker.use(ctx, x, ix.engine)
}

func (ix *generation) close() error {
	for _, w := range ix.writers {
		w.Close()
	}
	return ix.checker.close()
}

// Shards returns the number of shards.
func (ix *generation) Shards() int { return len(ix.shards) }

// Replicas returns the number of replicas of the shard with fewest.
func (ix *generation) Replicas() int {
	least := len(ix.shards[0].Nodes())
	for _, s := range ix.shards[1:] {
		least = min(least, len(s.Nodes()))
	}
	return least
}

// SearchOptions configure a search; see scatter.Options.
type SearchOptions struct {
	scatter.Options
	Token Token // the search sees the changes that it stands for; the zero Token stands for none
}

// Search ranks the documents that match a query.
func (ix *generation) Search(ctx context.Context, q riffle.Query, o *SearchOptions) (*scatter.Result, error) {
	if o == nil {
		o = &SearchOptions{}
	}
	options, err := ix.options(o)
	if err != nil {
		return nil, err
	}
	return ix.all.Search(ctx, q, options)
}

func (ix *generation) options(o *SearchOptions) (*scatter.Options, error) {
	options := o.Options
	if o.Token.IsZero() {
		return &options, nil
	}
	t, err := ix.token(o.Token)
	if err != nil {
		return nil, err
	}
	options.AtLeast = t.Sequences
	return &options, nil
}

// Count returns exactly how many documents match a query. Of the options, Token and Now count.
func (ix *generation) Count(ctx context.Context, q riffle.Query, o *SearchOptions) (int, error) {
	if o == nil {
		o = &SearchOptions{}
	}
	options, err := ix.options(o)
	if err != nil {
		return 0, err
	}
	return ix.all.Count(ctx, q, options)
}

// Explain derives the score that Search gives the document with an id.
func (ix *generation) Explain(ctx context.Context, q riffle.Query, id string, o *SearchOptions) (*riffle.Explanation, error) {
	if o == nil {
		o = &SearchOptions{}
	}
	options, err := ix.options(o)
	if err != nil {
		return nil, err
	}
	return ix.all.Explain(ctx, q, id, options)
}

// GetOptions configure Get.
type GetOptions struct {
	Token        Token
	Linearizable bool // sees all changes of the document that were acknowledged before the call
}

// Get returns the stored fields of a document. The error matches riffle.ErrNotFound if there is none.
func (ix *generation) Get(ctx context.Context, id string, o GetOptions) (map[string]any, error) {
	i := topology.ShardOf(id, len(ix.shards))
	var atLeast uint64
	if !o.Token.IsZero() {
		t, err := ix.token(o.Token)
		if err != nil {
			return nil, err
		}
		atLeast = t.Sequences[i]
	}
	if o.Linearizable {
		// A barrier in the log, not the end that a server names: a server that was the leader may not know
		// of later entries.
		n, err := ix.writers[i].Barrier(ctx)
		if err != nil {
			return nil, err
		}
		atLeast = max(atLeast, n)
	}
	return ix.shards[i].Get(ctx, id, atLeast)
}
