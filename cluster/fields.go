package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/cluster/remote"
)

// Schema returns the schema of the index.
func (ix *generation) Schema() *riffle.Schema { return ix.checker.current().Schema() }

// Analyzer returns an analyzer by its name in the schema, as the index applies it.
func (ix *generation) Analyzer(name string) (analysis.Analyzer, error) {
	return ix.checker.current().Analyzer(name)
}

// Fields returns figures of the fields that documents have, added up over all shards, by name. It asks one replica
// of each shard, which has what the token stands for. With an error that matches remote.ErrUnreachable come the fields
// of the shards that answer.
func (ix *generation) Fields(ctx context.Context, t Token) ([]riffle.FieldStats, error) {
	t, err := ix.token(t)
	if err != nil {
		return nil, err
	}
	of, errs := make([][]riffle.FieldStats, len(ix.shards)), make([]error, len(ix.shards))
	var wg sync.WaitGroup
	for i := range ix.shards {
		wg.Go(func() {
			var atLeast uint64
			if !t.IsZero() {
				atLeast = t.Sequences[i]
			}
			of[i], errs[i] = ix.shards[i].Fields(ctx, atLeast)
		})
	}
	wg.Wait()
	sums := map[string]*riffle.FieldStats{}
	var missing error
	for i, list := range of {
		if errs[i] != nil {
			missing = cmp.Or(missing, fmt.Errorf("cluster: shard %d: %w", i, errs[i]))
		}
		for _, f := range list {
			sum := sums[f.Name]
			if sum == nil {
				sums[f.Name] = &f
				continue
			}
			sum.Docs, sum.Terms, sum.Postings, sum.Tokens = sum.Docs+f.Docs, sum.Terms+f.Terms, sum.Postings+f.Postings, sum.Tokens+f.Tokens
			sum.Norms = sum.Norms || f.Norms
		}
	}
	all := make([]riffle.FieldStats, 0, len(sums))
	for _, f := range sums {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b riffle.FieldStats) int { return cmp.Compare(a.Name, b.Name) })
	return all, missing
}

// ParseQuery reads a text of the query language; see riffle.ParseQuery. Without ParseOptions.Fields it searches
// all texts that documents have, as of the token.
func (ix *generation) ParseQuery(ctx context.Context, text string, o *riffle.ParseOptions, t Token) (riffle.Query, error) {
	options := riffle.ParseOptions{}
	if o != nil {
		options = *o
	}
	options.Engine = ix.checker.current()
	if len(options.Fields) == 0 {
		fields, err := ix.Fields(ctx, t)
		if len(fields) > 0 && errors.Is(err, remote.ErrUnreachable) {
			err = nil // the search decides what to do without a shard
		}
		if err != nil {
			return nil, err
		}
		options.Fields = []string{} // there may be no text yet
		for _, f := range fields {
			if f.Norms { // of texts alone
				options.Fields = append(options.Fields, f.Name)
			}
		}
	}
	return riffle.ParseQuery(text, &options)
}
