package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/bench/protocol"
)

// TestMeasurements runs each measurement over a sample, and holds all engines to the same answers.
func TestMeasurements(t *testing.T) {
	if _, err := os.Stat(corporaFolder()); err != nil {
		t.Skipf("no corpora: %v", err)
	}
	for _, m := range measurements {
		t.Run(m.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.json")
			args := []string{"-measure", m.name, "-cache", *testCache, "-json", file, "-docs", "2500", "-copies", "2",
				"-limit", "40", "-prime", "0.2", "-warm", "0", "-reps", "2", "-passes", "0", "-tasks", "top-10"}
			if m.name == "one-pass" {
				args = append(args, "-passes", "2")
			}
			if m.name == "warm" {
				args = append(args, "-sources", "gutenberg-a.jsonl.zst", "-engines", "riffle,lucene,tantivy")
			}
			if m.name == "columns" { // rows have no copies
				args = append(args, "-copies", "1", "-tasks", "top-10,count")
			}
			if m.name == "near" { // where only counts are compared
				args = append(args, "-tasks", "count")
			}
			runSample(t, file, args)
		})
	}
}

// TestPlaceMeasurement runs the tasks of places and of scores by functions, which only products have.
func TestPlaceMeasurement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	runSample(t, file, []string{"-measure", "columns", "-sources", "@products", "-modes", "within,inside,nearest,score", "-cache", *testCache,
		"-json", file, "-docs", "5000", "-limit", "10", "-prime", "0.2", "-warm", "0", "-reps", "2"})
}

// runSample runs with these arguments, and holds all engines to the same answers.
func runSample(t *testing.T, file string, args []string) {
	t.Helper()
	s, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	s.engines = withoutMissing(s.engines)
	var out bytes.Buffer
	if err := run(t.Context(), s, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	checkReport(t, file)
	if !strings.Contains(out.String(), "riffle") {
		t.Errorf("no table: %s", out.String())
	}
}

// TestOther compares riffle with a program that -other names, which here is riffle as well.
func TestOther(t *testing.T) {
	if _, err := os.Stat(corporaFolder()); err != nil {
		t.Skipf("no corpora: %v", err)
	}
	source, err := moduleFolder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := goProgram("riffle")(t.Context(), &tools{source: source, cache: *testCache, log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range []string{p.files[0], ""} {
		file := filepath.Join(t.TempDir(), "report.json")
		s, err := parse([]string{"-engines", "riffle,riffle-other", "-other", exe, "-cache", *testCache, "-json", file, "-docs", "500",
			"-limit", "20", "-prime", "0", "-warm", "0", "-reps", "1", "-tasks", "top-10", "-queries", "gutenberg-dev.tsv"})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(t.Context(), s, &out, t.Output()); err != nil {
			t.Fatal(err)
		}
		checkReport(t, file)
		if got, want := strings.Contains(out.String(), "| riffle-other |"), exe != ""; got != want {
			t.Errorf("-other %q: the table has riffle-other: %v", exe, got)
		}
	}
}

// withoutMissing leaves out engines that the flag -engines of the test does not name.
func withoutMissing(engines string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(engines, ","), func(name string) bool {
		of, _, _ := strings.Cut(name, "-")
		return !slices.Contains(strings.Split(*testEngines, ","), of)
	}), ",")
}

func checkReport(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		if c.Mean <= 0 || c.P99 < c.P50 {
			t.Errorf("%s, %s, %s: mean %v, p50 %v, p99 %v", c.Engine, c.Queries, c.Task, c.Mean, c.P50, c.P99)
		}
		if after := strings.Contains(c.Task, ", after "); after != (c.Before > 0) {
			t.Errorf("%s, %s: before is %v", c.Engine, c.Task, c.Before)
		}
	}
	if len(r.Cells) == 0 {
		t.Error("nothing was measured")
	}
	for _, a := range r.Agreements {
		e, _ := find(a.Engine)
		if a.Off > 0 || a.CountsWrong > 0 || e.scale > 0 && e.differs == nil && a.Hits+a.Counts == 0 {
			t.Errorf("%s: of %d hits %d are off, of %d counts %d: %s", a.Engine, a.Hits, a.Off, a.Counts, a.CountsWrong, strings.Join(a.Examples, "\n"))
		}
	}
}

func TestSetMeasurement(t *testing.T) {
	for _, m := range measurements {
		if s, err := parse([]string{"-measure", m.name}); err != nil || s.measure != m.name {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	s, err := parse([]string{"-measure", "one-pass", "-copies", "12"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.copies, s.passes, s.limit), "12 3 1000"; got != want {
		t.Errorf("copies, passes and limit are %s, want %s", got, want)
	}
	if _, err := parse([]string{"-measure", "twice"}); err == nil {
		t.Error("an unknown measurement was understood")
	}
}

func TestTags(t *testing.T) {
	const docs = 200_000
	counts := map[string]int{}
	deleted := 0
	for id := range docs {
		for _, tag := range protocol.Tags(id) {
			counts[tag]++
		}
		if protocol.Deleted(id) {
			deleted++
		}
	}
	for i, share := range []float64{0.001, 0.01, 0.1, 0.5} {
		tag := protocol.TagNames[i]
		if got := float64(counts[tag]) / docs; math.Abs(got-share) > 0.15*share {
			t.Errorf("%g of the documents have the tag %s", got, tag)
		}
	}
	if deleted != docs/5 {
		t.Errorf("%d of %d documents are deleted", deleted, docs)
	}
}

func TestFields(t *testing.T) {
	words := make([]string, 40)
	for i := range words {
		words[i] = fmt.Sprint("w", i)
	}
	for n := range len(words) + 1 {
		line := strings.Join(words[:n], " ")
		want := []string{
			strings.Join(words[:min(n, 6)], " "),
			strings.Join(words[min(n, 6):min(n, 30)], " "),
			strings.Join(words[min(n, 30):n], " "),
		}
		if got := protocol.Fields(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestLeastOf(t *testing.T) {
	first := []int64{5, 2, 9}
	least := leastOf(leastOf(nil, first), []int64{4, 3, 9})
	if !slices.Equal(least, []int64{4, 2, 9}) || !slices.Equal(first, []int64{5, 2, 9}) {
		t.Errorf("%v of %v", least, first)
	}
}
