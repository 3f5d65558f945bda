package riffle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// BenchmarkOffPath compares queries that are not a flat OR with the flat OR of the same words:
// trees, several fields, filters. The index is gutenberg-a in one segment, with tags that 0.1, 1,
// 10 and 50 % of its passages have. The queries are the first 300 of gutenberg-dev with two words
// or more. All shapes of a query run one after the other, so that their ratios survive a noisy
// machine. A figure is the mean over queries of the best of six rounds, the first two of which do
// not count.
func BenchmarkOffPath(b *testing.B) {
	e, queries := offPathCorpus(b)
	shapes := offPathShapes()
	for b.Loop() {
		best := bestOfRounds(b, e, queries, shapes)
		for i, s := range shapes {
			b.ReportMetric(float64(best[i].Nanoseconds())/1000/float64(len(queries)), s.name+"-µs")
		}
	}
}

// offPathCorpus returns the index and the words of the queries.
func offPathCorpus(b *testing.B) (e *Engine, queries [][]string) {
	dir := os.Getenv("RIFFLE_CORPORA")
	f, err := os.Open(filepath.Join(dir, "queries", "gutenberg-dev.tsv"))
	if err != nil {
		b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	defer f.Close()
	e = taggedPassages(b, filepath.Join(dir, "gutenberg-a.jsonl.zst"))
	for lines := bufio.NewScanner(f); lines.Scan() && len(queries) < 300; {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		if words := strings.Fields(text); len(words) > 1 {
			queries = append(queries, words)
		}
	}
	return e, queries
}

// filterTags say how many of the documents have them.
var filterTags = []string{"0.1%", "1%", "10%", "50%"}

type offPathShape struct {
	name  string
	query func(words []string) Query
}

func offPathShapes() []offPathShape {
	flat := func(words []string) Query { return Match{Field: "text", Text: strings.Join(words, " ")} }
	and := func(words []string) Query {
		return Match{Field: "text", Text: strings.Join(words, " "), Mode: ModeAnd}
	}
	shapes := []offPathShape{
		{"or", flat},
		{"nested", func(words []string) Query {
			half := (len(words) + 1) / 2
			return Bool{Should: []Query{and(words[:half]), Boost{Query: flat(words[half:]), By: 2}}}
		}},
		{"must-should", func(words []string) Query {
			return Bool{Must: []Query{flat(words[:1])}, Should: []Query{flat(words[1:])}}
		}},
		{"nested-not", func(words []string) Query {
			last := len(words) - 1
			half := (last + 1) / 2
			return Bool{Should: []Query{and(words[:half]), flat(words[half:last])}, MustNot: []Query{flat(words[last:])}}
		}},
		{"half-of-words", func(words []string) Query {
			var should []Query
			for _, w := range words {
				should = append(should, flat([]string{w}))
			}
			return Bool{Should: should, MinShould: (len(words) + 1) / 2}
		}},
		{"sum-of-fields", func(words []string) Query {
			return Match{Fields: []string{"title", "first", "text"}, Text: strings.Join(words, " "),
				Boosts: map[string]float64{"title": 3, "first": 2}}
		}},
		{"cross", func(words []string) Query {
			return Match{Fields: []string{"title", "first", "text"}, Text: strings.Join(words, " "),
				Boosts: map[string]float64{"title": 3, "first": 2}, Combine: CombineCross, Tie: 0.1}
		}},
		{"best-field", func(words []string) Query {
			return Match{Fields: []string{"title", "first", "text"}, Text: strings.Join(words, " "),
				Boosts: map[string]float64{"title": 3, "first": 2}, Combine: CombineBest}
		}},
		{"bm25f", func(words []string) Query {
			return Match{Fields: []string{"title", "first", "text"}, Text: strings.Join(words, " "),
				Boosts: map[string]float64{"title": 3, "first": 2}, Combine: CombineBM25F}
		}},
		{"cross-and", func(words []string) Query {
			return Match{Fields: []string{"title", "first", "text"}, Text: strings.Join(words[:2], " "), Mode: ModeAnd,
				Boosts: map[string]float64{"title": 3, "first": 2}, Combine: CombineCross}
		}},
	}
	for _, tag := range filterTags {
		shapes = append(shapes, offPathShape{"filter-" + tag, func(words []string) Query {
			return Bool{Must: []Query{flat(words)}, Filter: []Query{Term{Field: "tag", Value: tag}}}
		}})
	}
	return shapes
}

// taggedPassages returns an engine with the passages of a file. RIFFLE_KEEP is a folder for the
// index, which later runs copy.
func taggedPassages(b *testing.B, path string) *Engine {
	r, err := jsonl.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer r.Close()
	dir, filled := keptIndex(b, "tagged")
	e, err := Open(dir, &Options{Durability: SyncNone, SearchWorkers: 1, Schema: &Schema{
		NoStore: true,
		Dynamic: DynamicIndex,
		Fields:  map[string]Field{"tag": {Type: FieldKeyword}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	if filled {
		return e
	}
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 5))
	var batch Batch
	apply := func() {
		if err := e.Apply(ctx, &batch); err != nil {
			b.Fatal(err)
		}
		batch.Reset()
	}
	var doc jsonl.Document
	for {
		if err := r.Next(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		fields := map[string]any{}
		for _, f := range doc.Fields {
			fields[f.Name] = f.Value
		}
		words := strings.Fields(fmt.Sprint(fields["text"]))
		fields["first"] = strings.Join(words[:min(len(words), 15)], " ")
		tags := []string{}
		for i, chance := range []float64{0.001, 0.01, 0.1, 0.5} {
			if rng.Float64() < chance {
				tags = append(tags, filterTags[i])
			}
		}
		fields["tag"] = tags
		if batch.Put(doc.ID, fields); batch.Len() == 5000 {
			apply()
		}
	}
	apply()
	if err := errors.Join(e.Compact(ctx), keepIndex("tagged", e, dir)); err != nil {
		b.Fatal(err)
	}
	return e
}
