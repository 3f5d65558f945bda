package main

import (
	"strings"
	"testing"
)

// TestPage: quotients, targets and what was missed, of a small report.
func TestPage(t *testing.T) {
	r := &report{Date: "2026-11-25T00:00:00Z", Machine: "some", Clock: "wall", Docs: 2_000_000}
	for _, engine := range []string{"riffle-columns", "lucene-columns", "lucene-columns-points", "tantivy-columns"} {
		r.Engines = append(r.Engines, struct {
			Name           string
			Bytes, Columns int64
			Built          struct{ Seconds float64 }
		}{Name: engine, Bytes: 4e6, Columns: 2e6})
	}
	add := func(engine, queries, task string, mean float64) {
		r.Cells = append(r.Cells, struct {
			Engine, Queries, Task string
			Mean                  float64
		}{engine, queries, task, mean})
	}
	for i, engine := range []string{"riffle-columns", "lucene-columns", "lucene-columns-points", "tantivy-columns"} {
		add(engine, "latency 1 %", "range", []float64{10, 2500, 7, 99}[i])
		add(engine, "time desc, sparse", "sort top-10", []float64{10, 25, 19, 31}[i])
		if i != 1 && i != 2 {
			add(engine, "latency, all", "percentiles", []float64{10, 0, 0, 8}[i])
		}
	}
	var out strings.Builder
	(&page{"columns", []section{{title: "Log lines"}}, []*report{r}}).write(&out)
	for _, want := range []string{
		"# Columns over 2,000,000 rows\n",
		"| Tantivy | 2.00 | 1.00 | 1.00 | 4.0 | 1.00 |\n",
		"| latency 1 % | 10.0 | 2,500 | 7.0 | 99.0 | 250 (20); **0.70 (0.8)** | **9.90 (10)** |\n",
		"| time desc, sparse | 10.0 | 25.0 | 19.0 | 31.0 | **1.90 (2)** | 3.10 (3) |\n",
		"| latency, all | 10.0 | – | – | 8.0 | – | 0.80 |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
