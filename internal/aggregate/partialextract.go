package aggregate

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// An extraction makes a Partial of a run.
type extraction struct {
	named func(s *Spec, hits []Hit) ([]NamedHit, error)
}

// Partial is Results for one of several indexes. named returns the hits of an aggregation for those
// outside of the index.
func (r *Run) Partial(named func(s *Spec, hits []Hit) ([]NamedHit, error)) (*Partial, error) {
	if r.err != nil {
		return nil, r.err
	}
	p := &Partial{}
	for i, n := range r.total.nodes {
		root, err := n.partial([]uint32{0}, &extraction{named})
		if err != nil {
			return nil, r.at(r.roots[i].Place, err)
		}
		p.roots, p.parts = append(p.roots, r.roots[i].Spec), append(p.parts, root)
	}
	r.end()
	if err := p.check(r.options.Bytes); err != nil {
		return nil, r.at(err.(*LimitError).Place, err)
	}
	return p, nil
}

// chosen returns the numbers of some owners, 0 for those behind the last.
func chosen(numbers []uint64, owners []uint32) []uint64 {
	to := make([]uint64, len(owners))
	for i, owner := range owners {
		if int(owner) < len(numbers) {
			to[i] = numbers[owner]
		}
	}
	return to
}

// addSubs adds the parts of the aggregations of buckets.
func (p *part) addSubs(b *base, buckets []uint32, x *extraction) error {
	for _, s := range b.subs {
		sub, err := s.partial(buckets, x)
		if err != nil {
			return err
		}
		p.subs = append(p.subs, sub)
	}
	return nil
}

// addKeys adds buckets by key, found for each owner. It sorts them and returns the numbers that they had.
func (p *part) addKeys(f *field, found [][]foundBucket) (numbers []uint32, err error) {
	if len(found) == 1 {
		found[0] = f.sortByValue(found[0])
		p.values, err = f.valuesOf(len(found[0]), func(i int) uint64 { return found[0][i].key })
	} else {
		err = p.addPlaces(f, found)
	}
	total := 0
	for _, buckets := range found {
		total += len(buckets)
		p.ends = append(p.ends, total)
	}
	p.counts, numbers = make([]uint64, 0, total), make([]uint32, 0, total)
	for _, buckets := range found {
		for i := range buckets {
			p.counts, numbers = append(p.counts, buckets[i].count), append(numbers, buckets[i].number)
		}
	}
	return numbers, err
}

// addPlaces adds the keys of buckets of several owners, and sorts the buckets of each by these.
func (p *part) addPlaces(f *field, found [][]foundBucket) (err error) {
	var keys []uint64
	for _, buckets := range found {
		for i := range buckets {
			keys = append(keys, buckets[i].key)
		}
	}
	p.keys = make([]uint32, 0, len(keys))
	keys = f.ascending(keys)
	if p.values, err = f.valuesOf(len(keys), func(i int) uint64 { return keys[i] }); err != nil {
		return err
	}
	place := f.placesOf(keys)
	for _, buckets := range found {
		for i := range buckets {
			buckets[i].key = uint64(place(buckets[i].key))
		}
		slices.SortFunc(buckets, func(a, b foundBucket) int { return cmp.Compare(a.key, b.key) })
		for i := range buckets {
			p.keys = append(p.keys, uint32(buckets[i].key))
		}
	}
	return nil
}

func (n *keyNode) partial(owners []uint32, x *extraction) (*part, error) {
	p := &part{missing: chosen(n.missing, owners)}
	found := make([][]foundBucket, len(owners))
	for i, owner := range owners {
		if n.depth > 0 {
			found[i] = slices.Clone(n.group().of(owner))
			continue
		}
		found[i] = n.all()
	}
	numbers, err := n.addTo(p, found)
	if err != nil {
		return nil, err
	}
	if _, ok := n.Of.(Cardinality); ok {
		p.counts = nil
	}
	return p, p.addSubs(&n.base, numbers, x)
}

// all returns the buckets of a root.
func (n *keyNode) all() []foundBucket {
	total := 0
	n.index.each(func(uint32, uint64, uint32) { total++ })
	found := make([]foundBucket, 0, total)
	n.index.each(func(_ uint32, key uint64, value uint32) { found = append(found, n.bucketAt(key, value)) })
	return found
}

// addTo adds buckets to a part: by their values, or their steps.
func (n *keyNode) addTo(p *part, found [][]foundBucket) ([]uint32, error) {
	if n.steps == nil {
		return p.addKeys(n.field, found)
	}
	for _, buckets := range found {
		for i := range buckets {
			buckets[i].key = columns.IntKey(n.steps.stepOf(buckets[i].key))
		}
	}
	return p.addKeys(&field{kind: columns.Int}, found)
}

func (n *distinctNode) partial(_ []uint32, _ *extraction) (*part, error) {
	p := &part{missing: []uint64{uint64(n.missing)}}
	var keys []uint64
	n.each(func(cell uint64) { keys = append(keys, cell*n.divisor) })
	keys = n.field.ascending(keys)
	var err error
	p.values, err = n.field.valuesOf(len(keys), func(i int) uint64 { return keys[i] })
	p.ends = []int{len(keys)}
	return p, err
}

func (n *setNode) partial(owners []uint32, x *extraction) (*part, error) {
	p := &part{counts: make([]uint64, len(owners)*n.size)}
	if countsMissing(n.Of) {
		p.missing = chosen(n.missing, owners)
	}
	numbers := make([]uint32, len(p.counts))
	for i, owner := range owners {
		for j := range n.size {
			at := i*n.size + j
			numbers[at] = noBucket
			if from := uint64(owner)*uint64(n.size) + uint64(j); from < uint64(len(n.counts)) {
				p.counts[at], numbers[at] = n.counts[from], uint32(from)
			}
		}
	}
	return p, p.addSubs(&n.base, numbers, x)
}

// found returns the class of a measure, or classes if the field has no values that count.
func (m *measure) found() class {
	if slices.ContainsFunc(m.segments, func(s measured) bool { return s.some }) {
		return m.class
	}
	return classes
}

func (n *statsNode) partial(owners []uint32, _ *extraction) (*part, error) {
	p := &part{class: n.nums.found(), measures: make([]measurement, len(owners))}
	for i, owner := range owners {
		if int(owner) < len(n.measures) {
			p.measures[i].merge(&n.measures[owner])
		}
	}
	return p, nil
}

// merge adds what is known of more values.
func (s *measurement) merge(o *measurement) {
	if o.n == 0 {
		return
	}
	if s.n == 0 || columns.Compare(o.leastValue, s.leastValue) < 0 {
		s.leastValue = o.leastValue
	}
	if s.n == 0 || columns.Compare(o.mostValue, s.mostValue) > 0 {
		s.mostValue = o.mostValue
	}
	s.n += o.n
	s.total.merge(&o.total)
}

func (n *percentilesNode) partial(owners []uint32, _ *extraction) (*part, error) {
	p := &part{class: n.nums.found()}
	found := make([][]foundBucket, len(owners))
	for i, owner := range owners {
		found[i] = n.distinct(owner)
	}
	_, err := p.addKeys(n.field, found)
	return p, err
}

// distinct returns the different values of an owner as keys of the run, with their numbers.
func (n *percentilesNode) distinct(owner uint32) (found []foundBucket) {
	if n.counts != nil {
		total := 0
		for _, values := range n.counts {
			if values > 0 {
				total++
			}
		}
		found = make([]foundBucket, 0, total)
		for key, values := range n.counts {
			if values > 0 {
				found = append(found, foundBucket{key: uint64(key), count: uint64(values)})
			}
		}
		return found
	}
	var keys []uint64
	switch {
	case n.mixed() && int(owner) < len(n.values):
		var room []byte
		for _, v := range n.values[owner] {
			room = v.AppendTerm(room[:0])
			keys = append(keys, uint64(n.field.intern(room)))
		}
	case !n.mixed() && int(owner) < len(n.parts):
		for _, part := range n.parts[owner] {
			for _, key := range part {
				keys = append(keys, key-n.field.base)
			}
		}
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i == 0 || key != keys[i-1] {
			found = append(found, foundBucket{key: key})
		}
		found[len(found)-1].count++
	}
	return found
}

func (n *hitsNode) partial(owners []uint32, x *extraction) (*part, error) {
	return named(n.Spec, owners, x, func(owner uint32) []Hit {
		if int(owner) >= len(n.best) {
			return nil
		}
		return n.cut(n.best[owner])
	})
}

func (n *orderedNode) partial(owners []uint32, x *extraction) (*part, error) {
	return named(n.Spec, owners, x, func(owner uint32) (hits []Hit) {
		if int(owner) < len(n.places) {
			for _, p := range n.places[owner] {
				hits = append(hits, Hit{p.Doc, p.Score, p.Keys})
			}
		}
		return hits
	})
}

// named names the hits of owners.
func named(s *Spec, owners []uint32, x *extraction, of func(owner uint32) []Hit) (*part, error) {
	p := &part{hits: make([][]NamedHit, len(owners))}
	var hits []Hit
	ends := make([]int, len(owners))
	for i, owner := range owners {
		hits = append(hits, of(owner)...)
		ends[i] = len(hits)
	}
	all, err := x.named(s, hits)
	if err != nil {
		return nil, err
	}
	from := 0
	for i, end := range ends {
		p.hits[i] = all[from:end:end]
		from = end
	}
	return p, nil
}
