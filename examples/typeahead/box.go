package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle"
)

// A box is a search box over a field of an index.
type box struct {
	e      *riffle.Engine
	field  string
	stored bool // the field's text can be shown
}

// An answer is what a key is answered with.
type answer struct {
	completions []string // of the last word, the most frequent first
	hits        []hit
}

type hit struct{ id, snippet string }

func newBox(e *riffle.Engine, field string) (*box, error) {
	schema := e.Schema()
	f, declared := schema.Fields[field]
	if !declared && schema.Dynamic != riffle.DynamicIndex {
		return nil, fmt.Errorf("the index has no field %q; name one with -field", field)
	}
	return &box{e: e, field: field, stored: !schema.NoStore && !f.NoStore}, nil
}

// answer finds the k best hits of what has been typed, and completions of its last word.
func (b *box) answer(ctx context.Context, typed string, k int) (a answer, err error) {
	o := &riffle.SearchOptions{K: k}
	if b.stored {
		o.Highlight = &riffle.HighlightOptions{Fields: []string{b.field}, Size: 70, BySize: true}
	}
	res, err := b.e.Search(ctx, riffle.MatchBoolPrefix{Field: b.field, Text: typed}, o)
	if err != nil {
		return a, err
	}
	for _, h := range res.Hits {
		found := hit{id: h.ID}
		for _, f := range h.Fragments[b.field] {
			found.snippet = f.Format(riffle.Markup{Open: "[", Close: "]", Cut: "…"})
		}
		a.hits = append(a.hits, found)
	}
	word := lastWord(typed)
	if word == "" {
		return a, nil
	}
	suggestions, err := b.e.Suggest(ctx, b.field, word, &riffle.SuggestOptions{Limit: 5, Edits: riffle.NoEdits})
	for _, s := range suggestions {
		a.completions = append(a.completions, s.Term)
	}
	return a, err
}

// lastWord is what follows the last space of a text.
func lastWord(typed string) string {
	return typed[strings.LastIndexByte(typed, ' ')+1:]
}
