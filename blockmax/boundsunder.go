package blockmax

import (
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// Bounds need not be attained. So when the average length changes a little, the bounds of blocks and
// extents need not change at all, if they have some slack: Under gives it to them when the average
// changes for the first time, and shares them from then on. That reads nothing and copies nothing,
// neither on the host nor to a device that keeps these bounds, where NewBounds reads the best pairs of
// all blocks from the directory.
//
// Under a table with constants K' instead of K, the exact impact 1/(1+K/tf) of any posting becomes at
// most rise times as high and at least 1/fall of it, with
//
//	rise = max(1, (1+K)/(1+K') of any length code)   fall = max(1, (1+K')/(1+K) of any length code)
//
// since (tf+K)/(tf+K') lies between its values for tf = 1 and 1. Impacts are rounded, by at most 0.52
// of a unit each (half a unit, and three roundings to 24 bits), hence
//
//	new <= rise × old + 1.06   new >= old/fall - 1.04

// slackShare: bounds with slack are higher by one in so many, and hold as long as no impact rises by
// more. Nor are they used once impacts have fallen by more.
const slackShare = 128

// A shift is what becomes of impacts from one table to another.
type shift struct{ rise, fall float64 }

// shiftTo compares two tables.
func (t *Table) shiftTo(to *Table) shift {
	s := shift{1, 1}
	for c := range t.k {
		old, next := 1+float64(t.k[c]), 1+float64(to.k[c])
		s.rise, s.fall = max(s.rise, old/next), max(s.fall, next/old)
	}
	return s
}

// small reports whether bounds with slack hold after a shift, and are not loose.
func (s shift) small() bool {
	const most = 1 + 1.0/slackShare
	return s.rise <= most && s.fall <= most
}

// above is a bound with slack: at least the impact, after a small shift, of each posting that had at
// most an impact.
func above(impact uint16) uint16 {
	return uint16(min(65535, uint32(impact)+(uint32(impact)+slackShare-1)/slackShare+2))
}

// below is at most the impact, after a shift, of each posting that had at least an impact.
func (s shift) below(impact uint16) uint16 {
	return uint16(max(0, float64(impact)/s.fall-1.05))
}

// Base is the table under which the bounds of blocks and extents were computed, and whether they have
// slack. Bounds of one list with the same base have the same bounds of blocks and extents, and may be
// under different tables. The table is nil for bounds that neither NewBounds nor Under has made.
func (b *Bounds) Base() (under *Table, slack bool) { return b.base, b.slack }

// Under returns bounds of the list under another table, which follow from these, or nil if there are
// none: the average length has changed too much, or tables have weights (Weighted). They are nearly as
// tight as those of NewBounds. The list is the one that these bounds are of.
func (b *Bounds) Under(l *postings.List, t *Table) *Bounds {
	if b.base == nil || b.base.key.Weight != 0 || t.key.Weight != 0 {
		return nil
	}
	s := b.base.shiftTo(t)
	if !s.small() {
		return nil
	}
	from := b
	if !b.slack {
		from = b.withSlack()
	}
	of := &Bounds{
		List: t.Highest(l.ListImpacts), Extent: from.Extent, Block: from.Block, Best: make(Best, len(b.Best)),
		onDemand: from.onDemand, base: b.base, slack: true, reached: b.reached,
	}
	if !b.slack {
		of.reached = b.Best
	}
	for i, impact := range of.reached {
		of.Best[i] = s.below(impact)
	}
	of.sheets.Store(from.sheets.Load())
	of.last.Store(b.last.Load())
	of.spent.Store(b.spent.Load())
	return of
}

// withSlack returns the same bounds with slack. Those of extents that are not read yet get it when they
// are.
func (b *Bounds) withSlack() *Bounds {
	of := &Bounds{Extent: slices.Clone(b.Extent), Block: make([]uint16, len(b.Block))}
	for i, bound := range of.Extent {
		of.Extent[i] = above(bound)
	}
	x := b.onDemand
	if x != nil {
		of.onDemand = newOnDemand(x.list, x.table, len(b.Extent))
		of.onDemand.slack = true
	}
	for e := range of.Extent {
		if x != nil && !x.has(e) {
			continue
		}
		from := e * postings.ExtentBlocks
		for i, bound := range b.Block[from:min(from+postings.ExtentBlocks, len(b.Block))] {
			of.Block[from+i] = above(bound)
		}
		if x != nil {
			of.onDemand.read(e)
		}
	}
	return of
}
