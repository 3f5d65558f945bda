package riffle

import (
	"fmt"

	"github.com/riffle-search/riffle/segment"
)

// A DocOrder says in which order a merge numbers documents.
type DocOrder uint8

const (
	// OrderByArrival keeps the order of arrival: ties go to the older document.
	OrderByArrival DocOrder = iota

	// OrderByGlobalScore puts documents that can score highest first (α·rank + (1-α)·best impact,
	// as in Wang 2017), so that a query stops when no later document can enter its top k. It pays
	// when documents have a static rank.
	OrderByGlobalScore

	// OrderByGraph brings documents that share words close together, by recursive graph bisection
	// (Dhulipala 2016). The index becomes smaller and searches faster, the more so the more random
	// the order of arrival was; merges take longer. Only merges reorder: a newly sealed segment,
	// and one of fewer than segment.MinGraphDocs documents, keep the order of arrival. Hits with
	// equal scores are then no longer in the order of arrival.
	OrderByGraph

	// OrderByField puts documents in the order of a field with a column, MergeOptions.OrderField: of
	// dates, for instance. A range of its values is then a run of documents, and a search that sorts by
	// the field stops after a few. Documents without a value come last. It costs what OrderByGraph
	// gains: choose by what your searches do.
	//
	// It pays when searches sort by the field or restrict it, and documents arrive in another order: for
	// 100,000 passages of books with random times, a text search took 0.3 of the time newest first, and 0.4
	// within 1 % of the time. By score alone it took 1.2 to 1.4 times as long, and merging up to 1.8 times.
	OrderByField
)

func (o DocOrder) String() string {
	switch o {
	case OrderByArrival:
		return "arrival"
	case OrderByGlobalScore:
		return "global-score"
	case OrderByGraph:
		return "graph"
	case OrderByField:
		return "field"
	}
	return fmt.Sprintf("DocOrder(%d)", uint8(o))
}

// docOrderOf returns the public name of a segment's order.
func docOrderOf(o segment.Order) DocOrder {
	switch o.Kind {
	case segment.ByGlobalScore:
		return OrderByGlobalScore
	case segment.ByGraph:
		return OrderByGraph
	case segment.ByField:
		return OrderByField
	}
	return OrderByArrival
}

// order returns the order in which merges put documents.
func (o *Options) order() segment.Order {
	switch o.Merge.Order {
	case OrderByGlobalScore:
		return segment.Order{Kind: segment.ByGlobalScore, Alpha: o.Rank.Alpha, BM25: *o.Similarity}
	case OrderByGraph:
		return segment.Order{Kind: segment.ByGraph}
	case OrderByField:
		return segment.Order{Kind: segment.ByField, Field: o.Merge.OrderField, Descending: o.Merge.OrderDescending}
	}
	return segment.Order{}
}
