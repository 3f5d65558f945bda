package proximity

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// An Op is the kind of an Expr.
type Op uint8

const (
	// Word matches the positions of its Terms, which are alternatives.
	Word Op = iota

	// Phrase matches where its parts, which are Words, stand at their Offsets, or with Max > 0 at most
	// that many moves from there.
	Phrase

	// Ordered matches its parts in this order, without overlap, with at most Max gaps between them.
	Ordered

	// Unordered matches its parts in any order, perhaps overlapping, with at most Max gaps.
	Unordered

	// Near matches its parts, which are Words and Phrases without moves, in any order, perhaps
	// overlapping. At most Max positions lie between the end of any of them and the beginning of the
	// last. (This is NEAR of SQLite's FTS5.)
	Near

	// Any matches what one of its parts does.
	Any

	// Repeat matches Max successive matches of its part.
	Repeat

	Containing    // matches of the first part that contain one of the second
	ContainedBy   // matches of the first part that one of the second contains
	NotContaining // matches of the first part that contain none of the second

	// First matches what its part does within the first Max positions of the field.
	First

	ops // their number
)

var opNames = [ops]string{"word", "phrase", "ordered", "unordered", "near", "any", "repeat", "containing", "contained-by", "not-containing", "first"}

func (o Op) String() string {
	if o < ops {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// NoLimit as the Max of Ordered and Unordered allows any number of gaps.
const NoLimit = math.MaxInt32

// MaxParts is the most parts of an expression.
const MaxParts = 1024

// An Expr says how words must stand. It is not changed once it is in use.
type Expr struct {
	Op      Op
	Terms   []int    // Word: numbers of terms
	Parts   []Expr   // of all others
	Offsets []uint32 // Phrase: of each part, rising from 0; several parts may have the same
	Max     int      // see Op
}

// Check reports what is wrong with an expression over the given number of terms.
func (e *Expr) Check(terms int) error { return e.check(terms, true) }

func (e *Expr) check(terms int, top bool) error {
	n := len(e.Parts)
	switch {
	case e.Op >= ops:
		return fmt.Errorf("proximity: there is no %v", e.Op)
	case e.Op == Word && (len(e.Terms) == 0 || n > 0):
		return errors.New("proximity: a word without terms, or with parts")
	case e.Op != Word && (n == 0 || n > MaxParts):
		return fmt.Errorf("proximity: %v of %d parts", e.Op, n)
	case (e.Op == Containing || e.Op == ContainedBy || e.Op == NotContaining) && n != 2:
		return fmt.Errorf("proximity: %v of %d parts, want 2", e.Op, n)
	case (e.Op == First || e.Op == Repeat) && n != 1:
		return fmt.Errorf("proximity: %v of %d parts, want 1", e.Op, n)
	case e.Max < 0 || e.Max > NoLimit || e.Op == Repeat && e.Max < 1:
		return fmt.Errorf("proximity: %v with %d", e.Op, e.Max)
	case (e.Op == Near || e.Op == Phrase && e.Max > 0) && !top:
		return fmt.Errorf("proximity: %v as a part", e.Op)
	case e.Op == Phrase && (len(e.Offsets) != n || e.Offsets[0] != 0 || !slices.IsSorted(e.Offsets)):
		return fmt.Errorf("proximity: offsets %v of %d parts", e.Offsets, n)
	}
	for _, t := range e.Terms {
		if t < 0 || t >= terms {
			return fmt.Errorf("proximity: term %d of %d", t, terms)
		}
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if e.Op == Phrase && p.Op != Word || e.Op == Near && p.Op != Word && p.Op != Phrase {
			return fmt.Errorf("proximity: %v of %v", e.Op, p.Op)
		}
		if err := p.check(terms, false); err != nil {
			return err
		}
	}
	return nil
}

// Most bounds the number of matches in a document, and so the frequency, given the frequencies of the
// terms in it. It is 0 if there is none for certain. It never falls when a frequency rises.
func (e *Expr) Most(tfs []uint32) uint64 {
	if e.Op == Word {
		sum := uint64(0)
		for _, t := range e.Terms {
			sum += uint64(tfs[t])
		}
		return sum
	}
	first, least, sum := uint64(0), uint64(math.MaxUint64), uint64(0)
	for i := range e.Parts {
		n := e.Parts[i].Most(tfs)
		if i == 0 {
			first = n
		}
		least, sum = min(least, n), sum+n
	}
	switch e.Limit() {
	case LimitFirst:
		if (e.Op == Containing || e.Op == ContainedBy) && least == 0 {
			return 0
		}
		return first
	case LimitLeast:
		return least
	case LimitTimes:
		return min(sum, uint64(len(e.Parts))*least)
	case LimitAll:
		if least == 0 {
			return 0
		}
	}
	return sum
}

// A Limit says how the number of matches of an expression follows from those of its parts.
type Limit uint8

const (
	LimitFirst Limit = iota // no more than of the first part
	LimitLeast              // no more than of the rarest part
	LimitTimes              // as many times that as there are parts
	LimitAll                // no more than of all parts together, if all have one
	LimitSum                // no more than of all parts together
)

// Limit returns the limit of an expression that is not a word.
//
// Two minimal intervals of parts in order never share a match of a part. In any order, each match of
// the rarest part is in at most as many as there are parts, if all are equally long: each of these
// intervals begins with another part. And all intervals begin with different matches of parts.
func (e *Expr) Limit() Limit {
	switch e.Op {
	case Any:
		return LimitSum
	case Repeat, Containing, ContainedBy, NotContaining, First:
		return LimitFirst
	case Ordered:
		return LimitLeast
	case Phrase:
		if e.Max == 0 {
			return LimitLeast
		}
		if e.groups() != nil {
			return LimitAll
		}
	}
	if slices.ContainsFunc(e.Parts, func(p Expr) bool { return p.Op != Word }) {
		return LimitAll
	}
	return LimitTimes
}

// groups numbers the parts of a phrase that share terms, directly or through others: parts with the
// same number do. A part that shares none has -1. It is nil if no part shares any.
func (e *Expr) groups() []int {
	var groups []int
	for i := range e.Parts {
		for j := range i {
			if !slices.ContainsFunc(e.Parts[i].Terms, func(t int) bool { return slices.Contains(e.Parts[j].Terms, t) }) {
				continue
			}
			if groups == nil {
				groups = make([]int, len(e.Parts))
				for k := range groups {
					groups[k] = -1
				}
			}
			switch {
			case groups[i] < 0 && groups[j] < 0:
				groups[i], groups[j] = i, i
			case groups[i] < 0:
				groups[i] = groups[j]
			case groups[j] < 0:
				groups[j] = groups[i]
			default:
				from, to := groups[j], groups[i]
				for k, g := range groups {
					if g == from {
						groups[k] = to
					}
				}
			}
		}
	}
	return groups
}
