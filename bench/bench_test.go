package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/bench/protocol"
)

var (
	testEngines = flag.String("engines", "riffle,riffle-bp,lucene,lucene-bp,lucene-2,lucene-2-parts,tantivy,tantivy-2,tantivy-2-parts,bleve,bluge,sqlite,pisa", "engines to test; those that are not installed are skipped")
	testCache   = flag.String("cache", filepath.Join(os.TempDir(), "riffle-bench"), "folder for programs and indexes")
)

const (
	testDocs    = 2000
	testTerms   = 500
	testQueries = 60
)

// TestEnginesSeeTheSame builds all engines over a sample and holds them to the same
// dictionary: as many terms, and each sampled term in as many documents as
// counting the lines by hand finds. Then exact counts of queries, and the scores
// of those that use riffle's formula.
func TestEnginesSeeTheSame(t *testing.T) {
	s := settings{corpora: corporaFolder(), sources: "gutenberg-a.jsonl.zst", queries: "gutenberg-dev.tsv", docs: testDocs, limit: testQueries}
	if _, err := os.Stat(s.corpora); err != nil {
		t.Skipf("no corpora: %v", err)
	}
	s.cache = *testCache
	ctx := context.Background()
	source, err := moduleFolder(ctx)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := writeCorpus(filepath.Join(t.TempDir(), "documents.txt"), []string{filepath.Join(s.corpora, s.sources)}, s.docs, 1)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := s.querySets(docs)
	if err != nil {
		t.Fatal(err)
	}
	df := countByHand(t, docs.path)
	terms := sampleTerms(df)
	top := map[string][][]protocol.Hit{}

	for _, name := range strings.Split(*testEngines, ",") {
		t.Run(name, func(t *testing.T) {
			e, ok := find(name)
			if !ok {
				t.Fatalf("no engine is named %q", name)
			}
			p, err := e.prepare(ctx, &tools{source: source, cache: s.cache, log: t.Output()})
			if errors.Is(err, errToolMissing) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			dir, _, err := buildIndex(e, p, docs, s.cache, false)
			if err != nil {
				t.Fatal(err)
			}
			proc, err := start(name, p, p.env)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := proc.stop(); err != nil {
					t.Error(err)
				}
			})
			call := func(req protocol.Request) protocol.Reply {
				t.Helper()
				reply, err := proc.call(req)
				if err != nil {
					t.Fatal(err)
				}
				return reply
			}

			about := call(protocol.Request{Op: "open", Dir: dir, Options: e.open})
			if about.Docs != testDocs || !e.parts && (about.Terms != len(df) || about.Segments != 1) {
				t.Errorf("%d documents, %d terms, %d segments; want %d, %d, 1", about.Docs, about.Terms, about.Segments, testDocs, len(df))
			}
			got := call(protocol.Request{Op: "df", Terms: terms})
			for i, term := range terms {
				if got.DF[i] != df[term] {
					t.Errorf("%q is in %d documents, want %d", term, got.DF[i], df[term])
				}
			}
			if e.parts {
				return
			}
			for _, mode := range []string{"or", "and"} {
				checkAnswers(t, e, mode, sets[0], docs.path, call, top)
			}
		})
	}
}

// checkAnswers compares one mode's counts with those counted by hand, and its top
// hits with those of the first engine that used the same formula.
func checkAnswers(t *testing.T, e engine, mode string, set querySet, docs string,
	call func(protocol.Request) protocol.Reply, top map[string][][]protocol.Hit) {
	t.Helper()
	ask := func(want string) protocol.Reply {
		reply := call(protocol.Request{Op: "run", Mode: mode, Want: want, K: 10, Queries: set.queries, Reps: 1, Hits: true})
		if len(reply.NS) != len(set.queries) || slices.Min(reply.NS) <= 0 {
			t.Errorf("%s %s: not every query was timed: %v", mode, want, reply.NS)
		}
		return reply
	}
	if !e.topOnly {
		want := matches(t, docs, set.queries, mode == "and")
		for _, how := range []string{"count", "topcount"} {
			for i, n := range ask(how).Counts {
				if n != want[i] {
					t.Errorf("%s %s of %q: %d, want %d", mode, how, set.queries[i], n, want[i])
				}
			}
		}
	}
	hits := ask("top").Hits
	if e.scale == 0 {
		return
	}
	if top[mode] == nil {
		top[mode] = hits
		return
	}
	var a agreement
	for i, q := range set.queries {
		a.compare(q, top[mode][i], hits[i], e.scale)
	}
	if a.Off > 0 || a.Hits < len(set.queries) {
		t.Errorf("%s: of %d hits %d are off: %s", mode, a.Hits, a.Off, strings.Join(a.Examples, "\n"))
	}
}

// countByHand returns in how many lines each token occurs.
func countByHand(t *testing.T, path string) map[string]int {
	t.Helper()
	df := map[string]int{}
	last := map[string]int{}
	_, err := protocol.ReadLines(path, func(n int, line []byte) error {
		for term := range strings.SplitSeq(string(line), " ") {
			if last[term] != n+1 {
				last[term] = n + 1
				df[term]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return df
}

// sampleTerms returns the most frequent terms, some others, those that a careless
// tokenizer would split, and one that does not occur.
func sampleTerms(df map[string]int) []string {
	var terms, marked []string
	for term := range df {
		terms = append(terms, term)
		if strings.ContainsFunc(term, func(r rune) bool { return r > 127 || strings.ContainsRune("'._:,\"", r) }) {
			marked = append(marked, term)
		}
	}
	slices.SortFunc(terms, func(a, b string) int {
		if df[a] != df[b] {
			return df[b] - df[a]
		}
		return strings.Compare(a, b)
	})
	slices.Sort(marked)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 50; i < testTerms; i++ {
		j := i + rng.IntN(len(terms)-i)
		terms[i], terms[j] = terms[j], terms[i]
	}
	return append(append(terms[:testTerms:testTerms], marked...), "nosuchtermatall")
}

// matches counts by hand how many lines match each query.
func matches(t *testing.T, path string, queries []string, and bool) []int {
	t.Helper()
	counts := make([]int, len(queries))
	_, err := protocol.ReadLines(path, func(_ int, line []byte) error {
		has := map[string]bool{}
		for term := range strings.SplitSeq(string(line), " ") {
			has[term] = true
		}
		for i, q := range queries {
			hit := and
			for w := range strings.SplitSeq(q, " ") {
				if has[w] != and {
					hit = !and
					break
				}
			}
			if hit {
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

func TestAppendTokens(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"Call me Ishmael.", "call me ishmael"},
		{"", ""},
		{"  --  ", ""},
		{"can't 3.14 foo_bar", "can't 3.14 foo_bar"},
		{"Ärger\u00a0und ÉTÉ", "ärger und été"},
	} {
		if got := string(appendTokens(nil, tc.text)); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestCompare(t *testing.T) {
	ref := []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}
	for _, tc := range []struct {
		name                   string
		other                  []protocol.Hit
		same, moved, tied, off int
	}{
		{"equal", []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 3, 0, 0, 0},
		{"within the tolerance", []protocol.Hit{{ID: 1, Score: 9.002}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 3, 0, 0, 0},
		{"a tie in another order", []protocol.Hit{{ID: 1, Score: 9}, {ID: 3, Score: 5}, {ID: 2, Score: 5}}, 3, 2, 0, 0},
		{"cut off inside a tie", []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 5}, {ID: 4, Score: 5}}, 2, 0, 1, 0},
		{"another score", []protocol.Hit{{ID: 1, Score: 9.1}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 2, 0, 0, 1},
		{"another document", []protocol.Hit{{ID: 7, Score: 9}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 2, 0, 0, 1},
		{"another order", []protocol.Hit{{ID: 2, Score: 5}, {ID: 1, Score: 9}, {ID: 3, Score: 5}}, 1, 0, 0, 2},
		{"fewer", []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 5}}, 2, 0, 0, 1},
		{"more", []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 5}, {ID: 3, Score: 5}, {ID: 4, Score: 5}}, 3, 0, 0, 1},
		{"none", nil, 0, 0, 0, 3},
	} {
		var a agreement
		a.compare(tc.name, ref, tc.other, 1)
		if a.Same != tc.same || a.Moved != tc.moved || a.Tied != tc.tied || a.Off != tc.off {
			t.Errorf("%s: same %d, moved %d, tied %d, off %d; want %d, %d, %d, %d", tc.name,
				a.Same, a.Moved, a.Tied, a.Off, tc.same, tc.moved, tc.tied, tc.off)
		}
	}
}

func TestFigures(t *testing.T) {
	ns := make([]int64, 300)
	for i := range ns {
		ns[i] = int64(300-i) * 1000 // 1 to 300 µs, the slowest first
	}
	mean, p50, p95, p99 := figures(ns)
	if mean != 150.5 || p50 != 150 || p95 != 285 || p99 != 297 {
		t.Errorf("mean %v, p50 %v, p95 %v, p99 %v", mean, p50, p95, p99)
	}
}

func TestParseTasks(t *testing.T) {
	tasks, err := parseTasks("or,and", "top-10,top-100+count,count", "none")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range tasks {
		names = append(names, task.String())
	}
	if got, want := strings.Join(names, ", "), "OR top-10, OR top-100 with count, OR count, AND top-10, AND top-100 with count, AND count"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, bad := range []string{"", "top", "top-0", "10", "10+count", "count+count"} {
		if _, err := parseTasks("or", bad, "none"); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
	if _, err := parseTasks("nested", "top-10+count", "none"); err == nil {
		t.Error("top-10 with count of nested was understood")
	}
	if _, err := parseTasks("xor", "count", "none"); err == nil {
		t.Error("xor was understood")
	}
}
