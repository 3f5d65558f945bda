package gpuexec

import "github.com/riffle-search/riffle/blockmax"

// Small segments are left to the CPU (Options.SmallDocs): those that documents were added to lately.
// Each segment of a plan costs a batch as much on the host as the largest: lists are looked up,
// structs written, and lists of one block, of which small segments are made, come anew with every
// batch. That work delays all queries of all batches, one after the other. On the CPU it takes the
// core of the query's own goroutine, and little of it: with the threshold that the device has found,
// bounds of lists mostly say that nothing in a small segment enters.

const (
	// A segment is small if it has at most one of so many documents of the plan,
	smallShare = 16

	// and all small ones together have at most one of so many.
	smallSum = 4
)

// smallOf is the number of documents up to which segments of a plan are left to the CPU: docs, less,
// or 0. Counts are not, which the CPU would begin anew, nor plans of which all documents decide what
// comes next.
func smallOf(p *Plan, docs uint32) uint32 {
	if docs == 0 || len(p.Segments) < 2 || p.OnlyTotal || p.Undivided || settles(p) {
		return 0
	}
	all := uint64(0)
	for i := range p.Segments {
		all += uint64(p.Segments[i].Docs)
	}
	small := uint32(min(uint64(docs), all/smallShare))
	sum := uint64(0)
	for i := range p.Segments {
		if n := p.Segments[i].Docs; n <= small {
			sum += uint64(n)
		}
	}
	if sum*smallSum > all {
		return 0
	}
	return small
}

// leftOf are the spans of the segments that are left to the CPU.
func leftOf(p *Plan, small uint32) (left []blockmax.Span) {
	for i := range p.Segments {
		if seg := &p.Segments[i]; seg.Docs <= small && seg.Docs > seg.Skip && hasTerms(seg) {
			left = append(left, blockmax.Span{Segment: i, From: seg.Skip, To: seg.Docs})
		}
	}
	return left
}

// hasTerms reports whether a segment has any of its terms.
func hasTerms(s *blockmax.Segment) bool {
	for t := range s.Terms {
		if s.Terms[t].Bounds != nil {
			return true
		}
	}
	return false
}
