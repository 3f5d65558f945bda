package scatter

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle"
)

// loads reports whether hits have parts that are fetched when they are known.
func (s *search) loads() bool {
	return len(s.given.Load) > 0 || s.given.Versions || s.given.Highlight != nil
}

// load fetches what the hits lack, from the shards that have them.
func (s *search) load(ctx context.Context, hits []Hit) error {
	o := s.given.SearchOptions
	if !s.loads() || len(hits) == 0 {
		return nil
	}
	of := make([][]*Hit, len(s.sessions))
	for i := range hits {
		of[hits[i].Shard] = append(of[hits[i].Shard], &hits[i])
	}
	return s.each(ctx, func(ctx context.Context, i int) error {
		if len(of[i]) == 0 {
			return nil
		}
		ids := make([]string, len(of[i]))
		for j, h := range of[i] {
			ids[j] = h.ID
		}
		// Fragments mark what a Match with ModeAndOr finds in a document, not what it decided.
		highlight := o.Highlight
		if highlight != nil && highlight.Query == nil {
			marked := *highlight
			marked.Query, highlight = s.asked, &marked
		}
		found, err := s.sessions[i].Search(ctx, riffle.IDs{Values: ids}, &riffle.SearchOptions{
			K: len(ids), Load: o.Load, Versions: o.Versions, Highlight: highlight, Now: s.given.Now, Partial: o.Partial,
			Statistics: &riffle.Statistics{Traits: s.after.Statistics.Traits}, // what the query means, without numbers
		})
		if err != nil {
			return err
		}
		byID := make(map[string]*riffle.Hit, len(ids))
		for j := range found.Hits {
			byID[found.Hits[j].ID] = &found.Hits[j]
		}
		for _, h := range of[i] {
			got := byID[h.ID]
			if got == nil {
				return fmt.Errorf("document %q was found and cannot be loaded", h.ID)
			}
			h.Fields, h.Version, h.Fragments = got.Fields, got.Version, got.Fragments
		}
		return nil
	})
}
