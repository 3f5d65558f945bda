package dispatch

import "math"

// A fit finds prices, each zero or more, by which features add up to the costs that have been
// seen. It keeps the normal equations of weighted least squares, in which old samples fade, and
// solves them now and then. Samples are weighed so that errors count relative to costs: by one over its cost and the cost that was expected.
type fit struct {
	prices vector
	a      [prices][prices]float64 // sum of weight * x * x'
	b      vector                  // sum of weight * x * cost
	fresh  int                     // samples since prices were last solved for
}

const (
	refit  = 64           // samples from one solution to the next
	fading = 1 - 1.0/2048 // what a sample counts when the next one comes
	weak   = 0.001        // what a sample counts that is not the machine's own
	sweeps = 1000
)

// begin starts from prices: the fit sees some samples that they give, and so knows no better
// at first, but any sample of the machine's own moves it. Of prices that are not to change, those of
// features that never come, the samples say nothing.
func (f *fit) begin(p vector, onCPU bool) {
	*f = fit{prices: p}
	for _, terms := range []float64{1, 3, 8} {
		for _, postings := range []float64{1e2, 1e4, 1e6, 1e8} {
			for _, share := range []float64{0.01, 0.3} {
				for _, k := range []float64{1, 10, 1000} {
					v := vector{
						perQuery: 1, perTerm: terms, perRoot: math.Sqrt(postings), perDeep: math.Sqrt(postings * k),
						perPosting: postings, perShortest: share * postings, perSecond: 2 * share * postings,
					}
					if !onCPU {
						v[perByte], v[perBatch] = share*postings, 1
					}
					f.add(v, max(1, f.cost(v)), weak)
				}
			}
		}
	}
}

func (f *fit) cost(v vector) (sum float64) {
	for i, p := range f.prices {
		sum += float64(p * v[i])
	}
	return sum
}

// learn takes a sample into account.
func (f *fit) learn(v vector, cost float64) {
	for i := range f.a {
		for j := range f.a[i] {
			f.a[i][j] *= fading
		}
		f.b[i] *= fading
	}
	f.add(v, max(1, cost), 1)
	if f.fresh++; f.fresh == refit {
		f.fresh = 0
		f.solve()
	}
}

func (f *fit) add(v vector, cost, weight float64) {
	w := weight / (cost * max(1, f.cost(v)))
	for i, x := range v {
		for j, y := range v {
			f.a[i][j] += float64(w * float64(x*y))
		}
		f.b[i] += float64(w * float64(x*cost))
	}
}

// solve goes down coordinate by coordinate, from the prices there are, which converges
// for least squares with bounds.
func (f *fit) solve() {
	for range sweeps {
		for i := range f.prices {
			if f.a[i][i] == 0 {
				continue
			}
			slope := f.b[i]
			for j, p := range f.prices {
				if j != i {
					slope -= float64(f.a[i][j] * p)
				}
			}
			f.prices[i] = max(0, slope/f.a[i][i])
		}
	}
}
