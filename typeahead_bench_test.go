package riffle

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkTypeahead searches as users type: after each character of each query of gutenberg-dev, one
// query after the other, over the 400,000 passages of gutenberg-a and -b. A key is a MatchBoolPrefix of
// what has been typed, top-10, and Suggest of its last word, ten completions. The first pass is that of
// an engine that has just been opened; the warm one follows it.
//
// Figures are microseconds a key: the median, the 99th percentile, the slowest of all keys, and apart
// from each other what the search and what Suggest takes at the 99th percentile. One goroutine searches.
//
// RIFFLE_KEEP is a folder for the index, which later runs copy. RIFFLE_TYPEAHEAD_QUERIES bounds the
// number of queries.
func BenchmarkTypeahead(b *testing.B) {
	typed := typedTexts(b)
	dir := typeaheadIndex(b)
	for _, mode := range []Mode{ModeOr, ModeAnd} {
		b.Run([]string{"or", "and"}[mode], func(b *testing.B) {
			e, err := Open(dir, &Options{SearchWorkers: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for b.Loop() {
				for _, pass := range []string{"first", "warm"} {
					typeaheadPass(b, e, typed, mode, pass)
				}
			}
		})
	}
}

// typedTexts returns what stands in the search box after each character of each query.
func typedTexts(b *testing.B) (typed []string) {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("RIFFLE_TYPEAHEAD_QUERIES"), "2000"))
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(corporaFile(b, filepath.Join("queries", "gutenberg-dev.tsv")))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && most > 0; most-- {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		for i := range text {
			if i > 0 {
				typed = append(typed, text[:i])
			}
		}
		typed = append(typed, text)
	}
	return typed
}

// typeaheadIndex returns a folder with an index of all passages.
func typeaheadIndex(b *testing.B) (dir string) {
	dir, filled := keptIndex(b, "typeahead")
	if filled {
		return dir
	}
	files := []string{corporaFile(b, "gutenberg-a.jsonl.zst"), corporaFile(b, "gutenberg-b.jsonl.zst")}
	_, err := Build(b.Context(), dir, JSONLines{Files: files}, &BuildOptions{Index: Options{Schema: &Schema{
		Fields: map[string]Field{"text": {}}, Dynamic: DynamicIgnore, NoStore: true,
	}}})
	if err != nil {
		b.Fatal(err)
	}
	e, err := Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if err := keepIndex("typeahead", e, dir); err != nil {
		b.Fatal(err)
	}
	return dir
}

// typeaheadPass types all queries once, and reports how long the keys took.
func typeaheadPass(b *testing.B, e *Engine, typed []string, mode Mode, pass string) {
	searches, completions, keys := make([]time.Duration, len(typed)), make([]time.Duration, len(typed)), make([]time.Duration, len(typed))
	for i, text := range typed {
		start := time.Now()
		if _, err := e.Search(b.Context(), MatchBoolPrefix{Field: "text", Text: text, Mode: mode}, &SearchOptions{K: 10}); err != nil {
			b.Fatalf("%q: %v", text, err)
		}
		searches[i] = time.Since(start)
		if word := text[strings.LastIndexByte(text, ' ')+1:]; word != "" {
			if _, err := e.Suggest(b.Context(), "text", word, nil); err != nil {
				b.Fatalf("%q: %v", word, err)
			}
		}
		keys[i] = time.Since(start)
		completions[i] = keys[i] - searches[i]
	}
	if pass == "first" {
		for _, i := range slowest(keys, 12) {
			b.Logf("%s: %q took %v: search %v, Suggest %v", pass, typed[i], keys[i], searches[i], completions[i])
		}
	}
	for _, figure := range []struct {
		name  string
		of    []time.Duration
		share float64
	}{{"p50", keys, 0.5}, {"p99", keys, 0.99}, {"max", keys, 1}, {"search-p99", searches, 0.99}, {"suggest-p99", completions, 0.99}} {
		sorted := slices.Sorted(slices.Values(figure.of))
		at := sorted[int(figure.share*float64(len(sorted)-1))]
		b.ReportMetric(float64(at.Nanoseconds())/1000, pass+"-"+figure.name+"-µs")
	}
}

// slowest returns the numbers of the n longest durations, the longest first.
func slowest(of []time.Duration, n int) []int {
	order := make([]int, len(of))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(of[j] - of[i]) })
	return order[:min(n, len(order))]
}
