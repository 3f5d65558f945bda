package dispatch

import "math"

// A fit finds nonnegative prices with which features add up to the observed costs. It keeps the
// normal equations of weighted least squares, in which old samples fade, and solves them
// periodically. A sample's weight is one over its cost and its expected cost, so that errors count
// relative to costs.
type fit struct {
	prices vector
	a      [prices][prices]float64 // sum of weight * x * x'
	b      vector                  // sum of weight * x * cost
	fresh  int                     // samples since the last solution
}

const (
	refit  = 64           // samples from one solution to the next
	fading = 1 - 1.0/2048 // factor on a sample's weight with each later sample
	weak   = 0.001        // weight of a sample that was not measured on this machine
	sweeps = 1000
)

// begin starts from prices: it adds samples of little weight that have these prices. They leave the
// fit as it is at first, but any sample measured on the machine moves it. Features that never occur
// are zero in all samples, so that their prices do not change.
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

// learn adds a sample.
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

// solve minimizes coordinate by coordinate from the current prices, which converges for least
// squares with bounds.
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
