// Command figure draws the time of the first and of a warm search against the number of documents,
// from reports that "go run . -measure first -json FILE" has written, one for each number:
//
//	go run ./figure 100k.json 400k.json 1200k.json 2400k.json > ../docs/first-search.svg
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strings"
)

// A report is what this program needs of a report of the bench.
type report struct {
	Docs  int
	Cells []struct {
		Engine, Queries, Task string
		Mean                  float64 // microseconds
	}
}

// A panel is one of the two diagrams: the tasks whose names end so.
type panel struct {
	title, task string
	lines       map[string][]point // by engine
}

type point struct{ docs, ms float64 }

// series are the engines, with the classes of their colours.
var series = []struct{ engine, name string }{{"riffle", "riffle"}, {"lucene", "Lucene"}, {"tantivy", "Tantivy"}}

func main() {
	log.SetFlags(0)
	log.SetPrefix("figure: ")
	queries := flag.String("queries", "gutenberg-dev", "queries of the reports")
	task := flag.String("task", "OR top-10", "task of the reports")
	flag.Parse()
	panels := []panel{
		{title: "First search after opening", task: *task + ", after reopen", lines: map[string][]point{}},
		{title: "Warm search", task: *task, lines: map[string][]point{}},
	}
	for _, path := range flag.Args() {
		if err := read(path, *queries, panels); err != nil {
			log.Fatal(err)
		}
	}
	c := newChart(panels)
	if len(c.sizes) < 2 {
		log.Fatal("reports of two numbers of documents at least are needed")
	}
	if err := c.draw(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// read adds what a report says to the panels.
func read(path, queries string, panels []panel) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found := 0
	for _, p := range panels {
		for _, c := range r.Cells {
			if c.Queries == queries && c.Task == p.task {
				p.lines[c.Engine] = append(p.lines[c.Engine], point{float64(r.Docs), c.Mean / 1000})
				found++
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("%s: no times of %q over %q", path, panels[0].task, queries)
	}
	return nil
}

// Places of the chart, in pixels.
const (
	width, height       = 760, 360
	top, bottom         = 48, 300
	left, panelWidth    = 64, 250
	between             = 100 // room for the names of the lines
	labelGap, rowHeight = 8, 15
)

// A chart has both axes logarithmic, the same for both panels.
type chart struct {
	panels   []panel
	sizes    []float64
	low, top float64 // powers of ten
}

func newChart(panels []panel) *chart {
	c := &chart{panels: panels, low: math.Inf(1), top: math.Inf(-1)}
	for _, p := range panels {
		for _, line := range p.lines {
			slices.SortFunc(line, func(a, b point) int { return int(a.docs - b.docs) })
			for _, at := range line {
				c.low, c.top = min(c.low, math.Floor(math.Log10(at.ms))), max(c.top, math.Ceil(math.Log10(at.ms)))
				if !slices.Contains(c.sizes, at.docs) {
					c.sizes = append(c.sizes, at.docs)
				}
			}
		}
	}
	slices.Sort(c.sizes)
	return c
}

func (c *chart) x(panel int, docs float64) float64 {
	first, last := math.Log(c.sizes[0]), math.Log(c.sizes[len(c.sizes)-1])
	return float64(left+panel*(panelWidth+between)) + panelWidth*(math.Log(docs)-first)/(last-first)
}

func (c *chart) y(ms float64) float64 {
	return bottom - (bottom-top)*(math.Log10(ms)-c.low)/(c.top-c.low)
}

// style has colours for light pages and for dark ones.
const style = `
	text { font: 12px system-ui, sans-serif; fill: #24292f }
	.title { font-weight: 600; font-size: 14px }
	.end { text-anchor: end } .middle { text-anchor: middle }
	.grid { stroke: #d0d7de; stroke-width: 1 }
	.line { fill: none; stroke-width: 2.5 }
	.riffle { stroke: #0969da; fill: #0969da } .lucene { stroke: #bc4c00; fill: #bc4c00 } .tantivy { stroke: #1a7f37; fill: #1a7f37 }
	text.riffle, text.lucene, text.tantivy { stroke: none; font-weight: 600 } path.line { fill: none }
	.page { fill: #ffffff }
	@media (prefers-color-scheme: dark) {
		text { fill: #e6edf3 } .grid { stroke: #3d444d } .page { fill: #0d1117 }
		.riffle { stroke: #58a6ff; fill: #58a6ff } .lucene { stroke: #f0883e; fill: #f0883e } .tantivy { stroke: #56d364; fill: #56d364 }
	}
`

func (c *chart) draw(out io.Writer) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Time of the first search after opening and of a warm search, by number of documents\">\n<style>%s</style>\n", width, height, style)
	fmt.Fprintf(w, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height)
	for i, p := range c.panels {
		c.axes(w, i, p.title)
		c.lines(w, i, p)
	}
	fmt.Fprintln(w, "</svg>")
	_, err := io.WriteString(out, w.String())
	return err
}

func (c *chart) axes(w io.Writer, panel int, title string) {
	x0, x1 := c.x(panel, c.sizes[0]), c.x(panel, c.sizes[len(c.sizes)-1])
	fmt.Fprintf(w, "<text class=\"title\" x=\"%.1f\" y=\"%d\">%s</text>\n", x0, top-20, title)
	for power := c.low; power <= c.top; power++ {
		ms := math.Pow(10, power)
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"end\" x=\"%.1f\" y=\"%.1f\">%g ms</text>\n",
			x0, c.y(ms), x1, x0-labelGap, c.y(ms)+4, ms)
	}
	for _, docs := range c.sizes {
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"middle\" x=\"%.1f\" y=\"%d\">%.3g</text>\n",
			c.x(panel, docs), bottom, bottom+5, c.x(panel, docs), bottom+20, docs/1e6)
	}
	fmt.Fprintf(w, "<text class=\"middle\" x=\"%.1f\" y=\"%d\">million documents</text>\n", (x0+x1)/2, bottom+42)
}

// lines draws the lines of a panel, and their names where they end.
func (c *chart) lines(w io.Writer, panel int, p panel) {
	type label struct {
		engine, name string
		y            float64
	}
	var labels []label
	for _, s := range series {
		line := p.lines[s.engine]
		if len(line) == 0 {
			continue
		}
		path := "M"
		for i, at := range line {
			if i > 0 {
				path += "L"
			}
			path += fmt.Sprintf("%.1f %.1f", c.x(panel, at.docs), c.y(at.ms))
		}
		fmt.Fprintf(w, "<path class=\"line %s\" style=\"fill:none\" d=\"%s\"/>\n", s.engine, path)
		for _, at := range line {
			fmt.Fprintf(w, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%s, %.3g million documents: %.3g ms</title></circle>\n",
				s.engine, c.x(panel, at.docs), c.y(at.ms), s.name, at.docs/1e6, at.ms)
		}
		last := line[len(line)-1]
		labels = append(labels, label{s.engine, fmt.Sprintf("%s %.2g", s.name, last.ms), c.y(last.ms) + 4})
	}
	slices.SortFunc(labels, func(a, b label) int { return int(a.y*10 - b.y*10) })
	for i, l := range labels {
		if i > 0 {
			l.y = max(l.y, labels[i-1].y+rowHeight)
			labels[i].y = l.y
		}
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", l.engine, c.x(panel, c.sizes[len(c.sizes)-1])+labelGap, l.y, l.name)
	}
}
