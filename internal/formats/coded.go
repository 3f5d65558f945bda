package main

import (
	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
)

// codedDocs are enough for several runs of stored documents in codes.
const codedDocs = 400

// writeCoded writes an index of one segment whose stored documents are in codes. Usually only larger
// ones have them.
func writeCoded(dir string) error {
	var o riffle.Options
	hook.Set(&o, hook.Knobs{CodedBytes: 1})
	return with(dir, o, func(e *riffle.Engine) error {
		var b riffle.Batch
		for n := range codedDocs {
			b.Put(id(n), codedDocument(n))
		}
		if err := e.Apply(ctx, &b); err != nil {
			return err
		}
		return e.Compact(ctx)
	})
}

// codedDocument returns a document of some words, and one in fifty of many.
func codedDocument(n int) map[string]any {
	r := random(n)
	words := r.next(60)
	if n%50 == 7 {
		words = 5000
	}
	return map[string]any{"text": r.words(words), "n": int64(n)}
}
