package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/gov2"
)

// tiny is what an emulated GPU can do in a few seconds.
var tiny = strings.Fields(`-docs 20000 -queries 30 -time 1ms -k 10 -batch 8 -cache 0,40 -threads 32 -delays 1 -clients 6
	-batch-bytes 8388608 -column-bytes 1048576 -flat-bytes 8388608 -strip-tiles -1 -memory 33554432
	-tile-shift 12 -tile-threads 64 -lead-threads 64 -range-threads 32 -change-step 20ms`)

// TestParts runs all parts twice: the second run measures nothing.
func TestParts(t *testing.T) {
	out := t.TempDir()
	args := append(append([]string{"-out", out}, tiny...), "or", "and", "andor", "tree", "cache", "huang", "policies", "devices", "latency", "auto", "deadlines", "codecs", "cores", "strips", "keeping", "counts", "change")
	if err := command(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	first := lines(t, out)
	seen := map[string]int{}
	for _, line := range first {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Figures) == 0 || r.Machine == "" || !strings.HasPrefix(r.Command, "gpubench -out") {
			t.Errorf("a record without figures, machine or command: %s", line)
		}
		seen[r.Part]++
	}
	want := []string{"or", "and", "andor", "tree", "latency", "auto", "deadlines", "codecs", "cores", "strips", "keeping", "counts"}
	if gpus, err := device.List(); err == nil && len(gpus) > 0 {
		want = append(want, "cache", "huang", "policies", "devices", "change")
	}
	for _, part := range want {
		if seen[part] == 0 {
			t.Errorf("no measurement of part %s", part)
		}
	}
	if n := seen["change"]; n != 0 && n != 2*(1+5*6) {
		t.Errorf("%d measurements of part change, want a rate and 30 steps of 2 policies", n)
	}
	if err := command(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if again := lines(t, out); len(again) != len(first) {
		t.Errorf("a second run made %d measurements, the first %d", len(again)-len(first), len(first))
	}
	tables, err := os.ReadFile(filepath.Join(out, "tables.md"))
	if err != nil || !strings.Contains(string(tables), "| or k=10 cpu/auto | ") || !strings.Contains(string(tables), "| and k=10, after seeds | ") {
		t.Errorf("tables are %q, %v", tables, err)
	}
}

// TestRanges runs the part that wants two GPUs, and its large index.
func TestRanges(t *testing.T) {
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "2") // a machine with GPUs ignores this
	if gpus, err := device.List(); err != nil || len(gpus) < 2 {
		t.Skip("there are no two GPUs: ", err)
	}
	out := t.TempDir()
	args := append(append([]string{"-out", out}, tiny...), "-docs", "10000", "-queries", "12", "-batch", "4", "-forms", "or,and,tree", "ranges")
	if err := command(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, line := range lines(t, out) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		names[r.Name]++
		share := slices.IndexFunc(r.Figures, func(f figure) bool { return f.Name == "share" })
		if (share >= 0) != strings.HasPrefix(strings.SplitN(r.Name, ", ", 2)[1], "2 GPUs") {
			t.Errorf("%s: %s", r.Name, line)
		}
	}
	for name, want := range map[string]int{"or k=10, 1 GPU": 1, "or k=10, 2 GPUs, ranges": 2, "and k=10, 2 GPUs, copies": 2, "tree k=10, 2 GPUs, ranges": 2} {
		if names[name] != want {
			t.Errorf("%d measurements of %s, want %d; all are %v", names[name], name, want, names)
		}
	}
}

func lines(t *testing.T, out string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestMismatch changes the expected answer of one query: the error names the query.
func TestMismatch(t *testing.T) {
	b := &bench{settings: &settings{}, ctx: context.Background(), answers: map[plans]*reference{}}
	b.c = gov2.Generate(gov2.Options{Docs: 5000, Queries: 10})
	r, err := b.reference(plans{blockmax.Or, 10})
	if err != nil {
		t.Fatal(err)
	}
	good := r.tops[7]
	r.tops[7].Hits = append(good.Hits[:0:0], good.Hits...)
	if err := r.check(7, &good); err != nil {
		t.Fatal(err)
	}
	r.tops[7].Hits[0].Score++
	if err := r.check(7, &good); err == nil || !strings.Contains(err.Error(), "query 7: MISMATCH") {
		t.Errorf("a wrong score gives %v", err)
	}
	r.tops[7].Hits[0].Score--
	r.tops[7].Total, r.tops[7].Exact, good.Exact = good.Total+1, true, true
	if err := r.check(7, &good); err == nil || !strings.Contains(err.Error(), "query 7: MISMATCH") {
		t.Errorf("a wrong total gives %v", err)
	}
}

// TestBudget measures nothing when there is no time.
func TestBudget(t *testing.T) {
	b := &bench{settings: &settings{budget: time.Minute}, ctx: context.Background(), start: time.Now().Add(-time.Hour), known: map[string]bool{}}
	b.c = gov2.Generate(gov2.Options{Docs: 1000, Queries: 1})
	err := b.measure("or", "late", func() ([]figure, error) { t.Error("measured"); return nil, nil })
	if err != nil || b.left != 1 {
		t.Errorf("%v, %d left", err, b.left)
	}
}

func TestTables(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	one := record{Part: "or", On: "c", Machine: "m", Command: "gpubench or", Date: day}
	two := one
	one.Name, one.Figures = "a", []figure{{"q/s", 1234.5}, {"x", 0.12345}}
	two.Name, two.Figures = "b", []figure{{"y", int64(7)}, {"q/s", 2.0}}
	want := "## or, c\n\n2026-11-20, m:\n\n    gpubench or\n\n| | q/s | x | y |\n|---|---:|---:|---:|\n| a | 1234 | 0.123 |  |\n| b | 2 |  | 7 |\n\n"
	if got := tables([]record{one, two}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
