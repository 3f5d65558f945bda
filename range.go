package riffle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
)

// Range matches the documents that have a number, a time or a keyword between From and To. From belongs
// to the range, and To does not. Every document that matches scores 1, times the boosts around the
// query.
//
// Numbers compare exactly, integers of 64 bits and fractions alike. A From of -Inf and a To of +Inf are no
// bounds, and NaN is an error. TermRange is the same for the words
// of texts. The field may have a column, be indexed, or both; without a column, each different value of
// the range costs about as much as a term of a Prefix does.
//
// A text as a bound of dates may be relative: "now-1h", "now-1d/d" or "2026-11-24||+1M/d". Steps are +
// or -, a number and a unit (y, M, w, d, h, m, s); / rounds to a unit in TimeZone. As in Elasticsearch,
// rounding goes to the first instant of the unit, but to the last one for a From that is excluded and a
// To that is included: From "now-1d/d" To "now-1d/d" with IncludeTo is the whole of yesterday. A search
// has one now: SearchOptions.Now.
type Range struct {
	Field       string
	From        any // any integer or float type, or time.Time; nil for no bound. A string is read
	To          any // as the field's type in the schema says
	ExcludeFrom bool
	IncludeTo   bool
	TimeZone    string // of dates as texts: Europe/Berlin or +02:00, for example; empty for UTC
}

func (q Range) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Range(plan.Range(q), boost)
}

// Validate implements Query.
func (q Range) Validate() error { return q.validate(1) }

func (q Range) validate(float64) error {
	r := plan.Range(q)
	return r.Validate()
}

func (Range) dependsOnK() bool { return false }

func (q Range) String() string { return queryText(q) }

type rangeJSON struct {
	Field       string          `json:"field"`
	From        json.RawMessage `json:"from,omitempty"` // a string or number, or {"time": …}
	To          json.RawMessage `json:"to,omitempty"`
	ExcludeFrom bool            `json:"exclude_from,omitempty"`
	IncludeTo   bool            `json:"include_to,omitempty"`
	TimeZone    string          `json:"time_zone,omitempty"`
}

// MarshalJSON writes the query as {"range": …}; see UnmarshalQuery.
func (q Range) MarshalJSON() ([]byte, error) {
	j := rangeJSON{Field: q.Field, ExcludeFrom: q.ExcludeFrom, IncludeTo: q.IncludeTo, TimeZone: q.TimeZone}
	for _, b := range [...]struct {
		name  string
		value any
		to    *json.RawMessage
	}{{"From", q.From, &j.From}, {"To", q.To, &j.To}} {
		value, err := plan.OpenBound("Range."+b.name, b.value, b.name == "From")
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if *b.to, err = valueJSON(value); err != nil {
			return nil, plan.Errorf("Range", "%w", err)
		}
	}
	return json.Marshal(map[string]any{"range": j})
}

func (j *rangeJSON) query() (Query, error) {
	q := Range{Field: j.Field, ExcludeFrom: j.ExcludeFrom, IncludeTo: j.IncludeTo, TimeZone: j.TimeZone}
	for _, b := range [...]struct {
		name string
		raw  json.RawMessage
		to   *any
	}{{"from", j.From, &q.From}, {"to", j.To, &q.To}} {
		if b.raw == nil {
			continue
		}
		var err error
		if *b.to, err = parseValueJSON(b.raw); err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return q, nil
}

// valueJSON writes a value of a query: a string, boolean or number, {"time": …} or {"place": …}.
func valueJSON(value any) (json.RawMessage, error) {
	v, err := plainValue(value)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case time.Time:
		v = map[string]any{"time": x}
	case Point:
		v = map[string]any{"place": x}
	}
	return json.Marshal(v)
}

// parseValueJSON reads what valueJSON writes.
func parseValueJSON(raw []byte) (any, error) {
	if !bytes.HasPrefix(raw, []byte("{")) {
		raw = slices.Concat([]byte(`{"value":`), raw, []byte("}"))
	}
	var one termJSON
	if err := document.DecodeObject(raw, &one); err != nil {
		return nil, err
	}
	return one.value()
}
