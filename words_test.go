package riffle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

// TestWordsOfOldIndex opens an index of the first rules of words. It keeps them, for what it has
// and for what it gets; Reindex changes them.
func TestWordsOfOldIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(dir, os.DirFS("testdata/formats/store2-segment7/index")); err != nil {
		t.Fatal(err)
	}
	rank := Rank{Field: "rank"}
	ix := &testIndex{t: t, dir: dir}
	ix.open(&Options{Rank: rank})
	defer func() { ix.must(ix.Close()) }()
	for _, when := range []string{"opened", "opened again"} {
		if w := ix.Schema().Words; w != analysis.WordsUnicode8 {
			t.Errorf("%s, its words are %v", when, w)
		}
		ix.put("emoji", map[string]any{"title": "running 😀"})
		for name, want := range map[string]int{"": 1, "english": 1, "folding": 1} {
			a, err := ix.Analyzer(name)
			ix.must(err)
			if got := analysis.Terms(a, "go 😀"); len(got) != want {
				t.Errorf("%s, %q finds %q", when, name, got)
			}
		}
		if n, err := ix.Count(ctx, Match{Field: "title", Text: "😀"}); n != 0 || err != nil {
			t.Errorf("%s, it finds %d documents, %v", when, n, err)
		}
		ix.reopen(&Options{Rank: rank})
	}
	ix.must(ix.Close())
	if _, err := Open(dir, &Options{Rank: rank, Schema: &Schema{Words: analysis.WordsUnicode15}}); err == nil || !strings.Contains(err.Error(), "Schema.Words: the index has unicode8, not unicode15") {
		t.Errorf("other words: %v", err)
	}
	ix.open(&Options{Rank: rank, Schema: &Schema{Words: analysis.WordsUnicode8}})
}

// TestWordsOfNewIndex: a new index has the newest rules, unless its schema says otherwise. Reindex
// and Build do the same.
func TestWordsOfNewIndex(t *testing.T) {
	for _, c := range []struct {
		given, want analysis.WordRules
		found       int
	}{
		{analysis.AnyWords, analysis.NewestWords, 1},
		{analysis.WordsUnicode15, analysis.WordsUnicode15, 1},
		{analysis.WordsUnicode8, analysis.WordsUnicode8, 0},
	} {
		ix := newIndex(t, &Options{Schema: &Schema{Words: c.given}})
		ix.put("1", map[string]any{"text": "so 😀 good"})
		for range 2 {
			if got := ix.Schema().Words; got != c.want {
				t.Errorf("given %v, the words are %v", c.given, got)
			}
			if n, err := ix.Count(ctx, Match{Field: "text", Text: "😀"}); n != c.found || err != nil {
				t.Errorf("words %v: %d documents, %v, want %d", c.want, n, err, c.found)
			}
			ix.reopen(nil)
		}
		s, err := ix.Snapshot()
		ix.must(err)
		to := filepath.Join(t.TempDir(), "new")
		_, err = Reindex(ctx, s, to, nil)
		s.Close()
		ix.must(err)
		again := &testIndex{t: t, dir: to}
		again.open(nil)
		if n, err := again.Count(ctx, Match{Field: "text", Text: "😀"}); n != 1 || err != nil || again.Schema().Words != analysis.NewestWords {
			t.Errorf("from %v, the new index has words %v, and finds %d documents, %v", c.want, again.Schema().Words, n, err)
		}
		ix.must(again.Close())
	}
	if err := (&Options{Schema: &Schema{Words: 99}}).Validate(); err == nil || !strings.Contains(err.Error(), "Schema.Words: unknown word rules 99") {
		t.Errorf("rules of no version: %v", err)
	}
}
