package aggregate

import "github.com/riffle-search/riffle/cpuexec"

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
