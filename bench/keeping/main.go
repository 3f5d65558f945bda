// Command keeping draws what a GPU lacks whose memory is smaller than the lists, by what stays there,
// after figures 6 to 9 of Wang 2017: kilobytes a query, queries a second by the model, and both by
// λ. It reads what gpubench has simulated, and has the measurements to compare with:
//
//	gpubench -docs 2500000 -queries 4096 -k 1 -batch 256,2048 -cache 70,40,20,10,5 -out OUT keeping
//	cd bench && go run ./keeping OUT/runs.jsonl > ../docs/stream-cache.svg
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// shares are sizes of memory in per cent of the lists.
var shares = []float64{5, 10, 20, 40, 70}

// series are the policies that are drawn, with the classes of their colours.
var series = []struct{ policy, name, class string }{
	{"QtfDf by list", "QtfDf", "qtfdf"}, {"Qtf by list", "Qtf", "qtf"},
	{"VFB by piece, smoothed", "VFB", "vfb"}, {"known beforehand, by piece", "known", "known"},
}

// lambdas are the policies of the panels by λ, with theirs.
var lambdas = []struct {
	policy string
	lambda float64
}{
	{"VFB by piece, smoothed, λ=0.50", 0.5}, {"VFB by piece, smoothed, λ=0.75", 0.75}, {"VFB by piece, smoothed, λ=0.90", 0.9}, {"VFB by piece, smoothed", 1},
}

// measured are thousand queries a second of OR with Qtf at those shares, by batch
// (results/2026-11-23-gpu-cells.md).
var measured = map[string][]float64{
	"256":  {35.0, 40.6, 48.5, 53.9, 57.0},
	"2048": {53.3, 58.3, 66.2, 75.2, 77.3},
}

// The simulated collection has a tenth of the documents of the measured one, so that the bytes of a
// query are a tenth, too.
const scale = 10

// link is what a kernel reads of the host's memory, in bytes a nanosecond.
const link = 52

// bytesOf are the kilobytes that a query lacks by batch, policy and share.
type bytesOf map[string]map[string]map[float64]float64

func main() {
	log.SetFlags(0)
	log.SetPrefix("keeping: ")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("the runs.jsonl of gpubench keeping is needed")
	}
	f, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	lacks, err := read(f)
	if err == nil {
		err = draw(os.Stdout, lacks)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// read reads the records of OR.
func read(from io.Reader) (bytesOf, error) {
	lacks := bytesOf{}
	for d := json.NewDecoder(from); ; {
		var r struct {
			Part, Name string
			Figures    []struct {
				Name  string
				Value float64
			}
		}
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return lacks, lacks.complete()
		} else if err != nil {
			return nil, err
		}
		head, policy, _ := strings.Cut(r.Name, ", ")
		_, batch, ok := strings.Cut(head, "batch=")
		if r.Part != "keeping" || !strings.HasPrefix(head, "or ") || !ok {
			continue
		}
		if lacks[batch] == nil {
			lacks[batch] = map[string]map[float64]float64{}
		}
		by := map[float64]float64{}
		for _, f := range r.Figures {
			share, err := strconv.ParseFloat(strings.TrimSuffix(f.Name, " %"), 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			by[share] = scale * f.Value
		}
		lacks[batch][policy] = by
	}
}

// complete reports what is missing.
func (l bytesOf) complete() error {
	for batch := range measured {
		for _, share := range shares {
			for _, s := range series {
				if _, ok := l[batch][s.policy][share]; !ok {
					return fmt.Errorf("no figure of %q for OR in batches of %s at %g %%", s.policy, batch, share)
				}
			}
			for _, s := range lambdas {
				if _, ok := l[batch][s.policy][share]; !ok {
					return fmt.Errorf("no figure of %q for OR in batches of %s at %g %%", s.policy, batch, share)
				}
			}
		}
	}
	return nil
}

// rate is how many thousand queries a second the model predicts. The time of kernels is that of the
// measurement at 70 %.
func (l bytesOf) rate(batch string, lacks float64) float64 {
	last := len(shares) - 1
	took, transfer := 1e6/measured[batch][last], 1000*l[batch]["Qtf by list"][shares[last]]/link
	compute := math.Pow(math.Pow(took, listcache.StreamOverlap)-math.Pow(transfer, listcache.StreamOverlap), 1/listcache.StreamOverlap)
	m := listcache.Model{Compute: listcache.Curve{{X: 1, Y: compute}}, Transfer: listcache.Curve{{X: 1, Y: 1.0 / link}}, Overlap: listcache.StreamOverlap}
	return 1e6 / m.QueryTime(1, 1, 1000*lacks)
}

// Places of the chart, in pixels.
const (
	width, height           = 760, 760
	left, panelWidth        = 64, 250
	between                 = 110 // room for the names of the lines
	firstTop, panelHeight   = 64, 150
	rowHeight               = 240
	labelGap, labelDistance = 8, 15
)

// style has colours for light pages and for dark ones.
const style = `
	text { font: 12px system-ui, sans-serif; fill: #24292f }
	.title { font-weight: 600; font-size: 14px }
	.end { text-anchor: end } .middle { text-anchor: middle }
	.grid { stroke: #d0d7de; stroke-width: 1 }
	.line { fill: none; stroke-width: 2.5 }
	.vfb { stroke: #0969da; fill: #0969da } .qtf { stroke: #1a7f37; fill: #1a7f37 } .qtfdf { stroke: #bc4c00; fill: #bc4c00 } .known { stroke: #8c959f; fill: #8c959f }
	text.vfb, text.qtf, text.qtfdf, text.known { stroke: none; font-weight: 600 } path.line { fill: none }
	.page { fill: #ffffff } circle.measured { fill: #ffffff; stroke-width: 2 }
	@media (prefers-color-scheme: dark) {
		text { fill: #e6edf3 } .grid { stroke: #3d444d } .page { fill: #0d1117 } circle.measured { fill: #0d1117 }
		.vfb { stroke: #58a6ff; fill: #58a6ff } .qtf { stroke: #56d364; fill: #56d364 } .qtfdf { stroke: #f0883e; fill: #f0883e }
	}
`

// A panel is one diagram. Its lines have a value for each x.
type panel struct {
	title, below string
	x            []float64
	log          bool    // x is logarithmic
	most, step   float64 // of the y axis, which begins with 0
	lines        []line
	row, column  int
}

type line struct {
	name, class string
	y           []float64
	measured    []float64
}

func draw(out io.Writer, lacks bytesOf) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"What a GPU with memory smaller than the lists lacks, by policy\">\n<style>%s</style>\n", width, height, style)
	fmt.Fprintf(w, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height)
	fmt.Fprintf(w, "<text x=\"%d\" y=\"20\">OR, k = 10, 25 million documents. Lines: simulated; queries/s: by the model. Circles: measured with Qtf.</text>\n", left)
	for column, batch := range []string{"256", "2048"} {
		for _, p := range panels(lacks, batch) {
			p.column = column
			p.draw(w)
		}
	}
	fmt.Fprintln(w, "</svg>")
	_, err := io.WriteString(out, w.String())
	return err
}

// panels are those of a batch.
func panels(lacks bytesOf, batch string) []panel {
	const memory = "memory, % of the lists"
	volume := panel{title: "KB lacking, batches of " + batch + " (fig. 7)", below: memory, x: shares, log: true, most: 1500, step: 500, row: 0}
	rate := panel{title: "Thousand queries/s (fig. 9)", below: memory, x: shares, log: true, most: 100, step: 25, row: 1}
	if batch == "2048" {
		rate.title = "Thousand queries/s (fig. 8)"
	}
	for _, s := range series {
		var kilobytes, rates []float64
		for _, share := range shares {
			n := lacks[batch][s.policy][share]
			kilobytes, rates = append(kilobytes, n), append(rates, lacks.rate(batch, n))
		}
		l := line{name: s.name, class: s.class, y: rates}
		if s.name == "Qtf" {
			l.measured = measured[batch]
		}
		volume.lines, rate.lines = append(volume.lines, line{name: s.name, class: s.class, y: kilobytes}), append(rate.lines, l)
	}
	by := panel{title: "VFB: thousand queries/s by λ (fig. 6)", below: "λ", most: 100, step: 25, row: 2}
	for _, s := range lambdas {
		by.x = append(by.x, s.lambda)
	}
	for i, share := range []float64{10, 20, 40} {
		l := line{name: fmt.Sprintf("%g %%", share), class: []string{"qtfdf", "qtf", "vfb"}[i]}
		for _, s := range lambdas {
			l.y = append(l.y, lacks.rate(batch, lacks[batch][s.policy][share]))
		}
		by.lines = append(by.lines, l)
	}
	return []panel{volume, rate, by}
}

func (p *panel) top() float64    { return float64(firstTop + p.row*rowHeight) }
func (p *panel) bottom() float64 { return p.top() + panelHeight }

func (p *panel) at(i int) float64 {
	of := func(x float64) float64 {
		if p.log {
			return math.Log(x)
		}
		return x
	}
	first, last := of(p.x[0]), of(p.x[len(p.x)-1])
	return float64(left+p.column*(panelWidth+between)) + panelWidth*(of(p.x[i])-first)/(last-first)
}

func (p *panel) height(y float64) float64 { return p.bottom() - panelHeight*min(y, p.most)/p.most }

func (p *panel) draw(w io.Writer) {
	x0, x1 := p.at(0), p.at(len(p.x)-1)
	fmt.Fprintf(w, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x0, p.top()-16, p.title)
	for y := 0.0; y <= p.most; y += p.step {
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"end\" x=\"%.1f\" y=\"%.1f\">%g</text>\n", x0, p.height(y), x1, x0-labelGap, p.height(y)+4, y)
	}
	for i, x := range p.x {
		fmt.Fprintf(w, "<path class=\"grid\" d=\"M%.1f %.1fv5\"/><text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%g</text>\n", p.at(i), p.bottom(), p.at(i), p.bottom()+20, x)
	}
	fmt.Fprintf(w, "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", (x0+x1)/2, p.bottom()+40, p.below)
	p.drawLines(w, x1)
}

// drawLines draws the lines, and their names where they end.
func (p *panel) drawLines(w io.Writer, end float64) {
	type label struct {
		name, class string
		y           float64
	}
	var labels []label
	for _, l := range p.lines {
		path := ""
		for i, y := range l.y {
			path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(i, 1)], p.at(i), p.height(y))
		}
		fmt.Fprintf(w, "<path class=\"line %s\" style=\"fill:none\" d=\"%s\"/>\n", l.class, path)
		for i, y := range l.measured {
			fmt.Fprintf(w, "<circle class=\"%s measured\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>measured: %g</title></circle>\n", l.class, p.at(i), p.height(y), y)
		}
		last := l.y[len(l.y)-1]
		labels = append(labels, label{fmt.Sprintf("%s %.0f", l.name, last), l.class, p.height(last) + 4})
	}
	slices.SortFunc(labels, func(a, b label) int { return int(a.y*10 - b.y*10) })
	for i, l := range labels {
		if i > 0 {
			l.y = max(l.y, labels[i-1].y+labelDistance)
			labels[i].y = l.y
		}
		fmt.Fprintf(w, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", l.class, end+labelGap, l.y, l.name)
	}
}
