package riffle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestMoreFieldsThanALimitHeals: an index of an older version with more fields than two bytes can
// number, in its log and in its segments, can be opened, sealed, searched and compacted.
func TestMoreFieldsThanALimitHeals(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	ctx := context.Background()
	dir := t.TempDir()
	open := func() *Engine {
		e, err := Open(dir, &Options{MemoryBytes: 4 << 30, AllowUnknownFields: true}) // Close leaves the log
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open()
	e.probe().Fields().Limit = 1 << 20 // as without a limit
	for d := range 3 {
		if err := e.Put(ctx, fmt.Sprint(d), fieldsDoc(fmt.Sprint("f", d, "_"), 0, 22_500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open()
	defer func() { e.Close() }()
	requireRefused(t, e.Put(ctx, "new", fieldsDoc("n", 0, 1)), "new", "n0", DefaultMaxFields)
	if err := errors.Join(e.Delete(ctx, "0"), e.Put(ctx, "3", fieldsDoc("f1_", 0, 10)), e.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	e.probe().Fields().Limit = 1 << 20
	if err := errors.Join(e.Put(ctx, "4", fieldsDoc("f4_", 0, 22_500)), e.Flush(ctx), e.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	st, err := e.Stats()
	if err != nil || len(st.Segments) != 1 || len(st.Fields) != 3*22_500 {
		t.Fatalf("%d segments with %d fields, %v, want one with %d", len(st.Segments), len(st.Fields), err, 3*22_500)
	}
	for field, want := range map[string]int{"f0_1": 0, "f1_1": 2, "f2_22499": 1, "f4_22499": 1} {
		if n, err := e.Count(ctx, Match{Field: field, Text: "word"}); err != nil || int(n) != want {
			t.Errorf("%d documents have field %s, %v, want %d", n, field, err, want)
		}
	}
}

// TestSeldomFieldsScore compares searches in fields that few documents have with those of an index
// that has no other documents: in memory, in memory that has grown, and sealed.
func TestSeldomFieldsScore(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(2, 11))
	const fields = 60
	all := fieldsEngine(t, t.TempDir(), fields+1)
	var alone [fields]*Engine
	z := rand.NewZipf(rng, 1.1, 10, 2000)
	n := 0
	add := func(docs int) {
		var b Batch
		var own [fields]Batch
		for range docs {
			f, id := rng.IntN(fields), fmt.Sprintf("%05d", n)
			n++
			doc := map[string]any{fmt.Sprint("f", f): zipfText(z, 1+rng.IntN(60))}
			own[f].Put(id, doc)
			b.Put(id, map[string]any{"common": "word", fmt.Sprint("f", f): doc[fmt.Sprint("f", f)]})
		}
		if err := all.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
		for f := range 5 {
			if alone[f] == nil {
				alone[f] = fieldsEngine(t, t.TempDir(), 1)
			}
			if err := alone[f].Apply(ctx, &own[f]); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(state string) {
		t.Helper()
		for f := range 5 {
			for _, mode := range []Mode{ModeOr, ModeAnd} {
				q := Match{Field: fmt.Sprint("f", f), Text: "w0 w1 w2 w7", Mode: mode}
				got, err := all.Search(ctx, q, &SearchOptions{K: 50, ExactTotal: true})
				want, werr := alone[f].Search(ctx, q, &SearchOptions{K: 50, ExactTotal: true})
				if err != nil || werr != nil || got.Total != want.Total || len(got.Hits) != len(want.Hits) {
					t.Fatalf("%s, %v: %v, %v, %v, %v", state, q, got, err, want, werr)
				}
				for i, h := range got.Hits {
					if h.ID != want.Hits[i].ID || h.Score != want.Hits[i].Score {
						t.Fatalf("%s, %v: hit %d is %s with %v, want %s with %v", state, q, i, h.ID, h.Score, want.Hits[i].ID, want.Hits[i].Score)
					}
				}
			}
		}
	}
	add(3000)
	check("in memory")
	add(1000)
	check("in memory that has grown")
	if err := all.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	check("sealed")
	add(500)
	check("sealed and in memory")
	if err := all.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	check("merged")
}

// TestColumnsOfSeldomFieldsAreBounded searches hundreds of fields that few documents have: their
// columns are counted with the lists and stay within the budget.
func TestColumnsOfSeldomFieldsAreBounded(t *testing.T) {
	ctx := context.Background()
	const budget = 256 << 10
	e, err := Open(t.TempDir(), &Options{Durability: SyncNone, CacheBytes: budget})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var b Batch
	for i := range 20_000 {
		b.Put(fmt.Sprint(i), map[string]any{fmt.Sprint("f", i%200): "word"})
	}
	if err := e.Apply(ctx, &b); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"memory", "sealed"} {
		most := int64(0)
		for f := range 200 {
			res, err := e.Search(ctx, Match{Field: fmt.Sprint("f", f), Text: "word"}, nil)
			if err != nil || len(res.Hits) == 0 {
				t.Fatal(res, err)
			}
			held, _ := e.probe().Lists().Bytes()
			if most = max(most, held); held > budget {
				t.Fatalf("%s: %d bytes are held after %d fields, the budget is %d", state, held, f+1, budget)
			}
		}
		if most < budget/4 { // half of so small a budget is the store's
			t.Errorf("%s: %d bytes at most: columns are not counted", state, most)
		}
		if err := e.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, disk := range e.probe().Disks() {
		if disk.HeldBytes() > 40*20_000 {
			t.Errorf("a segment holds %d bytes", disk.HeldBytes())
		}
	}
}
