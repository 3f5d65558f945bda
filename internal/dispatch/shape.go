package dispatch

import (
	"math"
	"time"
)

// A shape corrects the sum of prices of queries with a sample, by path. Their costs are not quite sums:
// the longer a list is, the less of it is in a near cache; what one list excludes is not looked up in the
// next; and a sample that expects little errs most. So the sum is multiplied by the exponential of a
// polynomial of degree 2 in the logarithms of some features. The sum has fixed prices, and the model
// learns the polynomial.
//
// It minimizes weighted squares of the logarithm of the cost over the estimate, with a preference for the
// polynomial that was fitted offline (shapes.go). Unusually large errors weigh less, and those of slow
// runs still less: the machine was busy with other things then.
//
// With sums alone, the mean error is 11 to 34 % (least absolute errors, fitted to both collections), and
// with this 9 to 21 (bench/results/2026-11-26-estimates-shape.md).
type shape struct {
	known polynomial
	first polynomial    // with which it began
	seen  *shapeSquares // nil until there is a sample
	usual float64       // size of an error of the logarithm, smoothed

	ran    int // queries
	count  int // of samples: those that were noted
	fresh  int // of them since the last solution
	solved time.Time
	due    bool // it is time to solve
}

const (
	shapeLogs  = 10                                        // logarithms of features
	shapeTerms = 1 + shapeLogs + shapeLogs*(shapeLogs+1)/2 // of the polynomial
	shapeUnit  = 8                                         // of the logarithms to the base 2
	shapeMost  = 3                                         // the polynomial's value is between this and its negative

	shapeMemory = 2048    // how many samples it remembers
	shapePrior  = 2       // weight of the first polynomial, as samples in which one term is 1 and others are 0
	mostGrown   = 1 << 60 // see shapeSquares

	// To note a sample takes some 3 µs. After the first ones, one query in some is a sample.
	shapeFirst, shapeOneIn = 256, 4

	leastUsual, usualLag = 0.1, 1.0 / 64
)

type (
	polynomial [shapeTerms]float64
	logs       [shapeLogs]float64
)

// logsOf returns the logarithms for a path that has been sampled, given the query's features and their
// price.
func (f *Features) logsOf(p path, v *vector, price float64) (x logs) {
	switch p {
	case oneTile, oneLead, oneTile + many, oneLead + many:
		all := 0.0 // AND begins without a threshold
		if f.All {
			all = 1 << shapeUnit
		}
		x = logs{price, all, v[perVisit], float64(f.Bytes), float64(f.Blocks), v[perShortest], v[perHit], v[perLiveBlock], v[perLive], v[perHighTile]}
	case byLead, byLead + many:
		x = logs{price, v[perTerm], v[perVisit], float64(f.Bytes), v[perShortest], v[perLookup], v[perTouched], v[perCandidate], v[perLiveOther], v[perLiveBlock]}
	default:
		x = logs{price, v[perTerm], v[perVisit], float64(f.Blocks), v[perSparse], v[perSparseList], v[perOther], v[perEssential], v[perRootShortest], v[perHighTile]}
	}
	for i := range x {
		x[i] = log2(x[i]) / shapeUnit
	}
	return x
}

// log2 is roughly the logarithm of 1+x to the base 2: between powers of two it is a straight line.
func log2(x float64) float64 {
	const one, unit = 1023 << 52, 1 << 52
	return float64(math.Float64bits(1+x)-one) / unit
}

// setTerms sets the terms of a polynomial. It knows nothing about logarithms above the highest ones that
// the first polynomial was fitted to, so they count as these.
func (x *logs) setTerms(t *polynomial, highest *logs) {
	for i := range x {
		x[i] = min(x[i], highest[i])
	}
	t[0] = 1
	n := 1 + copy(t[1:], x[:])
	for i, a := range x {
		for _, b := range x[:i+1] {
			t[n] = a * b
			n++
		}
	}
}

// termsOf sets the terms for a query with a sample.
func (f *Features) termsOf(t *polynomial, p path, v *vector, price float64) {
	x := f.logsOf(p, v, price)
	x.setTerms(t, &highestLogs[p-union])
}

// value is the logarithm of the factor by which the sum of prices is multiplied.
func (p *polynomial) value(t *polynomial) float64 {
	return max(-shapeMost, min(shapeMost, dot(p[:], t[:])))
}

// times is that factor.
func (p *polynomial) times(t *polynomial) float64 { return math.Exp(p.value(t)) }

// shapeSquares are the normal equations of the samples that a shape has seen, for the difference from its
// first polynomial. Instead of old samples losing weight, new ones gain it.
type shapeSquares struct {
	a     [shapeTerms][shapeTerms]float64 // the lower half is used
	b     polynomial
	grown float64 // weight of the next sample
}

// begin starts from a polynomial.
func (s *shape) begin(first *polynomial) {
	*s = shape{known: *first, first: *first, usual: leastUsual}
}

// wants reports whether a query that has run is to be a sample.
func (s *shape) wants() bool {
	s.ran++
	return s.count < shapeFirst || s.ran%shapeOneIn == 0
}

// note adds a sample with these terms, which cost so many times the sum of its prices.
func (s *shape) note(t *polynomial, times float64, now time.Time) {
	if s.seen == nil {
		s.seen = &shapeSquares{grown: 1}
	}
	cost := math.Log(times)
	miss := cost - s.known.value(t)
	s.usual += (math.Abs(miss) - s.usual) * usualLag
	weight := min(1, max(leastUsual, s.usual)/2/math.Abs(miss))
	if miss > 0 {
		weight *= weight
	}
	s.seen.add(t, cost-s.first.value(t), weight)
	s.count++
	s.fresh++
	often := s.fresh >= min(shapeMemory/4, 16+s.count/4)
	if pause := now.Sub(s.solved); often && (s.count < shapeMemory || pause == 0 || pause >= solvePause) {
		s.fresh, s.solved, s.due = 0, now, true
	}
}

func (e *shapeSquares) add(t *polynomial, rest, weight float64) {
	weight *= e.grown
	for i, x := range t {
		if x == 0 {
			continue
		}
		wx := weight * x
		row := e.a[i][:i+1]
		for j := range row {
			row[j] += float64(wx * t[j])
		}
		e.b[i] += float64(wx * rest)
	}
	if e.grown *= shapeMemory / (shapeMemory - 1.0); e.grown > mostGrown {
		for i := range e.a {
			for j := range i + 1 {
				e.a[i][j] /= e.grown
			}
			e.b[i] /= e.grown
		}
		e.grown = 1
	}
}

// solve finds the polynomial, by Cholesky's decomposition.
func (s *shape) solve() {
	s.due = false
	e := *s.seen
	for i := range e.a {
		row := &e.a[i]
		row[i] += shapePrior * e.grown
		for j := range i {
			row[j] = (row[j] - dot(row[:j], e.a[j][:j])) / e.a[j][j]
		}
		row[i] = math.Sqrt(row[i] - dot(row[:i], row[:i]))
		e.b[i] = (e.b[i] - dot(row[:i], e.b[:i])) / row[i]
	}
	for i := shapeTerms - 1; i >= 0; i-- {
		e.b[i] /= e.a[i][i]
		for j, x := range e.a[i][:i] {
			e.b[j] -= float64(x * e.b[i])
		}
		s.known[i] = s.first[i] + e.b[i]
	}
}

// dot adds up products in four sums, because one would wait for each addition.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var sums [4]float64
	for len(a) >= 4 {
		sums[0] += float64(a[0] * b[0])
		sums[1] += float64(a[1] * b[1])
		sums[2] += float64(a[2] * b[2])
		sums[3] += float64(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		sums[0] += float64(x * b[i])
	}
	return sums[0] + sums[1] + (sums[2] + sums[3])
}
