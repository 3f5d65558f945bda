package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// aggregateFlags are the flags of search that ask for aggregations.
type aggregateFlags struct {
	facets    []string
	aggregate string
}

func (a *aggregateFlags) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&a.facets, "facet", nil, "count the values of a field over all matches: NAME, or NAME:N for the N most frequent (may be repeated)")
	c.RegisterFlagCompletionFunc("facet", completeFacet)
	f.StringVar(&a.aggregate, "aggregate", "", "compute aggregations over all matches: an object of them by name, in JSON (docs/COLUMNS.md)")
}

// aggregations returns the aggregations of the flags, by name.
func (a *aggregateFlags) aggregations() (map[string]riffle.Aggregation, error) {
	if len(a.facets) == 0 && a.aggregate == "" {
		return nil, nil
	}
	as := map[string]riffle.Aggregation{}
	if a.aggregate != "" {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(a.aggregate), &raw); err != nil {
			return nil, usagef(`--aggregate: want {"NAME": {"terms": {"field": "host"}}}: %w`, err)
		}
		for name, data := range raw {
			agg, err := riffle.UnmarshalAggregation(data)
			if err != nil {
				return nil, usagef("--aggregate: %q: %w", name, err)
			}
			as[name] = agg
		}
	}
	for _, f := range a.facets {
		t := riffle.TermsAggregation{Field: f}
		if at := strings.LastIndexByte(f, ':'); at >= 0 {
			size, err := strconv.Atoi(f[at+1:])
			if err != nil || size < 1 {
				return nil, usagef("--facet %s: want NAME or NAME:N", f)
			}
			t.Field, t.Size = f[:at], size
		}
		if _, twice := as[t.Field]; twice {
			return nil, usagef("--facet %s: there are two aggregations with this name", f)
		}
		as[t.Field] = t
	}
	return as, nil
}

// printAggregations writes results as an indented list.
func printAggregations(b *strings.Builder, rs map[string]riffle.AggregationResult, indent string) {
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		r := rs[name]
		fmt.Fprintf(b, "%s%s:", indent, oneLine(name, 100))
		for _, n := range []struct {
			n    int
			what string
		}{{r.Distinct, "different values"}, {r.Other, "in other buckets"}, {r.Missing, "without a value"}} {
			if n.n > 0 {
				fmt.Fprintf(b, " %d %s", n.n, n.what)
			}
		}
		if s := r.Stats; s != nil {
			fmt.Fprintf(b, " count %d", s.Count)
			if s.Count > 0 {
				fmt.Fprintf(b, ", min %s, max %s, sum %v, mean %v, variance %v", keyText(s.Min), keyText(s.Max), s.Sum, s.Mean, s.Variance)
			}
		}
		for i, p := range r.Percentiles {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, " %v%% %s", p.Percent, keyText(p.Value))
		}
		b.WriteByte('\n')
		for _, bucket := range r.Buckets {
			fmt.Fprintf(b, "%s%10d  %s\n", indent, bucket.Count, keyText(bucket.Key))
			printAggregations(b, bucket.Sub, indent+"            ")
		}
		for i, h := range r.Hits {
			fmt.Fprintf(b, "%s%10d  %9.4f  %s\n", indent, i+1, h.Score, oneLine(h.ID, riffle.MaxIDBytes))
		}
	}
}

// keyText writes the key of a bucket, or a value.
func keyText(key any) string {
	switch k := key.(type) {
	case nil:
		return "-"
	case string:
		return oneLine(k, 100)
	case time.Time:
		return k.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(key)
}

// completeFacet completes --facet.
func completeFacet(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return complete(searchable(c), word, "", ""), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
