package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestCoded opens every index with stored documents in codes that was ever released, and reads them,
// before and after documents change and it is compacted.
func TestCoded(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/coded/*")
	must(t, err)
	if len(dirs) == 0 {
		t.Fatal("there is none")
	}
	today := filepath.Join(t.TempDir(), "index")
	must(t, writeCoded(today))
	for _, dir := range append(dirs, today) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			old := copiedIndex(t, dir)
			readCoded(t, open(t, old, riffle.Options{ReadOnly: true, Merge: unmerged.Merge}), true)
			e := open(t, old, unmerged)
			var b riffle.Batch
			b.Put(id(3), codedDocument(3))
			b.Delete(id(codedDocs - 1))
			b.Put(id(codedDocs-1), codedDocument(codedDocs-1))
			must(t, e.Apply(ctx, &b))
			must(t, e.Compact(ctx))
			readCoded(t, e, false)
		})
	}
}

// readCoded reads all documents and closes the engine.
func readCoded(t *testing.T, e *riffle.Engine, coded bool) {
	t.Helper()
	check(t, e)
	s := stats(t, e).Segments
	if len(s) != 1 || slices.Contains(s[0].Features, "stored documents in codes") != coded {
		t.Errorf("codes are %v, in segments %+v", !coded, s)
	}
	for n := range codedDocs {
		got, err := e.Get(ctx, id(n))
		must(t, err)
		want := codedDocument(n)
		if got["n"] != want["n"] || got["text"] != want["text"] {
			t.Fatalf("document %d: %v, want %v", n, got, want)
		}
	}
	must(t, e.Close())
}
