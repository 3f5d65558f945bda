package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/riffle-search/riffle"
)

// Log lines by day in a time zone, with the slowest hosts of each day.
func ExampleDateHistogramAggregation() {
	dir, err := os.MkdirTemp("", "riffle")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{"host": {Type: riffle.FieldKeyword}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	b := new(riffle.Batch)
	for i, line := range []struct {
		host    string
		latency int
		at      string
	}{
		{"a", 20, "2026-05-01T21:30:00Z"}, {"b", 90, "2026-05-01T21:45:00Z"}, {"a", 30, "2026-05-01T22:15:00Z"}, {"a", 25, "2026-05-04T09:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, line.at)
		if err != nil {
			log.Fatal(err)
		}
		b.Put(fmt.Sprint(i), map[string]any{"host": line.host, "latency": line.latency, "at": at})
	}
	if err := e.Apply(ctx, b); err != nil {
		log.Fatal(err)
	}
	res, err := e.Search(ctx, riffle.All{}, &riffle.SearchOptions{Aggregations: map[string]riffle.Aggregation{
		"days": riffle.DateHistogramAggregation{
			Field: "at", Unit: riffle.CalendarDay, Zone: "Europe/Berlin",
			Sub: map[string]riffle.Aggregation{
				"hosts": riffle.TermsAggregation{
					Field: "host", Order: "-latency.max",
					Sub: map[string]riffle.Aggregation{"latency": riffle.StatsAggregation{Field: "latency"}},
				},
			},
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, day := range res.Aggregations["days"].Buckets {
		fmt.Printf("%s %d", day.Key.(time.Time).Format(time.DateOnly), day.Count)
		for _, host := range day.Sub["hosts"].Buckets {
			fmt.Printf(", %v up to %v ms", host.Key, host.Sub["latency"].Stats.Max)
		}
		fmt.Println()
	}
	// Output:
	// 2026-05-01 2, b up to 90 ms, a up to 20 ms
	// 2026-05-02 1, a up to 30 ms
	// 2026-05-03 0
	// 2026-05-04 1, a up to 25 ms
}
