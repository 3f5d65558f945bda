package aggregate

import (
	"fmt"
	"math"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// A scale divides numbers or times into steps: the buckets of a histogram. A step is an integer that
// never falls as values rise.
type scale interface {
	class() class

	// StepOf returns the step of a value of the class.
	StepOf(v columns.Value) (int64, error)

	// next returns the step after one.
	next(step int64) int64

	// first returns about the first value of a step, as a key of a kind other than Terms.
	first(kind columns.Kind, step int64) uint64

	// key returns what a result says of a step.
	key(step int64) any
}

// Steps are how the values of a field fall on a scale. If there are few steps, all of them are
// listed, and a grid of their bounds finds those of keys. Then the key of a bucket is its place
// in the list, else the step itself.
type steps struct {
	scale    scale
	measure  measure
	listed   []int64 // ascending; nil if there are too many
	segments []segmentSteps
}

// mostListed is the number of steps that are listed at most.
const mostListed = 1 << 16

// openSteps divides the values of a field. docs is how many documents there are to count.
func openSteps(f *field, sc scale, docs int64) (*steps, error) {
	s := &steps{scale: sc, segments: make([]segmentSteps, len(f.columns))}
	var err error
	if s.measure, err = f.measureOf(sc.class()); err != nil {
		return nil, err
	}
	least, most, some := int64(math.MaxInt64), int64(math.MinInt64), false
	for i := range s.measure.segments {
		m := &s.measure.segments[i]
		if !m.some {
			continue
		}
		kind := f.columns[i].Kind()
		from, err := sc.StepOf(m.value(kind, m.lo))
		if err != nil {
			return nil, err
		}
		to, err := sc.StepOf(m.value(kind, m.hi))
		if err != nil {
			return nil, err
		}
		least, most, some = min(least, from), max(most, to), true
	}
	if !some {
		return s, nil
	}
	limit := int(min(mostListed, 64+docs))
	for step := least; step <= most && len(s.listed) <= limit; step = sc.next(step) {
		s.listed = append(s.listed, step)
	}
	if len(s.listed) > limit {
		s.listed = nil
	}
	for i := range s.segments {
		if s.measure.segments[i].some {
			if err := s.openSegment(i, f.columns[i]); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// stepOf returns the step of the key of a bucket.
func (s *steps) stepOf(key uint64) int64 {
	if s.listed != nil {
		return s.listed[key]
	}
	return int64(key)
}

// span returns the number of keys of buckets, or 0 if any are possible.
func (s *steps) span() uint64 { return uint64(len(s.listed)) }

// segmentSteps are the steps of the keys of a segment.
type segmentSteps struct {
	from      uint64        // place of the first listed step
	grid      *columns.Grid // of the listed steps from there on
	ofOrdinal []uint64      // of kind Terms: keys of buckets of lo..hi
}

func (s *steps) openSegment(i int, c *columns.Column) error {
	kind := c.Kind()
	g, m := &s.segments[i], &s.measure.segments[i]
	if kind == columns.Terms {
		g.ofOrdinal = make([]uint64, len(m.ofValues))
		for j, v := range m.ofValues {
			step, err := s.scale.StepOf(v)
			if err != nil {
				return err
			}
			g.ofOrdinal[j] = uint64(step)
			if s.listed != nil {
				place, _ := slices.BinarySearch(s.listed, step)
				g.ofOrdinal[j] = uint64(place)
			}
		}
		return nil
	}
	if s.listed == nil {
		return nil
	}
	// Bounds of scales are exact: they are those of StepOf. Its errors are of values outside lo..hi.
	stepOf := func(key uint64) int64 {
		step, _ := s.scale.StepOf(columns.Value{Kind: kind, Key: key})
		return step
	}
	place, _ := slices.BinarySearch(s.listed, stepOf(m.lo))
	last, _ := slices.BinarySearch(s.listed, stepOf(m.hi))
	g.from = uint64(place)
	low := m.lo
	bounds := make([]uint64, 0, last-place)
	for _, step := range s.listed[place+1 : last+1] {
		low = firstKey(stepOf, step, low, m.hi, s.scale.first(kind, step))
		bounds = append(bounds, low)
	}
	g.grid = columns.NewGrid(c, bounds)
	return nil
}

// firstKey returns the first key in low..high whose step is at least step, which that of high is. It
// seeks around a guess.
func firstKey(stepOf func(uint64) int64, step int64, low, high, guess uint64) uint64 {
	guess = max(low, min(guess, high))
	if stepOf(guess) >= step {
		high = guess
		for d := uint64(1); high > low; d *= 8 {
			if d > high-low || d == 0 {
				break
			}
			if stepOf(high-d) < step {
				low = high - d + 1
				break
			}
			high -= d
		}
	} else {
		low = guess + 1
		for d := uint64(1); low < high; d *= 8 {
			if d >= high-low || d == 0 {
				break
			}
			if stepOf(low+d) >= step {
				high = low + d
				break
			}
			low += d + 1
		}
	}
	for low < high {
		middle := low + (high-low)/2
		if stepOf(middle) >= step {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// place returns the key of the bucket of a key in lo..hi.
func (s *steps) place(segment int, kind columns.Kind, key uint64) (uint64, error) {
	g, m := &s.segments[segment], &s.measure.segments[segment]
	switch {
	case kind == columns.Terms:
		return g.ofOrdinal[key-m.lo], nil
	case s.listed == nil:
		step, err := s.scale.StepOf(columns.Value{Kind: kind, Key: key})
		return uint64(step), err
	}
	return g.from + uint64(g.grid.Step(key)), nil
}

// keysOf returns the first and the last key of a listed step, of a kind other than Terms.
func (s *steps) keysOf(segment int, place uint64) (lo, hi uint64) {
	g, m := &s.segments[segment], &s.measure.segments[segment]
	bounds, i := g.grid.Bounds(), int(place-g.from)
	lo, hi = m.lo, m.hi
	if i > 0 {
		lo = bounds[i-1]
	}
	if i < len(bounds) {
		hi = bounds[i] - 1
	}
	return lo, hi
}

// count adds the documents of a set to a row by the steps of their keys, all in lo..hi. done is false if that takes
// looking at each.
func (s *steps) count(segment int, c *columns.Column, in *input, row []uint32) (done bool, err error) {
	g := &s.segments[segment]
	if g.grid == nil {
		return false, nil
	}
	return c.CountSteps(in.tile, in.whole(), g.grid, row[g.from:])
}

// places replaces keys, all in lo..hi, by those of their buckets.
func (s *steps) places(segment int, kind columns.Kind, keys []uint64) error {
	g, m := &s.segments[segment], &s.measure.segments[segment]
	switch {
	case kind == columns.Terms:
		for i, k := range keys {
			keys[i] = g.ofOrdinal[k-m.lo]
		}
	case s.listed == nil:
		for i, k := range keys {
			step, err := s.scale.StepOf(columns.Value{Kind: kind, Key: k})
			if err != nil {
				return err
			}
			keys[i] = uint64(step)
		}
	default:
		g.grid.Steps(keys, g.from)
	}
	return nil
}

// StepOf implements scale.
func (h Histogram) StepOf(v columns.Value) (int64, error) {
	var x float64
	switch i, isInt := v.In(columns.Int); {
	case isInt && math.Abs(float64(columns.KeyInt(i))) < 1<<53:
		if h.integral() {
			return floorDiv(columns.KeyInt(i)-int64(h.Offset), int64(h.Interval)), nil
		}
		x = float64(columns.KeyInt(i))
	case v.Kind == columns.Int:
		x = float64(columns.KeyInt(v.Key))
	case v.Kind == columns.Uint:
		x = float64(v.Key)
	default:
		f, _ := v.In(columns.Float)
		x = columns.KeyFloat(f)
	}
	q := math.Floor((x - h.Offset) / h.Interval)
	if !(math.Abs(q) < mostSteps) {
		return 0, fmt.Errorf("the value %v is more than %v intervals of %v away from the offset", v.Any(), float64(mostSteps), h.Interval)
	}
	step := int64(q)
	for h.start(step) > x {
		step--
	}
	for h.start(step+1) <= x {
		step++
	}
	return step, nil
}

// mostSteps is how many intervals a value may be away from the offset: starts of steps must be
// different float64.
const mostSteps = 1 << 52

// integral reports whether the bounds of steps are integers that int64 and float64 have.
func (h Histogram) integral() bool {
	return h.Interval == math.Trunc(h.Interval) && h.Offset == math.Trunc(h.Offset) && h.Interval < 1<<53 && math.Abs(h.Offset) < 1<<53
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

func (h Histogram) start(step int64) float64 { return h.Offset + float64(float64(step)*h.Interval) }

// first implements scale.
func (h Histogram) first(kind columns.Kind, step int64) uint64 {
	x := h.start(step)
	switch kind {
	case columns.Float:
		return columns.FloatKey(x)
	case columns.Int:
		if x = math.Ceil(x); math.Abs(x) < 1<<63 {
			return columns.IntKey(int64(x))
		}
	case columns.Uint:
		if x = math.Ceil(x); x >= 0 && x < 1<<64 {
			return uint64(x)
		}
	}
	return 0
}

func (Histogram) class() class          { return numbers }
func (Histogram) next(step int64) int64 { return step + 1 }
func (h Histogram) key(step int64) any  { return h.start(step) }
