package riffle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// fieldsDoc returns a document with n fields, named by a prefix and their numbers from first on.
func fieldsDoc(prefix string, first, n int) map[string]any {
	doc := map[string]any{}
	for i := range n {
		doc[fmt.Sprintf("%s%d", prefix, first+i)] = "word"
	}
	return doc
}

// requireRefused fails the test unless err refuses a document for its field, and names the limit.
func requireRefused(t *testing.T, err error, id, field string, limit int) {
	t.Helper()
	var de *DocumentError
	if !errors.As(err, &de) || de.ID != id || de.Field != field || !strings.Contains(err.Error(), fmt.Sprint("MaxFields is ", limit)) {
		t.Errorf("error %v, want one about document %q and its field %q by the limit of %d", err, id, field, limit)
	}
}

func fieldsEngine(t *testing.T, dir string, limit int) *Engine {
	t.Helper()
	e, err := Open(dir, &Options{MaxFields: limit, Durability: SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestMaxFieldsCountsTheWholeIndex reaches the limit with fields of a sealed segment, of memory and
// of a batch. A document beyond it is refused before anything is logged.
func TestMaxFieldsCountsTheWholeIndex(t *testing.T) {
	ctx := context.Background()
	e := fieldsEngine(t, t.TempDir(), 10)
	if err := errors.Join(e.Put(ctx, "sealed", fieldsDoc("a", 0, 4)), e.Flush(ctx), e.Put(ctx, "memory", fieldsDoc("b", 0, 3))); err != nil {
		t.Fatal(err)
	}
	var b Batch
	b.Put("old names", fieldsDoc("b", 0, 3))
	b.Put("fits", fieldsDoc("c", 0, 3))
	b.Put("does not", fieldsDoc("d", 0, 2))
	before, _ := e.Stats()
	requireRefused(t, e.Apply(ctx, &b), "does not", "d0", 10)
	if after, _ := e.Stats(); after.LogRecords != before.LogRecords || after.Docs != 2 {
		t.Errorf("%d log records and %d documents after a refused batch, had %d and 2", after.LogRecords, after.Docs, before.LogRecords)
	}
	if n := e.probe().Fields().Len(); n != 7 {
		t.Errorf("%d fields are held after a refused batch, want 7", n)
	}
	if err := e.Put(ctx, "fits", fieldsDoc("c", 0, 3)); err != nil { // the refused batch has released its fields
		t.Error(err)
	}
	requireRefused(t, e.Put(ctx, "x", fieldsDoc("a", 0, 5)), "x", "a4", 10)
	if err := e.Put(ctx, "x", fieldsDoc("a", 0, 4)); err != nil {
		t.Errorf("a document without new fields: %v", err)
	}
}

// TestMaxFieldsOfConcurrentBatches applies more fields than allowed from many goroutines.
func TestMaxFieldsOfConcurrentBatches(t *testing.T) {
	ctx := context.Background()
	e := fieldsEngine(t, t.TempDir(), 50)
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted := 0
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				switch err := e.Put(ctx, fmt.Sprint(g, "-", i), fieldsDoc("f", g*20+i, 1)); {
				case err == nil:
					mu.Lock()
					accepted++
					mu.Unlock()
				case !strings.Contains(err.Error(), "MaxFields"):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	st, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Fields) != 50 || accepted != 50 || e.probe().Fields().Len() != 50 {
		t.Errorf("%d fields, %d held, of %d accepted documents, want 50", len(st.Fields), e.probe().Fields().Len(), accepted)
	}
}

// TestMaxFieldsOfAnOlderIndex opens an index that has more fields than its current limit.
func TestMaxFieldsOfAnOlderIndex(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	e := fieldsEngine(t, dir, 100)
	if err := errors.Join(e.Put(ctx, "a", fieldsDoc("a", 0, 30)), e.Flush(ctx), e.Put(ctx, "b", fieldsDoc("b", 0, 30)), e.Close()); err != nil {
		t.Fatal(err)
	}
	e = fieldsEngine(t, dir, 20) // 30 fields in a segment, 30 in the log
	if n := e.probe().Fields().Len(); n != 60 {
		t.Errorf("%d fields are known, want 60", n)
	}
	requireRefused(t, e.Put(ctx, "c", fieldsDoc("c", 0, 1)), "c", "c0", 20)
	if err := errors.Join(e.Put(ctx, "c", fieldsDoc("b", 0, 30)), e.Put(ctx, "d", fieldsDoc("a", 0, 30))); err != nil {
		t.Error(err)
	}
	for _, field := range []string{"a29", "b29"} {
		if n, err := e.Count(ctx, Match{Field: field, Text: "word"}); n != 2 || err != nil {
			t.Errorf("%d documents have field %s, %v, want 2", n, field, err)
		}
	}
}

// TestFieldsAreFreeAgain deletes the documents with many fields: once merged away they do not
// count.
func TestFieldsAreFreeAgain(t *testing.T) {
	ctx := context.Background()
	e := fieldsEngine(t, t.TempDir(), 10)
	if err := errors.Join(e.Put(ctx, "many", fieldsDoc("a", 0, 10)), e.Flush(ctx), e.Put(ctx, "few", fieldsDoc("a", 0, 2))); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, e.Put(ctx, "new", fieldsDoc("n", 0, 1)), "new", "n0", 10)
	if err := errors.Join(e.Delete(ctx, "many"), e.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	if n := e.probe().Fields().Len(); n != 2 {
		t.Errorf("%d fields are left, want 2", n)
	}
	if err := e.Put(ctx, "new", fieldsDoc("n", 0, 8)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(e.Delete(ctx, "new"), e.Delete(ctx, "few"), e.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	if n := e.probe().Fields().Len(); n != 0 {
		t.Errorf("%d fields are left in an empty index", n)
	}
}

// TestBuildRefusesTooManyFields builds an index of documents that have a field each, from one block
// and from several.
func TestBuildRefusesTooManyFields(t *testing.T) {
	var docs []modelPut
	for i := range 200 {
		docs = append(docs, modelPut{fmt.Sprint("d", i), modelDoc{fmt.Sprintf("f%03d", i): "word"}})
	}
	for _, workers := range []int{1, 3} {
		for _, block := range []int{1 << 20, 500} {
			o := &BuildOptions{Workers: workers, Index: Options{MaxFields: 150}, Bad: func(error) error { return nil }}
			o.private.blockBytes = block
			_, err := Build(context.Background(), t.TempDir(), JSONLines{Files: jsonLines(t, docs, 1)}, o)
			requireRefused(t, err, "d150", "f150", 150)
		}
	}
}
