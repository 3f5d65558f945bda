package clustered

import (
	"context"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/server"
)

// An index is an index of the cluster as a server sees it.
type index struct{ ix *cluster.Index }

// Schema implements server.Reader.
func (x *index) Schema() *riffle.Schema { return x.ix.Schema() }

// Analyzer implements server.Reader.
func (x *index) Analyzer(name string) (analysis.Analyzer, error) { return x.ix.Analyzer(name) }

// ParseQuery implements server.Reader.
func (x *index) ParseQuery(ctx context.Context, text string, o *riffle.ParseOptions, r server.Reading) (riffle.Query, error) {
	t, err := tokenOf(r.Token)
	if err != nil {
		return nil, asServer(err)
	}
	q, err := x.ix.ParseQuery(ctx, text, o, t)
	return q, asServer(err)
}

// Document implements server.Reader.
func (x *index) Document(ctx context.Context, id string, r server.Reading) (riffle.Document, error) {
	t, err := tokenOf(r.Token)
	if err != nil {
		return riffle.Document{}, asServer(err)
	}
	fields, err := x.ix.Get(ctx, id, cluster.GetOptions{Token: t, Linearizable: r.Linearizable})
	return riffle.Document{ID: id, Fields: fields}, asServer(err)
}

// tokenOf returns the token that stands for all of some tokens, which commas join.
func tokenOf(text string) (all cluster.Token, err error) {
	for part := range strings.SplitSeq(text, ",") {
		t, err := cluster.ParseToken(part)
		if err != nil {
			return cluster.Token{}, err
		}
		if !all.IsZero() && !t.IsZero() && (t.Epoch != all.Epoch || len(t.Sequences) != len(all.Sequences)) {
			return cluster.Token{}, fmt.Errorf("%w: tokens of several indexes", cluster.ErrToken)
		}
		all = all.And(t)
	}
	return all, nil
}

// reading returns the options of a read.
func reading(o riffle.SearchOptions, r server.Reading) (*cluster.SearchOptions, error) {
	if r.Linearizable {
		return nil, fmt.Errorf("%w: linearizable searches; a token makes a search see changes", server.ErrUnsupported)
	}
	t, err := tokenOf(r.Token)
	if err != nil {
		return nil, asServer(err)
	}
	return &cluster.SearchOptions{Options: scatter.Options{SearchOptions: o}, Token: t}, nil
}

// Search implements server.Reader.
func (x *index) Search(ctx context.Context, q riffle.Query, o *server.SearchOptions) (*server.Found, error) {
	switch {
	case o.Profile != nil:
		return nil, fmt.Errorf("%w: profiles", server.ErrUnsupported)
	case o.Versions:
		return nil, fmt.Errorf("%w: versions, which each replica counts for itself", server.ErrUnsupported)
	case o.Processor != riffle.ProcessorAuto:
		return nil, fmt.Errorf("%w: a choice of the processor", server.ErrUnsupported)
	}
	options, err := reading(o.SearchOptions, o.Reading)
	if err != nil {
		return nil, err
	}
	options.After, options.AllowMissing = string(o.After), o.AllowMissing
	r, err := x.ix.Search(ctx, q, options)
	if err != nil {
		return nil, asServer(err)
	}
	to := &riffle.Result{
		Hits: make([]riffle.Hit, len(r.Hits)), Total: r.Total, TotalExact: r.TotalExact, Groups: r.Groups, Incomplete: r.Incomplete, Duration: r.Duration,
		Aggregations: r.Aggregations, Executor: fmt.Sprintf("%d shards", x.ix.Shards()),
	}
	for i := range r.Hits {
		to.Hits[i] = r.Hits[i].Hit
	}
	for _, w := range r.Work {
		to.Work.BlocksDecoded += w.BlocksDecoded
		to.Work.BlocksSkipped += w.BlocksSkipped
		to.Work.DocsScored += w.DocsScored
		to.Work.BytesMoved += w.BytesMoved
		to.Work.Tasks += w.Tasks
	}
	var missing []client.MissingShard
	for _, m := range r.Missing {
		missing = append(missing, client.MissingShard{Shard: m.Shard, Fault: m.Err.Error()})
	}
	return &server.Found{Result: to, Missing: missing, Cursor: func(i int) (client.Cursor, error) {
		text, err := r.Hits[i].Cursor()
		return client.Cursor(text), err
	}}, nil
}

// Count implements server.Reader.
func (x *index) Count(ctx context.Context, q riffle.Query, r server.Reading) (int, error) {
	o, err := reading(riffle.SearchOptions{}, r)
	if err != nil {
		return 0, err
	}
	n, err := x.ix.Count(ctx, q, o)
	return n, asServer(err)
}

// Explain implements server.Reader.
func (x *index) Explain(ctx context.Context, q riffle.Query, id string, r server.Reading) (*riffle.Explanation, error) {
	o, err := reading(riffle.SearchOptions{}, r)
	if err != nil {
		return nil, err
	}
	e, err := x.ix.Explain(ctx, q, id, o)
	return e, asServer(err)
}

// Write implements server.Index.
func (x *index) Write(ctx context.Context, b *riffle.Batch, token string) (*server.Written, error) {
	before, err := tokenOf(token)
	if err != nil {
		return nil, asServer(err)
	}
	if err := x.ix.Check(before); err != nil {
		return nil, asServer(err)
	}
	w, err := x.ix.Write(ctx, b)
	if err != nil {
		return nil, asServer(err)
	}
	to := &server.Written{Token: before.And(w.Token).String(), Outcomes: make([]error, len(w.Outcomes))}
	for i, o := range w.Outcomes {
		to.Outcomes[i] = asServer(o.Err)
	}
	return to, nil
}
