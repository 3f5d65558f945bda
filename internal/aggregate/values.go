package aggregate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/columns"
)

// Values are different values, ascending: keys of one kind, or terms, as columns.Value.AppendTerm writes
// them. Terms hold values of any kinds.
type values struct {
	kind  columns.Kind // Terms for terms; 0 without values
	keys  []uint64
	terms []string
}

func (v *values) len() int { return len(v.keys) + len(v.terms) }

// at returns the value at a place.
func (v *values) at(i int) (columns.Value, error) {
	if v.kind == columns.Terms {
		return columns.ParseTerm([]byte(v.terms[i]))
	}
	return columns.Value{Kind: v.kind, Key: v.keys[i]}, nil
}

func (v *values) bytes() int64 {
	n := 8*int64(cap(v.keys)) + 16*int64(cap(v.terms))
	for _, term := range v.terms {
		n += int64(len(term))
	}
	return n
}

// asTerms returns the same values as terms.
func (v *values) asTerms() *values {
	if v.kind == columns.Terms || v.kind == 0 {
		return v
	}
	to := &values{kind: columns.Terms, terms: make([]string, len(v.keys))}
	var room []byte
	for i, key := range v.keys {
		room = columns.Value{Kind: v.kind, Key: key}.AppendTerm(room[:0])
		to.terms[i] = string(room)
	}
	return to
}

// mergeValues returns the values that are in either of two, and for the places in each those in the
// result. Values of different kinds become terms.
func mergeValues(a, b *values) (to values, ofA, ofB []uint32) {
	if a.kind != b.kind && a.kind != 0 && b.kind != 0 {
		a, b = a.asTerms(), b.asTerms()
	}
	if to.kind = a.kind; to.kind == 0 {
		to.kind = b.kind
	}
	if to.kind == columns.Terms {
		to.terms, ofA, ofB = mergeSorted(a.terms, b.terms, strings.Compare)
	} else {
		to.keys, ofA, ofB = mergeSorted(a.keys, b.keys, cmp.Compare)
	}
	return to, ofA, ofB
}

func mergeSorted[T any](a, b []T, compare func(x, y T) int) (to []T, ofA, ofB []uint32) {
	to = make([]T, 0, max(len(a), len(b)))
	ofA, ofB = make([]uint32, len(a)), make([]uint32, len(b))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		c := -1
		switch {
		case i == len(a):
			c = 1
		case j < len(b):
			c = compare(a[i], b[j])
		}
		place := uint32(len(to))
		if c > 0 {
			to = append(to, b[j])
		} else {
			to = append(to, a[i])
		}
		if c <= 0 {
			ofA[i] = place
			i++
		}
		if c >= 0 {
			ofB[j] = place
			j++
		}
	}
	return to, ofA, ofB
}

// ascending sorts keys of a run by their values, and drops repeated ones.
func (f *field) ascending(keys []uint64) []uint64 {
	if !f.interned {
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	used := make([]bool, len(f.terms))
	distinct := keys[:0]
	for _, key := range keys {
		if !used[key] {
			used[key] = true
			distinct = append(distinct, key)
		}
	}
	slices.SortFunc(distinct, f.compare)
	return distinct
}

// placesOf returns a function from some keys of a run, which ascending has sorted, to their places.
func (f *field) placesOf(keys []uint64) func(key uint64) uint32 {
	if !f.interned {
		return func(key uint64) uint32 {
			i, _ := slices.BinarySearch(keys, key)
			return uint32(i)
		}
	}
	places := make([]uint32, len(f.terms))
	for i, key := range keys {
		places[key] = uint32(i)
	}
	return func(key uint64) uint32 { return places[key] }
}

// valuesOf returns the values of some keys of a run, which ascending has sorted.
func (f *field) valuesOf(keys []uint64) (to values, err error) {
	if len(keys) == 0 {
		return to, nil
	}
	to.kind = f.kind
	switch {
	case f.interned:
		to.kind, to.terms = columns.Terms, make([]string, len(keys))
		for i, key := range keys {
			to.terms[i] = f.terms[key]
		}
	case f.kind == columns.Terms:
		err = f.eachTerm(keys, func(term []byte) { to.terms = append(to.terms, string(term)) })
	default:
		to.keys = make([]uint64, len(keys))
		for i, key := range keys {
			to.keys[i] = f.base + key
		}
	}
	return to, err
}

// eachTerm calls f for the terms of some keys of the only column, which ascend.
func (f *field) eachTerm(keys []uint64, call func(term []byte)) error {
	first, last := f.base+keys[0], f.base+keys[len(keys)-1]
	d := f.only.Dictionary()
	if (last-first)/uint64(len(keys)) < streamed {
		return d.Each(int(first), int(last)+1, func(ord int, term []byte) error {
			if len(keys) > 0 && f.base+keys[0] == uint64(ord) {
				call(term)
				keys = keys[1:]
			}
			return nil
		})
	}
	var room []byte
	for _, key := range keys {
		var err error
		if room, err = d.AppendTerm(room[:0], f.base+key); err != nil {
			return err
		}
		call(room)
	}
	return nil
}
