package cpuexec

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Under a function of the whole plan, sheets with the greatest numbers come first, like segments: their hits
// leave others out. In a log that is sorted by time and searched for what is new, the best sheet is the last.

// sheetOrder sets to to the sheets of a segment, those with the greatest bounds of numbers first. Those with
// equal bounds stay in order.
func sheetOrder(to []int, p *blockmax.Plan, segment int) []int {
	seg := &p.Segments[segment]
	to = to[:0]
	for i := range sheets(seg.Docs) {
		to = append(to, i)
	}
	if p.Outer != nil && len(to) > 1 {
		numbers := seg.Functions[p.Outer.Number]
		slices.SortStableFunc(to, func(a, b int) int {
			return cmp.Compare(numbers.BoundSheet(uint32(b)), numbers.BoundSheet(uint32(a)))
		})
	}
	return to
}

// hopelessSheet reports whether no document of the sheet that the current range is can enter, by the function
// of the plan.
func (r *run) hopelessSheet(visit segmentPass) bool {
	if r.at.outer == nil || !visit.prunes || r.out.counting {
		return false
	}
	need := r.out.need(r.at.from)
	best := bestScore(r.query.tree, r.query.plan, r.at.index)
	return need > 0 && r.at.outer.Apply(best, r.at.numbers.BoundSheet(r.at.from/sheetDocs)) < need
}

// passSheets is visit.run for the current segment, sheet by sheet if a function orders them.
func (r *run) passSheets(visit segmentPass) error {
	docs := r.at.seg.Docs
	if r.at.outer == nil || !visit.byTiles || !visit.prunes || visit.order != nil || r.out.counting || sheets(docs) < 2 {
		return visit.run(r)
	}
	r.query.sheets = sheetOrder(r.query.sheets, r.query.plan, r.at.index)
	at := uint32(0) // where cursors stand
	for _, i := range r.query.sheets {
		r.at.from = uint32(i) * sheetDocs
		if r.at.to = min(r.at.from+sheetDocs, docs); r.hopelessSheet(visit) {
			continue
		}
		if r.at.from < at { // cursors only move forward
			from, to := r.at.from, r.at.to
			if err := r.enter(r.at.index); err != nil {
				return err
			}
			r.at.from, r.at.to = from, to
		}
		if err := visit.run(r); err != nil {
			return err
		}
		at = r.at.to
	}
	return nil
}
