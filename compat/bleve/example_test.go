package bleve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/riffle-search/riffle/compat/bleve"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := bleve.ParseMapping([]byte(`{"default_analyzer": "en"}`))
	if err != nil {
		log.Fatal(err)
	}
	x, err := bleve.Open(dir, m, &bleve.Options{Name: "books"})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.Put(ctx,
		bleve.Document{ID: "moby", JSON: []byte(`{"title": "Moby Dick, or the Whale", "year": 1851}`)},
		bleve.Document{ID: "nautilus", JSON: []byte(`{"title": "Twenty Thousand Leagues", "year": 1870}`)},
	); err != nil {
		log.Fatal(err)
	}
	res, err := x.Search(ctx, []byte(`{"query": {"query": "+whales +year:<1860"}, "fields": ["year"], "highlight": {}}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fields, err := json.Marshal(hit.Fields)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s %q\n", hit.ID, fields, hit.Fragments["title"])
	}
	// Output:
	// moby {"year":1851} ["Moby Dick, or the <mark>Whale</mark>"]
}

func Example_places() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := bleve.ParseMapping([]byte(`{"default_mapping": {"properties": {
		"at": {"fields": [{"type": "geopoint", "index": true, "store": true, "docvalues": true}]}}}}`))
	if err != nil {
		log.Fatal(err)
	}
	x, err := bleve.Open(dir, m, &bleve.Options{Name: "cities"})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.Put(ctx,
		bleve.Document{ID: "berlin", JSON: []byte(`{"at": {"lat": 52.52, "lon": 13.405}}`)},
		bleve.Document{ID: "potsdam", JSON: []byte(`{"at": "52.39,13.064"}`)},
		bleve.Document{ID: "paris", JSON: []byte(`{"at": [2.352, 48.857]}`)},
	); err != nil {
		log.Fatal(err)
	}
	res, err := x.Search(ctx, []byte(`{"query": {"location": [13.38, 52.51], "distance": "50km", "field": "at"},
		"sort": [{"by": "geo_distance", "field": "at", "location": [13.38, 52.51], "unit": "km"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.ID, hit.DecodedSort[0][:4], "km")
	}
	// Output:
	// berlin 2.02 km
	// potsdam 25.2 km
}

func ExampleMapping_Schema() {
	m, err := bleve.ParseMapping([]byte(`{"default_mapping": {"dynamic": false, "properties": {
		"title": {"fields": [{"type": "text", "analyzer": "en", "store": true, "index": true, "include_term_vectors": true}]},
		"at":    {"fields": [{"type": "geoshape", "index": true}]}}}, "default_field": "title"}`))
	if err != nil {
		log.Fatal(err)
	}
	schema, problems := m.Schema()
	fmt.Println(schema.Fields["title"].Analyzer, schema.Dynamic)
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// bleve/en ignore
	// default_mapping.properties["at"].fields[0].type: fields of type "geoshape" are not supported
}
