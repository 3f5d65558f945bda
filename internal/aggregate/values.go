package aggregate

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// Values are different values, ascending: keys of one kind, or terms, as columns.Value.AppendTerm writes
// them. Terms hold values of any kinds.
type values struct {
	kind  columns.Kind // Terms for terms; 0 without values
	keys  []uint64
	terms terms
}

// Terms are many terms in one piece of memory.
type terms struct {
	data []byte // of all, one behind the other
	ends []int  // of each in data
}

func (t *terms) at(i int) []byte {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.data[from:t.ends[i]]
}

func (t *terms) add(term []byte) {
	t.data = append(t.data, term...)
	t.ends = append(t.ends, len(t.data))
}

func (v *values) len() int { return len(v.keys) + len(v.terms.ends) }

// at returns the value at a place.
func (v *values) at(i int) (columns.Value, error) {
	if v.kind == columns.Terms {
		return columns.ParseTerm(v.terms.at(i))
	}
	return columns.Value{Kind: v.kind, Key: v.keys[i]}, nil
}

func (v *values) bytes() int64 {
	return 8*int64(cap(v.keys)+cap(v.terms.ends)) + int64(cap(v.terms.data))
}

// asTerms returns the same values as terms.
func (v *values) asTerms() *values {
	if v.kind == columns.Terms || v.kind == 0 {
		return v
	}
	to := &values{kind: columns.Terms}
	var room []byte
	for _, key := range v.keys {
		room = columns.Value{Kind: v.kind, Key: key}.AppendTerm(room[:0])
		to.terms.add(room)
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
		to.terms, ofA, ofB = mergeTerms(&a.terms, &b.terms)
		return to, ofA, ofB
	}
	to.keys, ofA, ofB = mergeKeys(a.keys, b.keys)
	return to, ofA, ofB
}

func mergeKeys(a, b []uint64) (to []uint64, ofA, ofB []uint32) {
	most := max(len(a), len(b))
	to, ofA, ofB = make([]uint64, 0, most+most/4), make([]uint32, len(a)), make([]uint32, len(b))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		place := uint32(len(to))
		fromA := j == len(b) || i < len(a) && a[i] <= b[j]
		fromB := i == len(a) || j < len(b) && b[j] <= a[i]
		if fromA {
			to = append(to, a[i])
		} else {
			to = append(to, b[j])
		}
		if fromA {
			ofA[i] = place
			i++
		}
		if fromB {
			ofB[j] = place
			j++
		}
	}
	return to, ofA, ofB
}

// mergeTerms keeps its result in local variables: appending to fields takes twice as long.
func mergeTerms(a, b *terms) (to terms, ofA, ofB []uint32) {
	most, mostData := max(len(a.ends), len(b.ends)), max(len(a.data), len(b.data))
	data, ends := make([]byte, 0, mostData+mostData/4), make([]int, 0, most+most/4)
	ofA, ofB = make([]uint32, len(a.ends)), make([]uint32, len(b.ends))
	restA, restB := a.data, b.data
	i, j, endA, endB := 0, 0, 0, 0 // endA is where restA begins
	for i < len(ofA) || j < len(ofB) {
		var termA, termB []byte
		c := -1
		if i < len(ofA) {
			termA = restA[:a.ends[i]-endA]
		} else {
			c = 1
		}
		if j < len(ofB) {
			if termB = restB[:b.ends[j]-endB]; c < 0 {
				c = bytes.Compare(termA, termB)
			}
		}
		place := uint32(len(ends))
		if c <= 0 {
			data = append(data, termA...)
		} else {
			data = append(data, termB...)
		}
		ends = append(ends, len(data))
		if c <= 0 {
			restA, endA = restA[len(termA):], a.ends[i]
			ofA[i] = place
			i++
		}
		if c >= 0 {
			restB, endB = restB[len(termB):], b.ends[j]
			ofB[j] = place
			j++
		}
	}
	return terms{data, ends}, ofA, ofB
}

// sortByValue sorts buckets of one owner by the values of their keys.
func (f *field) sortByValue(buckets []foundBucket) []foundBucket {
	slices.SortFunc(buckets, func(a, b foundBucket) int { return cmp.Compare(a.key, b.key) })
	if !f.interned {
		return buckets
	}
	return mergeRuns(buckets, func(a, b foundBucket) int { return f.compare(a.key, b.key) })
}

// mergeRuns sorts what consists of few ascending runs, such as terms by their numbers: those of a segment
// are mostly numbered in their order.
func mergeRuns[T any](s []T, compare func(a, b T) int) []T {
	var ends []int
	for i := range s {
		if i+1 == len(s) || compare(s[i], s[i+1]) > 0 {
			ends = append(ends, i+1)
		}
	}
	for room := make([]T, 0, len(s)); len(ends) > 1; s, room = room, s {
		room = room[:0]
		merged, from := ends[:0], 0
		for i := 0; i < len(ends); i += 2 {
			a := s[from:ends[i]]
			var b []T
			if from = ends[i]; i+1 < len(ends) {
				b = s[from:ends[i+1]]
				from = ends[i+1]
			}
			for len(a) > 0 && len(b) > 0 {
				if compare(a[0], b[0]) <= 0 {
					room, a = append(room, a[0]), a[1:]
				} else {
					room, b = append(room, b[0]), b[1:]
				}
			}
			room = append(append(room, a...), b...)
			merged = append(merged, from)
		}
		ends = merged
	}
	return s
}

// ascending sorts keys of a run by their values, and drops repeated ones.
func (f *field) ascending(keys []uint64) []uint64 {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if f.interned {
		keys = mergeRuns(keys, f.compare)
	}
	return keys
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

// valuesOf returns the values of n keys of a run, which ascending has sorted.
func (f *field) valuesOf(n int, key func(i int) uint64) (to values, err error) {
	if n == 0 {
		return to, nil
	}
	to.kind = f.kind
	switch {
	case f.interned:
		data, ends := make([]byte, 0, 16*n), make([]int, 0, n)
		for i := range n {
			data = append(data, f.terms[key(i)]...)
			ends = append(ends, len(data))
		}
		to.kind, to.terms = columns.Terms, terms{data, ends}
	case f.kind == columns.Terms:
		data, ends := make([]byte, 0, 16*n), make([]int, 0, n)
		err = f.eachTerm(n, key, func(term []byte) {
			data = append(data, term...)
			ends = append(ends, len(data))
		})
		to.terms = terms{data, ends}
	default:
		to.keys = make([]uint64, n)
		for i := range to.keys {
			to.keys[i] = f.base + key(i)
		}
	}
	return to, err
}

// eachTerm calls call for the terms of n keys of the only column, which ascend.
func (f *field) eachTerm(n int, key func(i int) uint64, call func(term []byte)) error {
	first, last := f.base+key(0), f.base+key(n-1)
	d := f.only.Dictionary()
	if (last-first)/uint64(n) < streamed {
		i := 0
		return d.Each(int(first), int(last)+1, func(ord int, term []byte) error {
			if f.base+key(i) == uint64(ord) {
				call(term)
				i++
			}
			return nil
		})
	}
	var room []byte
	for i := range n {
		var err error
		if room, err = d.AppendTerm(room[:0], f.base+key(i)); err != nil {
			return err
		}
		call(room)
	}
	return nil
}
