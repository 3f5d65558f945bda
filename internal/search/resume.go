package search

import (
	"context"
	"errors"
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/plan"
)

// Resume makes a search that is not yet planned continue after its cursor, if it has one.
func (x *Run) Resume(ctx context.Context) error {
	after := &x.settings.Cursor
	if after.IsZero() {
		return nil
	}
	want, err := after.page.makeKey()
	if err != nil {
		return err
	}
	page := x.newPage()
	if key, err := page.makeKey(); err != nil || key != want {
		return plan.Errorf("SearchOptions.After", "the cursor is of another query, or of the same one with another Similarity, Alpha, Sort or, for ModeAndOr, K, or in other engines")
	}
	if n := len(x.settings.Sort); n > 0 && (after.page.places == nil || len(after.page.places[after.hit].Keys) != n) || n == 0 && after.page.places != nil {
		return errCursor
	}
	x.settings.Frozen = after.page.text[after.page.statistics:]
	v, base := x.view.ViewAt(after.Index())
	if v == nil {
		return errCursor
	}
	doc, found, err := placeOf(ctx, v, after)
	if err != nil {
		return x.view.Named(after.Index(), err)
	}
	if x.Sorted() {
		place := after.page.places[after.hit]
		place.Doc = base + doc
		x.after, x.ties = &place, !found
		return nil
	}
	x.settings.After = &blockmax.Hit{Doc: base + doc, Score: after.score}
	if !found {
		x.settings.After = &blockmax.Hit{Doc: math.MaxUint32, Score: after.score + 1} // before all that score as much
	}
	return nil
}

// placeOf returns the number of a cursor's document in the view of its index, or of its old copy. If the
// segment is gone, it looks the document up by id, and accepts it if it must still be the same: in
// order of arrival a document that was put again cannot be in an earlier place.
func placeOf(ctx context.Context, v *live.View, c *Cursor) (doc uint32, found bool, err error) {
	var buf [64]byte
	for i := range v.Len() {
		s := v.SegmentAt(i)
		if uint32(s.Number()) != c.segment || c.local >= s.Reader().Docs() {
			continue
		}
		id, err := s.Reader().AppendID(buf[:0], c.local)
		if err != nil {
			return 0, false, s.At(err)
		}
		if string(id) == c.ID() { // otherwise another index has a segment of this number
			return s.Base() + c.local, true, nil
		}
	}
	i, local, err := v.Find(ctx, c.ID())
	if errors.Is(err, live.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	doc = v.SegmentAt(i).Base() + local
	return doc, v.SegmentAt(i).AsArrived() && doc <= c.doc, nil
}
