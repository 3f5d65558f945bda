package riffle_test

import (
	"context"

	"github.com/riffle-search/riffle"
)

// Lists of pairs of frequent words make phrases of such words fast. Answers and scores stay the same.
func ExampleField_phrasePairs() {
	ctx := context.Background()
	e, done := library(&riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"text": {Type: riffle.FieldText, PhrasePairs: []string{"_english_", "or", "not"}},
	}}})
	defer done()
	show(e.Search(ctx, riffle.Phrase{Field: "text", Text: "and the"}, nil))
	show(e.Search(ctx, riffle.Phrase{Field: "text", Text: "ship is no"}, nil))
	// Output:
	// moby nautilus
	// nautilus
}
