package demand

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/postings"
)

// A Head says how many rows each part of the head of a list takes, in the executor's form on the
// device.
type Head func(*postings.List) []uint32

// Needs appends what a query needs of each of its lists. It omits lists that cannot help reach a
// score of need. mode and need are those of Extents. A plan with a tree needs all of its lists.
func (f *Finder) Needs(dst []listcache.Need, p *Plan, mode blockmax.Mode, need uint32, head Head) []listcache.Need {
	for s := range p.Segments {
		seg := &p.Segments[s]
		if p.Tree != nil {
			dst = appendWhole(dst, seg, head)
			continue
		}
		wanted := make([][]uint64, len(seg.Terms))
		for t := range seg.Terms {
			if seg.Terms[t].Bounds != nil {
				wanted[t] = make([]uint64, (len(seg.Terms[t].List.ExtLast)+63)/64)
			}
		}
		f.Extents(p, s, mode, need, wanted)
		for t := range seg.Terms {
			term := &seg.Terms[t]
			if !slices.ContainsFunc(wanted[t], func(w uint64) bool { return w != 0 }) {
				continue
			}
			dst = append(dst, listcache.Need{
				Key: term.Key, Head: head(term.List), Extents: ExtentRows(nil, term.List), Wanted: wanted[t], Queries: 1,
			})
		}
	}
	return dst
}

// appendWhole appends all of the lists of a segment.
func appendWhole(dst []listcache.Need, seg *blockmax.Segment, head Head) []listcache.Need {
	for t := range seg.Terms {
		if term := &seg.Terms[t]; term.Bounds != nil && term.List.Blocks() > 0 {
			dst = append(dst, listcache.Need{Key: term.Key, Head: head(term.List), Extents: ExtentRows(nil, term.List), Queries: 1})
		}
	}
	return dst
}

// ExtentRows appends the rows of each extent of a list.
func ExtentRows(dst []uint32, l *postings.List) []uint32 {
	for e := range l.ExtLast {
		dst = append(dst, l.ExtentRows(e))
	}
	return dst
}
