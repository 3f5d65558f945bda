package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// An OrderKind is the criterion by which the documents of a segment are numbered.
type OrderKind uint8

const (
	Arrival       OrderKind = iota // as they came; merges keep the order of their inputs
	ByGlobalScore                  // by descending best possible score, see Order
	ByGraph                        // documents with common terms close together, see Order
	ByField                        // by the values of a field, see Order
)

// An Order is how a merge numbers documents. The zero value is order of arrival.
//
// By global score (Wang 2017), document d comes before e when it could reach a higher score than e
// under the best query for it: Alpha*rank + (1-Alpha)*impact, the impact being the highest of all
// its postings. Ties keep the order of arrival. Then Tail falls steeply, and executors stop early.
// The order changes answers only in ties. A query with other parameters only stops later.
//
// By graph, recursive graph bisection places documents that share terms close together. Lists then
// have runs of small gaps and wide holes: they take less space, and more blocks are skipped. A
// merge of fewer than minGraphDocs documents keeps the order of arrival. Of documents with equal
// scores the lowest number is returned first; in this order that says nothing about age.
//
// By field, documents ascend by the least of their values in a column, or descend by the greatest.
// Those without a value come last, and ties keep the order of arrival. Then the tiles of the column
// hardly overlap: a range of values is a run of documents, and a search sorted by the field reads
// only the first tiles or the last.
type Order struct {
	Kind       OrderKind
	Alpha      float64       // ByGlobalScore: weight of the static rank, 0 to 1
	BM25       blockmax.BM25 // ByGlobalScore: similarity whose impacts count
	Field      string        // ByField: the field
	Descending bool          // ByField: the greatest value comes first
}

// validate reports parameters that are out of range.
func (o Order) validate() error {
	switch {
	case o.Kind > ByField:
		return fmt.Errorf("order %d, want at most %d", o.Kind, ByField)
	case o.Kind == ByField && o.Field == "":
		return errors.New("an order by a field needs the name of one")
	case o.Kind != ByGlobalScore:
		return nil
	case !(o.Alpha >= 0 && o.Alpha <= 1):
		return fmt.Errorf("alpha is %v, want 0 to 1", o.Alpha)
	}
	return o.BM25.Validate()
}

// sortByGlobalScore orders m.from by descending best possible score.
func (m *merger) sortByGlobalScore() error {
	scores := make([][]float64, len(m.inputs))
	for i, in := range m.inputs {
		impacts, err := m.bestImpacts(in.Reader)
		if err != nil {
			return err
		}
		ranks, err := in.Reader.Rank()
		if err != nil {
			return err
		}
		scores[i] = make([]float64, in.Reader.Docs())
		for doc := range scores[i] {
			rank := uint16(0)
			if ranks != nil {
				rank = ranks[doc]
			}
			scores[i][doc] = float64(m.order.Alpha*float64(rank)) + float64((1-m.order.Alpha)*float64(impacts[doc]))
		}
	}
	slices.SortStableFunc(m.from, func(a, b origin) int {
		switch x, y := scores[a.input][a.doc], scores[b.input][b.doc]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return nil
}

// bestImpacts returns the highest impact of any posting of each document.
func (m *merger) bestImpacts(r Reader) ([]uint16, error) {
	impacts := make([]uint16, r.Docs())
	best := newFieldBest(r.Docs(), 1)
	for _, f := range r.Fields() {
		table := blockmax.NewTable(m.order.BM25, m.averageLength(f.Name))
		norms, err := r.Norms(f.Name)
		if err != nil {
			return nil, err
		}
		best.begin(uint64(f.Docs))
		if err := best.readLists(m.ctx, r, f.Name); err != nil {
			return nil, err
		}
		best.end(func(doc, tf uint32) {
			impacts[doc] = max(impacts[doc], table.Impact(tf, norms.of(doc)))
		})
	}
	return impacts, nil
}

// averageLength is the average length of a field over all inputs, including deleted documents: an
// order need not be exact.
func (m *merger) averageLength(field string) float64 {
	tokens, docs := 0.0, 0.0
	for _, in := range m.inputs {
		if f, ok := in.Reader.Field(field); ok {
			tokens += float64(f.Tokens)
			docs += float64(f.Docs)
		}
	}
	return tokens / max(1, docs)
}

// readLists adds all lists of a field.
func (b *fieldBest) readLists(ctx context.Context, r Reader, field string) error {
	it, err := r.Terms(field, nil)
	if err != nil {
		return err
	}
	defer it.Close()
	var docs, freqs [postings.BlockSize]uint32
	for it.Next() {
		l, err := it.List()
		if err != nil {
			return err
		}
		for i := range l.Blocks() {
			n, err := l.Docs(i, &docs)
			if err == nil {
				_, err = l.Freqs(i, &freqs)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return corrupt.At(err, fmt.Sprintf("field %q, term %q", field, it.Term()))
			}
			for i, doc := range docs[:n] {
				b.raise(doc, freqs[i])
			}
		}
	}
	return it.Err()
}
