package riffle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/internal/gov2"
)

// BenchmarkCostModel teaches a model what queries cost one core, then has it estimate others: the
// mean relative error is 20 % in Ding 2009, section 9. Beside the errors of the default prices and of
// the learned ones it reports what a sample of the bounds adds to a query (FeaturesOf is without).
func BenchmarkCostModel(b *testing.B) {
	for _, of := range []struct {
		name string
		open func() (*collection.Collection, error)
	}{
		{"gutenberg", func() (*collection.Collection, error) {
			corpus, topics := filepath.Join(corporaDir(), "gutenberg-a.jsonl.zst"), filepath.Join(corporaDir(), "queries", "terabyte05.tsv")
			return collection.FromText("gutenberg-a", []string{corpus}, topics, 0)
		}},
		{"gov2", func() (*collection.Collection, error) {
			return gov2.Generate(gov2.Options{Docs: 2_000_000, Queries: 2000}), nil
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			c, err := of.open()
			if errors.Is(err, os.ErrNotExist) {
				b.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
			}
			if err != nil {
				b.Fatal(err)
			}
			for _, mode := range []struct {
				name string
				mode Mode
			}{{"or", ModeOr}, {"and", ModeAnd}} {
				for _, k := range []int{10, 1000} {
					b.Run(fmt.Sprintf("%s/k=%d", mode.name, k), func(b *testing.B) {
						var errs costErrors
						for b.Loop() {
							errs = measureCosts(b, c, blockmax.Mode(mode.mode), k)
						}
						b.ReportMetric(100*errs.plain, "%-error-default")
						b.ReportMetric(100*errs.learned, "%-error-learnt")
						b.ReportMetric(100*errs.bias, "%-bias-learnt")
						b.ReportMetric(100*errs.again, "%-differs-again")
						b.ReportMetric(errs.sample, "ns-sample/query")
						b.ReportMetric(errs.took, "ns/query")
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		})
	}
}

// costErrors are mean relative errors of the estimates of a default model and of a trained one. again is
// the mean difference of two measurements, each of the fastest of three runs; sample and took are
// nanoseconds.
// bias is the mean of the trained model's relative errors with their signs: it learns from single runs.
type costErrors struct{ plain, learned, bias, again, sample, took float64 }

// measureCosts runs the queries of a collection several times: the first half teaches the model, the
// second tests it by the fastest of three runs.
func measureCosts(b *testing.B, c *collection.Collection, mode blockmax.Mode, k int) (errs costErrors) {
	model, plain := dispatch.DefaultModel(), dispatch.DefaultModel()
	d := dispatch.New(nil, dispatch.Options{Model: model})
	defer d.Close()
	ctx := context.Background()
	half := len(c.Queries) / 2
	var fastest [3][]float64 // of rounds in turns; in every third, FeaturesOf and Sample come before
	for i := range fastest {
		fastest[i] = make([]float64, len(c.Queries))
	}
	const teaching = 8 // lists are opened and get bounds of words in the rounds before
	for round := range teaching + 10 {
		for q := range c.Queries {
			p := c.Plan(q, mode, k)
			switch {
			case round == teaching && q < half:
				if _, err := d.TopK(ctx, dispatch.Query{Plan: p, CPU: cpuexec.Executor{}, Due: time.Now().Add(time.Hour)}); err != nil {
					b.Fatal(err)
				}
				continue
			case round > teaching && q < half:
				continue
			}
			start, turn := time.Now(), round%3
			if turn == 2 {
				f := dispatch.FeaturesOf(p)
				f.Sample(p)
			}
			if _, err := (cpuexec.Executor{}).TopK(ctx, p); err != nil {
				b.Fatal(err)
			}
			if took := float64(time.Since(start)); round > teaching && (fastest[turn][q] == 0 || took < fastest[turn][q]) {
				fastest[turn][q] = took
			}
		}
	}
	for q := half; q < len(c.Queries); q++ {
		p := c.Plan(q, mode, k)
		f := dispatch.FeaturesOf(p)
		f.Sample(p)
		took := fastest[0][q]
		errs.plain += math.Abs(float64(plain.CPU(&f))-took) / took
		errs.learned += math.Abs(float64(model.CPU(&f))-took) / took
		errs.bias += (float64(model.CPU(&f)) - took) / took
		errs.again += math.Abs(fastest[1][q]-took) / took
		errs.sample += fastest[2][q] - (took+fastest[1][q])/2
		errs.took += took
	}
	n := float64(len(c.Queries) - half)
	return costErrors{errs.plain / n, errs.learned / n, errs.bias / n, errs.again / n, errs.sample / n, errs.took / n}
}
