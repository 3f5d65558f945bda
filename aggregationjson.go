package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
)

// The JSON forms of aggregations; sub is Aggregation when written, json.RawMessage when read.
type termsAggregationJSON[sub any] struct {
	Field    string         `json:"field"`
	Size     int            `json:"size,omitempty"`
	MinCount int            `json:"min_count,omitempty"`
	Order    string         `json:"order,omitempty"`
	Sub      map[string]sub `json:"sub,omitempty"`
}

type rangeAggregationJSON[sub any] struct {
	Field  string                 `json:"field"`
	Ranges []aggregationRangeJSON `json:"ranges"`
	Zone   string                 `json:"time_zone,omitempty"`
	Sub    map[string]sub         `json:"sub,omitempty"`
}

type aggregationRangeJSON struct {
	Name        string          `json:"name,omitempty"`
	From        json.RawMessage `json:"from,omitempty"` // as in a range query
	To          json.RawMessage `json:"to,omitempty"`
	ExcludeFrom bool            `json:"exclude_from,omitempty"`
	IncludeTo   bool            `json:"include_to,omitempty"`
}

type histogramAggregationJSON[sub any] struct {
	Field    string         `json:"field"`
	Interval float64        `json:"interval"`
	Offset   float64        `json:"offset,omitempty"`
	MinCount int            `json:"min_count,omitempty"`
	Bounds   *[2]float64    `json:"bounds,omitempty"`
	Sub      map[string]sub `json:"sub,omitempty"`
}

type dateHistogramAggregationJSON[sub any] struct {
	Field    string         `json:"field"`
	Unit     string         `json:"unit,omitempty"`
	Every    string         `json:"every,omitempty"` // as time.ParseDuration reads it
	Zone     string         `json:"zone,omitempty"`
	Offset   string         `json:"offset,omitempty"`
	MinCount int            `json:"min_count,omitempty"`
	Bounds   *[2]time.Time  `json:"bounds,omitempty"`
	Sub      map[string]sub `json:"sub,omitempty"`
}

type filtersAggregationJSON[query, sub any] struct {
	Filters map[string]query `json:"filters"`
	Sub     map[string]sub   `json:"sub,omitempty"`
}

// fieldAggregationJSON is the form of a MissingAggregation, StatsAggregation, CardinalityAggregation or
// PercentilesAggregation.
type fieldAggregationJSON[sub any] struct {
	Field    string         `json:"field"`
	Percents []float64      `json:"percents,omitempty"`
	Sub      map[string]sub `json:"sub,omitempty"`
}

type topHitsAggregationJSON struct {
	Size int       `json:"size,omitempty"`
	Load []string  `json:"load,omitempty"`
	Sort []SortKey `json:"sort,omitempty"`
}

func aggregationJSON(kind string, body any) ([]byte, error) {
	return json.Marshal(map[string]any{kind: body})
}

// MarshalJSON writes the aggregation as {"terms": …}; see UnmarshalAggregation.
func (a TermsAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("terms", termsAggregationJSON[Aggregation](a))
}

// MarshalJSON writes the aggregation as {"range": …}; see UnmarshalAggregation.
func (a RangeAggregation) MarshalJSON() ([]byte, error) {
	j := rangeAggregationJSON[Aggregation]{Field: a.Field, Zone: a.TimeZone, Sub: a.Sub, Ranges: make([]aggregationRangeJSON, len(a.Ranges))}
	for i, r := range a.Ranges {
		to := &j.Ranges[i]
		to.Name, to.ExcludeFrom, to.IncludeTo = r.Name, r.ExcludeFrom, r.IncludeTo
		part := fmt.Sprintf("RangeAggregation.Ranges[%d]", i)
		from, err := plan.OpenBound(part+".From", r.From, true)
		if err == nil && from != nil {
			to.From, err = valueJSON(from)
		}
		until, e := plan.OpenBound(part+".To", r.To, false)
		if err == nil {
			err = e
		}
		if err == nil && until != nil {
			to.To, err = valueJSON(until)
		}
		var named *plan.Error
		switch {
		case errors.As(err, &named):
			return nil, err
		case err != nil:
			return nil, plan.Errorf(part, "%w", err)
		}
	}
	return aggregationJSON("range", j)
}

// MarshalJSON writes the aggregation as {"histogram": …}; see UnmarshalAggregation.
func (a HistogramAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("histogram", histogramAggregationJSON[Aggregation](a))
}

// MarshalJSON writes the aggregation as {"date_histogram": …}; see UnmarshalAggregation.
func (a DateHistogramAggregation) MarshalJSON() ([]byte, error) {
	if a.Unit > CalendarYear {
		return nil, plan.Errorf("DateHistogramAggregation.Unit", "there is no %d", a.Unit)
	}
	j := dateHistogramAggregationJSON[Aggregation]{Field: a.Field, Unit: calendarNames[a.Unit], Zone: a.Zone, MinCount: a.MinCount, Bounds: a.Bounds, Sub: a.Sub}
	if a.Every != 0 {
		j.Every = a.Every.String()
	}
	if a.Offset != 0 {
		j.Offset = a.Offset.String()
	}
	return aggregationJSON("date_histogram", j)
}

// MarshalJSON writes the aggregation as {"filters": …}; see UnmarshalAggregation.
func (a FiltersAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("filters", filtersAggregationJSON[Query, Aggregation](a))
}

// MarshalJSON writes the aggregation as {"missing": …}; see UnmarshalAggregation.
func (a MissingAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("missing", fieldAggregationJSON[Aggregation]{Field: a.Field, Sub: a.Sub})
}

// MarshalJSON writes the aggregation as {"stats": …}; see UnmarshalAggregation.
func (a StatsAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("stats", fieldAggregationJSON[Aggregation]{Field: a.Field})
}

// MarshalJSON writes the aggregation as {"cardinality": …}; see UnmarshalAggregation.
func (a CardinalityAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("cardinality", fieldAggregationJSON[Aggregation]{Field: a.Field})
}

// MarshalJSON writes the aggregation as {"percentiles": …}; see UnmarshalAggregation.
func (a PercentilesAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("percentiles", fieldAggregationJSON[Aggregation]{Field: a.Field, Percents: a.Percents})
}

// MarshalJSON writes the aggregation as {"top_hits": …}; see UnmarshalAggregation.
func (a TopHitsAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("top_hits", topHitsAggregationJSON(a))
}

// UnmarshalAggregation reads an aggregation from its JSON form, which json.Marshal writes: an object
// with one member, whose name says the type.
//
//	{"terms": {"field": "host", "size": 10, "min_count": 1, "order": "-count", "sub": SUB}}
//	{"range": {"field": "price", "ranges": [{"name": "cheap", "to": 10}, {"from": 10, "to": 20}], "sub": SUB}}
//	{"range": {"field": "at", "ranges": [{"from": {"time": "2026-01-01T00:00:00Z"}}, {"from": "now-1d/d"}],
//	           "time_zone": "Europe/Berlin"}}
//	{"histogram": {"field": "price", "interval": 5, "offset": 1, "min_count": 1, "bounds": [0, 50], "sub": SUB}}
//	{"date_histogram": {"field": "at", "unit": "day", "zone": "Europe/Berlin", "offset": "6h", "sub": SUB}}
//	{"date_histogram": {"field": "at", "every": "90m", "bounds": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]}}
//	{"geohash": {"field": "place", "precision": 5, "size": 100, "min_count": 1, "sub": SUB}}
//	{"distance": {"field": "place", "from": {"lat": 52.52, "lon": 13.405},
//	              "ranges": [{"name": "near", "to": 1000}, {"from": 1000}], "sub": SUB}}
//	{"filters": {"filters": {"errors": QUERY}, "sub": SUB}}
//	{"missing": {"field": "price", "sub": SUB}}
//	{"stats": {"field": "price"}}
//	{"cardinality": {"field": "user"}}
//	{"percentiles": {"field": "latency", "percents": [50, 99]}}
//	{"top_hits": {"size": 3, "load": ["title"], "sort": ["-price", {"field": "name"}]}}
//
// SUB is an object of aggregations by name, QUERY as UnmarshalQuery reads it. A missing member has its
// type's zero value; an unlisted one is an error. The form is stable. The aggregation is not validated
// yet: a search does that.
func UnmarshalAggregation(data []byte) (Aggregation, error) {
	a, err := unmarshalAggregation(data, 0)
	if err != nil {
		var qe *QueryError
		if !errors.As(err, &qe) {
			err = plan.Errorf("Aggregation", "JSON: %w", err)
		}
		return nil, err
	}
	return a, nil
}

func unmarshalAggregation(data []byte, depth int) (Aggregation, error) {
	if depth >= MaxAggregationDepth {
		return nil, fmt.Errorf("more than %d levels of aggregations", MaxAggregationDepth)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if len(members) != 1 {
		return nil, fmt.Errorf(`an aggregation has one member, such as "terms" or "stats", not %d`, len(members))
	}
	for kind, body := range members {
		a, err := unmarshalAggregationKind(kind, body, depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return a, nil
	}
	panic("BUG: a map of one member has none")
}

func unmarshalAggregationKind(kind string, body []byte, depth int) (Aggregation, error) {
	switch kind {
	case "terms":
		var j termsAggregationJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		sub, err := unmarshalSub(j.Sub, depth)
		return TermsAggregation{j.Field, j.Size, j.MinCount, j.Order, sub}, err
	case "range":
		return unmarshalRanges(body, depth)
	case "histogram":
		var j histogramAggregationJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		sub, err := unmarshalSub(j.Sub, depth)
		return HistogramAggregation{j.Field, j.Interval, j.Offset, j.MinCount, j.Bounds, sub}, err
	case "date_histogram":
		return unmarshalDateHistogram(body, depth)
	case "geohash":
		return unmarshalGeohashes(body, depth)
	case "distance":
		return unmarshalDistances(body, depth)
	case "filters":
		var j filtersAggregationJSON[json.RawMessage, json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		a := FiltersAggregation{Filters: make(map[string]Query, len(j.Filters))}
		for name, raw := range j.Filters {
			q, err := unmarshalQuery(raw, 0)
			if err != nil {
				return nil, fmt.Errorf("filters %q: %w", name, err)
			}
			a.Filters[name] = q
		}
		var err error
		a.Sub, err = unmarshalSub(j.Sub, depth)
		return a, err
	case "top_hits":
		var j topHitsAggregationJSON
		err := document.DecodeObject(body, &j)
		return TopHitsAggregation(j), err
	case "missing", "stats", "cardinality", "percentiles":
		var j fieldAggregationJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		switch {
		case kind != "missing" && len(j.Sub) > 0:
			return nil, errors.New(`it has no "sub"`)
		case kind != "percentiles" && len(j.Percents) > 0:
			return nil, errors.New(`it has no "percents"`)
		}
		switch kind {
		case "stats":
			return StatsAggregation{j.Field}, nil
		case "cardinality":
			return CardinalityAggregation{j.Field}, nil
		case "percentiles":
			return PercentilesAggregation{j.Field, j.Percents}, nil
		}
		sub, err := unmarshalSub(j.Sub, depth)
		return MissingAggregation{j.Field, sub}, err
	}
	return nil, errors.New("there is no such aggregation")
}

func unmarshalSub(raw map[string]json.RawMessage, depth int) (map[string]Aggregation, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	sub := make(map[string]Aggregation, len(raw))
	for name, data := range raw {
		a, err := unmarshalAggregation(data, depth+1)
		if err != nil {
			return nil, fmt.Errorf("sub %q: %w", name, err)
		}
		sub[name] = a
	}
	return sub, nil
}

func unmarshalRanges(body []byte, depth int) (Aggregation, error) {
	var j rangeAggregationJSON[json.RawMessage]
	if err := document.DecodeObject(body, &j); err != nil {
		return nil, err
	}
	a := RangeAggregation{Field: j.Field, TimeZone: j.Zone}
	for i, from := range j.Ranges {
		r := AggregationRange{Name: from.Name, ExcludeFrom: from.ExcludeFrom, IncludeTo: from.IncludeTo}
		var err error
		if from.From != nil {
			r.From, err = parseValueJSON(from.From)
		}
		if from.To != nil && err == nil {
			r.To, err = parseValueJSON(from.To)
		}
		if err != nil {
			return nil, fmt.Errorf("range %d: %w", i, err)
		}
		a.Ranges = append(a.Ranges, r)
	}
	var err error
	a.Sub, err = unmarshalSub(j.Sub, depth)
	return a, err
}

func unmarshalDateHistogram(body []byte, depth int) (Aggregation, error) {
	var j dateHistogramAggregationJSON[json.RawMessage]
	if err := document.DecodeObject(body, &j); err != nil {
		return nil, err
	}
	a := DateHistogramAggregation{Field: j.Field, Zone: j.Zone, MinCount: j.MinCount, Bounds: j.Bounds}
	var err error
	if j.Unit != "" {
		if a.Unit, err = ParseCalendarUnit(j.Unit); err != nil {
			return nil, err
		}
	}
	for _, d := range [...]struct {
		text string
		to   *time.Duration
	}{{j.Every, &a.Every}, {j.Offset, &a.Offset}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return nil, err
		}
	}
	a.Sub, err = unmarshalSub(j.Sub, depth)
	return a, err
}
