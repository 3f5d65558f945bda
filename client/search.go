package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riffle-search/riffle"
)

// A Duration is a time.Duration that JSON has as a string, such as "250ms".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("a duration is a number with a unit, such as 250ms, not %q", text)
	}
	*d = Duration(v)
	return nil
}

// A Cursor is the text of the place of a hit in an answer: see riffle.Cursor. It is opaque, and empty for the beginning.
type Cursor string

// A SearchRequest asks for the best documents of an index. The query is Query, or Text, and all documents
// without both. The other members are those of riffle.SearchOptions, which has their meaning and defaults.
type SearchRequest struct {
	Query riffle.Query `json:"query,omitempty"` // in the form of riffle.UnmarshalQuery
	Text  *Text        `json:"text,omitempty"`

	K          int              `json:"k,omitempty"`
	From       int              `json:"from,omitempty"`
	After      Cursor           `json:"after,omitempty"`   // of a hit
	Cursors    bool             `json:"cursors,omitempty"` // each hit gets a cursor, not the last one alone
	Sort       []riffle.SortKey `json:"sort,omitempty"`    // objects, or strings in the form of riffle.ParseSort
	Collapse   *riffle.Collapse `json:"collapse,omitempty"`
	ExactTotal bool             `json:"exact_total,omitempty"`
	NoHits     bool             `json:"no_hits,omitempty"`
	Load       []string         `json:"load,omitempty"` // stored fields to return; "*" for all
	Versions   bool             `json:"versions,omitempty"`
	Highlight  *Highlight       `json:"highlight,omitempty"`
	Profile    *ProfileOptions  `json:"profile,omitempty"` // asks for SearchAnswer.Profile

	Aggregations map[string]riffle.Aggregation `json:"aggregations,omitempty"` // in the form of riffle.UnmarshalAggregation
	Selections   map[string]riffle.Query       `json:"selections,omitempty"`

	Partial    bool        `json:"partial,omitempty"`
	Similarity *Similarity `json:"similarity,omitempty"`
	Alpha      *float64    `json:"alpha,omitempty"`
	Now        time.Time   `json:"now,omitzero"`
	Processor  string      `json:"processor,omitempty"` // "auto", the default, "cpu" or "gpu"
	Deadline   Duration    `json:"deadline,omitempty"`
	FailLate   bool        `json:"fail_late,omitempty"`

	// AllowMissing answers without the shards of an index of a cluster for which nobody answers: see
	// SearchAnswer.Missing. Otherwise such a search fails.
	AllowMissing bool `json:"allow_missing,omitempty"`
}

// A Similarity has the parameters of BM25; see riffle.BM25. What is missing has its default.
type Similarity struct {
	K1 *float64 `json:"k1,omitempty"`
	B  *float64 `json:"b,omitempty"`
}

// A Text is a query in the language of riffle.ParseQuery, as a person types it.
type Text struct {
	Text     string             `json:"text"`
	Fields   []string           `json:"fields,omitempty"` // searched for what names no field; all text fields by default
	Boosts   map[string]float64 `json:"boosts,omitempty"` // of Fields
	Mode     string             `json:"mode,omitempty"`   // "or", the default, or "and"
	TimeZone string             `json:"time_zone,omitempty"`
	Lenient  bool               `json:"lenient,omitempty"` // searches what cannot be read as words
}

// A Highlight asks for fragments of the texts of hits; see riffle.HighlightOptions.
type Highlight struct {
	Fields    []string `json:"fields,omitempty"`
	Fragments int      `json:"fragments,omitempty"`
	Size      int      `json:"size,omitempty"`
	BySize    bool     `json:"by_size,omitempty"`
	InOrder   bool     `json:"in_order,omitempty"`
	Lead      bool     `json:"lead,omitempty"`
	HTML      bool     `json:"html,omitempty"` // adds Fragment.HTML
}

// ProfileOptions bound a profile; see riffle.ProfileOptions. A server returns at most 1,000 lists and 20,000 runs.
type ProfileOptions struct {
	Lists int `json:"lists,omitempty"`
	Runs  int `json:"runs,omitempty"`
}

// UnmarshalJSON reads a request. Unknown members are errors.
func (s *SearchRequest) UnmarshalJSON(data []byte) error {
	type plain SearchRequest
	raw := struct {
		*plain
		Query        json.RawMessage            `json:"query"`
		Aggregations map[string]json.RawMessage `json:"aggregations"`
		Selections   map[string]json.RawMessage `json:"selections"`
	}{plain: (*plain)(s)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&raw)
	if err != nil {
		return err
	}
	if raw.Query != nil {
		if s.Query, err = riffle.UnmarshalQuery(raw.Query); err != nil {
			return err
		}
	}
	if s.Aggregations, err = each(raw.Aggregations, riffle.UnmarshalAggregation); err != nil {
		return fmt.Errorf("aggregations: %w", err)
	}
	if s.Selections, err = each(raw.Selections, riffle.UnmarshalQuery); err != nil {
		return fmt.Errorf("selections: %w", err)
	}
	return nil
}

// each reads the values of an object.
func each[T any](raw map[string]json.RawMessage, read func([]byte) (T, error)) (map[string]T, error) {
	if raw == nil {
		return nil, nil
	}
	all := make(map[string]T, len(raw))
	for name, data := range raw {
		v, err := read(data)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		all[name] = v
	}
	return all, nil
}

// A SearchAnswer is the answer to a SearchRequest. The members are those of riffle.Result.
type SearchAnswer struct {
	Hits         []Hit                        `json:"hits"`
	Total        int                          `json:"total"`
	TotalExact   bool                         `json:"total_exact"`
	Groups       int                          `json:"groups,omitempty"`
	Incomplete   bool                         `json:"incomplete,omitempty"`
	Aggregations map[string]AggregationResult `json:"aggregations,omitempty"`
	Work         Work                         `json:"work"`
	Executor     string                       `json:"executor"`
	Took         float64                      `json:"took_ms"` // milliseconds in the engine
	Profile      *riffle.Profile              `json:"profile,omitempty"`

	// Missing are the shards without which this is the answer. Total and aggregations are lower bounds then.
	Missing []MissingShard `json:"missing,omitempty"`

	// Notes are what a lenient text could not be read for.
	Notes []Note `json:"notes,omitempty"`
}

// A MissingShard is a part of the documents of an index of a cluster, for which nobody answered.
type MissingShard struct {
	Shard int    `json:"shard"` // from 0
	Fault string `json:"fault"`
}

// A Note says which part of a lenient text was searched as words, and why.
type Note struct {
	Offset int    `json:"offset"` // bytes before the part
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// A Work says what a search has cost; see riffle.Work.
type Work struct {
	BlocksDecoded int64 `json:"blocks_decoded"`
	BlocksSkipped int64 `json:"blocks_skipped"`
	DocsScored    int64 `json:"docs_scored"`
	BytesMoved    int64 `json:"bytes_moved,omitempty"`
	Tasks         int64 `json:"tasks,omitempty"`
}

// A Hit is a document of a SearchAnswer; see riffle.Hit.
type Hit struct {
	ID        ID                    `json:"id"`
	Score     float64               `json:"score"`
	Sort      []any                 `json:"sort,omitempty"`
	Group     any                   `json:"group,omitempty"`
	GroupSize int                   `json:"group_size,omitempty"`
	Version   uint64                `json:"version,omitempty"`
	Fields    map[string]any        `json:"fields,omitempty"`
	Fragments map[string][]Fragment `json:"fragments,omitempty"`
	Cursor    Cursor                `json:"cursor,omitempty"` // of the last hit, or of each with SearchRequest.Cursors; not of a hit of an aggregation
}

// An AggregationResult is the result of an aggregation; see riffle.AggregationResult.
type AggregationResult struct {
	Buckets     []Bucket                 `json:"buckets,omitempty"`
	Other       int                      `json:"other,omitempty"`
	Missing     int                      `json:"missing,omitempty"`
	Distinct    int                      `json:"distinct,omitempty"`
	Stats       *riffle.AggregationStats `json:"stats,omitempty"`
	Percentiles []riffle.Percentile      `json:"percentiles,omitempty"`
	Hits        []Hit                    `json:"hits,omitempty"`
}

// A Bucket has the documents of an aggregation with one value; see riffle.AggregationBucket.
type Bucket struct {
	Key   any                          `json:"key"`
	Count int                          `json:"count"`
	Sub   map[string]AggregationResult `json:"sub,omitempty"`
}

// A Fragment is a part of a text that shows what matches; see riffle.Fragment.
type Fragment struct {
	Value   int      `json:"value"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
	Text    string   `json:"text"`
	Matches [][2]int `json:"matches"` // bytes of Text, from and to
	Before  bool     `json:"before,omitempty"`
	After   bool     `json:"after,omitempty"`
	Score   float64  `json:"score"`
	HTML    string   `json:"html,omitempty"` // escaped, with matches in <mark>; if Highlight.HTML asks for it
}

// A CountRequest asks how many documents match.
type CountRequest struct {
	Query riffle.Query `json:"query,omitempty"`
	Text  *Text        `json:"text,omitempty"`
}

// UnmarshalJSON reads a request. Unknown members are errors.
func (c *CountRequest) UnmarshalJSON(data []byte) error {
	type plain CountRequest
	raw := struct {
		*plain
		Query json.RawMessage `json:"query"`
	}{plain: (*plain)(c)}
	return withQuery(data, &raw, &raw.Query, &c.Query)
}

// A CountAnswer is the answer to a CountRequest.
type CountAnswer struct {
	Count int `json:"count"`
}
