package main

import (
	"fmt"

	"github.com/riffle-search/riffle"
)

// largeDocs are enough for the features that only large segments have: length codes of a field in
// one value, and places of 4,096 documents in a value.
const largeDocs = 75_000

// writeLarge writes an index of one large segment, in which documents are not in the order of ids.
func writeLarge(dir string) error {
	return with(dir, riffle.Options{Schema: &largeSchema}, func(e *riffle.Engine) error {
		var b riffle.Batch
		for n := range largeDocs {
			r := random(n)
			b.Put(largeID(n), map[string]any{"body": r.words(1 + r.next(4))})
		}
		if err := e.Apply(ctx, &b); err != nil {
			return err
		}
		return e.Compact(ctx)
	})
}

var largeSchema = riffle.Schema{Fields: map[string]riffle.Field{"body": {Type: riffle.FieldText, NoStore: true}}}

// largeID returns the ids 0 to largeDocs-1, each once, in runs of five.
func largeID(n int) string { return fmt.Sprint(n/5*7%(largeDocs/5)*5 + n%5) }
