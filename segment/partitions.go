package segment

import (
	"cmp"
	"slices"
)

// Partitions split the terms into ranges that are indexed separately, without locks (Wei 2011). A
// range is one of two-byte prefixes, so that the partitions in order have all terms in order.
//
// The ranges come from a sample of documents, so that all have about the same work. The output does
// not depend on them.
type Partitions struct {
	of       [prefixes]uint8 // partition of a prefix; never falls
	weight   []uint64        // of each partition, in the sample
	postings []uint64        // the same
	n        int
}

const (
	prefixes = 1 << 16

	// maxPartitions is large enough that some indexers can share the partitions evenly, although a
	// prefix such as th has one posting in twenty.
	maxPartitions = 64
)

// prefixOf is the first two bytes of a term, padded with zeros.
func prefixOf(term []byte) uint16 {
	switch len(term) {
	case 0:
		return 0
	case 1:
		return uint16(term[0]) << 8
	}
	return uint16(term[0])<<8 | uint16(term[1])
}

// newPartitions cuts the prefixes where their cumulative weight passes the next share of the total.
func newPartitions(weight *[prefixes]uint64) *Partitions {
	var total uint64
	for _, w := range weight {
		total += w
	}
	p := &Partitions{weight: make([]uint64, 1)}
	var before uint64
	for prefix, w := range weight {
		if last := len(p.weight) - 1; before*maxPartitions >= total*uint64(last+1) && last+1 < maxPartitions && p.weight[last] > 0 {
			p.weight = append(p.weight, 0)
		}
		p.of[prefix] = uint8(len(p.weight) - 1)
		p.weight[len(p.weight)-1] += w
		before += w
	}
	p.n = len(p.weight)
	p.postings = make([]uint64, p.n)
	return p
}

// order returns the partitions, sorted stably.
func (p *Partitions) order(compare func(a, b int) int) []int {
	order := make([]int, p.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
}

// share assigns the partitions to the indexers, the heaviest first, each to the indexer with the
// least weight so far.
func (p *Partitions) share(indexers int) [][]int {
	order := p.order(func(a, b int) int { return cmp.Compare(p.weight[b], p.weight[a]) })
	shares, load := make([][]int, indexers), make([]uint64, indexers)
	for _, part := range order {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		shares[least] = append(shares[least], part)
		load[least] += p.weight[part]
	}
	return shares
}
