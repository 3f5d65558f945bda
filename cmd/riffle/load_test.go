package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/trec"
)

// TestArrivals: gaps are exponential, so their mean equals their deviation; all of them depend on
// the seed alone.
func TestArrivals(t *testing.T) {
	l := load{rate: 2000, seconds: 10, seed: 7}
	queries, at := l.arrivals(50)
	if n := float64(len(at)); math.Abs(n-20000) > 5*math.Sqrt(20000) || len(queries) != len(at) {
		t.Fatalf("%d queries arrive %d times, want about 20,000", len(queries), len(at))
	}
	if !slices.IsSorted(at) || at[len(at)-1] >= 10*time.Second {
		t.Error("times fall, or lie behind the end")
	}
	sum, squares, asked := 0.0, 0.0, make([]int, 50)
	for i := 1; i < len(at); i++ {
		gap := (at[i] - at[i-1]).Seconds()
		sum, squares = sum+gap, squares+gap*gap
		asked[queries[i]]++
	}
	n := float64(len(at) - 1)
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-0.0005) > 0.00002 || math.Abs(deviation-0.0005) > 0.00002 {
		t.Errorf("gaps have mean %v and deviation %v, want 0.0005 twice", mean, deviation)
	}
	if slices.Min(asked) < 300 || slices.Max(asked) > 500 {
		t.Errorf("of 50 queries the rarest comes %d times, the commonest %d", slices.Min(asked), slices.Max(asked))
	}
	queries2, at2 := l.arrivals(50)
	l.seed++
	other, _ := l.arrivals(50)
	if !slices.Equal(queries, queries2) || !slices.Equal(at, at2) || slices.Equal(queries[:100], other[:100]) {
		t.Error("the seed does not decide")
	}
}

func TestLoadFigures(t *testing.T) {
	topics := []trec.Topic{{ID: "a", Text: "one"}, {ID: "b", Text: "one  two"}}
	us := time.Microsecond
	l := load{rate: 4, cores: 2}
	l.policy.text = "fgqp"
	f := l.figures(topics, []sample{
		{query: 0, response: 10 * us, service: 10 * us},
		{query: 1, response: 30 * us, service: 10 * us, tasks: 6},
		{query: 1, response: 50 * us, service: 40 * us, tasks: 4},
		{query: 0, response: 20 * us, service: 20 * us},
	}, 2*time.Second)
	want := &loadFigures{Policy: "fgqp", Cores: 2, Rate: 4, Searches: 4, QPS: 2, MeanUS: 27.5, P50US: 20, P95US: 50, P99US: 50,
		ServiceUS: 20, Shared: 0.5, Tasks: 5, ByWords: []wordFigures{{1, 2, 15, 20}, {2, 2, 40, 50}}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

// untilComplete repeats a measurement with twice the time until the machine has not stood still for too much of it.
func untilComplete(t *testing.T, seconds float64, measure func(seconds float64) bool) {
	t.Helper()
	for ; !measure(seconds); seconds *= 2 {
		if seconds > 4 {
			t.Fatalf("searches are missing after %v s", seconds)
		}
	}
}

// TestBenchUnderLoad: clients and arrivals, with every policy, return the same answers as bench
// without load.
func TestBenchUnderLoad(t *testing.T) {
	var docs strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&docs, "{\"id\":\"%d\",\"text\":\"all %s\"}\n", i, strings.Repeat("some ", i%5))
	}
	db := filepath.Join(t.TempDir(), "db")
	must(t, "index", "--db", db, "--no-sync", writeFile(t, "docs.jsonl", docs.String()))
	queries := writeFile(t, "queries.tsv", "1\tall\n2\tall some\n3\tnone\n")
	bench := func(to any, args ...string) {
		t.Helper()
		out := must(t, append([]string{"bench", "--db", db, "--topics", queries, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), to); err != nil {
			t.Fatal(err)
		}
	}
	var alone figures
	bench(&alone)
	for _, policy := range []string{"inter", "fgqp", "docp", "adaptive"} {
		untilComplete(t, 0.05, func(seconds float64) bool {
			var f loadFigures
			bench(&f, "--policy", policy, "--cores", "3", "--grain", "1", "--seconds", fmt.Sprint(seconds), "--threads", "2")
			if f.Searches < 3 || len(f.ByWords) < 2 {
				return false
			}
			if f.Checksum != alone.Checksum || f.Threads != 2 || len(f.ByWords) != 2 || (f.Shared > 0) == (policy == "inter") {
				t.Errorf("clients, %s: %+v", policy, f)
			}
			return true
		})
		untilComplete(t, 0.1, func(seconds float64) bool {
			var f loadFigures
			bench(&f, "--policy", policy, "--cores", "3", "--grain", "1", "--seconds", fmt.Sprint(seconds), "--rate", "400", "--seed", "9")
			l := load{rate: 400, seconds: seconds, seed: 9}
			queries, _ := l.arrivals(3)
			if f.Searches < len(queries) { // the rest was dropped, since the machine was late
				return false
			}
			if f.Checksum != alone.Checksum || f.Searches != len(queries) || f.Threads != 3 || f.MeanUS < f.ServiceUS {
				t.Errorf("%d arrivals, %s: %+v", len(queries), policy, f)
			}
			return true
		})
	}
	var f loadFigures
	bench(&f, "--seconds", "0.02", "--words", "2")
	if len(f.ByWords) != 1 || f.ByWords[0].Words != 2 {
		t.Errorf("queries of two words: %+v", f.ByWords)
	}
	plan := writeFile(t, "plan", "# three measurements\n\nzero\none --policy docp\ntwo --cores 1 --words 1 --rate 100\n")
	lines := strings.Split(strings.TrimSpace(must(t, "bench", "--db", db, "--topics", queries, "--plan", plan, "--seconds", "0.05", "--cores", "2")), "\n")
	if len(lines) != 3 {
		t.Fatalf("a plan of three lines prints %q", lines)
	}
	for i, want := range []loadFigures{{Name: "zero", Policy: "inter", Cores: 2, Threads: 1}, {Name: "one", Shared: 1, Policy: "docp", Cores: 2, Threads: 1}, {Name: "two", Policy: "inter", Cores: 1, Threads: 1, Rate: 100}} {
		var f loadFigures
		if err := json.Unmarshal([]byte(lines[i]), &f); err != nil || f.Name != want.Name || f.Policy != want.Policy ||
			f.Cores != want.Cores || f.Shared != want.Shared || f.Threads != want.Threads || f.Rate != want.Rate || f.Checksum != alone.Checksum {
			t.Errorf("line %d of a plan: %+v, %v", i+1, f, err)
		}
	}
	for args, want := range map[string]string{
		"--plan " + queries:      "queries.tsv:1: a plan is of measurements with --seconds",
		"--rate 5":               "--rate goes with --seconds",
		"--seconds -1":           "must not be negative",
		"--rate 1e9 --seconds 9": "more than a hundred million",
		"--delta -1":             "--delta and --grain at least 0",
		"--words 4":              "has no such queries",
		"--policy all":           "unknown policy",
	} {
		code, _, stderr := commandLine("", append([]string{"bench", "--db", db, "--topics", queries}, strings.Fields(args)...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
