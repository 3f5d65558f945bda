package dispatch

import (
	"math"
	"time"
)

// A fit finds nonnegative prices with which features add up to the observed costs. It keeps the
// normal equations of weighted least squares, in which old samples fade, and solves them
// periodically. Errors count relative to costs: on a core, a sample's weight is one over its cost and its
// expected cost, so that interrupted queries weigh less.
//
// On a device it is one over the square of the expected cost. When a batch is done is seen late by a part
// of a millisecond, which then seems to be time of this batch, and not of the next one. That evens out
// only if a weight does not depend on it: those that seem to take nearly nothing would decide. The price
// is that an estimate that is far too high falls more slowly, to within a fifth in 110 batches instead of
// 20 if it was ten times too high.
type fit struct {
	prices vector
	side   processor
	prior  equations // of samples that have the first prices: they decide what others leave open
	seen   equations // of samples measured on this machine
	memory int       // how many samples it remembers
	count  int       // of samples
	fresh  int       // of them since the last solution
	last   time.Time // when the last sample was seen
	solved time.Time
	due    bool // it is time to solve
}

// equations are the normal equations of some samples.
type equations struct {
	a [prices][prices]float64 // sum of weight * x * x'
	b vector                  // sum of weight * x * cost
}

const (
	weak    = 0.001 // weight of a sample that was not measured on this machine
	sweeps  = 1000  // at most
	settled = 1e-5  // the last sweep's changes, as shares of the prices

	usualShare = 0.01 // of features of Sample in a query, divided by the nanoseconds that it takes

	// How many samples a fit remembers: what it knew before then counts for a third. Batches are
	// fewer than queries.
	memoryCPU, memoryGPU = 2048, 128

	// It also forgets as time passes between samples, but never more than one in so many when it sees
	// the next: a side that is seldom used has few, and the machine may have changed.
	memoryTime = 500 * time.Millisecond
	atLeast    = 16

	// A batch that takes more than so many times its estimate counts as this: something else delayed it.
	mostSurprising = 8

	solvePause = 20 * time.Millisecond // between solutions, at most
)

// A processor is what a fit is of.
type processor bool

const (
	onCore   processor = false
	onDevice processor = true
)

// begin starts from prices: samples of little weight have them, and do not fade. So any sample
// measured on the machine moves the prices, in the directions of which it says something. Features
// that never occur are zero in all samples, so that their prices do not change.
func (f *fit) begin(p vector, side processor) {
	onCPU := side == onCore
	*f = fit{prices: p, side: side, memory: memoryGPU}
	if onCPU {
		f.memory = memoryCPU
	}
	for _, terms := range []float64{1, 3, 8} {
		for _, postings := range []float64{1e2, 1e4, 1e6, 1e8} {
			for _, share := range []float64{0.01, 0.3} {
				for _, k := range []float64{1, 10, 1000} {
					v := vector{
						perQuery: 1, perTerm: terms, perRoot: math.Sqrt(postings), perHit: min(k, postings), perPosting: postings,
						perVisit: terms * min(postings, terms*(1+postings/2048)), perRootShortest: math.Sqrt(share * postings),
						perShortest: share * postings, perSecond: 2 * share * postings,
					}
					if !onCPU { // a batch of k such queries: one of one query tells its cost from the query's by nothing
						for i := range v {
							v[i] *= k
						}
						v[perByte], v[perBatch], v[perLog] = k*share*postings, 1, math.Log1p(k)
					}
					f.prior.expect(&v, p.times(&v))
				}
			}
			for _, kind := range []int{perTree, perTotal} { // trees, and counts
				v := vector{perQuery: 1, perTerm: terms, perShortest: 0.1 * postings, perSecond: 0.2 * postings}
				v[kind] = postings
				if kind == perTree {
					v[perRoot], v[perHit], v[perPosting], v[perVisit] = math.Sqrt(postings), 10, postings, terms*min(postings, terms*(1+postings/2048))
				}
				if !onCPU {
					v[perBatch], v[perLog] = 1, math.Log1p(10)
				}
				f.prior.expect(&v, p.times(&v))
			}
			bits := vector{perBit: postings}
			f.prior.expect(&bits, p.times(&bits))
		}
	}
	for i := perSparse; i < prices && onCPU; i++ { // each alone: they do not go together in one way
		f.prior.a[i][i] += weak * usualShare * usualShare
		f.prior.b[i] += float64(weak*usualShare*usualShare) * p[i]
	}
}

// times is the cost of features at prices.
func (p *vector) times(v *vector) float64 { return dot(p[:], v[:]) }

// note adds a sample that was seen at a time, and notes when it is time to solve.
func (f *fit) note(v *vector, cost float64, now time.Time) {
	passed := 0.0
	if !f.last.IsZero() {
		passed = float64(now.Sub(f.last)) / float64(memoryTime)
	}
	f.last = now
	fading := 1 - min(1.0/atLeast, max(passed, 1/float64(f.memory)))
	for i := range f.seen.a {
		for j := range f.seen.a[i] {
			f.seen.a[i][j] *= fading
		}
		f.seen.b[i] *= fading
	}
	estimate := max(1, f.prices.times(v))
	if f.side == onDevice {
		f.seen.add(v, min(cost, mostSurprising*estimate), 1/(estimate*estimate))
	} else {
		cost = max(1, cost)
		f.seen.add(v, cost, 1/(cost*estimate))
	}
	f.count++
	f.fresh++
	often := f.fresh >= min(f.memory, 1+f.count/5) // at first
	if pause := now.Sub(f.solved); often && (f.count < f.memory || pause == 0) || pause >= solvePause {
		f.fresh, f.solved, f.due = 0, now, true
	}
}

// expect adds a sample that was not measured on this machine.
func (e *equations) expect(v *vector, cost float64) {
	cost = max(1, cost)
	e.add(v, cost, weak/(cost*cost))
}

// add adds a sample with a weight.
func (e *equations) add(v *vector, cost, w float64) {
	for i, x := range v {
		if x == 0 {
			continue
		}
		for j, y := range v {
			e.a[i][j] += float64(w * float64(x*y))
		}
		e.b[i] += float64(w * float64(x*cost))
	}
}

// solve minimizes coordinate by coordinate from the current prices, which converges for least
// squares with bounds.
func (f *fit) solve() {
	f.due = false
	e := f.seen
	for i := range e.a {
		for j := range e.a[i] {
			e.a[i][j] += f.prior.a[i][j]
		}
		e.b[i] += f.prior.b[i]
	}
	var memory [prices]int
	occur := memory[:0] // features that occur in samples
	for i := range f.prices {
		if e.a[i][i] > 0 {
			occur = append(occur, i)
		}
	}
	for range sweeps {
		moved := 0.0
		for _, i := range occur {
			slope := e.b[i]
			for _, j := range occur {
				if j != i {
					slope -= float64(e.a[i][j] * f.prices[j])
				}
			}
			p := max(0, slope/e.a[i][i])
			moved = max(moved, math.Abs(p-f.prices[i])/max(p, f.prices[i], 1e-9))
			f.prices[i] = p
		}
		if moved < settled {
			return
		}
	}
}
