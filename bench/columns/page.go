package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A page has the reports of all sections.
type page struct {
	about    string // the flag -page
	sections []section
	reports  []*report
}

// names are the engines in the tables.
var names = map[string]string{
	"riffle-columns": "riffle", "lucene-columns": "Lucene, doc values", "lucene-columns-points": "Lucene, points",
	"tantivy-columns": "Tantivy", "bleve-columns": "bleve",
}

func (p *page) write(w io.Writer) {
	first := p.reports[0]
	fmt.Fprintf(w, "# %s over %s rows\n\n", titles[p.about], thousands(float64(first.Docs)))
	fmt.Fprintf(w, "Written by `go run ./columns -page %s` in `bench`. %s, %s, load %s when it began.\n", p.about, first.Date[:10], first.Machine, first.Load)
	fmt.Fprintf(w, "One query thread; mean µs (clock: %s) of the best of several rounds, so ranges and shapes\ncome again ", first.Clock)
	fmt.Fprint(w, "unless a section says new; and the peer's time divided by riffle's (target in brackets; **missed**).\n")
	fmt.Fprint(w, "Of Lucene's two variants the faster one counts, except for counts of ranges.\n")
	for i, r := range p.reports {
		fmt.Fprintf(w, "\n## %s\n\n    %s\n", p.sections[i].title, strings.ReplaceAll(r.Command, " -docs", " \\\n        -docs"))
		r.writeSizes(w)
		r.writeTasks(w)
		r.writeAnswers(w)
	}
}

func (r *report) writeSizes(w io.Writer) {
	fmt.Fprintf(w, "\n| %s rows | columns, MB | bytes/row | ÷ riffle | whole index, MB | ÷ riffle |\n|---|---:|---:|---:|---:|---:|\n", thousands(float64(r.Docs)))
	for _, e := range r.Engines {
		columns := "– | – | –"
		if e.Columns > 0 {
			columns = fmt.Sprintf("%.2f | %.2f | %.2f", float64(e.Columns)/1e6, float64(e.Columns)/float64(r.Docs), float64(e.Columns)/float64(r.Engines[0].Columns))
		}
		fmt.Fprintf(w, "| %s | %s | %.1f | %.2f |\n", names[e.Name], columns, float64(e.Bytes)/1e6, float64(e.Bytes)/float64(r.Engines[0].Bytes))
	}
}

// mean returns the time of an engine; ok is false if it cannot do the task.
func (r *report) mean(engine, queries, task string) (mean float64, ok bool) {
	for _, c := range r.Cells {
		if c.Engine == engine && c.Queries == queries && c.Task == task {
			return c.Mean, true
		}
	}
	return 0, false
}

// writeTasks prints a table for each task.
func (r *report) writeTasks(w io.Writer) {
	var tasks []string
	for _, c := range r.Cells {
		if !slices.Contains(tasks, c.Task) {
			tasks = append(tasks, c.Task)
		}
	}
	for _, task := range tasks {
		fmt.Fprintf(w, "\n| %s, µs |", task)
		for _, e := range r.Engines {
			fmt.Fprintf(w, " %s |", names[e.Name])
		}
		for _, p := range r.peers() {
			fmt.Fprintf(w, " ÷ %s |", p)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(r.Engines)+len(r.peers())))
		for _, c := range r.Cells {
			if c.Task == task && c.Engine == r.Engines[0].Name {
				r.writeRow(w, task, c.Queries, c.Mean)
			}
		}
	}
}

// peers are those that riffle is compared with.
func (r *report) peers() (peers []string) {
	for _, e := range r.Engines[1:] {
		if p, _, _ := strings.Cut(names[e.Name], ","); !slices.Contains(peers, p) {
			peers = append(peers, p)
		}
	}
	return peers
}

func (r *report) writeRow(w io.Writer, task, queries string, riffle float64) {
	fmt.Fprintf(w, "| %s |", queries)
	quotients := map[string][]string{} // by peer
	best := map[string]float64{}
	for _, e := range r.Engines {
		mean, ok := r.mean(e.Name, queries, task)
		if !ok {
			fmt.Fprint(w, " – |")
			continue
		}
		fmt.Fprintf(w, " %s |", micros(mean))
		if e.Name == r.Engines[0].Name {
			continue
		}
		peer, _, variants := strings.Cut(names[e.Name], ",")
		if variants && task == "range" {
			quotients[peer] = append(quotients[peer], quotient(mean/riffle, target(e.Name, task, queries)))
			continue
		}
		if least, ok := best[peer]; !ok || mean < least {
			best[peer] = mean
			quotients[peer] = []string{quotient(mean/riffle, target(e.Name, task, queries))}
		}
	}
	for _, p := range r.peers() {
		if of := quotients[p]; len(of) > 0 {
			fmt.Fprintf(w, " %s |", strings.Join(of, "; "))
		} else {
			fmt.Fprint(w, " – |")
		}
	}
	fmt.Fprintln(w)
}

// target is what the peer's time divided by riffle's shall be, or 0.
func target(engine, task, queries string) float64 {
	of := func(lucene, tantivy float64) float64 {
		switch engine {
		case "lucene-columns", "lucene-columns-points":
			return lucene
		case "tantivy-columns":
			return tantivy
		}
		return 0
	}
	few := strings.HasSuffix(queries, ", common") || strings.HasSuffix(queries, ", sparse")
	switch kind, _, _ := strings.Cut(task, " "); {
	case kind == "range" && strings.HasPrefix(queries, "time "):
		return 0 // random ranges have targets
	case kind == "range" && engine == "lucene-columns-points":
		return 0.8
	case kind == "range":
		return of(20, 10)
	case kind == "filtered":
		return of(3, 5)
	case kind == "sort" && few:
		return of(2, 3)
	case kind == "sort":
		return of(5, 20)
	case kind == "terms":
		return of(5, 2.5)
	}
	return 0
}

func quotient(q, target float64) string {
	text := fmt.Sprintf("%.2f", q)
	if q >= 9.95 {
		text = thousands(q)
	}
	switch {
	case target == 0:
		return text
	case q < target:
		return fmt.Sprintf("**%s (%g)**", text, target)
	}
	return fmt.Sprintf("%s (%g)", text, target)
}

func micros(us float64) string {
	if us >= 100 {
		return thousands(us)
	}
	return fmt.Sprintf("%.1f", us)
}

// thousands prints a whole number with commas.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func (r *report) writeAnswers(w io.Writer) {
	fmt.Fprintln(w)
	for _, a := range r.Agreements {
		border := ""
		if a.CountsBorder > 0 {
			border = fmt.Sprintf("%d other by places at the border, ", a.CountsBorder)
		}
		fmt.Fprintf(w, "- %s with %s: of %s hits %s are the same, %d cut off inside a tie, %d off; %d counts, %s%d off.\n", names[a.Engine], names[a.With],
			thousands(float64(a.Hits)), thousands(float64(a.Same)), a.Tied, a.Off, a.Counts, border, a.CountsWrong)
		for _, example := range a.Examples {
			fmt.Fprintf(w, "  - %s\n", example)
		}
	}
}
