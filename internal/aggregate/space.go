package aggregate

import (
	"cmp"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// A field is the columns of one field, and the space of its keys: how keys of a segment become keys of
// the whole run. If all columns have one kind, other than Terms, or only one segment has a column,
// keys stay as they are, less the least of all. Else each different value gets a number when it is
// first met: it is interned.
type field struct {
	columns []*columns.Column // by segment, or nil
	kind    columns.Kind      // of all of them, unless interned
	base    uint64            // least key of all, unless interned
	span    uint64            // keys - base are below it; 0 if any are possible
	only    *columns.Column   // the only one, if it is
	docs    int64             // with a value

	interned bool
	mu       sync.Mutex
	numbers  map[string]uint32 // of terms
	terms    []string          // by number
	segments []interning
	held     atomic.Int64 // bytes of the above

	found *values // of a Partial: a key is a place among them

	measured sync.Once
	measure  measure
	err      error
}

// An interning has the numbers of the terms of a segment by ordinal, plus 1; 0 for not yet known.
type interning []uint32

func openField(name string, segments []Segment) (*field, error) {
	f := &field{columns: make([]*columns.Column, len(segments))}
	n, greatest := 0, uint64(0)
	for i := range segments {
		c, err := segments[i].Column(name)
		if err != nil {
			return nil, err
		}
		if c == nil || c.Docs() == 0 {
			continue
		}
		f.columns[i] = c
		least, most := c.Bounds()
		if n == 0 {
			f.kind, f.base, f.only = c.Kind(), least, c
		} else {
			f.interned = f.interned || f.kind != c.Kind() || f.kind == columns.Terms
			f.base, f.only = min(f.base, least), nil
		}
		greatest = max(greatest, most)
		f.docs += int64(c.Docs())
		n++
	}
	if f.interned {
		f.base = 0
		f.numbers, f.segments = map[string]uint32{}, make([]interning, len(segments))
	} else if n > 0 {
		f.span = greatest - f.base + 1
	}
	return f, nil
}

// local returns the least key of a segment's column and how many follow, for the keys of its states.
func (f *field) local(segment int) (base, span uint64) {
	if !f.interned {
		return f.base, f.span
	}
	least, greatest := f.columns[segment].Bounds()
	return least, greatest - least + 1
}

// globals calls f with the key of the run for each of some keys of a segment's state. These ascend.
func (f *field) globals(segment int, keys []uint64) ([]uint64, error) {
	if !f.interned {
		return keys, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.columns[segment]
	base, _ := f.local(segment)
	if c.Kind() != columns.Terms {
		var room []byte
		for i, key := range keys {
			room = columns.Value{Kind: c.Kind(), Key: base + key}.AppendTerm(room[:0])
			keys[i] = uint64(f.intern(room))
		}
		return keys, nil
	}
	if f.segments[segment] == nil {
		f.segments[segment] = make(interning, c.Dictionary().Len())
		f.held.Add(4 * int64(c.Dictionary().Len()))
	}
	ids := f.segments[segment]
	if err := f.resolve(c, base, keys, ids); err != nil {
		return nil, err
	}
	for i, key := range keys {
		keys[i] = uint64(ids[base+key] - 1)
	}
	return keys, nil
}

// streamed is the mean distance of ordinals up to which their terms are read in one pass.
const streamed = 16

// resolve interns the terms of some ordinals that are not known.
func (f *field) resolve(c *columns.Column, base uint64, keys []uint64, ids interning) error {
	first, last, n := uint64(0), uint64(0), uint64(0)
	for _, key := range keys {
		if ids[base+key] != 0 {
			continue
		}
		if ord := base + key; n == 0 {
			first, last = ord, ord
		} else {
			first, last = min(first, ord), max(last, ord)
		}
		n++
	}
	if n == 0 {
		return nil
	}
	if n > 1 && (last-first)/n < streamed {
		wanted := make([]bool, last-first+1)
		for _, key := range keys {
			if ord := base + key; ids[ord] == 0 {
				wanted[ord-first] = true
			}
		}
		return c.Dictionary().Each(int(first), int(last)+1, func(ord int, term []byte) error {
			if wanted[uint64(ord)-first] {
				ids[ord] = f.intern(term) + 1
			}
			return nil
		})
	}
	var room []byte
	for _, key := range keys {
		if ids[base+key] != 0 {
			continue
		}
		var err error
		if room, err = c.Dictionary().AppendTerm(room[:0], base+key); err != nil {
			return err
		}
		ids[base+key] = f.intern(room) + 1
	}
	return nil
}

// intern returns the number of a term.
func (f *field) intern(term []byte) uint32 {
	n, ok := f.numbers[string(term)]
	if !ok {
		n = uint32(len(f.terms))
		f.terms = append(f.terms, string(term))
		f.numbers[f.terms[n]] = n
		f.held.Add(int64(len(term)) + 64)
	}
	return n
}

// value returns the value of a key of the run.
func (f *field) value(key uint64) (columns.Value, error) {
	if f.found != nil {
		return f.found.at(int(key))
	}
	if f.interned {
		return columns.ParseTerm([]byte(f.terms[key]))
	}
	if f.only != nil {
		return f.only.Value(f.base + key)
	}
	return columns.Value{Kind: f.kind, Key: f.base + key}, nil
}

// compare compares the values of two keys of the run.
func (f *field) compare(a, b uint64) int {
	if f.interned {
		return strings.Compare(f.terms[a], f.terms[b])
	}
	return cmp.Compare(a, b)
}

// A measure is what of a field can be added and placed on a scale: its numbers if it has any, else
// its times, else its booleans. Other values are like missing ones.
type measure struct {
	class    class
	segments []measured
}

// A class is a set of values that are alike.
type class uint8

const (
	numbers class = iota
	times
	bools
	classes // any of these: the first that a field has

	places // which fall on a scale, and do not add
)

// measured says which keys of a segment are of the class.
type measured struct {
	some     bool
	lo, hi   uint64
	ofValues []columns.Value // of kind Terms: the values of lo..hi
}

var (
	leastNumber = columns.OfFloat(math.Inf(-1))
	leastTime   = columns.OfTime(time.Unix(math.MinInt64/2, 0))
	open        = columns.Bound{Open: true}
)

// keysOf returns the keys of a column that are of a class.
func keysOf(c *columns.Column, of class) (m measured, err error) {
	m.lo, m.hi = c.Bounds()
	switch c.Kind() {
	case columns.Terms:
		from, to := columns.Bound{Value: leastNumber}, open
		switch of {
		case times:
			from.Value = leastTime
		case places:
			from.Value = columns.Value{Kind: columns.Place}
		case bools:
			from.Value, to = columns.OfBool(false), columns.Bound{Value: columns.OfBool(true)}
		}
		lo, hi, ok, err := c.Keys(from, to)
		if err != nil || !ok || lo > hi {
			return m, err
		}
		m.lo, m.hi = max(lo, m.lo), min(hi, m.hi)
		m.some = m.lo <= m.hi
	case columns.Place:
		m.some = of == places
	case columns.Time:
		m.some = of == times
	case columns.Bool:
		m.some = of == bools
	default:
		m.some = of == numbers
	}
	return m, nil
}

// measureOf finds the class of a field, or the given one unless wanted is classes, and its keys.
func (f *field) measureOf(wanted class) (m measure, err error) {
	for m.class = numbers; m.class < classes; m.class++ {
		if wanted != classes {
			m.class = wanted
		}
		m.segments = make([]measured, len(f.columns))
		any := false
		for i, c := range f.columns {
			if c == nil {
				continue
			}
			s, err := keysOf(c, m.class)
			if err != nil {
				return m, err
			}
			if s.some && c.Kind() == columns.Terms {
				err := c.Dictionary().Each(int(s.lo), int(s.hi)+1, func(_ int, term []byte) error {
					v, err := columns.ParseTerm(term)
					s.ofValues = append(s.ofValues, v)
					return err
				})
				if err != nil {
					return m, err
				}
				f.held.Add(40 * int64(cap(s.ofValues)))
			}
			m.segments[i] = s
			any = any || s.some
		}
		if any || wanted != classes {
			return m, nil
		}
	}
	return measure{class: numbers, segments: make([]measured, len(f.columns))}, nil
}

// numeric returns the measure of a field for Stats and Percentiles.
func (f *field) numeric() (*measure, error) {
	f.measured.Do(func() { f.measure, f.err = f.measureOf(classes) })
	return &f.measure, f.err
}

// value returns the value of a key, which must be among lo..hi.
func (m *measured) value(kind columns.Kind, key uint64) columns.Value {
	if kind == columns.Terms {
		return m.ofValues[key-m.lo]
	}
	return columns.Value{Kind: kind, Key: key}
}

// plain returns a value as results have it: numbers without a fraction as int64, or as uint64 where they
// must, whatever the kind of their column.
func plain(v columns.Value) any {
	if v.Kind == columns.Float || v.Kind == columns.Uint {
		if key, ok := v.In(columns.Int); ok {
			return columns.KeyInt(key)
		}
		if key, ok := v.In(columns.Uint); ok {
			return key
		}
	}
	return v.Any()
}
