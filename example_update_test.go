package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/riffle-search/riffle"
)

// A shop counts what it sells, and ends an offer, without putting the products again.
func ExampleBatch_Update() {
	dir, err := os.MkdirTemp("", "updates")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"name":  {Type: riffle.FieldText},
		"sold":  {Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored},
		"offer": {Type: riffle.FieldKeyword, NoIndex: true, Column: riffle.ColumnStored},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	var b riffle.Batch
	b.Put("desk", map[string]any{"name": "desk lamp", "sold": 12, "offer": "autumn"})
	b.Put("floor", map[string]any{"name": "floor lamp", "sold": 9})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	b.Reset()
	b.Update("floor", map[string]any{"sold": 40})
	b.Update("desk", map[string]any{"offer": nil})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	res, err := e.Search(ctx, riffle.Match{Field: "name", Text: "lamp"}, &riffle.SearchOptions{
		Sort: []riffle.SortKey{{Field: "sold", Desc: true}}, Load: []string{"*"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.ID, hit.Fields)
	}
	// Output:
	// floor map[name:floor lamp sold:40]
	// desk map[name:desk lamp sold:12]
}
