package scatter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/riffle-search/riffle"
)

// Queries are looked into by their JSON form, in which {"match": {…}} is a query of that kind,
// wherever it stands.

const (
	andOr   = "and+or"
	modeAnd = "and"
	modeOr  = "or"
)

// hasMode are the kinds of queries that have a mode.
var hasMode = []string{"match", "match_bool_prefix"}

// parts returns the JSON form of a query, decoded.
func parts(q riffle.Query) (tree any, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("scatter: the query: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return tree, d.Decode(&tree)
}

// each calls visit for every query in a tree, with its kind.
func each(tree any, visit func(kind string, query map[string]any)) {
	switch x := tree.(type) {
	case []any:
		for _, v := range x {
			each(v, visit)
		}
	case map[string]any:
		for _, kind := range slices.Sorted(maps.Keys(x)) {
			if query, ok := x[kind].(map[string]any); ok {
				visit(kind, query)
			}
			each(x[kind], visit)
		}
	}
}

// supported returns an error if a search has a part that several shards cannot answer.
func supported(q riffle.Query, o *Options) error {
	switch {
	case q == nil:
		return nil // the shards refuse it
	case o.Collapse != nil && o.Collapse.Count:
		return invalid("SearchOptions.Collapse.Count", "is of one shard; the answer has the groups of all")
	case o.PartialAggregations:
		return invalid("SearchOptions.PartialAggregations", "are of one shard; the answer has Aggregations of all")
	case !o.SearchOptions.After.IsZero():
		return invalid("SearchOptions.After", "a cursor of one shard; Options.After takes that of all")
	case o.From > 0 && o.After != "":
		return invalid("SearchOptions.From", "must be 0 with After")
	case o.K+o.From > riffle.MaxK:
		return invalid("SearchOptions.From", "From and K must be at most %d together, not %d + %d", riffle.MaxK, o.From, o.K)
	}
	return nil
}

func invalid(part, format string, args ...any) error {
	return &riffle.QueryError{Part: part, Err: fmt.Errorf(format, args...)}
}

// decided returns the two queries that a query with ModeAndOr stands for: all words, or some. either
// is false if it has no such part.
func decided(q riffle.Query) (and, or riffle.Query, either bool, err error) {
	if q == nil {
		return q, q, false, nil
	}
	if and, either, err = withMode(q, modeAnd); err != nil || !either {
		return q, q, false, err
	}
	or, _, err = withMode(q, modeOr)
	return and, or, true, err
}

// withMode returns a query with another mode in place of ModeAndOr, and whether there was one.
func withMode(q riffle.Query, mode string) (to riffle.Query, found bool, err error) {
	tree, err := parts(q)
	if err != nil {
		return nil, false, err
	}
	each(tree, func(kind string, query map[string]any) {
		if slices.Contains(hasMode, kind) && query["mode"] == andOr {
			query["mode"], found = mode, true
		}
	})
	if !found {
		return q, false, nil
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, false, err
	}
	to, err = riffle.UnmarshalQuery(text)
	return to, true, err
}
