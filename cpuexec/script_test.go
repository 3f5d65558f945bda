package cpuexec_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestScript runs the scripts in testdata, which show what the algorithms decode,
// skip and score. Their commands:
//
//	index [block=N] [docs=N]     a line for each list: "name weight: postings", where
//	                             12 is document 12 with frequency 1, 12×3 with frequency 3,
//	                             and 10-90/5 every fifth document from 10 to 90
//	search k=N [mode=or|and|and+or] [algo=NAME] [count] [profile]
//	                             the lists to search; prints hits and work, for all
//	                             algorithms unless one is named; with profile the blocks of
//	                             each list: D decoded, b bounded, - skipped; and how the
//	                             threshold rises, as "score after so many decoded"
func TestScript(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var ix scripted
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "index":
				return ix.build(t, d)
			case "search":
				return ix.search(t, d)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// scripted is the index of a script: one segment without lengths.
type scripted struct {
	docs    uint32
	names   []string
	weights []float64
	terms   []blockmax.Term
}

func (ix *scripted) build(t *testing.T, d *datadriven.TestData) string {
	size, docs := 2, 100
	d.MaybeScanArgs(t, "block", &size)
	d.MaybeScanArgs(t, "docs", &docs)
	*ix = scripted{docs: uint32(docs)}
	table := blockmax.NewTable(blockmax.DefaultBM25, 1)
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		var name string
		var weight float64
		head, body, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(head, "%s %f", &name, &weight); err != nil {
			d.Fatalf(t, "%q: %v", head, err)
		}
		b := postings.Builder{BlockSize: uint8(size)}
		for _, item := range strings.Fields(body) {
			addItem(t, &b, item)
		}
		l := b.View(postings.MaxDoc)
		ix.names, ix.weights = append(ix.names, name), append(ix.weights, weight)
		ix.terms = append(ix.terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
		fmt.Fprintf(&out, "%s: %d postings in %d blocks\n", name, l.Count, l.Blocks())
	}
	return out.String()
}

func addItem(t *testing.T, b *postings.Builder, item string) {
	span, tf, repeated := strings.Cut(item, "×")
	if !repeated {
		tf = "1"
	}
	bounds, step, stepped := strings.Cut(span, "/")
	if !stepped {
		step = "1"
	}
	from, to, ranged := strings.Cut(bounds, "-")
	if !ranged {
		to = from
	}
	for doc := number(t, from); doc <= number(t, to); doc += number(t, step) {
		b.Add(doc, number(t, tf), 1)
	}
}

func number(t *testing.T, s string) uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func (ix *scripted) search(t *testing.T, d *datadriven.TestData) string {
	p := &blockmax.Plan{CountAll: d.HasArg("count")}
	d.ScanArgs(t, "k", &p.K)
	mode := "or"
	d.MaybeScanArgs(t, "mode", &mode)
	p.Mode = blockmax.Mode(slices.Index([]string{"or", "and", "and+or"}, mode))
	seg := blockmax.Segment{Docs: ix.docs}
	var weights []float64
	for _, name := range strings.Fields(d.Input) {
		i := slices.Index(ix.names, name)
		if i < 0 {
			d.Fatalf(t, "no list %s", name)
		}
		seg.Terms, weights = append(seg.Terms, ix.terms[i]), append(weights, ix.weights[i])
	}
	p.Segments = []blockmax.Segment{seg}
	var scale float64
	p.Weights, scale = blockmax.Scale(weights)
	return ix.run(t, d, p, scale)
}

func (ix *scripted) run(t *testing.T, d *datadriven.TestData, p *blockmax.Plan, scale float64) string {
	algo := ""
	d.MaybeScanArgs(t, "algo", &algo)
	var out strings.Builder
	for _, e := range algorithms()[1:] {
		if algo != "" && e.Algorithm.String() != algo {
			continue
		}
		if d.HasArg("profile") {
			p.Profile = blockmax.NewProfile(p)
		}
		top, err := e.TopK(context.Background(), p)
		if err != nil {
			return err.Error()
		}
		if out.Len() == 0 {
			for _, h := range top.Hits[:min(8, len(top.Hits))] {
				fmt.Fprintf(&out, "%d:%.3f ", h.Doc, float64(h.Score)/scale)
			}
			fmt.Fprintf(&out, "(%d hits)\n", len(top.Hits))
		}
		total := strconv.Itoa(top.Total)
		if !top.Exact {
			total += "+"
		}
		w := top.Work
		fmt.Fprintf(&out, "%-11s total %-4s decoded %-3d skipped %-3d scored %d\n", e.Algorithm.String()+":", total, w.BlocksDecoded, w.BlocksSkipped, w.DocsScored)
		if p.Profile != nil {
			ix.printProfile(&out, strings.Fields(d.Input), p.Profile, scale)
		}
	}
	return out.String()
}

func (ix *scripted) printProfile(out *strings.Builder, names []string, x *blockmax.Profile, scale float64) {
	for t, name := range names {
		l := x.Of(0, t)
		fmt.Fprintf(out, "  %-9s ", name)
		for b := range l.List.Blocks() {
			out.WriteByte("-bD"[l.State(b)])
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "  %s", strings.Join(x.Passes(), ", "))
	for _, r := range x.Rises() {
		fmt.Fprintf(out, "; %.3f after %d", float64(r.Score)/scale, r.Decoding)
	}
	out.WriteByte('\n')
}
