package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/riffle-search/riffle"
)

// The errors of yesterday, in the time zone of the reader.
func ExampleRange_relative() {
	dir, err := os.MkdirTemp("", "ranges")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"message": {Type: riffle.FieldText},
		"at":      {Type: riffle.FieldDate, NoIndex: true, Column: riffle.ColumnStored},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	var b riffle.Batch
	b.Put("late", map[string]any{"message": "disk error", "at": "2026-11-24T23:30:00Z"})
	b.Put("noon", map[string]any{"message": "network error", "at": "2026-11-24T12:00:00Z"})
	b.Put("today", map[string]any{"message": "disk error", "at": "2026-11-25T08:00:00Z"})
	if err := e.Apply(context.Background(), &b); err != nil {
		log.Fatal(err)
	}
	q := riffle.Bool{
		Must:   []riffle.Query{riffle.Match{Field: "message", Text: "error"}},
		Filter: []riffle.Query{riffle.Range{Field: "at", From: "now-1d/d", To: "now-1d/d", IncludeTo: true, TimeZone: "+01:00"}},
	}
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC) // leave it out for the clock
	res, err := e.Search(context.Background(), q, &riffle.SearchOptions{Now: now})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.ID)
	}
	// Output: noon
}
