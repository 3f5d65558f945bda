package riffle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestOrderOfColumn counts and searches ranges until the column has an order, and compares with the values:
// also after deletions and an update.
func TestOrderOfColumn(t *testing.T) {
	const docs = 5000
	rng := rand.New(rand.NewPCG(11, 5))
	e, err := Open(t.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{Fields: map[string]Field{"n": {Type: FieldNumber, NoIndex: true, Column: ColumnStored}, "word": {Type: FieldKeyword}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	values := map[string]int{}
	var batch Batch
	for i := range docs {
		id := fmt.Sprint(i)
		values[id] = rng.IntN(100_000)
		batch.Put(id, map[string]any{"n": values[id], "word": []string{"even", "odd"}[i%2]})
	}
	if err := e.Apply(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	check := func(from, to int) {
		t.Helper()
		want, even := 0, 0
		for id, n := range values {
			if n >= from && n < to {
				want++
				if (id[len(id)-1]-'0')%2 == 0 {
					even++
				}
			}
		}
		q := Range{Field: "n", From: from, To: to}
		if n, err := e.Count(ctx, q); err != nil || n != want {
			t.Fatalf("%v: counted %d, %v, want %d", q, n, err, want)
		}
		res, err := e.Search(ctx, Bool{Must: []Query{Term{Field: "word", Value: "even"}}, Filter: []Query{Range{Field: "n", From: from, To: to, ExcludeFrom: from > 0}}},
			&SearchOptions{K: docs, ExactTotal: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			if n := values[h.ID]; n < from || n >= to {
				t.Fatalf("%v: document %s has %d", q, h.ID, n)
			}
		}
		if res.Total > even || from == 0 && res.Total != even {
			t.Fatalf("%v: found %d, want %d", q, res.Total, even)
		}
	}
	held := func() int64 {
		s, err := e.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Resident.Values
	}
	check(0, 10)
	before := held()
	for i := 0; held() < before+4*docs; i++ {
		if i == 5000 {
			t.Fatal("the column has no order")
		}
		from := rng.IntN(100_000)
		check(from, from+1+rng.IntN(40_000))
		if i > 600 {
			time.Sleep(time.Millisecond) // it is made in the background
		}
	}
	for i := range 200 {
		from := rng.IntN(100_000) * (i % 3 / 2)
		check(from, from+1+rng.IntN([]int{40, 90_000}[i%2]))
	}
	for i := 0; i < docs; i += 7 {
		id := fmt.Sprint(i)
		if err := e.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		delete(values, id)
		if i%100 == 0 {
			from := rng.IntN(100_000)
			check(from, from+1+rng.IntN(40_000))
		}
	}
	batch.Reset()
	batch.Update("1", map[string]any{"n": 200_000})
	if err := e.Apply(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	values["1"] = 200_000
	for range 20 {
		from := rng.IntN(100_000)
		check(from, from+100_000)
	}
}
