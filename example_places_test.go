package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/riffle-search/riffle"
)

// What is within five kilometres, the nearest first.
func ExampleWithinDistance() {
	dir, err := os.MkdirTemp("", "places")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"place": {Type: riffle.FieldPlace},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	b.Put("gate", map[string]any{"place": riffle.Point{Lat: 52.5163, Lon: 13.3777}})
	b.Put("tower", map[string]any{"place": "52.5208,13.4094"})
	b.Put("palace", map[string]any{"place": map[string]any{"lat": 52.4041, "lng": 13.0385}})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	here := riffle.Point{Lat: 52.52, Lon: 13.405}
	res, err := e.Search(ctx,
		riffle.WithinDistance{Field: "place", Point: here, Metres: 5000},
		&riffle.SearchOptions{Sort: []riffle.SortKey{{Field: "place", From: &here}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Printf("%s: %.0f m\n", hit.ID, hit.Sort[0])
	}
	// Output:
	// tower: 311 m
	// gate: 1892 m
}
