// Command deadlines draws the share of searches that are answered in time against the load, from
// the figures of TestDeadlines of package internal/dispatch, a simulation:
//
//	cd .. && RIFFLE_DEADLINES=/tmp/deadlines.tsv go test -run TestDeadlines ./internal/dispatch
//	cd bench && go run ./deadlines /tmp/deadlines.tsv > ../docs/deadlines.svg
package main

import (
	"cmp"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A point is the share of searches in time at a load, both 1 for all.
type point struct{ load, share float64 }

// A panel is one diagram: the rows of a workload, a limit, and a machine with or without a GPU.
type panel struct {
	title, workload, limit, gpu string
	lines                       map[string][]point // by policy
}

// series are the policies that are drawn, with the classes of their colours.
var series = []struct{ policy, name, class string }{
	{"auto with deadlines", "auto, deadlines", "own"}, {"cpu with deadlines", "cpu, deadlines", "own"},
	{"auto", "auto", "auto"}, {"gpu", "gpu", "gpu"}, {"cpu", "cpu", "cpu"}, {"groups", "groups (Ding)", "groups"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("deadlines: ")
	workload := flag.String("workload", "gov2", "workload of the figures")
	limit := flag.String("limit", "5 or 50 ms", "limit of the figures")
	flag.Parse()
	panels := []*panel{
		{title: "16 cores and a GPU", workload: *workload, limit: *limit, gpu: "true"},
		{title: "16 cores", workload: *workload, limit: *limit, gpu: "false"},
	}
	f, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := read(f, panels); err != nil {
		log.Fatal(err)
	}
	if err := draw(os.Stdout, panels); err != nil {
		log.Fatal(err)
	}
}

// read fills the panels from a table of workload, limit, gpu, policy, load and share, divided by
// tabs.
func read(from io.Reader, panels []*panel) error {
	r := csv.NewReader(from)
	r.Comma, r.FieldsPerRecord = '\t', 6
	rows, err := r.ReadAll()
	if err != nil {
		return err
	}
	for _, p := range panels {
		p.lines = map[string][]point{}
		for _, row := range rows {
			if row[0] != p.workload || row[1] != p.limit || row[2] != p.gpu {
				continue
			}
			load, err := strconv.ParseFloat(row[4], 64)
			if err != nil {
				return err
			}
			share, err := strconv.ParseFloat(row[5], 64)
			if err != nil {
				return err
			}
			p.lines[row[3]] = append(p.lines[row[3]], point{load, share})
		}
		if len(p.lines) == 0 {
			return fmt.Errorf("no figures of %s, %s, gpu %s", p.workload, p.limit, p.gpu)
		}
	}
	return nil
}

// Places of the chart, in pixels.
const (
	width, height       = 820, 360
	top, bottom         = 48, 300
	left, panelWidth    = 56, 220
	between             = 165 // room for the names of the lines
	labelGap, rowHeight = 8, 15
	mostLoad            = 2
)

func x(panel int, load float64) float64 {
	return float64(left+panel*(panelWidth+between)) + panelWidth*load/mostLoad
}

func y(share float64) float64 { return bottom - (bottom-top)*share }

// style has colours for light pages and for dark ones.
const style = `
	text { font: 12px system-ui, sans-serif; fill: #24292f }
	.title { font-weight: 600; font-size: 14px }
	.end { text-anchor: end } .middle { text-anchor: middle }
	.grid { stroke: #d0d7de; stroke-width: 1 }
	path.line { fill: none; stroke-width: 2 } path.own { stroke-width: 3 } text.own { font-weight: 600 }
	.own { stroke: #0969da; fill: #0969da } .auto { stroke: #8250df; fill: #8250df } .gpu { stroke: #1a7f37; fill: #1a7f37 }
	.cpu { stroke: #bc4c00; fill: #bc4c00 } .groups { stroke: #bf3989; fill: #bf3989 }
	text { stroke: none }
	.page { fill: #ffffff }
	@media (prefers-color-scheme: dark) {
		text { fill: #e6edf3 } .grid { stroke: #3d444d } .page { fill: #0d1117 }
		.own { stroke: #58a6ff; fill: #58a6ff } .auto { stroke: #d2a8ff; fill: #d2a8ff } .gpu { stroke: #56d364; fill: #56d364 }
		.cpu { stroke: #f0883e; fill: #f0883e } .groups { stroke: #ff80c8; fill: #ff80c8 }
	}
`

func draw(out io.Writer, panels []*panel) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Share of searches answered in time, by load and policy\">\n<style>%s</style>\n", width, height, style)
	fmt.Fprintf(w, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height)
	for i, p := range panels {
		axes(w, i, p.title)
		draws(w, i, p)
	}
	fmt.Fprintln(w, "</svg>")
	_, err := io.WriteString(out, w.String())
	return err
}

func axes(w io.Writer, panel int, title string) {
	fmt.Fprintf(w, "<text class=\"title\" x=\"%.1f\" y=\"%d\">%s</text>\n", x(panel, 0), top-20, title)
	for percent := 0; percent <= 100; percent += 25 {
		at := y(float64(percent) / 100)
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"end\" x=\"%.1f\" y=\"%.1f\">%d %%</text>\n",
			x(panel, 0), at, x(panel, mostLoad), x(panel, 0)-labelGap, at+4, percent)
	}
	for _, load := range []float64{0, 0.5, 1, 1.5, 2} {
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"middle\" x=\"%.1f\" y=\"%d\">%g</text>\n",
			x(panel, load), bottom, bottom+5, x(panel, load), bottom+20, load)
	}
	fmt.Fprintf(w, "<text class=\"middle\" x=\"%.1f\" y=\"%d\">searches that arrive, of what can be answered</text>\n", x(panel, mostLoad/2), bottom+42)
}

// draws draws the lines of a panel, and their names where they end.
func draws(w io.Writer, panel int, p *panel) {
	type label struct {
		class, name string
		y           float64
	}
	var labels []label
	for _, s := range slices.Backward(series) { // the first one on top
		line := p.lines[s.policy]
		if len(line) == 0 {
			continue
		}
		slices.SortFunc(line, func(a, b point) int { return cmp.Compare(a.load, b.load) })
		path := "M"
		for i, at := range line {
			if i > 0 {
				path += "L"
			}
			path += fmt.Sprintf("%.1f %.1f", x(panel, at.load), y(at.share))
		}
		fmt.Fprintf(w, "<path class=\"line %s\" style=\"fill:none\" d=\"%s\"/>\n", s.class, path)
		for _, at := range line {
			fmt.Fprintf(w, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s, load %g: %.1f %%</title></circle>\n",
				s.class, x(panel, at.load), y(at.share), s.name, at.load, 100*at.share)
		}
		last := line[len(line)-1]
		labels = append(labels, label{s.class, fmt.Sprintf("%s %.0f %%", s.name, 100*last.share), y(last.share) + 4})
	}
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(b.y, a.y) })
	for i, l := range labels { // from the lowest up
		if i > 0 {
			l.y = min(l.y, labels[i-1].y-rowHeight)
			labels[i].y = l.y
		}
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", l.class, x(panel, mostLoad)+labelGap, l.y, l.name)
	}
}
