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

	Verb    verb            `json:"verb"`
	Query   json.RawMessage `json:"query,omitempty"`
	Options *options        `json:"options,omitempty"` // of a search, of an explanation and of statistics
	ID      *value          `json:"id,omitempty"`      // of a document: explain, get
	From    int             `json:"from,omitempty"`    // more: the first byte that is wanted
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
	Statistics *riffle.Statistics       `json:"statistics,omitempty"`
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

	Statistics  *riffle.Statistics  `json:"statistics,omitempty"`
	Result      *result             `json:"result,omitempty"`
	Count       int                 `json:"count,omitempty"`
	Explanation *riffle.Explanation `json:"explanation,omitempty"`
	Fields      map[string]value    `json:"fields,omitempty"`
	FieldStats  []riffle.FieldStats `json:"field_stats,omitempty"`

	Attached int    `json:"attached,omitempty"` // bytes of aggregations in all
	attached []byte // behind the JSON: the first of them, or of more those from its From on
}

type result struct {
	Hits        []hit         `json:"hits"`
	Total       int           `json:"total"`
	TotalExact  bool          `json:"total_exact,omitempty"`
	Incomplete  bool          `json:"incomplete,omitempty"`
	Groups      int           `json:"groups,omitempty"`
	GroupCounts []groupCount  `json:"group_counts,omitempty"`
	Fingerprint uint64        `json:"fingerprint,omitempty"`
	Work        riffle.Work   `json:"work"`
	Executor    string        `json:"executor"`
	Duration    time.Duration `json:"duration"`
}

type groupCount struct {
	Group  value `json:"g"`
	Size   int   `json:"n"`
	Before bool  `json:"b,omitempty"`
}

type hit struct {
	ID        value                        `json:"id"` // ids are any bytes
	Score     float64                      `json:"score"`
	Sort      []value                      `json:"sort,omitempty"`
	Group     *value                       `json:"group,omitempty"` // nil for none
	GroupSize int                          `json:"group_size,omitempty"`
	Fields    map[string]value             `json:"fields"` // null if none were asked for
	Version   uint64                       `json:"version,omitempty"`
	Fragments map[string][]riffle.Fragment `json:"fragments"` // likewise
	Cursor    riffle.Cursor                `json:"cursor,omitzero"`
}

func resultOf(r *riffle.Result) *result {
	to := &result{
		Hits: make([]hit, len(r.Hits)), Total: r.Total, TotalExact: r.TotalExact, Incomplete: r.Incomplete,
		Groups: r.Groups, Fingerprint: r.Fingerprint, Work: r.Work, Executor: r.Executor, Duration: r.Duration,
	}
	for _, g := range r.GroupCounts {
		to.GroupCounts = append(to.GroupCounts, groupCount{value{g.Group}, g.Size, g.Before})
	}
	for i := range r.Hits {
		h := &r.Hits[i]
		to.Hits[i] = hit{ID: value{h.ID}, Score: h.Score, Fields: valuesOf(h.Fields), Version: h.Version, Fragments: h.Fragments, Cursor: h.Cursor}
		if to.Hits[i].GroupSize = h.GroupSize; h.Group != nil {
			to.Hits[i].Group = &value{h.Group}
		}
		for _, key := range h.Sort {
			to.Hits[i].Sort = append(to.Hits[i].Sort, value{key})
		}
	}
	return to
}

func (r *result) result() (*riffle.Result, error) {
	to := &riffle.Result{
		Hits: make([]riffle.Hit, len(r.Hits)), Total: r.Total, TotalExact: r.TotalExact, Incomplete: r.Incomplete,
		Groups: r.Groups, Fingerprint: r.Fingerprint, Work: r.Work, Executor: r.Executor, Duration: r.Duration,
	}
	for _, g := range r.GroupCounts {
		to.GroupCounts = append(to.GroupCounts, riffle.GroupCount{Group: g.Group.of, Size: g.Size, Before: g.Before})
	}
	for i := range r.Hits {
		h := &r.Hits[i]
		id, ok := h.ID.of.(string)
		if !ok {
			return nil, fmt.Errorf("remote: the id of hit %d is no text", i)
		}
		to.Hits[i] = riffle.Hit{ID: id, Score: h.Score, Fields: plainOf(h.Fields), Version: h.Version, Fragments: h.Fragments, Cursor: h.Cursor}
		if to.Hits[i].GroupSize = h.GroupSize; h.Group != nil {
			to.Hits[i].Group = h.Group.of
		}
		for _, key := range h.Sort {
			to.Hits[i].Sort = append(to.Hits[i].Sort, key.of)
		}
	}
	return to, nil
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
