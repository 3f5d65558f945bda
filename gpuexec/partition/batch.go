package partition

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// A batch is plans that all devices answer, each for its ranges.
type batch struct {
	set     *Set
	plans   []*Plan
	refused []bool
	least   []uint32 // Plan.Least
	cuts    []*cut   // of all plans' segments
	at      []place  // of each plan, and one more
	first   []int    // plans that are not refused
	again   bool     // AndOr runs as Or, and a tree as its Else: the first turn has found too few documents
	memo    []keyless
	answers []blockmax.Partial
}

// A place says where the segments and terms of a plan are among those of all plans.
type place struct{ segment, term int }

// An inquiry is what one device is asked, and its answer.
type inquiry struct {
	plans    []*Plan // those with nothing in the device's ranges are left out
	of       []int   // for each plan in question: index in plans, or nothing or damaged
	segments []int   // of their segments: indexes in the plan in question
	starts   []int   // of each plan in question: its first one in segments
	partials []blockmax.Partial
	failed   bool // the device did not answer
	err      error
	made     *memory // of plans
}

// Plans that a device is not asked.
const (
	nothing = -1 - iota // its ranges have no posting
	damaged             // of a list
)

func (s *Set) begin(plans []*Plan) *batch {
	b := &batch{
		set: s, plans: plans, refused: make([]bool, len(plans)), least: make([]uint32, len(plans)), at: make([]place, len(plans)+1),
		answers: make([]blockmax.Partial, len(plans)), memo: make([]keyless, len(s.members)),
	}
	for i := range b.memo {
		b.memo[i].parts = map[keylessID]*listPart{}
	}
	for i, p := range plans {
		b.at[i+1] = place{b.at[i].segment + len(p.Segments), b.at[i].term + len(p.Segments)*len(p.Weights)}
	}
	b.cuts = make([]*cut, b.at[len(plans)].segment)
	share(runtime.GOMAXPROCS(0), len(plans), func(from, to int) {
		for i := from; i < to; i++ {
			b.prepare(i)
		}
	})
	for i := range plans {
		if b.refused[i] {
			openAll(&b.answers[i], plans[i])
		} else {
			b.first = append(b.first, i)
		}
	}
	return b
}

// prepare finds out what holds for a plan on all devices.
func (b *batch) prepare(i int) {
	p := b.plans[i]
	if b.set.Refuses(p) != nil { // this also checks the lengths of all documents
		b.refused[i] = true
		return
	}
	for j := range p.Segments {
		b.cuts[b.at[i].segment+j] = b.set.cuts.of(&p.Segments[j], j)
	}
	switch {
	case p.Tree != nil:
		b.least[i] = p.SeedOf(p.Tree) // of one with Else that begins anew: 0, or K documents would have matched
	case p.Mode != blockmax.And:
		b.least[i] = p.Seed()
	}
}

// ask lets all devices answer some plans, and merges their answers. Those of mode AndOr run as And
// unless they have run.
func (b *batch) ask(ctx context.Context, some []int) error {
	if len(some) == 0 {
		return nil
	}
	asks := make([]inquiry, len(b.set.members))
	var group sync.WaitGroup
	for i := range asks {
		group.Go(func() { b.askDevice(ctx, i, some, &asks[i]) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var errs []error
	failed := false
	for i := range asks {
		if asks[i].err != nil {
			errs = append(errs, asks[i].err)
		}
		failed = failed || asks[i].failed
	}
	switch {
	case len(errs) == len(asks):
		return errors.Join(errs...)
	case failed:
		b.set.failedBatches.Add(1)
	}
	share(runtime.GOMAXPROCS(0), len(some), func(from, to int) {
		for n := from; n < to; n++ {
			b.merge(some[n], n, asks)
		}
	})
	for i := range asks {
		if asks[i].made != nil {
			asks[i].made.release()
		}
	}
	return nil
}

// askDevice asks device i.
func (b *batch) askDevice(ctx context.Context, i int, some []int, ask *inquiry) {
	m := b.set.members[i]
	if ask.err = m.gone(); ask.err != nil {
		return
	}
	if b.make(i, some, ask); len(ask.plans) == 0 {
		return
	}
	partials, err := m.Partials(ctx, ask.plans)
	if err == nil && len(partials) != len(ask.plans) {
		err = errors.New("partition: not an answer to each plan")
	}
	if ctx.Err() == nil {
		b.set.note(i, err)
	}
	ask.partials, ask.err, ask.failed = partials, err, err != nil
}

// make makes the plans for device i.
func (b *batch) make(i int, some []int, ask *inquiry) {
	segments, terms := 0, 0
	for _, n := range some {
		segments += len(b.plans[n].Segments)
		terms += b.at[n+1].term - b.at[n].term
	}
	errs := make([]error, len(some))
	ask.of, ask.starts, ask.segments = make([]int, len(some)), make([]int, len(some)), make([]int, segments)
	ask.made = newMemory(len(some), segments, terms)
	made := ask.made.plans
	froms := make([]place, len(some)+1)
	for j, n := range some {
		froms[j+1] = place{froms[j].segment + len(b.plans[n].Segments), froms[j].term + b.at[n+1].term - b.at[n].term}
	}
	share(max(1, runtime.GOMAXPROCS(0)/len(b.set.members)), len(some), func(from, to int) {
		for j := from; j < to; j++ {
			at, end := froms[j], froms[j+1]
			errs[j] = b.makePlan(i, some[j], &made[j], ask.made.slice(at, end), ask.segments[at.segment:end.segment])
		}
	})
	for j := range some {
		ask.of[j], ask.starts[j] = nothing, froms[j].segment
		switch {
		case errs[j] != nil:
			ask.of[j] = damaged
		case len(made[j].Segments) > 0:
			ask.of[j] = len(ask.plans)
			ask.plans = append(ask.plans, &made[j])
		}
	}
}

// memory is room for plans and what they consist of. A batch takes megabytes of it for each device.
// If that were new each time, the system would have to provide pages for most of it.
type memory struct {
	plans []Plan
	room
}

// room is room for segments and terms.
type room struct {
	segments []blockmax.Segment
	terms    []blockmax.Term
}

var memories = sync.Pool{New: func() any { return new(memory) }}

func newMemory(plans, segments, terms int) *memory {
	m := memories.Get().(*memory)
	m.plans = slices.Grow(m.plans[:0], plans)[:plans]
	m.segments = slices.Grow(m.segments[:0], segments)[:segments]
	m.terms = slices.Grow(m.terms[:0], terms)[:terms]
	return m
}

// release gives the memory back, once no device uses the plans. It clears them, since lists that
// they have would stay in memory.
func (m *memory) release() {
	clear(m.plans)
	clear(m.segments)
	clear(m.terms)
	memories.Put(m)
}

func (r room) slice(from, to place) room {
	return room{r.segments[from.segment:from.segment:to.segment], r.terms[from.term:from.term:to.term]}
}

// makePlan makes device i's part of plan n. It leaves out segments without a posting in the range,
// and writes which segments of the plan the others are.
func (b *batch) makePlan(i, n int, to *Plan, room room, segments []int) error {
	p := b.plans[n]
	*to = Plan{Weights: p.Weights, Mode: p.Mode, Tree: p.Tree, K: p.K, RankWeight: p.RankWeight, After: p.After, CountAll: p.CountAll, OnlyTotal: p.OnlyTotal, Least: b.least[n]}
	switch {
	case !settles(p):
		to.Undivided = p.Undivided
	case !b.again: // a second turn may leave small segments to the CPU
		if to.Undivided = true; p.Else == nil {
			to.Mode = blockmax.And
		}
	case p.Else != nil:
		to.Tree = p.Else
	default:
		to.Mode = blockmax.Or
	}
	for j := range p.Segments {
		seg := &p.Segments[j]
		r := b.set.stretch(b.cuts[b.at[n].segment+j], i)
		if r.from == r.to {
			continue
		}
		from, any := len(room.terms), false
		for t := range seg.Terms {
			term, err := b.set.partOf(i, &seg.Terms[t], r, &b.memo[i])
			if err != nil {
				return err
			}
			any = any || term.Bounds != nil
			room.terms = append(room.terms, term)
		}
		if !any {
			room.terms = room.terms[:from]
			continue
		}
		segments[len(room.segments)] = j
		room.segments = append(room.segments, r.segment(seg, room.terms[from:]))
	}
	to.Segments = room.segments
	return nil
}

// segment returns the stretch of a segment as a segment with these terms.
func (r *stretch) segment(s *blockmax.Segment, terms []blockmax.Term) blockmax.Segment {
	of := blockmax.Segment{Base: s.Base + r.start, Docs: r.to - r.start, Skip: r.from - r.start, Terms: terms}
	if s.Accept != nil {
		of.Accept = s.Accept[r.start/64 : (r.to+63)/64]
	}
	tile, end := r.start/blockmax.TileDocs, (r.to+blockmax.TileDocs-1)/blockmax.TileDocs
	if s.Rank != nil {
		of.Rank, of.RankTile = s.Rank[r.start:r.to], s.RankTile[tile:end]
	}
	if s.Tail != nil {
		of.Tail = s.Tail[tile:end]
	}
	return of
}
