package riffle

import (
	"context"
	"fmt"
	"testing"
)

func TestSmoke(t *testing.T) {
	e, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i := range 1000 {
		if err := e.Put(ctx, fmt.Sprint(i), map[string]any{"text": fmt.Sprintf("hello world number%d n%d", i, i%7), "n": i}); err != nil {
			t.Fatal(err)
		}
		if i == 500 {
			if err := e.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.Delete(ctx, "77")
	e.Delete(ctx, "777")
	for _, q := range []Query{Match{Field: "text", Text: "n3 hello"}, Match{Field: "text", Text: "number77"}, Term{"n", 5}, Match{Field: "text", Text: "zzz"}, Match{Field: "text"},
		Bool{Must: []Query{Match{Field: "text", Text: "n3 n4"}}, MustNot: []Query{Term{"n", 3}}}, Bool{MustNot: []Query{Match{Field: "text", Text: "n1 n2"}}}} {
		r, err := e.Search(ctx, q, &SearchOptions{ExactTotal: true, Load: []string{"*"}, K: 3})
		if err != nil {
			t.Fatal(q, err)
		}
		t.Logf("%v %+v", q, r)
	}
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log(e.Len())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
