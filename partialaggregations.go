package riffle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// PartialAggregations are the aggregations of a search in one of several indexes, before buckets are chosen
// and numbers are rounded. Those of all indexes together become the results of one index that has all
// documents, to the last bit. That is for indexes of several processes; a Multi does it for those of one:
//
//   - search each index with SearchOptions.PartialAggregations, with the same Now, and with the sum of the
//     Statistics of all, which were asked for with these aggregations;
//   - send the bytes of Result.PartialAggregations (MarshalBinary), and read them with
//     UnmarshalPartialAggregations;
//   - Merge them in the order of the indexes, which decides about equal hits of a TopHitsAggregation;
//   - Finish makes the results.
//
// A TopHitsAggregation does not load fields: Hit.Fields is nil. Load those of the hits that remain, from
// the index that SetEngine has named.
//
// They are larger than results. A TermsAggregation has all its buckets, not only Size, because
// AggregationResult.Distinct and the counts of the best are exact; a CardinalityAggregation has all
// different values, and a PercentilesAggregation has each with a count. A value takes about as many bytes
// as it differs from the one before, and three more. MaxBytes bounds their memory.
//
// Methods must not be called concurrently.
type PartialAggregations struct {
	// MaxBytes bounds the memory that the aggregations take, merged and finished. Beyond it, Merge and
	// Finish fail with a *QueryError that names an aggregation. It is that of the index's
	// Options.AggregationBytes, or of the call of UnmarshalPartialAggregations.
	MaxBytes int64

	given   map[string]Aggregation
	partial *aggregate.Partial // nil once it is merged into another or finished
}

// partial computes the partial aggregations of a search.
func (b *aggregationBuilder) partial(a *search.Aggregating, given map[string]Aggregation) (*PartialAggregations, error) {
	found, err := b.run.AggregatePartly(b.ctx, a, b.named)
	if err != nil {
		return nil, err
	}
	return &PartialAggregations{MaxBytes: a.Bytes, given: given, partial: found}, nil
}

// named returns the hits of a TopHitsAggregation by their ids.
func (b *aggregationBuilder) named(s *aggregate.Spec, hits []aggregate.Hit) ([]aggregate.NamedHit, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	var page search.Page
	cursors, err := b.locate(hits, &page)
	if err != nil {
		return nil, err
	}
	named := make([]aggregate.NamedHit, len(hits))
	for i := range named {
		h := &named[i]
		h.Name, h.Engine, h.Score, h.Keys = cursors[i].ID(), b.engine(cursors[i]), b.run.Score(cursors[i]), hits[i].Keys
		for j := range h.Keys {
			if s.Of.(aggregate.TopHits).Order.Keys[j].By == cpuexec.ByScore {
				h.Keys[j].Value = columns.OfFloat(h.Score) // indexes may have other integers for scores
			}
		}
	}
	return named, nil
}

// named returns the hits of a partial result that is finished.
func (a TopHitsAggregation) named(named []aggregate.NamedHit) []Hit {
	if len(named) == 0 {
		return nil
	}
	hits := make([]Hit, len(named))
	for i := range named {
		from, h := &named[i], &hits[i]
		h.ID, h.Score, h.Engine = from.Name, from.Score, from.Engine
		if a.byScore() {
			if len(a.Sort) > 0 {
				h.Sort = []any{h.Score}
			}
			continue
		}
		h.Sort = make([]any, len(from.Keys))
		for j, key := range from.Keys {
			switch {
			case key.Missing:
			case a.Sort[j].ID:
				h.Sort[j] = key.Value.Term
			default:
				h.Sort[j] = key.Value.Any()
			}
		}
	}
	return hits
}

// root prepares an aggregation of a search.
func (b *aggregationBuilder) root(name string, given map[string]Aggregation) (*aggregate.Spec, error) {
	s, err := b.spec(fmt.Sprintf("SearchOptions.Aggregations[%q]", name), given[name])
	if err != nil {
		return nil, err
	}
	s.Name = name
	return s, nil
}

// MarshalBinary returns the bytes of the aggregations, in a form with a version and a checksum.
func (p *PartialAggregations) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// AppendBinary appends what MarshalBinary returns.
func (p *PartialAggregations) AppendBinary(dst []byte) ([]byte, error) {
	if p.partial == nil {
		return dst, errMerged
	}
	return p.partial.AppendBinary(dst)
}

var errMerged = errors.New("riffle: partial aggregations that are merged into others, or finished")

// UnmarshalPartialAggregations reads the bytes of a search with given aggregations, those of
// SearchOptions.Aggregations. It fails if they are damaged, of a version that it does not know, or of other
// aggregations, and with a *QueryError if they take more than maxBytes of memory; 0 stands for
// DefaultAggregationBytes.
func UnmarshalPartialAggregations(data []byte, given map[string]Aggregation, maxBytes int64) (*PartialAggregations, error) {
	if maxBytes == 0 {
		maxBytes = DefaultAggregationBytes
	}
	b := &aggregationBuilder{}
	var roots []*aggregate.Spec
	for _, name := range slices.Sorted(maps.Keys(given)) {
		root, err := b.root(name, given)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	p := &PartialAggregations{MaxBytes: maxBytes, given: given}
	var err error
	if p.partial, err = aggregate.UnmarshalPartial(data, roots, maxBytes); err != nil {
		return nil, partialError(err)
	}
	return p, nil
}

// partialError names the aggregation that takes too much memory.
func partialError(err error) error {
	var limit *aggregate.LimitError
	if errors.As(err, &limit) {
		return plan.Errorf(limit.Place, "%w (PartialAggregations.MaxBytes)", err)
	}
	return fmt.Errorf("riffle: partial aggregations: %w", err)
}

// Bytes is about the memory that the aggregations take.
func (p *PartialAggregations) Bytes() int64 {
	if p.partial == nil {
		return 0
	}
	return p.partial.Bytes()
}

// SetEngine names the index that the aggregations are of: Hit.Engine of the hits of a TopHitsAggregation.
func (p *PartialAggregations) SetEngine(name string) {
	if p.partial != nil {
		p.partial.SetEngine(name)
	}
}

// Merge adds the aggregations of another index, whose documents come behind those of p. It is associative.
// The other ones cannot be used any more; neither can p after an error.
func (p *PartialAggregations) Merge(next *PartialAggregations) error {
	if p.partial == nil || next.partial == nil || p == next {
		return errMerged
	}
	from, to := next.partial, p.partial
	next.partial, p.partial = nil, nil
	if err := to.Merge(from, p.MaxBytes); err != nil {
		return partialError(err)
	}
	p.partial = to
	return nil
}

// Finish returns the results of all that is merged: what Result.Aggregations of one index has. p cannot be
// used any more.
func (p *PartialAggregations) Finish() (map[string]AggregationResult, error) {
	if p.partial == nil {
		return nil, errMerged
	}
	found, err := p.partial.Finish(p.MaxBytes)
	p.partial = nil
	if err != nil {
		return nil, partialError(err)
	}
	return (&aggregationBuilder{}).results(slices.Sorted(maps.Keys(p.given)), p.given, found)
}
