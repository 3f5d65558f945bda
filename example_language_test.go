package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/riffle-search/riffle"
)

func ExampleParseQuery() {
	schema := &riffle.Schema{Fields: map[string]riffle.Field{"year": {Type: riffle.FieldNumber}}}
	o := &riffle.ParseOptions{Schema: schema, Fields: []string{"text"}}
	for _, text := range []string{
		`title:"moby dick" +year:>=1850 -whal*`,
		`(white OR black) AND NOT whale~1`,
		`year:old`,
	} {
		q, err := riffle.ParseQuery(text, o)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(q)
	}
	// Output:
	// +year:[1850 TO *} title:"moby dick" -text:whal*
	// +(text:white text:black) -{"fuzzy":{"field":"text","term":"whale","edits":1,"raw":true}}
	// riffle: query, byte 0: field "year" has numbers, and "old" is none
}

// A search box never refuses what a user types. It says what it has not understood.
func ExampleParseQuery_lenient() {
	q, err := riffle.ParseQuery(`captain "white wha`, &riffle.ParseOptions{
		Fields:  []string{"text"},
		Lenient: true,
		Note:    func(e *riffle.ParseError) { fmt.Println(e.Offset, e.Reason) },
	})
	fmt.Println(q, err)
	// Output:
	// 8 the quote has no end
	// text:captain text:\"white\ wha <nil>
}

func ExampleRange() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	var b riffle.Batch
	b.Put("moby", map[string]any{"year": 1851})
	b.Put("emma", map[string]any{"year": 1815})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	res, err := e.Search(ctx, riffle.Range{Field: "year", From: 1850}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.ID)
	}
	// Output:
	// moby
}
