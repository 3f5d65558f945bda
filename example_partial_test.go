package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/riffle-search/riffle"
)

// Two indexes, which could be of different processes, count and measure as one index of all their
// documents.
func ExamplePartialAggregations() {
	ctx := context.Background()
	aggregations := map[string]riffle.Aggregation{
		"hosts": riffle.TermsAggregation{Field: "host", Size: 1, Sub: map[string]riffle.Aggregation{"ms": riffle.StatsAggregation{Field: "ms"}}},
	}
	now := time.Now()
	// search is what each process does.
	search := func(documents ...map[string]any) []byte {
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
		for i, d := range documents {
			if err := e.Put(ctx, fmt.Sprint(i), d); err != nil {
				log.Fatal(err)
			}
		}
		r, err := e.Search(ctx, riffle.All{}, &riffle.SearchOptions{NoHits: true, Aggregations: aggregations, PartialAggregations: true, Now: now})
		if err != nil {
			log.Fatal(err)
		}
		data, err := r.PartialAggregations.MarshalBinary()
		if err != nil {
			log.Fatal(err)
		}
		return data
	}
	var whole *riffle.PartialAggregations
	for _, data := range [][]byte{
		search(map[string]any{"host": "a", "ms": 0.1}, map[string]any{"host": "a", "ms": 7}, map[string]any{"host": "b", "ms": 0.2}),
		search(map[string]any{"host": "b", "ms": 0.1}, map[string]any{"host": "b", "ms": 3}),
	} {
		part, err := riffle.UnmarshalPartialAggregations(data, aggregations, 0)
		if err != nil {
			log.Fatal(err)
		}
		if whole == nil {
			whole = part
		} else if err := whole.Merge(part); err != nil {
			log.Fatal(err)
		}
	}
	results, err := whole.Finish()
	if err != nil {
		log.Fatal(err)
	}
	hosts := results["hosts"]
	for _, host := range hosts.Buckets {
		fmt.Println(host.Key, host.Count, host.Sub["ms"].Stats.Sum)
	}
	fmt.Println(hosts.Distinct, "hosts,", hosts.Other, "documents of others")
	// Output:
	// b 3 3.3
	// 2 hosts, 2 documents of others
}
