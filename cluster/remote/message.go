package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle"
)

// messageVersion is that of requests and replies. A node refuses requests of a version that it does
// not know, with errVersion.
const messageVersion = 2

// A request is what a session asks of a replica.
type request struct {
	Version int `json:"v"`

	// Lease names the snapshot; empty takes a new one, of which AtLeast says what it must have.
	Lease   string `json:"lease,omitempty"`
	AtLeast uint64 `json:"at_least,omitempty"`

	// If makes the request fail unless the snapshot has this revision. Last gives the lease back after the
	// answer.
	If   string `json:"if,omitempty"`
	Last bool   `json:"last,omitempty"`

	Timeout time.Duration `json:"timeout,omitempty"` // until the caller gives up; 0 for no limit

	// Call names the request; a ping names the one that it asks after.
	Call string `json:"call,omitempty"`

	Verb    verb            `json:"verb"`
	Query   json.RawMessage `json:"query,omitempty"`
	Options *options        `json:"options,omitempty"` // of a search, of an explanation and of statistics
	ID      *value          `json:"id,omitempty"`      // of a document: explain, get
	From    int             `json:"from,omitempty"`    // more: the first byte that is wanted

	attached []byte // behind the JSON: Options.Statistics, or nil
}

type verb string

const (
	verbStatistics verb = "statistics"
	verbSearch     verb = "search"
	verbAggregate  verb = "aggregate" // a search with Aggregations or Selections, of which older nodes do not know
	verbMore       verb = "more"      // of the aggregations of the search before
	verbCount      verb = "count"
	verbExplain    verb = "explain"
	verbGet        verb = "get"
	verbFields     verb = "fields"
	verbClose      verb = "close" // gives the lease back
	verbPing       verb = "ping"
)

// options are those of riffle.SearchOptions that a shard sees.
type options struct {
	K          int                      `json:"k,omitempty"`
	Sort       []riffle.SortKey         `json:"sort,omitempty"`
	Collapse   *riffle.Collapse         `json:"collapse,omitempty"`
	After      riffle.Cursor            `json:"after,omitzero"`
	ExactTotal bool                     `json:"exact_total,omitempty"`
	NoHits     bool                     `json:"no_hits,omitempty"`
	Load       []string                 `json:"load,omitempty"`
	Versions   bool                     `json:"versions,omitempty"`
	Highlight  *riffle.HighlightOptions `json:"highlight,omitempty"`
	Marked     json.RawMessage          `json:"marked,omitempty"` // Highlight.Query
	Partial    bool                     `json:"partial,omitempty"`
	Similarity *riffle.BM25             `json:"similarity,omitempty"`
	Statistics *riffle.Statistics       `json:"-"` // behind the JSON of the request
	Alpha      *float64                 `json:"alpha,omitempty"`
	Now        time.Time                `json:"now,omitzero"`
	Deadline   time.Duration            `json:"deadline,omitempty"`
	FailLate   bool                     `json:"fail_late,omitempty"`

	// Of an aggregate.
	Aggregations forms `json:"aggregations,omitempty"`
	Selections   forms `json:"selections,omitempty"`
}

func optionsOf(o *riffle.SearchOptions) (*options, error) {
	if o == nil {
		return nil, nil
	}
	if o.From != 0 || o.Processor != 0 || o.Exec != nil {
		return nil, errors.New("remote: From, Processor and Exec do not go to another node")
	}
	if len(o.Aggregations) > 0 && !o.PartialAggregations {
		return nil, errors.New("remote: Aggregations of another node are PartialAggregations")
	}
	aggregations, err := formsOf(o.Aggregations)
	if err != nil {
		return nil, err
	}
	selections, err := formsOf(o.Selections)
	if err != nil {
		return nil, err
	}
	var marked json.RawMessage
	if o.Highlight != nil && o.Highlight.Query != nil {
		if marked, err = json.Marshal(o.Highlight.Query); err != nil {
			return nil, fmt.Errorf("remote: HighlightOptions.Query: %w", err)
		}
	}
	return &options{
		Marked: marked, Aggregations: aggregations, Selections: selections,
		K: o.K, Sort: o.Sort, Collapse: o.Collapse, After: o.After, ExactTotal: o.ExactTotal, NoHits: o.NoHits, Load: o.Load, Versions: o.Versions,
		Highlight: o.Highlight, Partial: o.Partial, Similarity: o.Similarity, Statistics: o.Statistics, Alpha: o.Alpha,
		Now: o.Now, Deadline: o.Deadline, FailLate: o.FailLate,
	}, nil
}

// setOptions sets the options of a request, and attaches their statistics.
func (r *request) setOptions(o *riffle.SearchOptions) (err error) {
	if r.Options, err = optionsOf(o); err != nil || o == nil || o.Statistics == nil {
		return err
	}
	r.attached, err = appendStatistics(nil, o.Statistics)
	return err
}

func (o *options) searchOptions() (*riffle.SearchOptions, error) {
	if o == nil {
		return nil, nil
	}
	aggregations, err := parse(o.Aggregations, riffle.UnmarshalAggregation)
	if err != nil {
		return nil, fmt.Errorf("SearchOptions.Aggregations: %w", err)
	}
	selections, err := parse(o.Selections, riffle.UnmarshalQuery)
	if err != nil {
		return nil, fmt.Errorf("SearchOptions.Selections: %w", err)
	}
	highlight := o.Highlight
	if highlight != nil && o.Marked != nil {
		if highlight.Query, err = riffle.UnmarshalQuery(o.Marked); err != nil {
			return nil, fmt.Errorf("HighlightOptions.Query: %w", err)
		}
	}
	return &riffle.SearchOptions{
		Aggregations: aggregations, PartialAggregations: len(aggregations) > 0, Selections: selections,
		K: o.K, Sort: o.Sort, Collapse: o.Collapse, After: o.After, ExactTotal: o.ExactTotal, NoHits: o.NoHits, Load: o.Load, Versions: o.Versions,
		Highlight: highlight, Partial: o.Partial, Similarity: o.Similarity, Statistics: o.Statistics, Alpha: o.Alpha,
		Now: o.Now, Deadline: o.Deadline, FailLate: o.FailLate,
	}, nil
}

// A reply is what a replica answers.
type reply struct {
	Version  int    `json:"v"`
	Instance string `json:"instance"` // of the server: another one after it has started again
	Lease    string `json:"lease,omitempty"`
	Revision string `json:"revision,omitempty"` // of the snapshot

	Error *fault `json:"error,omitempty"`

	// Working says whether the node has the request that a ping asks after; nil if it does not know.
	Working *bool `json:"working,omitempty"`

	Count       int                 `json:"count,omitempty"`
	Explanation *riffle.Explanation `json:"explanation,omitempty"`
	Fields      map[string]value    `json:"fields,omitempty"`
	FieldStats  []riffle.FieldStats `json:"field_stats,omitempty"`

	// Statistics of a statistics, or the result of a search and its aggregations.
	Attached int    `json:"attached,omitempty"` // bytes in all
	attached []byte // behind the JSON: the first of them, or of more those from its From on
}

func valuesOf(m map[string]any) map[string]value {
	if m == nil {
		return nil
	}
	to := make(map[string]value, len(m))
	for name, v := range m {
		to[name] = value{v}
	}
	return to
}

func plainOf(m map[string]value) map[string]any {
	if m == nil {
		return nil
	}
	to := make(map[string]any, len(m))
	for name, v := range m {
		to[name] = v.of
	}
	return to
}

// A fault is an error on its way.
type fault struct {
	Kind string `json:"kind"`
	Part string `json:"part,omitempty"` // of a query
	Text string `json:"text"`
}

// Kinds of faults, and the errors that callers see.
const (
	faultQuery    = "query"    // *riffle.QueryError
	faultMissing  = "missing"  // riffle.ErrNotFound
	faultLate     = "late"     // riffle.ErrLate
	faultLease    = "lease"    // ErrLease
	faultRevision = "revision" // scatter.ErrRevision
	faultBusy     = "busy"     // ErrBusy
	faultTime     = "time"     // context.DeadlineExceeded
	faultClosed   = "closed"   // riffle.ErrClosed
	faultVersion  = "version"  // ErrVersion
	faultOther    = "other"

	faultAggregations = "aggregations" // ErrAggregations
)
