package aggregate

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// A Partial is what a run has found in one of several indexes: all buckets, and sums that are not
// rounded. Partials of several indexes merge into that of all documents, which becomes the results
// that one run would have.
type Partial struct {
	roots []*Spec
	parts []*part
	bytes int64 // memory, about
}

// A NamedHit is a hit of TopHits, outside of its index.
type NamedHit struct {
	Name   string // of the document
	Engine string // that has it; empty for the only one
	Score  float64
	Keys   []cpuexec.KeyValue // for the keys of an order; that of a score is a float
}

// A part is what a Partial has of one aggregation, for all its owners. A root has one owner, 0. The owners
// of a Sub are the buckets of the aggregation above it, in the order of their numbers.
//
// Buckets by key (of Terms, Cardinality, histograms and Geohashes, and different values of Percentiles) are
// numbered by owner and then by key. Of the others, owner*size+i is the i-th bucket of an owner.
type part struct {
	missing []uint64 // documents without a value, by owner; nil for kinds without

	values values   // of all owners; of histograms and Geohashes, steps as integers
	ends   []int    // numbers of the first bucket behind those of each owner
	keys   []uint32 // of each bucket, a place in values; nil for one owner, who has a bucket of each
	counts []uint64 // of each bucket, documents; of Percentiles, values; nil for Cardinality

	class    class         // of Stats and Percentiles: of the values; classes if the field has none
	measures []measurement // of Stats, by owner

	hits [][]NamedHit // of TopHits, by owner, in their order

	subs []*part
}

// of returns the numbers of the first bucket by key of an owner, and of that behind the last.
func (p *part) of(owner int) (from, end int) {
	if owner > 0 {
		from = p.ends[owner-1]
	}
	return from, p.ends[owner]
}

// key returns the place in values of a bucket by key.
func (p *part) key(bucket int) int {
	if len(p.ends) == 1 {
		return bucket
	}
	return int(p.keys[bucket])
}

// total returns the number of buckets by key of all owners.
func (p *part) total() int {
	if len(p.ends) == 0 {
		return 0
	}
	return p.ends[len(p.ends)-1]
}

// keyed reports whether an aggregation has buckets by key, or values that are counted by key.
func keyed(k Kind) bool {
	switch k.(type) {
	case Terms, Cardinality, Percentiles, Histogram, Calendar, Geohashes:
		return true
	}
	return false
}

// stepped returns the scale of a kind whose keys are steps, or nil.
func stepped(k Kind) scale {
	switch k := k.(type) {
	case Histogram:
		return k
	case Calendar:
		return k
	case Geohashes:
		return k
	}
	return nil
}

// sets returns how many buckets an owner has, of an aggregation without buckets by key; 0 for none.
func sets(k Kind) int {
	switch k := k.(type) {
	case Ranges:
		return len(k)
	case Rings:
		return len(k)
	case Filters:
		return len(k)
	case Missing:
		return 1
	}
	return 0
}

// countsMissing reports whether an aggregation counts the documents without a value.
func countsMissing(k Kind) bool {
	switch k.(type) {
	case Percentiles, Stats, Filters, Missing, TopHits:
		return false
	}
	return true
}

// buckets returns the number of buckets of all owners.
func (p *part) buckets(k Kind, owners int) int {
	if keyed(k) {
		return p.total()
	}
	return owners * sets(k)
}

// own is about the memory of a part, without those below.
func (p *part) own() int64 {
	n := p.values.bytes() + 8*int64(cap(p.missing)+cap(p.ends)+cap(p.counts)) + 4*int64(cap(p.keys)) + measurementBytes*int64(cap(p.measures))
	for _, hits := range p.hits {
		n += 24
		for i := range hits {
			n += 64 + int64(len(hits[i].Name))
			for j := range hits[i].Keys {
				n += 48 + int64(len(hits[i].Keys[j].Value.Term))
			}
		}
	}
	return n
}

// weigh returns the memory of a part with those below, and the place of the heaviest.
func (p *part) weigh(s *Spec) (bytes int64, place string, most int64) {
	bytes = p.own()
	place, most = s.Place, bytes
	for i, sub := range p.subs {
		n, at, heaviest := sub.weigh(s.Sub[i])
		if bytes += n; heaviest > most {
			place, most = at, heaviest
		}
	}
	return bytes, place, most
}

// check weighs a Partial. It fails with a *LimitError beyond a number of bytes, unless that is 0.
func (p *Partial) check(limit int64) error {
	p.bytes = 0
	var place string
	most := int64(-1)
	for i, root := range p.parts {
		n, at, heaviest := root.weigh(p.roots[i])
		if p.bytes += n; heaviest > most {
			place, most = at, heaviest
		}
	}
	if limit > 0 && p.bytes > limit {
		return &LimitError{place, limit}
	}
	return nil
}

// Bytes is about the memory that p takes.
func (p *Partial) Bytes() int64 { return p.bytes }

// SetEngine says which engine has the documents.
func (p *Partial) SetEngine(name string) {
	for _, root := range p.parts {
		root.setEngine(name)
	}
}

func (p *part) setEngine(name string) {
	for _, hits := range p.hits {
		for i := range hits {
			hits[i].Engine = name
		}
	}
	for _, sub := range p.subs {
		sub.setEngine(name)
	}
}

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
