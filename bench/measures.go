package main

import (
	"fmt"
	"io"
	"maps"
	"strings"
)

// A measurement is a named set of flags. Flags on the command line win over them.
type measurement struct {
	name  string
	does  string // one line for the help
	flags map[string]string
}

// measurements in the order of README.md, which describes them.
var measurements = []measurement{
	{"warm", "each query's best round, one warm segment (the default)", nil},
	{"one-pass", "each query timed once, in processes primed with another file of queries", map[string]string{
		"passes": "3", "reps": "5", "budget": "15", "prime": "10", "limit": "1000",
		"engines": "riffle,lucene,tantivy", "sources": "gutenberg-a.jsonl.zst", "copies": "2",
		"queries": "gutenberg-dev.tsv,msmarco-dev.tsv", "tasks": "top-10,top-100",
	}},
	{"nested", "trees of words beside the flat OR of the same words", offPath(map[string]string{
		"engines": "riffle,lucene,tantivy,bleve", "modes": "or,nested", "words": "2",
	})},
	{"fields", "words in three fields with boosts, by the best field, word by word, and by BM25F", offPath(map[string]string{
		"engines": "riffle-fields,lucene-fields", "modes": "best,cross,bm25f",
	})},
	{"filters", "under filters that 0.1, 1, 10 and 50 % of the documents pass", offPath(map[string]string{
		"engines": "riffle-tags,lucene-tags,tantivy-tags,bleve-tags", "filters": "none,0.1%,1%,10%,50%",
	})},
	{"segments", "as adding 1,000 documents at a time leaves the index, beside one segment", offPath(map[string]string{
		"engines": "riffle,riffle-batches,riffle-submit,lucene,lucene-batches,tantivy,tantivy-batches",
	})},
	{"deletions", "one segment of which 20 % are deleted, beside one without", offPath(map[string]string{
		"engines": "riffle,riffle-deleted,lucene,lucene-deleted,tantivy,tantivy-deleted",
	})},
	{"after-put", "right after a document has been added, beside the same without", offPath(map[string]string{
		"engines": "riffle,lucene,tantivy", "before": "put", "limit": "100", "prime": "5",
	})},
	{"first", "right after the index has been opened, beside the same warm", offPath(map[string]string{
		"engines": "riffle,lucene,tantivy", "before": "reopen", "limit": "50", "prime": "5", "modes": "or", "copies": "12",
		"queries": "=whale ship captain,=the history of rome,gutenberg-dev.tsv",
	})},
	{"building", "sizes of indexes with positions, and building them", map[string]string{
		"engines": "riffle-positions,riffle,lucene-positions,lucene-positions-2,tantivy-positions,tantivy-positions-2",
		"builds":  "2", "tasks": "none",
	}},
	{"unused", "queries that need no positions, of an index that has them", map[string]string{
		"engines": "riffle,riffle-positions", "tasks": "top-10,count", "prime": "5", "warm": "0.5", "reps": "20", "budget": "3",
	}},
	{"phrases", "phrases: once, and the best of five rounds", onceAndBest(map[string]string{
		"modes": "phrase", "tasks": "top-10,count", "budget": "2",
	})},
	{"near", "sloppy phrases, and words near each other: once, and the best of five rounds", onceAndBest(map[string]string{
		"modes": "slop,near", "tasks": "top-10", "budget": "2",
	})},
	{"terms", "words from the dictionary: once, and the best of five rounds", onceAndBest(map[string]string{
		"engines": "riffle-positions,lucene-positions,tantivy-positions,bleve-positions",
		"queries": "@words,@prefixes,@infixes,@expressions",
		"modes":   "fuzzy1,fuzzy2,prefix,infix,regexp", "tasks": "top-10,count", "budget": "2",
	})},
	{"columns", "ranges, sorts, facets and aggregations of rows with columns", map[string]string{
		"sources": "@logs", "docs": "2000000", "limit": "20",
		"engines": "riffle-columns,lucene-columns,lucene-columns-points,tantivy-columns,bleve-columns",
		"modes":   strings.Join(columnModes, ","), "tasks": "top-10,count",
		"prime": "20", "warm": "0.5", "reps": "20", "budget": "2",
	}},
}

// onceAndBest returns flags of measurements over all passages with positions.
func onceAndBest(flags map[string]string) map[string]string {
	all := map[string]string{
		"engines": "riffle-positions,lucene-positions,tantivy-positions",
		"queries": "@log,@content,@random-2,@random-3,@random-4,@random-5,@stop,@game",
		"passes":  "1", "prime": "2", "reps": "5",
	}
	maps.Copy(all, flags)
	return all
}

// offPath returns flags of measurements over 200,000 passages, with those that are given.
func offPath(flags map[string]string) map[string]string {
	all := map[string]string{
		"sources": "gutenberg-a.jsonl.zst", "queries": "gutenberg-dev.tsv,msmarco-dev.tsv",
		"limit": "500", "tasks": "top-10", "prime": "10", "warm": "1", "reps": "10", "budget": "15",
	}
	maps.Copy(all, flags)
	return all
}

// setMeasurement gives the flags the values of a measurement.
func setMeasurement(name string, set func(flag, value string) error) error {
	for _, m := range measurements {
		if m.name != name {
			continue
		}
		for flag, value := range m.flags {
			if err := set(flag, value); err != nil {
				return fmt.Errorf("-%s %s: %w", flag, value, err)
			}
		}
		return nil
	}
	return fmt.Errorf("no measurement is named %q; run with -help for the list", name)
}

func listMeasurements(w io.Writer) {
	fmt.Fprintln(w, "\nmeasurements (-measure):")
	for _, m := range measurements {
		fmt.Fprintf(w, "  %-12s %s\n", m.name, m.does)
	}
}
