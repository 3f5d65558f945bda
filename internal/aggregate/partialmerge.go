package aggregate

import (
	"cmp"
	"errors"
	"slices"

	"github.com/riffle-search/riffle/cpuexec"
)

// Merge adds what another index has found, whose documents come behind those of p. Neither the other nor
// what p had is to be used later. It is associative. It fails with a *LimitError if p takes more than limit
// bytes then, unless limit is 0; p is unusable in that case.
func (p *Partial) Merge(o *Partial, limit int64) error {
	if fingerprint(p.roots) != fingerprint(o.roots) {
		return errors.New("they are of other aggregations")
	}
	root := []pair{{0, 0}}
	for i, s := range p.roots {
		p.parts[i] = mergeParts(s, p.parts[i], o.parts[i], root)
	}
	return p.check(limit)
}

// A pair is an owner or bucket in each of two parts; none where it is not in one.
type pair struct{ a, b int }

const none = -1

// mergeParts returns the part of the owners that pairs say.
func mergeParts(s *Spec, a, b *part, owners []pair) *part {
	to := &part{}
	if countsMissing(s.Of) {
		to.missing = make([]uint64, len(owners))
		for i, o := range owners {
			to.missing[i] = numberAt(a.missing, o.a) + numberAt(b.missing, o.b)
		}
	}
	var buckets []pair
	switch k := s.Of.(type) {
	case Stats:
		to.mergeMeasures(a, b, owners)
	case TopHits:
		to.hits = make([][]NamedHit, len(owners))
		for i, o := range owners {
			to.hits[i] = k.merge(listAt(a.hits, o.a), listAt(b.hits, o.b))
		}
	case Ranges, Rings, Filters, Missing:
		buckets = to.mergeSets(sets(k), a, b, owners)
	default:
		buckets = to.mergeKeys(s, a, b, owners)
	}
	for i, sub := range s.Sub {
		to.subs = append(to.subs, mergeParts(sub, a.subs[i], b.subs[i], buckets))
	}
	return to
}

func numberAt(numbers []uint64, i int) uint64 {
	if i == none {
		return 0
	}
	return numbers[i]
}

func listAt[T any](lists [][]T, i int) []T {
	if i == none {
		return nil
	}
	return lists[i]
}

// ofClass sets the class of the values of both parts: the first that either has, since that is what a field
// of one index has. It returns whether the values of each count.
func (p *part) ofClass(a, b *part) (ofA, ofB bool) {
	p.class = min(a.class, b.class)
	return a.class == p.class, b.class == p.class
}

func (p *part) mergeMeasures(a, b *part, owners []pair) {
	ofA, ofB := p.ofClass(a, b)
	p.measures = make([]measurement, len(owners))
	for i, o := range owners {
		if ofA && o.a != none {
			p.measures[i].merge(&a.measures[o.a])
		}
		if ofB && o.b != none {
			p.measures[i].merge(&b.measures[o.b])
		}
	}
}

func (p *part) mergeSets(size int, a, b *part, owners []pair) []pair {
	buckets := make([]pair, 0, size*len(owners))
	for _, o := range owners {
		for i := range size {
			bucket := pair{none, none}
			if o.a != none {
				bucket.a = o.a*size + i
			}
			if o.b != none {
				bucket.b = o.b*size + i
			}
			buckets = append(buckets, bucket)
			p.counts = append(p.counts, numberAt(a.counts, bucket.a)+numberAt(b.counts, bucket.b))
		}
	}
	return buckets
}

func (p *part) mergeKeys(s *Spec, a, b *part, owners []pair) []pair {
	if _, ok := s.Of.(Percentiles); ok {
		ofA, ofB := p.ofClass(a, b)
		if !ofA {
			a = &part{ends: make([]int, len(a.ends))}
		}
		if !ofB {
			b = &part{ends: make([]int, len(b.ends))}
		}
	}
	values, ofA, ofB := mergeValues(&a.values, &b.values)
	p.values = values
	counted := len(a.counts)+len(b.counts) > 0 // not of Cardinality
	if len(owners) == 1 {
		return p.mergeOnly(counted, len(s.Sub) > 0, a, b, ofA, ofB)
	}
	most := max(len(a.keys), len(b.keys))
	buckets := make([]pair, 0, most)
	p.keys, p.ends = make([]uint32, 0, most), make([]int, 0, len(owners))
	for _, o := range owners {
		var i, j, endA, endB int
		if o.a != none {
			i, endA = a.of(o.a)
		}
		if o.b != none {
			j, endB = b.of(o.b)
		}
		for i < endA || j < endB {
			c := -1
			switch {
			case i == endA:
				c = 1
			case j < endB:
				c = cmp.Compare(ofA[a.key(i)], ofB[b.key(j)])
			}
			bucket, key := pair{none, none}, uint32(0)
			if c <= 0 {
				bucket.a, key = i, ofA[a.key(i)]
				i++
			}
			if c >= 0 {
				bucket.b, key = j, ofB[b.key(j)]
				j++
			}
			buckets, p.keys = append(buckets, bucket), append(p.keys, key)
		}
		p.ends = append(p.ends, len(p.keys))
	}
	if counted {
		p.counts = make([]uint64, len(buckets))
		for i, bucket := range buckets {
			p.counts[i] = numberAt(a.counts, bucket.a) + numberAt(b.counts, bucket.b)
		}
	}
	return buckets
}

// mergeOnly merges the buckets by key of the only owner: those of a that are at places ofA of the values,
// and those of b.
func (p *part) mergeOnly(counted, pairs bool, a, b *part, ofA, ofB []uint32) (buckets []pair) {
	n := p.values.len()
	p.ends = []int{n}
	if counted {
		p.counts = make([]uint64, n)
		for i, place := range ofA {
			p.counts[place] += a.counts[i]
		}
		for i, place := range ofB {
			p.counts[place] += b.counts[i]
		}
	}
	if pairs {
		buckets = slices.Repeat([]pair{{none, none}}, n)
		for i, place := range ofA {
			buckets[place].a = i
		}
		for i, place := range ofB {
			buckets[place].b = i
		}
	}
	return buckets
}

// merge returns the first hits of two lists. Of equal ones, those of the first list come first.
func (k TopHits) merge(a, b []NamedHit) []NamedHit {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	to := make([]NamedHit, 0, min(k.Size, len(a)+len(b)))
	for len(to) < k.Size && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && k.compare(&a[0], &b[0]) <= 0 {
			to, a = append(to, a[0]), a[1:]
		} else {
			to, b = append(to, b[0]), b[1:]
		}
	}
	return to
}

func (k TopHits) compare(a, b *NamedHit) int {
	if k.Order == nil {
		return cmp.Compare(b.Score, a.Score)
	}
	return k.Order.Compare(&cpuexec.Place{Keys: a.Keys}, &cpuexec.Place{Keys: b.Keys})
}
