package blockmax

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/postings"
)

// A BlockState is what a search did with a block of a list.
type BlockState uint8

const (
	// Skipped: a bound of more than the block was enough, such as that of its tile, of its list or of its
	// segment, or no other list has documents there.
	Skipped BlockState = iota

	// Bounded: the search came to the block's documents. Its bound, or those of words of 64 documents in it,
	// were enough.
	Bounded

	// Decoded: the block's documents were decoded or looked into.
	Decoded
)

// A Profile records what executors on the CPU do with each block of a plan's lists, and how the
// threshold rises. It takes two bits for each block. Its methods are safe for concurrent use.
type Profile struct {
	lists    [][]ListProfile // by segment and term
	decoding atomic.Int64    // Decoding of all lists

	mu     sync.Mutex
	passes []string
	rises  []Rise
}

// A ListProfile is the part of a Profile for one list.
type ListProfile struct {
	List     *postings.List // nil when the segment lacks the term
	bounds   *Bounds
	decoding atomic.Int64
	decoded  []atomic.Uint64 // a bit for each block
	bounded  []atomic.Uint64
}

// A Rise is a step of the threshold: the score that a document needs to enter the top k.
type Rise struct {
	Decoding int64 // how often a block had been decoded by then
	Score    uint32
}

// maxRises is how many steps a Profile keeps. When there are more, every second one is dropped.
const maxRises = 128

// NewProfile returns a profile for a plan. The caller sets Plan.Profile.
func NewProfile(p *Plan) *Profile {
	x := &Profile{lists: make([][]ListProfile, len(p.Segments))}
	for s := range p.Segments {
		terms := p.Segments[s].Terms
		x.lists[s] = make([]ListProfile, len(terms))
		for t := range terms {
			if terms[t].Bounds == nil {
				continue
			}
			l := &x.lists[s][t]
			l.List, l.bounds = terms[t].List, terms[t].Bounds
			words := (l.List.Blocks() + 63) / 64
			l.decoded, l.bounded = make([]atomic.Uint64, words), make([]atomic.Uint64, words)
		}
	}
	return x
}

// Of returns the part for the list of a term in a segment.
func (x *Profile) Of(segment, term int) *ListProfile { return &x.lists[segment][term] }

// Decode notes that a block has been decoded. Executors call it when they add one to
// Work.BlocksDecoded.
func (x *Profile) Decode(segment, term, block int) {
	x.decoding.Add(1)
	l := &x.lists[segment][term]
	l.decoding.Add(1)
	l.decoded[block/64].Or(1 << (block % 64))
}

// Compare notes that the search has come to the documents of blocks [from, to), and compares their bounds,
// or those of words in them, with the threshold.
func (x *Profile) Compare(segment, term, from, to int) {
	l := &x.lists[segment][term]
	for b := from; b < to; {
		end := min(to, (b/64+1)*64)
		l.bounded[b/64].Or((^uint64(0) >> (64 - (end - b))) << (b % 64))
		b = end
	}
}

// Begin notes that a pass begins, by the name of its algorithm.
func (x *Profile) Begin(pass string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passes = append(x.passes, pass)
}

// Restart notes that the threshold starts anew: the next pass does not use the hits of the last one.
func (x *Profile) Restart() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rises = x.rises[:0]
}

// Raise notes the threshold. What is not above an earlier one counts for nothing.
func (x *Profile) Raise(score uint32) {
	decoding := x.decoding.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.rises)
	switch {
	case score == 0 || n > 0 && score <= x.rises[n-1].Score:
		return
	case n > 0 && decoding <= x.rises[n-1].Decoding:
		x.rises[n-1].Score = score
		return
	case n == maxRises:
		for i := range n / 2 {
			x.rises[i] = x.rises[2*i+1]
		}
		x.rises = x.rises[:n/2]
	}
	x.rises = append(x.rises, Rise{decoding, score})
}

// Passes returns the passes so far, by the names of their algorithms.
func (x *Profile) Passes() []string { return x.passes }

// Rises returns the steps of the threshold since it last started anew.
func (x *Profile) Rises() []Rise { return x.rises }

// Decoding returns how often a block of a list was decoded. Goroutines that share a search, and passes
// that follow one another, may decode a block several times.
func (x *Profile) Decoding() int64 { return x.decoding.Load() }

// Decoding returns how often a block of the list was decoded.
func (l *ListProfile) Decoding() int64 { return l.decoding.Load() }

// State returns what the search did with a block.
func (l *ListProfile) State(block int) BlockState {
	switch {
	case l.decoded[block/64].Load()>>(block%64)&1 == 1:
		return Decoded
	case l.bounded[block/64].Load()>>(block%64)&1 == 1:
		return Bounded
	}
	return Skipped
}

// Count returns how many blocks of the list were decoded, and of how many others the search compared
// bounds.
func (l *ListProfile) Count() (decoded, bounded int) {
	for i := range l.decoded {
		d := l.decoded[i].Load()
		decoded += bits.OnesCount64(d)
		bounded += bits.OnesCount64(l.bounded[i].Load() &^ d)
	}
	return decoded, bounded
}

// A BlockRun is successive blocks of a list.
type BlockRun struct {
	First, Last      uint32 // its documents lie between these
	Blocks           int    // all of the run
	Decoded, Bounded int    // of these: the others were skipped
	Bound            uint16 // the highest impact, at most
}

// Runs returns the blocks of the list as at most so many runs. The blocks of a run were all in one state
// if that is possible. Otherwise runs begin at multiples of a power of two, the least that is possible.
func (l *ListProfile) Runs(most int) []BlockRun {
	n := l.List.Blocks()
	if n == 0 {
		return nil
	}
	group := 1
	for l.countRuns(group, most) > most {
		group *= 2
	}
	runs := make([]BlockRun, 0, min(n, most))
	from := 0
	for at := 0; at < n; at += group {
		if at > 0 && l.mixed(at, group) {
			runs = append(runs, l.run(from, at))
			from = at
		}
	}
	return append(runs, l.run(from, n))
}

// countRuns counts the runs that groups of blocks make, up to one more than most.
func (l *ListProfile) countRuns(group, most int) int {
	runs := 1
	for at := group; at < l.List.Blocks() && runs <= most; at += group {
		if l.mixed(at, group) {
			runs++
		}
	}
	return runs
}

// mixed reports whether the group of blocks at a block, with the group before it, has blocks of several
// states.
func (l *ListProfile) mixed(at, group int) bool {
	state := l.State(at)
	for b := at - group; b < min(at+group, l.List.Blocks()); b++ {
		if l.State(b) != state {
			return true
		}
	}
	return false
}

// run returns blocks [from, to) as a run.
func (l *ListProfile) run(from, to int) BlockRun {
	l.List.Need(from, from+1) // the ends of a run are known where its neighbour was searched
	l.List.Need(to-1, to)
	r := BlockRun{First: l.List.First(from), Last: l.List.Last[to-1], Blocks: to - from}
	for b := from; b < to; b++ {
		switch l.State(b) {
		case Decoded:
			r.Decoded++
		case Bounded:
			r.Bounded++
		}
	}
	// Whole extents have a bound of their own, so the directory of a list need not be read whole.
	for b := from; b < to; {
		e := b / postings.ExtentBlocks
		end := min((e+1)*postings.ExtentBlocks, to)
		if whole := min((e+1)*postings.ExtentBlocks, l.List.Blocks()); b%postings.ExtentBlocks == 0 && end == whole {
			r.Bound = max(r.Bound, l.bounds.Extent[e])
		} else {
			l.bounds.Need(b, end)
			for _, bound := range l.bounds.Block[b:end] {
				r.Bound = max(r.Bound, bound)
			}
		}
		b = end
	}
	return r
}
