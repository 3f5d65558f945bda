package aggregate

import "github.com/riffle-search/riffle/columns"

// Finish returns the results of the roots. It fails with a *LimitError when they take more than limit bytes
// with p, unless limit is 0.
func (p *Partial) Finish(limit int64) ([]*Result, error) {
	if err := p.check(limit); err != nil {
		return nil, err
	}
	r := &Run{options: Options{Bytes: limit}, at: func(_ string, err error) error { return err }}
	r.bytes.Store(p.bytes)
	results := make([]*Result, len(p.parts))
	for i, s := range p.roots {
		var err error
		if results[i], err = r.nodeOf(s, p.parts[i], 0).result(0); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// nodeOf returns a node that has what a part has.
func (r *Run) nodeOf(s *Spec, p *part, depth int) node {
	b := base{plan: &plan{Spec: s, run: r, depth: depth}}
	for i, sub := range s.Sub {
		b.subs = append(b.subs, r.nodeOf(sub, p.subs[i], depth+1))
	}
	switch k := s.Of.(type) {
	case Stats:
		b.nums = &measure{class: p.class}
		return &statsNode{base: b, measures: p.measures}
	case Percentiles:
		return &percentilesNode{base: b, percents: k, found: p}
	case TopHits:
		return &hitsNode{base: b, size: k.Size, found: p.hits}
	case Ranges, Rings, Filters, Missing:
		return &setNode{base: b, size: sets(k), counts: p.counts, missing: p.missing}
	}
	n := &keyNode{base: b, missing: p.missing}
	if scale := stepped(s.Of); scale != nil {
		n.steps = &steps{scale: scale, listed: make([]int64, p.values.len())}
		for i, key := range p.values.keys {
			n.steps.listed[i] = columns.KeyInt(key)
		}
	} else {
		n.field = &field{found: &p.values}
	}
	if _, ok := s.Of.(Cardinality); ok {
		n.numbers = make([]int, len(p.ends))
		for i := range p.ends {
			from, end := p.of(i)
			n.numbers[i] = end - from
		}
		return n
	}
	n.found = &grouped{starts: append([]int{0}, p.ends...), buckets: make([]foundBucket, p.total())}
	for i := range n.found.buckets {
		n.found.buckets[i] = foundBucket{key: uint64(p.key(i)), count: p.counts[i], number: uint32(i)}
	}
	return n
}

// valuesAt returns the values of an owner at percents, which ascend; nil without values.
func (p *part) valuesAt(owner uint32, percents []float64) (found []columns.Value, err error) {
	if int(owner) >= len(p.ends) {
		return nil, nil
	}
	at, end := p.of(int(owner))
	total := uint64(0)
	for _, values := range p.counts[at:end] {
		total += values
	}
	if total == 0 {
		return nil, nil
	}
	before := uint64(0)
	for _, rank := range ranksOf(percents, int(total)) {
		for at < end-1 && before+p.counts[at] <= uint64(rank) {
			before += p.counts[at]
			at++
		}
		v, err := p.values.at(p.key(at))
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
}
