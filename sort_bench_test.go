package riffle

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSortKeys finds the first 10 of 200,000 documents in one segment by their ids, which are random,
// by a number that half of them have at its highest, and by both: of all documents, and of those with words
// that one in 12 and one in 1,000 has.
func BenchmarkSortKeys(b *testing.B) {
	const docs = 200_000
	e, err := Open(b.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{NoStore: true, Fields: map[string]Field{
		"text": {}, "stars": {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	rng := rand.New(rand.NewPCG(3, 3))
	var batch Batch
	for d := range docs {
		text := "all"
		if rng.IntN(12) == 0 {
			text += " some"
		}
		if rng.IntN(1000) == 0 {
			text += " few"
		}
		batch.Put(fmt.Sprintf("%016x", rng.Uint64()), map[string]any{"text": text, "stars": max(0, 5-int(rng.ExpFloat64()*1.4))})
		if d%10_000 == 9_999 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	id, stars := SortKey{ID: true}, SortKey{Field: "stars"}
	down := func(k SortKey) SortKey { k.Desc = true; return k }
	for _, of := range []struct {
		name  string
		query Query
	}{{"all", All{}}, {"some", Term{Field: "text", Value: "some"}}, {"few", Term{Field: "text", Value: "few"}}} {
		for _, keys := range [][]SortKey{{id}, {down(id)}, {stars}, {down(stars)}, {stars, id}, {down(stars), id}} {
			b.Run(fmt.Sprintf("of=%s/by=%v", of.name, keys), func(b *testing.B) {
				o := &SearchOptions{K: 10, Sort: keys}
				for b.Loop() {
					if _, err := e.Search(ctx, of.query, o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
