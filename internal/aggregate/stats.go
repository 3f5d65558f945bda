package aggregate

import (
	"math/big"
	"slices"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// A StatsResult has numbers of values. Sum, Mean and Variance are those of exact arithmetic, rounded
// once to a float64. Of times they are in seconds since 1970, and squares of seconds.
type StatsResult struct {
	Count    int     `json:"count"` // values
	Min      any     `json:"min"`   // int64, uint64, float64, bool or time.Time; nil without values
	Max      any     `json:"max"`
	Sum      float64 `json:"sum"`
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"` // of the population: the mean of the squared distances from the mean
}

// A statsNode measures the numbers, or times, of documents.
type statsNode struct {
	base
	measures []measurement // by owner
}

// A measurement is what is known of some values.
type measurement struct {
	n          int64
	least      uint64 // keys, in the state of a segment
	most       uint64
	total      total
	leastValue columns.Value // in the state of the run
	mostValue  columns.Value
}

// extend adds values to a measurement but for their total.
func (s *measurement) extend(values int64, least, most uint64) {
	if s.n == 0 {
		s.least, s.most = least, most
	}
	s.n += values
	s.least, s.most = min(s.least, least), max(s.most, most)
}

func (n *statsNode) collect(in *input) error {
	if n.column == nil {
		return nil
	}
	m := &n.nums.segments[n.state.segment]
	zone, some := n.column.Zone(in.tile)
	if !some || !m.some {
		return nil
	}
	kind := n.column.Kind()
	small := kind == columns.Int && isSmall(zone.Least) && isSmall(zone.Greatest)
	if small && in.set != nil {
		sum, ok, err := n.column.Sum(in.tile, in.whole())
		if ok {
			n.addSum(in.owner, zone.Least, &sum)
		}
		if ok || err != nil {
			return err
		}
	}
	e := n.e
	if err := n.reader.join(in, e); err != nil {
		return err
	}
	switch {
	case len(e.keys) == 0:
		return nil
	case in.set == nil && small:
		n.addSmallPairs(e)
		return nil
	case in.set == nil:
	case small:
		n.addSmall(in.owner, e.keys)
		return nil
	case kind == columns.Float:
		n.addFloats(in.owner, e.keys)
		return nil
	}
	for i, key := range e.keys {
		if key < m.lo || key > m.hi {
			continue
		}
		owner := in.owner
		if in.set == nil {
			owner = e.owners[i]
		}
		if int(owner) >= len(n.measures) {
			n.measures = grow(n.measures, owner)
		}
		s := &n.measures[owner]
		s.extend(1, key, key)
		if kind == columns.Terms {
			s.total.addValue(m.ofValues[key-m.lo])
			continue
		}
		s.total.add(kind, key)
	}
	return nil
}

// isSmall reports whether the key of an integer is one of those whose squares can be added once for each
// document of a tile.
func isSmall(key uint64) bool {
	i := columns.KeyInt(key)
	return -1<<25 < i && i < 1<<25
}

// addSum adds the sum of small integers of one owner, as distances from that of a key. All is computed
// modulo 1<<64, which the sums are far below.
func (n *statsNode) addSum(owner uint32, from uint64, of *columns.Sum) {
	if of.Values == 0 {
		return
	}
	n.measures = grow(n.measures, owner)
	s := &n.measures[owner]
	s.extend(int64(of.Values), of.Least, of.Greatest)
	values, base := uint64(of.Values), uint64(columns.KeyInt(from))
	sum := values*base + of.Distances
	s.total.addSums(int64(sum), values*base*base+2*base*of.Distances+of.Squares)
}

// addSmall adds small integers of one owner, of which sums of some are kept in 64 bits.
func (n *statsNode) addSmall(owner uint32, keys []uint64) {
	n.measures = grow(n.measures, owner)
	s := &n.measures[owner]
	s.extend(int64(len(keys)), slices.Min(keys), slices.Max(keys))
	for len(keys) > 0 {
		some := keys[:min(len(keys), 1<<12)]
		keys = keys[len(some):]
		sum, squares := int64(0), int64(0)
		for _, key := range some {
			i := columns.KeyInt(key)
			sum += i
			squares += i * i
		}
		s.total.addSums(sum, uint64(squares))
	}
}

// addSmallPairs adds small integers of several owners.
func (n *statsNode) addSmallPairs(e *entries) {
	n.measures = grow(n.measures, slices.Max(e.owners))
	measures, owners := n.measures, e.owners[:len(e.keys)]
	for i, key := range e.keys {
		s := &measures[owners[i]]
		s.extend(1, key, key)
		v := columns.KeyInt(key)
		s.total.addSums(v, uint64(v*v))
	}
}

// addFloats adds floats of one owner.
func (n *statsNode) addFloats(owner uint32, keys []uint64) {
	n.measures = grow(n.measures, owner)
	s := &n.measures[owner]
	s.extend(int64(len(keys)), slices.Min(keys), slices.Max(keys))
	b := binadesPool.Get().(*binades)
	for some := range slices.Chunk(keys, mostInBinades) {
		s.total.addKeys(some, b)
	}
	binadesPool.Put(b)
}

// addValue adds the value of a term.
func (t *total) addValue(v columns.Value) {
	if v.Kind == columns.Terms { // a time beyond the years of kind Time
		at := v.Any().(time.Time)
		t.addBig(new(big.Int).Add(new(big.Int).Mul(big.NewInt(at.Unix()), big.NewInt(1e9)), big.NewInt(int64(at.Nanosecond()))))
		return
	}
	t.add(v.Kind, v.Key)
}

func (n *statsNode) merge(from node, owners []uint32) error {
	f := from.(*statsNode)
	if f.column == nil {
		return nil
	}
	m, kind := &n.nums.segments[f.state.segment], f.column.Kind()
	for i := range f.measures {
		s := &f.measures[i]
		if s.n == 0 {
			continue
		}
		n.measures = grow(n.measures, owners[i])
		t := &n.measures[owners[i]]
		least, most := m.value(kind, s.least), m.value(kind, s.most)
		if t.n == 0 || columns.Compare(least, t.leastValue) < 0 {
			t.leastValue = least
		}
		if t.n == 0 || columns.Compare(most, t.mostValue) > 0 {
			t.mostValue = most
		}
		t.n += s.n
		t.total.merge(&s.total)
	}
	return nil
}

func (n *statsNode) result(owner uint32) (*Result, error) {
	s := &StatsResult{}
	if int(owner) >= len(n.measures) || n.measures[owner].n == 0 {
		return &Result{Stats: s}, nil
	}
	m := &n.measures[owner]
	s.Count, s.Min, s.Max = int(m.n), plain(m.leastValue), plain(m.mostValue)
	if special := m.total.special; special != 0 {
		s.Sum, s.Mean, s.Variance = special, special, special-special
		return &Result{Stats: s}, nil
	}
	if n.nums.class != times && m.total.ofIntegers(m.n, s) {
		return &Result{Stats: s}, nil
	}
	sum, squares := m.total.rat()
	if n.nums.class == times {
		second := big.NewRat(1e9, 1)
		sum.Quo(sum, second)
		squares.Quo(squares, second.Mul(second, second))
	}
	count := new(big.Rat).SetInt64(m.n)
	s.Sum = float(sum)
	mean := new(big.Rat).Quo(sum, count)
	s.Mean = float(mean)
	squares.Quo(squares, count)
	s.Variance = float(squares.Sub(squares, mean.Mul(mean, mean)))
	return &Result{Stats: s}, nil
}

func (n *statsNode) metric(owner uint32, m Metric) (float64, bool) {
	r, err := n.result(owner)
	if err != nil || r.Stats.Count == 0 {
		return 0, err == nil && m.Name == "count"
	}
	switch m.Name {
	case "count":
		return float64(r.Stats.Count), true
	case "min":
		return number(r.Stats.Min), true
	case "max":
		return number(r.Stats.Max), true
	case "sum":
		return r.Stats.Sum, true
	case "mean":
		return r.Stats.Mean, true
	}
	return r.Stats.Variance, true
}

// number returns a value as a number to order by: of a time, its seconds since 1970.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	case time.Time:
		return float64(v.Unix()) + float64(v.Nanosecond())/1e9
	}
	return 0
}

const measurementBytes = 200

func (n *statsNode) bytes() int64              { return measurementBytes * int64(cap(n.measures)) }
func (n *statsNode) heaviest() (string, int64) { return n.heaviestOf(n.bytes()) }
