package riffle_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/riffle-search/riffle"
)

// Of articles that match alike, the new and the popular ones come first. The age of an article halves what
// it scores every 30 days; then readers add to it.
func ExampleFunctionScore() {
	dir, err := os.MkdirTemp("", "functions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"text":      {Type: riffle.FieldText},
		"published": {Type: riffle.FieldDate},
		"readers":   {Type: riffle.FieldNumber},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	b.Put("old", map[string]any{"text": "a white whale", "published": "2024-11-24T00:00:00Z", "readers": 50})
	b.Put("new", map[string]any{"text": "a white whale", "published": "2026-11-24T00:00:00Z", "readers": 50})
	b.Put("popular", map[string]any{"text": "a white whale", "published": "2026-10-25T00:00:00Z", "readers": 90_000})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}

	words := riffle.Match{Field: "text", Text: "white whale"}
	recent := riffle.FunctionScore{
		Query:     words,
		Mode:      riffle.FunctionMultiply,
		Functions: []riffle.ScoreFunction{riffle.Decay{Field: "published", Scale: "30d", Shape: riffle.DecayExp}},
	}
	read := riffle.FunctionScore{
		Query:     recent,
		Functions: []riffle.ScoreFunction{riffle.FieldFactor{Field: "readers", Modifier: riffle.ModifierLog1p, Weight: 0.1}},
	}
	now := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC) // leave it out for the clock
	show(e.Search(ctx, recent, &riffle.SearchOptions{Now: now}))
	show(e.Search(ctx, read, &riffle.SearchOptions{Now: now}))
	// Output:
	// new popular old
	// popular new old
}

// Of cafes that match alike, the nearest come first. Up to 300 m all are as good; a kilometre further, a cafe
// scores half.
func ExampleDecay() {
	dir, err := os.MkdirTemp("", "decay")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"name": {Type: riffle.FieldText}, "place": {Type: riffle.FieldPlace},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	b.Put("far", map[string]any{"name": "Cafe", "place": riffle.Point{Lat: 52.50, Lon: 13.30}})
	b.Put("near", map[string]any{"name": "Cafe", "place": riffle.Point{Lat: 52.521, Lon: 13.40}})
	b.Put("walk", map[string]any{"name": "Cafe", "place": riffle.Point{Lat: 52.53, Lon: 13.42}})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	here := riffle.Point{Lat: 52.52, Lon: 13.40}
	show(e.Search(ctx, riffle.FunctionScore{
		Query:     riffle.Match{Field: "name", Text: "cafe"},
		Mode:      riffle.FunctionMultiply,
		Functions: []riffle.ScoreFunction{riffle.Decay{Field: "place", Origin: here, Scale: 1000, Offset: 300}},
	}, nil))
	// Output: near walk far
}
