package library

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// writeGo writes a Go installation of one function.
func writeGo(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"VERSION":            "go9.1\n",
		"src/builtin/b.go":   "// Package builtin is built in.\npackage builtin\n",
		"src/fruit/fruit.go": "package fruit\n\n// Peel takes the peel off.\nfunc Peel() {}\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAnInterruptedIndexingIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	e, err := open(dir, &riffle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Put(t.Context(), "half", map[string]any{"name": "Half"}), e.Close()); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	e, err = Open(t.Context(), dir, writeGo(t), &log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !strings.Contains(log.String(), "an indexing that did not end") {
		t.Errorf("%s", &log)
	}
	if _, err := e.Get(t.Context(), "half"); !errors.Is(err, riffle.ErrNotFound) {
		t.Errorf("what the interrupted one had: %v", err)
	}
	if _, err := e.Get(t.Context(), "fruit.Peel"); err != nil {
		t.Error(err)
	}
}

// TestFacets: packages and kinds are counted as a whole, and a package is found by its words.
func TestFacets(t *testing.T) {
	e, err := Open(t.Context(), filepath.Join(t.TempDir(), "index"), writeGo(t), new(bytes.Buffer), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	res, err := e.Search(t.Context(), riffle.Match{Field: "path", Text: "fruit builtin"}, &riffle.SearchOptions{Aggregations: map[string]riffle.Aggregation{
		"package": riffle.TermsAggregation{Field: "package"}, "kind": riffle.TermsAggregation{Field: "kind"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"package": 2, "kind": 2} {
		if n := len(res.Aggregations[name].Buckets); n != want {
			t.Errorf("%s has %d values, want %d: %v", name, n, want, res.Aggregations[name])
		}
	}
}
