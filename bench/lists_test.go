package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/bench/protocol"
)

// TestLists draws all lists from a sample, twice: the queries are the same, they are as many as the
// sample has, each stands in it as its list says, and those to prime with are others.
func TestLists(t *testing.T) {
	s := settings{corpora: corporaFolder()}
	if _, err := os.Stat(s.corpora); err != nil {
		t.Skipf("no corpora: %v", err)
	}
	docs, err := writeCorpus(filepath.Join(t.TempDir(), "documents.txt"), []string{filepath.Join(s.corpora, "gutenberg-a.jsonl.zst")}, testDocs, 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range lists {
		names = append(names, "@"+l.name)
	}
	s.queries = strings.Join(names, ",")
	sets, err := s.querySets(docs)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.querySets(docs)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(docs.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(" "+string(text), "\n", " \n ")
	for i, set := range sets {
		if !slices.Equal(set.queries, again[i].queries) || !slices.Equal(set.primer, again[i].primer) {
			t.Errorf("%s: drawn again it is another", set.name)
		}
		if len(set.queries) < 10 {
			t.Errorf("%s: %d queries: %q", set.name, len(set.queries), set.queries)
		}
		for _, q := range set.queries {
			found := strings.Contains(lines, " "+q+" ")
			switch set.name {
			case "prefixes":
				found = strings.Contains(lines, " "+q)
			case "infixes":
				found = strings.Contains(lines, q)
			case "expressions":
				_, err := regexp.Compile(q)
				found = err == nil
			case "game":
				found = strings.Contains(q, " ")
			}
			if !found {
				t.Errorf("%s: %q is not in the documents", set.name, q)
			}
			if set.modes == nil && slices.Contains(set.primer, q) {
				t.Errorf("%s: %q is measured and primes", set.name, q)
			}
		}
	}
	if _, err := newSet(s, docs, "@nothing"); err == nil {
		t.Error("a list of no name was drawn")
	}
}

func newSet(s settings, docs corpus, name string) ([]querySet, error) {
	s.queries = name
	return s.querySets(docs)
}

// TestPlacesAndTerms holds the engines to counts by hand: of phrases, and of terms by their looks.
func TestPlacesAndTerms(t *testing.T) {
	s := settings{
		corpora: corporaFolder(), sources: "gutenberg-a.jsonl.zst", docs: testDocs, limit: testQueries, cache: *testCache,
		queries: "@random-2,@random-3,@stop,@prefixes,@infixes,@expressions",
		engines: withoutMissing("riffle-positions,lucene-positions,tantivy-positions,bleve-positions"),
		timing:  timing{reps: 1},
	}
	if _, err := os.Stat(s.corpora); err != nil {
		t.Skipf("no corpora: %v", err)
	}
	docs, err := s.corpus(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	sets, err := s.querySets(docs)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := parseTasks("phrase,prefix,infix,regexp", "count", "none")
	if err != nil {
		t.Fatal(err)
	}
	field, err := enter(t.Context(), s, docs, t.Output())
	t.Cleanup(func() {
		for _, c := range field {
			if c.proc != nil {
				c.end()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := measure(t.Context(), field, sets, tasks, s.timing, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{}
	for _, set := range sets {
		want[set.name] = countLooks(t, docs.path, set)
	}
	for _, c := range cells {
		if !slices.Equal(c.counts, want[c.Queries]) {
			t.Errorf("%s, %s of %s: %v, want %v", c.Engine, c.Task, c.Queries, c.counts, want[c.Queries])
		}
	}
	if want := len(field) * len(sets); len(cells) != want {
		t.Errorf("%d cells, want %d", len(cells), want)
	}
}

// countLooks counts the lines that match each query of a list, by regular expressions.
func countLooks(t *testing.T, path string, set querySet) []int {
	t.Helper()
	form := map[string]string{"prefixes": " %s", "infixes": "%s", "expressions": " (?:%s) "}[set.name]
	if form == "" {
		form = " %s "
	}
	expressions := make([]*regexp.Regexp, len(set.queries))
	for i, q := range set.queries {
		if set.name != "expressions" {
			q = regexp.QuoteMeta(q)
		}
		expressions[i] = regexp.MustCompile(fmt.Sprintf(form, q))
	}
	counts := make([]int, len(set.queries))
	_, err := protocol.ReadLines(path, func(_ int, line []byte) error {
		padded := " " + string(line) + " "
		for i, e := range expressions {
			if e.MatchString(padded) {
				counts[i]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
