package blockmax

import "fmt"

// A Span is a range of documents of one segment of a plan. It begins at a tile, and ends at a tile
// or at the end of the segment.
type Span struct {
	Segment  int    // index into Plan.Segments
	From, To uint32 // documents [From, To), by their local numbers
}

// A Partial is an answer that lacks some documents: that of a GPU that does not hold all lists of a
// plan. The CPU completes it (Wang 2017 calls that post-processing), beginning with its threshold.
type Partial struct {
	// Top is the answer over all documents outside Open: its Hits are the best K of them, and Total
	// and Exact count only them. If there may be another pass, Total must be exact while it is below
	// K: it decides whether there is.
	Top TopK

	// Open are the spans that remain to be searched, ascending and disjoint.
	Open []Span

	// Pass says which pass the answer to a plan is from that has two of them. For mode AndOr it is
	// And, or Or after And found too few documents. For a tree with Else it is And for the tree, or Or
	// for Else. Other plans ignore it.
	Pass Mode
}

// Check reports the first thing that makes it impossible to finish a partial answer to p.
func (part *Partial) Check(segments int, docs func(segment int) uint32) error {
	last := Span{Segment: -1}
	for i, s := range part.Open {
		if s.Segment < 0 || s.Segment >= segments {
			return fmt.Errorf("blockmax: span %d is of segment %d of %d", i, s.Segment, segments)
		}
		end := docs(s.Segment)
		switch {
		case s.From >= s.To || s.To > end:
			return fmt.Errorf("blockmax: span %d has documents %d to %d of %d", i, s.From, s.To, end)
		case s.From%TileDocs != 0 || s.To%TileDocs != 0 && s.To != end:
			return fmt.Errorf("blockmax: span %d, documents %d to %d, does not begin and end at tiles", i, s.From, s.To)
		case s.Segment < last.Segment, s.Segment == last.Segment && s.From < last.To:
			return fmt.Errorf("blockmax: span %d begins before the end of the one before", i)
		}
		last = s
	}
	return nil
}
