package riffle

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkFilters compares queries under filters that 0.1, 1, 10 and 50 % of the documents pass
// with the same queries without a filter: OR, AND, and a tree of both. The index, the queries and
// the measurement are those of BenchmarkOffPath. Besides those of one term, a filter is an
// exclusion ("not"), or two terms ("both"). RIFFLE_ONLY names the modes to measure.
func BenchmarkFilters(b *testing.B) {
	e, queries := offPathCorpus(b)
	match := func(words []string, mode Mode) Query {
		return Match{Field: "text", Text: strings.Join(words, " "), Mode: mode}
	}
	for _, mode := range []struct {
		name  string
		query func(words []string) Query
	}{
		{"or", func(words []string) Query { return match(words, ModeOr) }},
		{"and", func(words []string) Query { return match(words, ModeAnd) }},
		{"tree", func(words []string) Query {
			half := (len(words) + 1) / 2
			return Bool{Should: []Query{match(words[:half], ModeAnd), match(words[half:], ModeOr)}}
		}},
	} {
		if only := os.Getenv("RIFFLE_ONLY"); only != "" && !strings.Contains(","+only+",", ","+mode.name+",") {
			continue
		}
		shapes := []offPathShape{{"none", mode.query}}
		for _, tag := range filterTags {
			shapes = append(shapes, offPathShape{tag, func(words []string) Query {
				return Bool{Must: []Query{mode.query(words)}, Filter: []Query{Term{Field: "tag", Value: tag}}}
			}})
		}
		shapes = append(shapes,
			offPathShape{"not10%", func(words []string) Query {
				return Bool{Must: []Query{mode.query(words)}, MustNot: []Query{Term{Field: "tag", Value: "10%"}}}
			}},
			offPathShape{"both", func(words []string) Query {
				return Bool{Must: []Query{mode.query(words)}, Filter: []Query{Term{Field: "tag", Value: "50%"}, Term{Field: "tag", Value: "10%"}}}
			}})
		b.Run(mode.name, func(b *testing.B) {
			for b.Loop() {
				for i, best := range bestOfRounds(b, e, queries, shapes) {
					b.ReportMetric(float64(best.Nanoseconds())/1000/float64(len(queries)), shapes[i].name+"-µs")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// bestOfRounds adds up, for each shape, the best time of each query in four of six rounds. All
// shapes of a query run one after the other.
func bestOfRounds(b *testing.B, e *Engine, queries [][]string, shapes []offPathShape) []time.Duration {
	sums := make([]time.Duration, len(shapes))
	for _, words := range queries {
		for i, s := range shapes {
			q, least := s.query(words), time.Hour
			for round := range 6 {
				begin := time.Now()
				if _, err := e.Search(context.Background(), q, nil); err != nil {
					b.Fatal(err)
				}
				if took := time.Since(begin); round >= 2 {
					least = min(least, took)
				}
			}
			sums[i] += least
		}
	}
	return sums
}
