package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A report is everything that one run found out.
type report struct {
	Measure    string
	Clock      string
	Date       time.Time
	Machine    string
	Load       string // when the run began
	Command    string
	Corpus     string
	Copies     int
	Docs       int
	TextBytes  int64
	Engines    []engineReport
	Cells      []cell
	Agreements []agreement
}

type engineReport struct {
	Name     string
	Version  string
	Terms    int
	Segments int
	Bytes    int64 // of the index's files after the queries, while it is open
	Columns  int64 // bytes of columns alone, where documents are rows
	Built    built
}

func (r *report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// writeMarkdown prints the tables.
func (r *report) writeMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, load %s. `%s`\n\n", r.Date.Format("2006-01-02"), r.Machine, r.Load, r.Command)
	copies := ""
	if r.Copies > 1 {
		copies = fmt.Sprintf(", %d copies", r.Copies)
	}
	fmt.Fprintf(w, "%s%s: %d documents, %.0f MB of text; one query thread. Times in µs (clock: %s); where a query is timed several times, its best.\n\n",
		r.Corpus, copies, r.Docs, float64(r.TextBytes)/1e6, r.Clock)
	r.writeIndexes(w)
	if len(r.Cells) == 0 {
		return
	}
	r.writeSummary(w)
	r.writeTimes(w)
	r.writeAgreements(w)
}

func (r *report) writeIndexes(w io.Writer) {
	fmt.Fprintf(w, "| engine | version | build s | MB/s | CPU s | peak MB | index MB | ÷ %s | terms | segments |\n", r.Engines[0].Name)
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, e := range r.Engines {
		b := e.Built
		fmt.Fprintf(w, "| %s | %s | %.1f | %.1f | %.1f | %.0f | %.2f | %.2f | %d | %d |\n", e.Name, e.Version,
			b.Seconds, float64(r.TextBytes)/1e6/b.Seconds, b.CPUSeconds, float64(b.PeakBytes)/1e6, float64(e.Bytes)/1e6,
			float64(e.Bytes)/float64(r.Engines[0].Bytes), e.Terms, e.Segments)
	}
	fmt.Fprintln(w)
	if r.Engines[0].Columns == 0 {
		return
	}
	fmt.Fprintf(w, "| engine | columns MB | bytes a document | ÷ %s |\n|---|---:|---:|---:|\n", r.Engines[0].Name)
	for _, e := range r.Engines {
		if e.Columns > 0 {
			fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f |\n", e.Name, float64(e.Columns)/1e6, float64(e.Columns)/float64(r.Docs),
				float64(e.Columns)/float64(r.Engines[0].Columns))
		}
	}
	fmt.Fprintln(w)
}

// writeSummary prints how many times the reference's time each engine takes.
func (r *report) writeSummary(w io.Writer) {
	ref := r.Engines[0].Name
	fmt.Fprintf(w, "Times ÷ %s's: means (p99).\n\n| queries | task |", ref)
	for _, e := range r.Engines[1:] {
		fmt.Fprintf(w, " %s |", e.Name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---:|", len(r.Engines)-1))
	for i := range r.Cells {
		mine := &r.Cells[i]
		if mine.Engine != ref {
			continue
		}
		fmt.Fprintf(w, "| %s | %s |", mine.Queries, mine.Task)
		for _, e := range r.Engines[1:] {
			if c := r.cell(e.Name, mine.Queries, mine.Task); c != nil {
				fmt.Fprintf(w, " %s (%s) |", ratio(c.Mean, mine.Mean), ratio(c.P99, mine.P99))
			} else {
				fmt.Fprint(w, " – |")
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// cell returns what an engine measured, or nil if it cannot do the task.
func (r *report) cell(engine, queries, task string) *cell {
	at := slices.IndexFunc(r.Cells, func(c cell) bool { return c.Engine == engine && c.Queries == queries && c.Task == task })
	if at < 0 {
		return nil
	}
	return &r.Cells[at]
}

func ratio(a, b float64) string {
	if q := a / b; q < 9.95 {
		return fmt.Sprintf("%.2f", q)
	}
	return fmt.Sprintf("%.0f", a/b)
}

func (r *report) writeTimes(w io.Writer) {
	fmt.Fprintf(w, "| queries | task | engine | mean | p50 | p95 | p99 | mean ÷ %[1]s | p99 ÷ %[1]s | best of | before | peak MB |\n", r.Engines[0].Name)
	fmt.Fprintln(w, "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, c := range r.Cells {
		mine := r.cell(r.Engines[0].Name, c.Queries, c.Task)
		before := ""
		if c.Before > 0 {
			before = fmt.Sprintf("%.1f", c.Before)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.1f | %.1f | %.1f | %.1f | %s | %s | %d | %s | %.0f |\n", c.Queries, c.Task, c.Engine,
			c.Mean, c.P50, c.P95, c.P99, ratio(c.Mean, mine.Mean), ratio(c.P99, mine.P99), c.Reps, before, float64(c.PeakBytes)/1e6)
	}
	fmt.Fprintln(w)
}

func (r *report) writeAgreements(w io.Writer) {
	fmt.Fprintf(w, "The hits of tasks for at most %d (scores equal within %g relative) and the exact counts, compared with those of another engine:\n\n", agreeK, tolerance)
	fmt.Fprintln(w, "| engine | with | hits | same | of these at another place in a tie | cut off inside a tie | off | agree | counts | at the border | off |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, a := range r.Agreements {
		share := "other formula"
		if a.Hits > 0 {
			share = fmt.Sprintf("%.4f %%", 100*a.agreed())
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d | %s | %d | %d | %d |\n", a.Engine, a.With, a.Hits, a.Same, a.Moved, a.Tied, a.Off, share, a.Counts, a.CountsBorder, a.CountsWrong)
	}
	fmt.Fprintln(w)
	for _, a := range r.Agreements {
		for _, text := range a.Examples {
			fmt.Fprintf(w, "- %s: %s\n", a.Engine, text)
		}
	}
}

// machine describes where this runs.
func machine() string {
	model := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.Version())
}

// load returns the load averages, where the system tells. A busy machine times
// nothing worth keeping.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:2], " ")
}
