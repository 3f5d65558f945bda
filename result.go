package riffle

import (
	"time"

	"github.com/riffle-search/riffle/internal/search"
)

// A Result is the answer to a search.
type Result struct {
	Hits []Hit // by SearchOptions.Sort or descending score, ties by position in the index

	// Total is the number of documents that match, regardless of After and From. It is exact when
	// TotalExact is true; otherwise it is a lower bound.
	Total      int
	TotalExact bool

	// Groups is the exact number of groups, of a search with SearchOptions.Collapse: of different values of
	// the field among all documents that match, and one more if some have none.
	Groups int

	// Fingerprint is a hash of all that turns frequencies into scores, of a search with
	// SearchOptions.Statistics: the terms as the analyzers leave them, weights, parameters of BM25 and the
	// static rank. Scores of several indexes can be compared if theirs agree.
	Fingerprint uint64 `json:",omitempty"`

	// GroupCounts are all groups, of a search with Collapse.Count, in no particular order.
	GroupCounts []GroupCount `json:",omitempty"`

	// Incomplete is set when a part of the query stands for more terms than Options.MaxTerms: see
	// SearchOptions.Partial.
	Incomplete bool

	// Aggregations are the results of SearchOptions.Aggregations.
	Aggregations map[string]AggregationResult

	// PartialAggregations are what SearchOptions.PartialAggregations asks for; nil without aggregations.
	PartialAggregations *PartialAggregations `json:",omitempty"`

	Work     Work   // what the search cost
	Executor string // what ran it, such as "cpu/bmm"; "cpu/bmm/adaptive" with help of other cores; "gpu/maxscore+cpu/bmm" together
	Duration time.Duration
	Profile  *Profile // of SearchOptions.Profile

	page search.Page // shared by the cursors of Hits
}

// A Hit is one document of a Result.
type Hit struct {
	ID     string // shares its memory with the ids of all hits: see strings.Clone
	Engine string `json:",omitempty"` // of a Multi, the name of the document's engine

	// Score is within 3e-4 (relative) of BM25 for documents of up to 40 times the average length of
	// a field. For longer ones it is within 2^-16 of the weights of the words that match.
	Score float64

	// Sort is what the document has for each key of SearchOptions.Sort: nil if it has no value, an int64,
	// uint64, float64, bool, time.Time, Point or string, the float64 of its score, or its id. Whole numbers
	// are float64 where the field has others in the same segment, so their type may change with a merge.
	Sort []any `json:",omitempty"`

	// Group is the value that the documents of the hit's group have in common, of a search with
	// SearchOptions.Collapse; nil for those without a value. GroupSize is their exact number.
	Group     any `json:",omitempty"`
	GroupSize int `json:",omitempty"`

	// Fields are the stored fields that SearchOptions.Load names: string, int64, float64, bool,
	// time.Time, Point, or []any of these if a field has several values.
	Fields map[string]any

	// Version is that of the document, if SearchOptions.Versions asks for it: see Document.Version.
	Version uint64 `json:",omitempty"`

	// Fragments are the best parts of the stored texts, by field: see SearchOptions.Highlight.
	Fragments map[string][]Fragment

	// Cursor marks the place of the hit in the answer, for SearchOptions.After. In JSON it is a
	// string.
	Cursor Cursor
}
