package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestLarge opens every large index that was ever released, checks it, and compares its answers with
// those of an index that this build writes, before and after documents change and it is compacted.
func TestLarge(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/large/*")
	must(t, err)
	if len(dirs) == 0 {
		t.Fatal("there is none")
	}
	today := filepath.Join(t.TempDir(), "index")
	must(t, writeLarge(today))
	want := askLarge(t, today, false)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			old := copiedIndex(t, dir)
			if got := askLarge(t, old, false); got != want {
				t.Errorf("answers\n%s\nwant\n%s", got, want)
			}
			got, want := askLarge(t, old, true), askLarge(t, copiedIndex(t, today), true)
			if got != want {
				t.Errorf("after changes: answers\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// askLarge returns the answers of an index to some queries. It may change and compact the index first.
func askLarge(t *testing.T, dir string, change bool) (answers string) {
	t.Helper()
	e := open(t, dir, riffle.Options{ReadOnly: !change, Merge: unmerged.Merge})
	if change {
		var b riffle.Batch
		for n := 0; n < largeDocs; n += 9 {
			b.Delete(largeID(n))
		}
		b.Put("new", map[string]any{"body": "w0 w3 of today"})
		must(t, e.Apply(ctx, &b))
		must(t, e.Compact(ctx))
	}
	check(t, e)
	if s := stats(t, e).Segments; len(s) != 1 || len(s[0].Features) < 2 {
		t.Errorf("the index lacks features of large segments: %+v", s)
	}
	for _, text := range []string{"w0", "w3 w17", "w0 w1 w2", "w79", "w40 w41"} {
		for _, mode := range []riffle.Mode{riffle.ModeOr, riffle.ModeAnd} {
			q := riffle.Match{Field: "body", Text: text, Mode: mode}
			res, err := e.Search(ctx, q, &riffle.SearchOptions{K: 20, ExactTotal: true})
			must(t, err)
			answers += fmt.Sprint(mode, " ", text, ": ", res.Total)
			for _, h := range res.Hits {
				answers += fmt.Sprint(" ", h.ID, " ", h.Score)
			}
			answers += "\n"
		}
	}
	must(t, e.Close())
	return answers
}
