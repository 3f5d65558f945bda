package aggregate

import (
	"math"
	"math/bits"
	"slices"

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
	e := n.e
	if err := n.reader.join(in, e); err != nil {
		return err
	}
	if len(e.keys) == 0 {
		return nil
	}
	n.held += 8 * int64(len(e.keys))
	all := zone.Least >= m.lo && zone.Greatest <= m.hi
	if in.set != nil && all {
		n.keys = grow(n.keys, in.owner)
		n.keys[in.owner].add(e.keys)
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
		n.keys[owner].add(e.keys[:1])
	}
	return nil
}

// A keyList is many keys. Long lists are in parts, so that they need not be copied to grow.
type keyList struct {
	full [][]uint64
	last []uint64
}

const partKeys = 16 << 10

func (l *keyList) add(keys []uint64) {
	if len(l.last)+len(keys) > cap(l.last) && cap(l.last) >= partKeys {
		l.full, l.last = append(l.full, l.last), make([]uint64, 0, partKeys)
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
	if int(owner) >= len(n.parts) || len(n.parts[owner]) == 0 {
		return nil, nil
	}
	total := 0
	for _, keys := range n.parts[owner] {
		total += len(keys)
	}
	ranks := make([]int, len(percents))
	for i, p := range percents {
		ranks[i] = rankOf(p, total)
	}
	var found []columns.Value
	for _, key := range selectRanks(n.parts[owner], ranks) {
		v, err := n.field.value(key - n.field.base)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
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

// radixBits is how many bits of keys a pass of selectRanks looks at.
const radixBits = 11

// selectRanks returns the keys at some ranks, which ascend, of all parts together. Each pass counts
// keys by their next bits, and keeps those that have the same bits as a key at a rank.
func selectRanks(parts [][]uint64, ranks []int) []uint64 {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, keys := range parts {
		for _, k := range keys {
			least, most = min(least, k), max(most, k)
		}
	}
	found := make([]uint64, len(ranks))
	selectBits(parts, ranks, found, least, bits.Len64(most-least))
	return found
}

// selectBits is selectRanks for keys that are at least base, and differ from it in the lowest width
// bits at most.
func selectBits(parts [][]uint64, ranks []int, found []uint64, base uint64, width int) {
	if width == 0 {
		for i := range found {
			found[i] = base
		}
		return
	}
	total := 0
	for _, keys := range parts {
		total += len(keys)
	}
	if total <= 256 {
		all := make([]uint64, 0, total)
		for _, keys := range parts {
			all = append(all, keys...)
		}
		slices.Sort(all)
		for i, r := range ranks {
			found[i] = all[r]
		}
		return
	}
	shift := max(0, width-radixBits)
	var counts [1<<radixBits + 1]int
	for _, keys := range parts {
		for _, k := range keys {
			counts[(k-base)>>shift&(1<<radixBits-1)]++
		}
	}
	digit, before := 0, 0
	for i := 0; i < len(ranks); {
		for before+counts[digit] <= ranks[i] {
			before += counts[digit]
			digit++
		}
		j := i
		for j < len(ranks) && ranks[j] < before+counts[digit] {
			j++
		}
		// Ranks i..j-1 have this digit.
		inner := make([]int, j-i)
		for k := range inner {
			inner[k] = ranks[i+k] - before
		}
		first := base + uint64(digit)<<shift
		if shift == 0 {
			selectBits(nil, inner, found[i:j], first, 0)
		} else {
			kept := make([]uint64, 0, counts[digit])
			for _, keys := range parts {
				for _, k := range keys {
					if (k-base)>>shift == uint64(digit) {
						kept = append(kept, k)
					}
				}
			}
			selectBits([][]uint64{kept}, inner, found[i:j], first, shift)
		}
		i = j
	}
}
