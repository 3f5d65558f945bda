package blockmax

import (
	"fmt"
	"math"
)

// A FunctionMode says how a number of a document changes its score.
type FunctionMode uint8

const (
	FunctionAdd      FunctionMode = iota // score + number
	FunctionMultiply                     // score × number
	FunctionMax                          // the greater of the two
	FunctionReplace                      // the number alone
	functionModes                        // their number
)

// A Function changes the scores of a node, or of a whole plan, by a number of each document
// (Segment.Functions). Numbers are fractions of 1<<32, and what a fraction is of is in the weights: the
// planner multiplies Weight, or the weights below a product, by a power of two that no number exceeds. So
// a function never makes more of a score than the plan's scale has room for.
type Function struct {
	Number int // index into Segment.Functions
	Mode   FunctionMode
	Weight uint32 // what a fraction of one adds or stands for, at the plan's scale; not of FunctionMultiply
}

// Numbers are those of a function for the documents of a segment, as fractions of 1<<32. They are safe
// for concurrent use, and never change.
type Numbers interface {
	// Of returns the number of a document. After a read error it is 0, and Err returns the error.
	Of(doc uint32) uint32

	// Bound is not below the number of any document of a tile, and Highest not below any.
	Bound(tile uint32) uint32
	Highest() uint32

	// BoundSheet is not below the number of any document of a sheet of 64 tiles.
	BoundSheet(sheet uint32) uint32

	// Words bounds the numbers of the words of 64 documents of a tile. It is nil where these bounds are not
	// known; with make they are found first, if they can be, which takes as long as some hundred numbers.
	Words(tile uint32, make bool) *[TileDocs / 64]uint32

	// Known returns the numbers of the documents of a tile if all are known, else nil.
	Known(tile uint32) *[TileDocs]uint32

	Err() error
}

// Share is the part of a weight that a fraction of 1<<32 stands for. It is monotone in both, and that of
// r<<16 is Contribution(w, r).
func Share(w, fraction uint32) uint32 { return uint32(uint64(w) * uint64(fraction) >> 32) }

// Apply returns the score of a document with a number. It is monotone in both.
func (f *Function) Apply(score, number uint32) uint32 {
	switch f.Mode {
	case FunctionMultiply:
		return Share(score, number)
	case FunctionMax:
		return max(score, Share(f.Weight, number))
	case FunctionReplace:
		return Share(f.Weight, number)
	}
	return score + Share(f.Weight, number)
}

// Under is the least score with which a document reaches need, if its number is at most bound:
// math.MaxInt32, which no score is above, if none reaches it.
func (f *Function) Under(need, bound uint32) uint32 {
	share := Share(f.Weight, bound)
	switch {
	case need == 0:
		return 0
	case f.Mode == FunctionMultiply && bound == 0:
		return math.MaxInt32
	case f.Mode == FunctionMultiply:
		return uint32(min((uint64(need)<<32+uint64(bound)-1)/uint64(bound), math.MaxInt32))
	case share >= need:
		return 0
	case f.Mode == FunctionMax:
		return need
	case f.Mode == FunctionReplace:
		return math.MaxInt32
	}
	return need - share
}

// Keeps reports whether no score becomes less than it was.
func (f *Function) Keeps() bool { return f.Mode == FunctionAdd || f.Mode == FunctionMax }

// check reports what is wrong with a function of a plan.
func (f *Function) check(p *Plan) error {
	switch {
	case f.Mode >= functionModes:
		return fmt.Errorf("a function has mode %d", f.Mode)
	case len(p.Segments) > 0 && (f.Number < 0 || f.Number >= len(p.Segments[0].Functions)):
		return fmt.Errorf("the plan names function %d of %d", f.Number, len(p.Segments[0].Functions))
	}
	return nil
}

// best is the highest score of a document that scores at most sum without the function.
func (f *Function) best(sum uint64) uint64 {
	switch f.Mode {
	case FunctionMultiply:
		return sum
	case FunctionMax:
		return max(sum, uint64(f.Weight))
	case FunctionReplace:
		return uint64(f.Weight)
	}
	return sum + uint64(f.Weight)
}
