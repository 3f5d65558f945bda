package riffle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkOrderByField compares an index in the order of a date with the same documents in the order of
// arrival, which is random. It indexes 100,000 passages of gutenberg-a (or RIFFLE_PASSAGES) with a time, a
// skewed number and a host.
//
//	newest         any of the words of a query, newest first
//	newest-all     all documents, newest first
//	time           count of 1 % of the time, another range each time
//	number         count of the largest numbers (about 1 %), another range each time
//	under-time     the best of the query under a filter by 1 % of the time, another each time
//	under-number   the best of the query under a filter by the largest numbers, another each time
//	plain          the best of the query
//
// Times are means over 100 queries of the best of four rounds, of which the first does not count. It also
// reports documents scored by a search, bytes of columns and postings, and seconds of Apply (all
// documents) and of Compact (seal and merge).
func BenchmarkOrderByField(b *testing.B) {
	if os.Getenv("RIFFLE_PASSAGES") == "" {
		b.Setenv("RIFFLE_PASSAGES", "100000")
	}
	for _, order := range []DocOrder{OrderByArrival, OrderByField} {
		b.Run("order="+order.String(), func(b *testing.B) {
			e, queries, apply, compact := timedPassages(b, order)
			match := func(words []string) Query { return Match{Field: "text", Text: strings.Join(words, " ")} }
			// A range that was not there before has no bitmap in the cache.
			ranges := 0
			timeRange := func() Query {
				ranges++
				shift := time.Duration(ranges) * time.Second
				return Range{Field: "at", From: functionTime(0.62).Add(shift), To: functionTime(0.63).Add(shift)}
			}
			numberRange := func() Query {
				ranges++
				return Range{Field: "readers", From: int64(17_000 - ranges)}
			}
			under := func(words []string, filter Query) Query {
				return Bool{Must: []Query{match(words)}, Filter: []Query{filter}}
			}
			newest := &SearchOptions{Sort: []SortKey{{Field: "at", Desc: true}}}
			shapes := []struct {
				name    string
				query   func(words []string) Query
				options *SearchOptions
				count   bool
			}{
				{"newest", match, newest, false},
				{"newest-all", func([]string) Query { return All{} }, newest, false},
				{"time", func([]string) Query { return timeRange() }, nil, true},
				{"number", func([]string) Query { return numberRange() }, nil, true},
				{"under-time", func(w []string) Query { return under(w, timeRange()) }, nil, false},
				{"under-number", func(w []string) Query { return under(w, numberRange()) }, nil, false},
				{"plain", match, nil, false},
			}
			for b.Loop() {
				for _, s := range shapes {
					sum, scored := time.Duration(0), int64(0)
					for _, words := range queries {
						least := time.Hour
						for round := range 4 {
							q := s.query(words)
							begin := time.Now()
							var err error
							res := new(Result) // a count does not tell its work
							if s.count {
								_, err = e.Count(ctx, q)
							} else {
								res, err = e.Search(ctx, q, s.options)
							}
							if err != nil {
								b.Fatal(err)
							}
							if took := time.Since(begin); round > 0 {
								least = min(least, took)
							}
							if round == 1 {
								scored += res.Work.DocsScored
							}
						}
						sum += least
					}
					n := float64(len(queries))
					b.ReportMetric(float64(sum.Nanoseconds())/1000/n, s.name+"-µs")
					if !s.count {
						b.ReportMetric(float64(scored)/n, s.name+"-scored")
					}
				}
			}
			sizes, err := e.Sizes(ctx)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(sizes.Columns)/1e6, "columns-MB")
			b.ReportMetric(float64(sizes.Docs+sizes.Freqs+sizes.Directory)/1e6, "postings-MB")
			b.ReportMetric(apply.Seconds(), "apply-s")
			b.ReportMetric(compact.Seconds(), "compact-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// timedPassages returns an index of passages in one segment, the words of 100 queries, and how long Apply
// of all passages and Compact took.
func timedPassages(b *testing.B, order DocOrder) (e *Engine, queries [][]string, apply, compact time.Duration) {
	passages := readPassages(b)
	column := func(t FieldType) Field { return Field{Type: t, NoIndex: true, Column: ColumnStored} }
	o := &Options{Durability: SyncNone, Schema: &Schema{NoStore: true, Fields: map[string]Field{
		"text": {}, "at": column(FieldDate), "readers": column(FieldNumber), "host": {Type: FieldKeyword},
	}}, Merge: MergeOptions{Order: order, Disabled: true}}
	if order == OrderByField {
		o.Merge.OrderField = "at"
	}
	e, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	rng := rand.New(rand.NewPCG(1, 26))
	written := rng.Perm(len(passages)) // when each of them was written
	begin := time.Now()
	var batch Batch
	for i := range passages {
		batch.Put(passages[i].ID, map[string]any{
			"text": textOf(&passages[i]), "at": functionTime(float64(written[i]) / float64(len(passages))),
			"readers": int64(math.Exp(10 * math.Pow(rng.Float64(), 3))), "host": fmt.Sprint("host", rng.IntN(200)),
		})
		if batch.Len() == 1000 || i == len(passages)-1 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	apply, begin = time.Since(begin), time.Now()
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	compact = time.Since(begin)
	for _, text := range readQueries(b, "gutenberg-dev", 400) {
		if words := strings.Fields(text); len(words) > 1 && len(queries) < 100 {
			queries = append(queries, words)
		}
	}
	return e, queries, apply, compact
}
