package riffle

import (
	"fmt"
	"time"
)

// A Processor is where a search runs.
type Processor uint8

const (
	ProcessorAuto Processor = iota // the engine chooses
	ProcessorCPU
	ProcessorGPU // ErrNoDevice without a GPU
)

// ParseProcessor reads "auto", "cpu" or "gpu".
func ParseProcessor(name string) (Processor, error) {
	switch name {
	case "auto":
		return ProcessorAuto, nil
	case "cpu":
		return ProcessorCPU, nil
	case "gpu":
		return ProcessorGPU, nil
	}
	return 0, fmt.Errorf(`unknown processor %q (want "auto", "cpu" or "gpu")`, name)
}

// DefaultK is how many hits a search returns by default.
const DefaultK = 10

// SearchOptions configures one search. A nil *SearchOptions is valid, and a field left at its zero
// value takes the default that its comment names.
type SearchOptions struct {
	// K is the maximum number of hits to return, 1 to MaxK. The default is DefaultK.
	K int

	// Sort orders the hits by values instead of scores: Hit.Sort then has what each hit has for these
	// keys. Hits that are equal in all keys stay in the order of the index. Hit.Score is 0 unless one of
	// the keys is the score. ParseSort reads keys from a text. Nil stands for the best matches first.
	Sort []SortKey

	// Collapse returns one hit of each group of documents that have the same value: the first, in the order
	// of the search. Hit.Group and Hit.GroupSize tell which group it stands for, and Result.Groups how many
	// there are. Nil stands for every hit.
	Collapse *Collapse

	// After continues after a hit of an earlier search for the same query, normally the last one of
	// the previous page. See Cursor for the guarantees on an index that changes in between.
	After Cursor

	// From skips this many hits: with ten a page, the third begins with From: 20. A search with
	// From costs as much as one for From + K hits, so together they are at most MaxK. After goes to
	// any depth for the cost of a page. A search has one or the other.
	From int

	// ExactTotal makes Result.Total exact, at the cost of counting every match.
	ExactTotal bool

	// NoHits asks for no hits, only for Result.Aggregations and the exact Result.Total: no document is
	// ranked. It goes without K, Sort, Collapse, After, From, Load, Highlight and Deadline.
	NoHits bool

	// Load names the stored fields to load into Hit.Fields; "*" stands for all.
	// The default is none.
	Load []string

	// Versions asks for Hit.Version.
	Versions bool

	// Highlight asks for the best fragments of each hit's stored texts, which become Hit.Fragments. Nil
	// asks for none. A field of HighlightOptions.Fields that is not stored is an error; a Highlighter
	// takes its text from the caller.
	Highlight *HighlightOptions

	// Aggregations count and measure all documents that match, by name, whatever K, From and After are:
	// see Result.Aggregations. They need columns of their fields (Field.Column), and run on the CPU.
	Aggregations map[string]Aggregation

	// PartialAggregations asks for Result.PartialAggregations instead of Result.Aggregations: for an index
	// that is one of several, whose aggregations become those of all documents. See PartialAggregations.
	PartialAggregations bool

	// Selections are filters of the hits, as a shop's user selects them facet by facet. An aggregation
	// does not see the selection of its own name, so that it counts what other choices would find; all
	// aggregations see the others.
	Selections map[string]Query

	// Partial admits queries that stand for more terms than Options.MaxTerms. Then the first ones, in
	// the order of their bytes, count, and Result.Incomplete is set.
	Partial bool

	// Similarity overrides the engine's BM25 parameters for this search.
	Similarity *BM25

	// Statistics replace the index's own, so that several indexes score as one: see Statistics.
	Statistics *Statistics

	// Alpha overrides the weight of the static rank, in [0, 1]. The default is
	// Options.Rank.Alpha.
	Alpha *float64

	// Now is what "now" means in the query: see Range. The default is the time of the call. Pages of one
	// answer (After) agree about it if they have the same Now.
	Now time.Time

	// Processor to run on. By default the engine chooses.
	Processor Processor

	// Exec overrides Options.Exec for this search.
	Exec *Exec

	// Profile asks for Result.Profile: what ran the search and why, how long its phases took, and what it
	// did with each block of its posting lists. The answer is the same. Nil asks for none.
	Profile *ProfileOptions

	// Deadline is when the answer is wanted, counted from the call; 0 for no deadline. Searches with
	// deadlines take turns at the cores and GPUs: the one that is due first comes first. One that is
	// estimated to be late waits until no other would be late because of it, and a late answer is like
	// any other. A search that has begun is finished, however late. Only the context ends it, and the
	// context's own deadline does not count here. It holds for each search of a SearchBatch.
	//
	// An Engine computes as many searches with deadlines at a time as Options.SearchWorkers says.
	// Without a GPU, searches without a deadline do not wait for one another, nor for these.
	Deadline time.Duration

	// FailLate makes a search fail with ErrLate as soon as it is estimated to miss its Deadline:
	// mostly at once, before anything is computed. Estimates err: some that fail would have been in
	// time, and some that do not fail are late. It goes with a Deadline.
	FailLate bool
}

// ofHits names an option that is given and asks something of hits, or nothing.
func (o *SearchOptions) ofHits() string {
	switch {
	case o.K != 0:
		return "K"
	case o.From != 0:
		return "From"
	case !o.After.IsZero():
		return "After"
	case len(o.Sort) > 0:
		return "Sort"
	case o.Collapse != nil:
		return "Collapse"
	case o.Versions:
		return "Versions"
	case len(o.Load) > 0:
		return "Load"
	case o.Highlight != nil:
		return "Highlight"
	case o.Deadline != 0:
		return "Deadline"
	}
	return ""
}

var defaultSearch SearchOptions
