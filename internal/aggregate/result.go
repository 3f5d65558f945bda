package aggregate

import (
	"cmp"
	"slices"
)

// Grouped are the buckets of a keyNode by owner.
type grouped struct {
	starts  []int // of each owner, and the end
	buckets []foundBucket
}

type foundBucket struct {
	key, count uint64
	metric     float64 // with ByMetric
	number     uint32  // of the bucket, where there are subs
	has        bool    // a metric
}

// group sorts the buckets by owner, once all is merged.
func (n *keyNode) group() *grouped {
	if n.found != nil {
		return n.found
	}
	g := new(grouped)
	total := 0
	n.index.each(func(owner uint32, _ uint64, _ uint32) {
		g.starts = grow(g.starts, owner+1)
		g.starts[owner]++
		total++
	})
	g.buckets = make([]foundBucket, total)
	at := 0
	for i, size := range g.starts {
		g.starts[i] = at
		at += size
	}
	next := slices.Clone(g.starts)
	n.index.each(func(owner uint32, key uint64, value uint32) {
		g.buckets[next[owner]] = n.bucketAt(key, value)
		next[owner]++
	})
	n.found = g
	return g
}

// bucketAt returns the bucket of a cell.
func (n *keyNode) bucketAt(key uint64, value uint32) foundBucket {
	if len(n.subs) == 0 {
		return foundBucket{key: key, count: uint64(value)}
	}
	return foundBucket{key: key, count: uint64(n.counts[value-1]), number: value - 1}
}

// of returns the buckets of an owner.
func (g *grouped) of(owner uint32) []foundBucket {
	if int(owner)+1 >= len(g.starts) {
		return nil
	}
	return g.buckets[g.starts[owner]:g.starts[owner+1]]
}

// distinct returns the number of buckets of an owner, for Cardinality.
func (n *keyNode) distinct(owner uint32) int {
	if n.numbers == nil {
		n.numbers = []int{}
		n.index.each(func(owner uint32, _ uint64, _ uint32) {
			n.numbers = grow(n.numbers, owner)
			n.numbers[owner]++
		})
	}
	if int(owner) >= len(n.numbers) {
		return 0
	}
	return n.numbers[owner]
}

func (n *keyNode) result(owner uint32) (*Result, error) {
	if _, ok := n.Of.(Cardinality); ok {
		r := &Result{Distinct: n.distinct(owner)}
		if int(owner) < len(n.missing) {
			r.Missing = int(n.missing[owner])
		}
		return r, nil
	}
	r := &Result{}
	if int(owner) < len(n.missing) {
		r.Missing = int(n.missing[owner])
	}
	switch k := n.Of.(type) {
	case Terms:
		return r, n.terms(r, owner, k)
	case Histogram:
		return r, n.histogram(r, n.group().of(owner), k.Fill)
	case Calendar:
		return r, n.histogram(r, n.group().of(owner), k.Fill)
	case Geohashes:
		return r, n.geohashes(r, n.group().of(owner), k)
	}
	return r, nil
}

// eachBucket calls f for the buckets of an owner, in no particular order.
func (n *keyNode) eachBucket(owner uint32, f func(b *foundBucket)) {
	if n.depth > 0 || n.found != nil {
		found := n.group().of(owner)
		for i := range found {
			f(&found[i])
		}
		return
	}
	b := new(foundBucket) // f may change it
	n.index.each(func(_ uint32, key uint64, value uint32) {
		*b = n.bucketAt(key, value)
		f(b)
	})
}

// terms returns the best buckets.
func (n *keyNode) terms(r *Result, owner uint32, k Terms) error {
	better := func(a, b foundBucket) int { return n.compare(k.Order, &a, &b) }
	largest := k.Order == Order{By: ByCount, Desc: true}
	sum := 0
	var best []foundBucket // the first Size are sorted once there were more
	full, room := false, k.Size+max(16, k.Size)
	n.eachBucket(owner, func(b *foundBucket) {
		r.Distinct++
		sum += int(b.count)
		if int(b.count) < k.MinCount {
			return
		}
		if k.Order.By == ByMetric {
			b.metric, b.has = n.subs[k.Order.Sub].metric(b.number, k.Order.Metric)
		}
		if full {
			if last := &best[k.Size-1]; largest && b.count < last.count || n.compare(k.Order, last, b) < 0 {
				return
			}
		}
		if best = append(best, *b); len(best) == room {
			slices.SortFunc(best, better)
			best, full = best[:k.Size], true
		}
	})
	slices.SortFunc(best, better)
	best = best[:min(len(best), k.Size)]
	r.Buckets = make([]Bucket, 0, len(best))
	for _, b := range best {
		v, err := n.field.value(b.key)
		if err != nil {
			return err
		}
		sum -= int(b.count)
		if err := n.add(r, plain(v), b); err != nil {
			return err
		}
	}
	r.Other = sum
	return nil
}

// add adds a bucket with the results of its subs.
func (n *keyNode) add(r *Result, key any, b foundBucket) error {
	bucket := Bucket{Key: key, Count: int(b.count)}
	for _, s := range n.subs {
		sub, err := s.result(b.number)
		if err != nil {
			return err
		}
		bucket.Sub = append(bucket.Sub, sub)
	}
	r.Buckets = append(r.Buckets, bucket)
	return nil
}

// compare returns a number below 0 when a comes before b.
func (n *keyNode) compare(o Order, a, b *foundBucket) int {
	c := 0
	switch o.By {
	case ByCount:
		c = cmp.Compare(a.count, b.count)
	case ByKey:
		c = n.field.compare(a.key, b.key)
	case ByMetric:
		switch {
		case a.has != b.has && a.has:
			return -1
		case a.has != b.has:
			return 1
		case a.has:
			c = cmp.Compare(a.metric, b.metric)
		}
	}
	if o.Desc {
		c = -c
	}
	if c != 0 {
		return c
	}
	return n.field.compare(a.key, b.key)
}

// bucketBytes is about the memory of a bucket of a result.
const bucketBytes = 64

// histogram returns the buckets in order of their steps.
func (n *keyNode) histogram(r *Result, found []foundBucket, fill Fill) error {
	steps := n.steps
	step := func(b foundBucket) int64 { return steps.stepOf(b.key) }
	slices.SortFunc(found, func(a, b foundBucket) int { return cmp.Compare(step(a), step(b)) })
	r.Buckets = make([]Bucket, 0, len(found))
	if fill.MinCount > 0 {
		for _, b := range found {
			if int(b.count) >= fill.MinCount {
				if err := n.add(r, steps.scale.key(step(b)), b); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if len(found) == 0 && !fill.Bounded {
		return nil
	}
	from, to := fill.From, fill.To
	if len(found) > 0 {
		first, last := step(found[0]), step(found[len(found)-1])
		if !fill.Bounded {
			from, to = first, last
		}
		from, to = min(from, first), max(to, last)
	}
	limit := n.run.options.Bytes
	for s := from; s <= to; s = steps.scale.next(s) {
		b := foundBucket{number: noBucket}
		if len(found) > 0 && step(found[0]) == s {
			b, found = found[0], found[1:]
		}
		if n.run.bytes.Add(bucketBytes); limit > 0 && n.run.bytes.Load() > limit {
			return n.run.at(n.Place, &LimitError{n.Place, limit})
		}
		if err := n.add(r, steps.scale.key(s), b); err != nil {
			return err
		}
	}
	return nil
}

// noBucket stands for a bucket without documents. Nodes have nothing for it.
const noBucket = 1<<32 - 1

func (n *keyNode) metric(owner uint32, _ Metric) (float64, bool) {
	if _, ok := n.Of.(Cardinality); !ok {
		return 0, false
	}
	return float64(n.distinct(owner)), true
}
