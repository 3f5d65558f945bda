package riffle

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/internal/search"
)

// BenchmarkCostModel teaches a model what queries cost one core, then has it estimate others: the
// mean relative error is 20 % in Ding 2009, section 9.
func BenchmarkCostModel(b *testing.B) {
	e, err := simIndex(OrderByArrival, 0)
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for _, mode := range []struct {
		name string
		mode Mode
	}{{"or", ModeOr}, {"and", ModeAnd}} {
		for _, k := range []int{10, 1000} {
			b.Run(mode.name+"/k="+map[int]string{10: "10", 1000: "1000"}[k], func(b *testing.B) {
				model := dispatch.DefaultModel()
				before, after := costErrors(b, e, model, mode.mode, k)
				b.ReportMetric(100*before, "%-error-default")
				b.ReportMetric(100*after, "%-error-learnt")
				b.ReportMetric(0, "ns/op")
				text, _ := model.MarshalJSON()
				b.Logf("%s", text)
			})
		}
	}
}

// costErrors runs a log several times: the first half teaches the model, the second tests it by the
// fastest of three runs. It returns the mean relative errors of a default model and of the trained
// one.
func costErrors(b *testing.B, e *Engine, model *dispatch.Model, mode Mode, k int) (before, after float64) {
	f, err := os.Open(filepath.Join(corporaDir(), "queries", "terabyte05.tsv"))
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	v, err := e.acquire()
	if err != nil {
		b.Fatal(err)
	}
	defer v.Release()
	set, err := e.settings(&SearchOptions{K: k})
	if err != nil {
		b.Fatal(err)
	}
	d := dispatch.New(nil, dispatch.Options{Model: model})
	defer d.Close()
	plain, n := dispatch.DefaultModel(), 0.0
	ctx := context.Background()
	var texts []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		texts = append(texts, text)
	}
	fastest := make([]float64, len(texts))
	for round := range 5 { // lists are opened and refined in the first one
		for i, text := range texts {
			x, err := v.plan(ctx, Match{Field: "text", Text: text, Mode: mode}, &set)
			if err != nil {
				b.Fatal(err)
			}
			c := search.Compiled(x)
			if round == 0 || round == 1 && i >= len(texts)/2 || round > 1 && i < len(texts)/2 {
				if _, err := (cpuexec.Executor{}).TopK(ctx, &c.Plan); err != nil {
					b.Fatal(err)
				}
				x.End()
				continue
			}
			features := dispatch.FeaturesOf(&c.Plan)
			if round == 1 {
				if _, err := d.TopK(ctx, dispatch.Query{Plan: &c.Plan, CPU: cpuexec.Executor{}}); err != nil {
					b.Fatal(err)
				}
				x.End()
				continue
			}
			start := time.Now()
			if _, err := (cpuexec.Executor{}).TopK(ctx, &c.Plan); err != nil {
				b.Fatal(err)
			}
			took := float64(time.Since(start))
			if x.End(); round == 2 || took < fastest[i] {
				fastest[i] = took
			}
			if took = fastest[i]; round < 4 {
				continue
			}
			before += math.Abs(float64(plain.CPU(&features))-took) / took
			after += math.Abs(float64(model.CPU(&features))-took) / took
			n++
		}
	}
	return before / n, after / n
}
