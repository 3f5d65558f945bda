package riffle

import (
	"context"
	"testing"
)

func TestUpdateQuick(t *testing.T) {
	schema := &Schema{Fields: map[string]Field{
		"sold": {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
		"kind": {Type: FieldKeyword, NoIndex: true, Column: ColumnStored},
	}}
	dir := t.TempDir()
	e, err := Open(dir, &Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var b Batch
	b.Put("a", map[string]any{"text": "hello world", "sold": 3, "kind": "x"})
	b.Put("b", map[string]any{"text": "hello", "sold": 5})
	if err := e.Apply(ctx, &b); err != nil {
		t.Fatal(err)
	}
	show := func(when string) {
		res, err := e.Search(ctx, Bool{Must: []Query{Match{Field: "text", Text: "hello"}}, Filter: []Query{Range{Field: "sold", From: 4}}}, &SearchOptions{K: 10, Load: []string{"*"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s:", when)
		for _, h := range res.Hits {
			t.Logf("  %s %v", h.ID, h.Fields)
		}
	}
	show("put")
	b.Reset()
	b.Update("a", map[string]any{"sold": 7, "kind": "new"})
	b.Update("nobody", map[string]any{"sold": 7})
	if err := e.Apply(ctx, &b); err != nil {
		t.Fatal(err)
	}
	show("updated")
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	show("sealed")
	b.Reset()
	b.Update("b", map[string]any{"sold": 2.5, "kind": "fresh"})
	if err := e.Apply(ctx, &b); err != nil {
		t.Fatal(err)
	}
	show("updated b")
	e.Close()
	if e, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	show("reopened")
	b.Reset()
	b.Update("b", map[string]any{"sold": 8.5, "kind": nil})
	if err := e.Apply(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	show("flushed")
	e.Close()
	if e, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	show("reopened")
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	show("compacted")
	if err := e.Check(ctx, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	b.Update("b", map[string]any{"text": "x"})
	t.Log(e.Apply(ctx, &b))
	e.Close()
}
