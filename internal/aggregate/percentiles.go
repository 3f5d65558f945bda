package aggregate

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

// A percentilesNode keeps the keys of all numbers, or times, and selects among them at the end.
//
// The value at p percent is the least one such that p percent of all values are not above it: the
// value of a document, never one in between.
type percentilesNode struct {
	base
	percents []float64
	keys     []keyList         // by owner
	parts    [][][]uint64      // by owner, in the state of the run: keys of a goroutine in a segment
	values   [][]columns.Value // by owner, in the state of the run, if segments have different kinds
	held     int64             // bytes of keys, parts or values

	counts []uint32 // of the only owner, by key - field.base, once there are many values; then there are no keys or parts

	found *part // of a Partial: there is nothing else
}

func (n *percentilesNode) collect(in *input) error {
	if n.column == nil {
		return nil
	}
	m := &n.nums.segments[n.state.segment]
	zone, some := n.column.Zone(in.tile)
	if !some || !m.some {
		return nil
	}
	if n.counts != nil && zone.Docs == zone.Values {
		return n.column.Count(in.tile, in.whole(), n.field.base, n.counts)
	}
	e := n.e
	if err := n.reader.join(in, e); err != nil {
		return err
	}
	if len(e.keys) == 0 {
		return nil
	}
	if n.counts != nil {
		n.count([][]uint64{e.keys})
		return nil
	}
	n.held += 8 * int64(len(e.keys))
	all := zone.Least >= m.lo && zone.Greatest <= m.hi
	if in.set != nil && all {
		n.keys = grow(n.keys, in.owner)
		n.keys[in.owner].add(e.keys, n.state)
		if n.countable() && uint64(n.held)/8*countsPerValue > n.field.span {
			n.beginCounts()
		}
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
		n.keys = grow(n.keys, owner)
		e.keys[0] = key // which is read already
		n.keys[owner].add(e.keys[:1], n.state)
	}
	return nil
}

// Values are counted by key, not kept, once there is one for countsPerValue counters, which take as much memory,
// unless these are too many for a cache.
const (
	countsPerValue = 2
	mostCounts     = 1 << 22
)

// countable reports whether values may be counted by key.
func (n *percentilesNode) countable() bool {
	return n.depth == 0 && !n.mixed() && n.field.kind != columns.Terms && n.field.span-1 < mostCounts
}

// beginCounts goes over from keys to counts.
func (n *percentilesNode) beginCounts() {
	n.counts = make([]uint32, n.field.span)
	n.held = 4 * int64(len(n.counts))
	n.count(n.keys[0].parts())
	n.keys = nil
}

// mergeCounts is merge if either node has counts.
func (n *percentilesNode) mergeCounts(f *percentilesNode) {
	switch {
	case n.counts == nil:
		n.counts, n.held = f.counts, f.held
		for _, parts := range n.parts {
			n.count(parts)
		}
		n.parts = nil
	case f.counts != nil:
		for i, values := range f.counts {
			n.counts[i] += values
		}
	default:
		for i := range f.keys {
			n.count(f.keys[i].parts())
		}
	}
}

// count counts the keys of a list.
func (n *percentilesNode) count(parts [][]uint64) {
	for _, keys := range parts {
		for _, key := range keys {
			n.counts[key-n.field.base]++
		}
	}
}

// A keyList is many keys. Long lists are in parts, so that they need not be copied to grow.
type keyList struct {
	full [][]uint64
	last []uint64
}

const partKeys = 16 << 10

// partsPool has memory for parts of lists.
var partsPool = sync.Pool{New: func() any { return new([partKeys]uint64) }}

// add adds keys. A list gets a part of the state once it fills half of it.
func (l *keyList) add(keys []uint64, s *state) {
	n := len(l.last) + len(keys)
	if n > cap(l.last) && n > partKeys/2 {
		part := partsPool.Get().(*[partKeys]uint64)
		s.parts = append(s.parts, part)
		if cap(l.last) < partKeys { // a short list grows into its first part
			l.last = append(part[:0], l.last...)
		} else {
			l.full, l.last = append(l.full, l.last), part[:0]
		}
	}
	l.last = append(l.last, keys...)
}

func (l *keyList) parts() [][]uint64 {
	if len(l.last) == 0 {
		return l.full
	}
	return append(l.full, l.last)
}

// mixed reports whether keys of segments do not compare.
func (n *percentilesNode) mixed() bool { return n.field.interned }

func (n *percentilesNode) merge(from node, owners []uint32) error {
	f := from.(*percentilesNode)
	if n.counts != nil || f.counts != nil {
		n.mergeCounts(f)
		return nil
	}
	n.held += f.held
	for i := range f.keys {
		parts := f.keys[i].parts()
		if len(parts) == 0 {
			continue
		}
		owner := owners[i]
		if !n.mixed() {
			n.parts = grow(n.parts, owner)
			n.parts[owner] = append(n.parts[owner], parts...)
			continue
		}
		n.values = grow(n.values, owner)
		m, kind := &n.nums.segments[f.state.segment], f.column.Kind()
		for _, keys := range parts {
			for _, key := range keys {
				n.values[owner] = append(n.values[owner], m.value(kind, key))
			}
			n.held += (valueBytes - 8) * int64(len(keys))
		}
	}
	return nil
}

const valueBytes = 32

// at returns the values at percents, ascending; nil without values.
func (n *percentilesNode) at(owner uint32, percents []float64) ([]columns.Value, error) {
	if n.found != nil {
		return n.found.valuesAt(owner, percents)
	}
	if n.mixed() {
		if int(owner) >= len(n.values) || len(n.values[owner]) == 0 {
			return nil, nil
		}
		values := n.values[owner]
		slices.SortFunc(values, columns.Compare)
		var found []columns.Value
		for _, p := range percents {
			found = append(found, values[rankOf(p, len(values))])
		}
		return found, nil
	}
	var keys []uint64
	if n.counts != nil {
		total := 0
		for _, values := range n.counts {
			total += int(values)
		}
		keys = make([]uint64, len(percents))
		findCounted(n.counts, ranksOf(percents, total), keys, n.field.base)
	} else {
		if int(owner) >= len(n.parts) || len(n.parts[owner]) == 0 {
			return nil, nil
		}
		total := 0
		for _, keys := range n.parts[owner] {
			total += len(keys)
		}
		keys = selectRanks(n.parts[owner], ranksOf(percents, total), n.field.base, n.field.base+n.field.span-1)
	}
	var found []columns.Value
	for _, key := range keys {
		v, err := n.field.value(key - n.field.base)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
}

// ranksOf returns the ranks of percents of n values.
func ranksOf(percents []float64, n int) []int {
	ranks := make([]int, len(percents))
	for i, p := range percents {
		ranks[i] = rankOf(p, n)
	}
	return ranks
}

// rankOf returns which of n values, counted from 0, is at p percent.
func rankOf(p float64, n int) int {
	exact := p / 100 * float64(n)
	rank := int(math.Ceil(exact))
	// p/100 is rounded: of ten values, 70 percent are 7, not 8.
	if r := math.Round(exact); math.Abs(exact-r) < 1e-9*max(1, r) {
		rank = int(r)
	}
	return max(0, min(n, rank)-1)
}

func (n *percentilesNode) result(owner uint32) (*Result, error) {
	values, err := n.at(owner, n.percents)
	r := &Result{}
	for i := range n.percents {
		if values == nil {
			r.Percentiles = append(r.Percentiles, nil)
			continue
		}
		r.Percentiles = append(r.Percentiles, plain(values[i]))
	}
	return r, err
}

func (n *percentilesNode) metric(owner uint32, m Metric) (float64, bool) {
	values, err := n.at(owner, []float64{m.Percent})
	if err != nil || values == nil {
		return 0, false
	}
	return number(plain(values[0])), true
}

func (n *percentilesNode) bytes() int64 {
	return n.held + 48*int64(cap(n.keys)) + 24*int64(cap(n.parts)+cap(n.values))
}
func (n *percentilesNode) heaviest() (string, int64) { return n.heaviestOf(n.bytes()) }

// selectRanks returns the keys at some ranks, which ascend, of all parts together. No key is outside of
// least..greatest.
func selectRanks(parts [][]uint64, ranks []int, least, greatest uint64) []uint64 {
	found := make([]uint64, len(ranks))
	selectDigits(parts, ranks, found, least, greatest)
	return found
}

// sorted is the number of keys up to which they are sorted.
const sorted = 256

// radix returns how many bits are looked at in a pass over n keys: as many as give a digit 16 keys on
// average, so that its counter costs little, but no more than a cache of 256 KB holds.
func radix(n int) int { return max(4, min(bits.Len(uint(n))-4, 16)) }

// A digit is a value of the bits that a pass looks at, at which there are ranks.
type digit struct {
	value       uint64
	before      int // keys with lower ones
	first, last int // of the ranks
	kept        []uint64
}

// selectDigits is selectRanks into found. It counts keys by the highest bits of their distance from the
// least, and goes on with those that have the digits of the ranks. It changes ranks.
func selectDigits(parts [][]uint64, ranks []int, found []uint64, base, greatest uint64) {
	total := 0
	for _, keys := range parts {
		total += len(keys)
	}
	if total <= sorted {
		all := slices.Concat(parts...)
		slices.Sort(all)
		for i, r := range ranks {
			found[i] = all[r]
		}
		return
	}
	width := bits.Len64(greatest - base)
	shift := max(0, width-radix(total)) & 63
	counts := make([]uint32, 1<<(width-shift))
	for _, keys := range parts {
		for _, k := range keys {
			counts[(k-base)>>shift]++
		}
	}
	if shift == 0 {
		findCounted(counts, ranks, found, base)
		return
	}
	digits := digitsOf(counts, ranks)
	// From here on, counts are numbers of digits, from 1 on.
	clear(counts)
	for i, d := range digits {
		counts[d.value] = uint32(i) + 1
	}
	for _, keys := range parts {
		for _, k := range keys {
			if i := counts[(k-base)>>shift]; i > 0 {
				d := &digits[i-1]
				d.kept = append(d.kept, k)
			}
		}
	}
	for _, d := range digits {
		within := ranks[d.first : d.last+1]
		for i := range within {
			within[i] -= d.before
		}
		selectDigits([][]uint64{d.kept}, within, found[d.first:d.last+1], slices.Min(d.kept), slices.Max(d.kept))
	}
}

// findCounted finds the keys at some ranks, which ascend, by the number of values of each key from base on.
func findCounted(counts []uint32, ranks []int, found []uint64, base uint64) {
	at, before := 0, 0
	for i, rank := range ranks {
		for before+int(counts[at]) <= rank {
			before += int(counts[at])
			at++
		}
		found[i] = base + uint64(at)
	}
}

// digitsOf returns the digits at some ranks, which ascend, by the number of keys of each.
func digitsOf(counts []uint32, ranks []int) (digits []digit) {
	d := digit{}
	for i := 0; i < len(ranks); d.value++ {
		d.first = i
		for i < len(ranks) && ranks[i] < d.before+int(counts[d.value]) {
			i++
		}
		if d.last = i - 1; d.last >= d.first {
			d.kept = make([]uint64, 0, counts[d.value])
			digits = append(digits, d)
		}
		d.before += int(counts[d.value])
	}
	return digits
}
