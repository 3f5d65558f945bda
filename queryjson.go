package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
)

// maxQueryDepth bounds the nesting of queries from JSON.
const maxQueryDepth = 100

type matchJSON struct {
	Field    string             `json:"field,omitempty"`
	Fields   []string           `json:"fields,omitempty"`
	Text     string             `json:"text"`
	Mode     string             `json:"mode,omitempty"`
	Least    leastJSON          `json:"min_should,omitempty"`
	Boosts   map[string]float64 `json:"boosts,omitempty"`
	Combine  string             `json:"combine,omitempty"`
	Tie      float64            `json:"tie,omitempty"`
	Analyzer string             `json:"analyzer,omitempty"`
}

type termJSON struct {
	Field string     `json:"field"`
	Value any        `json:"value,omitempty"`
	Time  *time.Time `json:"time,omitempty"`
	Place *Point     `json:"place,omitempty"`
}

// part is the type of the queries in a Bool, Boost or ConstantScore: Query when written,
// json.RawMessage when read.
type boolJSON[part any] struct {
	Must    []part    `json:"must,omitempty"`
	Should  []part    `json:"should,omitempty"`
	MustNot []part    `json:"must_not,omitempty"`
	Filter  []part    `json:"filter,omitempty"`
	Least   leastJSON `json:"min_should,omitempty"`
}

type boostJSON[part any] struct {
	Query part    `json:"query"`
	By    float64 `json:"by"`
}

type constantJSON[part any] struct {
	Query part    `json:"query"`
	Score float64 `json:"score"`
}

// MarshalJSON writes the query as {"match": …}; see UnmarshalQuery.
func (q Match) MarshalJSON() ([]byte, error) {
	if q.Mode > ModeAndOr {
		return nil, plan.Errorf("Match.Mode", "must be ModeOr, ModeAnd or ModeAndOr, not %d", q.Mode)
	}
	if q.Combine > CombineBM25F {
		return nil, plan.Errorf("Match.Combine", "there is no %d", q.Combine)
	}
	if b, ok := appendPlainMatch(nil, &q); ok {
		return b, nil
	}
	j := matchJSON{Field: q.Field, Fields: q.Fields, Text: q.Text, Least: leastJSON(q.MinShould), Boosts: q.Boosts, Tie: q.Tie, Analyzer: q.Analyzer}
	if q.Mode != ModeOr {
		j.Mode = modeNames[q.Mode]
	}
	if q.Combine != CombineSum {
		j.Combine = combineNames[q.Combine]
	}
	return json.Marshal(map[string]any{"match": j})
}

// MarshalJSON writes the query as {"term": …}; see UnmarshalQuery.
func (q Term) MarshalJSON() ([]byte, error) {
	value, err := plainValue(q.Value)
	if err != nil {
		return nil, plan.Errorf("Term.Value", "%w", err)
	}
	j := termJSON{Field: q.Field, Value: value}
	switch v := value.(type) {
	case time.Time:
		j.Value, j.Time = nil, &v
	case Point:
		j.Value, j.Place = nil, &v
	}
	return json.Marshal(map[string]any{"term": j})
}

// plainValue returns a value of a Term as string, bool, int64, uint64, float64, Point or
// time.Time.
func plainValue(value any) (any, error) {
	vals, err := document.Flatten(map[string]any{"value": value})
	if err != nil || len(vals) != 1 {
		return nil, fmt.Errorf("one value is wanted, not %#v", value)
	}
	return document.Unflatten(vals)["value"], nil
}

// MarshalJSON writes the query as {"bool": …}; see UnmarshalQuery.
func (q Bool) MarshalJSON() ([]byte, error) {
	j := boolJSON[Query]{q.Must, q.Should, q.MustNot, q.Filter, leastJSON(q.MinShould)}
	return json.Marshal(map[string]any{"bool": j})
}

// MarshalJSON writes the query as {"boost": …}; see UnmarshalQuery.
func (q Boost) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"boost": boostJSON[Query](q)})
}

// MarshalJSON writes the query as {"all": {}}.
func (All) MarshalJSON() ([]byte, error) { return []byte(`{"all":{}}`), nil }

// MarshalJSON writes the query as {"constant": …}; see UnmarshalQuery.
func (q ConstantScore) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"constant": constantJSON[Query](q)})
}

// UnmarshalQuery reads a query from its JSON form, which json.Marshal writes: an object with one
// member, whose name says the type.
//
//	{"match": {"field": "title", "text": "white whale", "mode": "and"}}
//	{"match": {"fields": ["title", "body"], "text": "white whale", "boosts": {"title": 3},
//	           "combine": "best", "tie": 0.3, "analyzer": "english", "min_should": "75%"}}
//	{"match_bool_prefix": {"field": "title", "text": "white wha", "mode": "and", "analyzer": "english"}}
//	{"phrase": {"field": "title", "text": "white whale", "slop": 2, "analyzer": "english"}}
//	{"phrase": {"field": "title", "terms": ["white", ["whale", "sperm"]]}}
//	{"phrase_prefix": {"field": "title", "text": "white wha", "slop": 2, "analyzer": "english"}}
//	{"near": {"field": "title", "phrases": ["white whale", "ship"], "distance": 10}}
//	{"intervals": {"field": "title", "rule": RULE}}
//	{"term": {"field": "year", "value": 1851}}
//	{"term": {"field": "published", "time": "1851-10-18T00:00:00Z"}}
//	{"prefix": {"field": "title", "prefix": "wha"}}
//	{"wildcard": {"field": "title", "pattern": "wh*e"}}
//	{"regexp": {"field": "title", "expr": "whales?", "raw": true}}
//	{"fuzzy": {"field": "title", "term": "wahle", "edits": 1, "prefix": 1, "expansions": 10}}
//	{"term_range": {"field": "title", "from": "a", "to": "n", "exclude_from": true, "include_to": true}}
//	{"range": {"field": "year", "from": 1850, "to": 1900, "exclude_from": true, "include_to": true}}
//	{"range": {"field": "published", "from": {"time": "1851-10-18T00:00:00Z"}}}
//	{"terms": {"field": "year", "values": [1851, 1852, {"time": "1851-10-18T00:00:00Z"}]}}
//	{"exists": {"field": "year"}}
//	{"within_distance": {"field": "place", "point": {"lat": 52.52, "lon": 13.405}, "metres": 5000}}
//	{"within_box": {"field": "place", "south": 50, "west": 10, "north": 55, "east": 15}}
//	{"within_polygon": {"field": "place", "points": [{"lat": 50, "lon": 10}…], "holes": [[…]]}}
//	{"term": {"field": "place", "place": {"lat": 52.52, "lon": 13.405}}}
//	{"ids": {"values": ["moby-dick"]}}
//	{"bool": {"must": [QUERY…], "should": [QUERY…], "must_not": [QUERY…], "filter": [QUERY…],
//	          "min_should": 1}}
//	{"more_like_this": {"fields": ["title"], "texts": ["white whale"], "ids": ["moby-dick"],
//	                    "min_term_freq": 2, "min_doc_freq": 5, "max_doc_freq": 1000, "max_terms": 25,
//	                    "min_should": "30%", "include": true}}
//	{"dis_max": {"queries": [QUERY…], "tie": 0.3}}
//	{"boosting": {"positive": QUERY, "negative": QUERY, "factor": 0.5}}
//	{"function_score": {"query": QUERY, "functions": [FUNCTION…], "combine": "sum", "mode": "product"}}
//	{"boost": {"query": QUERY, "by": 2}}
//	{"constant": {"query": QUERY, "score": 1}}
//	{"all": {}}
//
// A "min_should" is a number, perhaps negative, or a share such as "75%" or "-25%". A missing member
// has its type's zero value. An unlisted member is an error, so that an older
// server does not silently answer a different question. The value of a term is a string, a boolean
// or a number; numbers without a fraction are integers, as 5 and 5.0 are one term. Texts are UTF-8:
// JSON has no form for other bytes. Queries are nested at most a hundred levels deep.
//
// A function is one of these. Each may have a "weight" and a "filter", which is a query.
//
//	{"field_factor": {"field": "sales", "modifier": "log1p", "factor": 2, "missing": 1}}
//	{"decay": {"field": "published", "origin": "now/d", "time_zone": "Europe/Berlin", "scale": "30d",
//	           "offset": "1d", "decay": 0.5, "shape": "gauss"}}
//	{"random": {"seed": 7, "field": "user"}}
//	{"fixed": {"weight": 3, "filter": QUERY}}
//
// A rule of intervals is one of these. Without "max_gaps" any number of gaps is allowed.
//
//	{"match": {"text": "white whale", "ordered": true, "max_gaps": 3}}
//	{"all": {"of": [RULE…], "ordered": true, "max_gaps": 3}}
//	{"any": {"of": [RULE…]}}
//	{"containing": {"rule": RULE, "of": RULE}}
//	{"contained_by": {"rule": RULE, "of": RULE}}
//	{"not_containing": {"rule": RULE, "of": RULE}}
//	{"first": {"rule": RULE, "positions": 10}}
//
// The form is stable: later versions read it. The query is not validated yet; see Query.Validate.
func UnmarshalQuery(data []byte) (Query, error) {
	q, err := unmarshalQuery(data, 0)
	if err != nil {
		var qe *QueryError
		if !errors.As(err, &qe) {
			err = plan.Errorf("Query", "JSON: %w", err)
		}
		return nil, err
	}
	return q, nil
}

func unmarshalQuery(data []byte, depth int) (Query, error) {
	if depth >= maxQueryDepth {
		return nil, fmt.Errorf("more than %d levels of queries", maxQueryDepth)
	}
	if q, ok := readPlainMatch(data); ok {
		return q, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if len(members) != 1 {
		return nil, fmt.Errorf(`a query has one member, such as "match" or "bool", not %d`, len(members))
	}
	for kind, body := range members {
		q, err := unmarshalKind(kind, body, depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return q, nil
	}
	panic("BUG: a map of one member has none")
}

func unmarshalKind(kind string, body []byte, depth int) (Query, error) {
	switch kind {
	case "match":
		var j matchJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		q := Match{Field: j.Field, Fields: j.Fields, Text: j.Text, MinShould: int(j.Least), Boosts: j.Boosts, Tie: j.Tie, Analyzer: j.Analyzer}
		if j.Combine != "" {
			i := slices.Index(combineNames[:], j.Combine)
			if i < 0 {
				return nil, fmt.Errorf(`unknown combine %q (want "sum", "cross", "best" or "bm25f")`, j.Combine)
			}
			q.Combine = Combine(i)
		}
		if j.Mode != "" {
			var err error
			if q.Mode, err = ParseMode(j.Mode); err != nil {
				return nil, err
			}
		}
		return q, nil
	case "match_bool_prefix":
		var j matchBoolPrefixJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		return j.query()
	case "more_like_this":
		var j moreLikeThisJSON
		err := document.DecodeObject(body, &j)
		return j.query(), err
	case "dis_max":
		var j disMaxJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		return j.query(func(raw json.RawMessage) (Query, error) { return unmarshalQuery(raw, depth+1) })
	case "boosting":
		var j boostingJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		return j.query(func(raw json.RawMessage) (Query, error) { return unmarshalQuery(raw, depth+1) })
	case "function_score":
		var j functionScoreJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		read := func(raw json.RawMessage) (Query, error) { return unmarshalQuery(raw, depth+1) }
		q, err := j.query(read)
		if err == nil && j.Query != nil {
			q.Query, err = read(j.Query)
		}
		return q, err
	case "phrase":
		var j phraseJSON
		err := document.DecodeObject(body, &j)
		return j.query(), err
	case "phrase_prefix":
		var j phrasePrefixJSON
		err := document.DecodeObject(body, &j)
		return PhrasePrefix(j), err
	case "near":
		var j nearJSON
		err := document.DecodeObject(body, &j)
		return Near(j), err
	case "intervals":
		var j intervalsJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		rule, err := unmarshalRule(j.Rule, depth+1)
		return Intervals{j.Field, rule, j.Analyzer}, err
	case "term":
		var j termJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		v, err := j.value()
		return Term{j.Field, v}, err
	case "bool":
		var j boolJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		q := Bool{MinShould: int(j.Least)}
		for _, part := range [...]struct {
			name string
			from []json.RawMessage
			to   *[]Query
		}{{"must", j.Must, &q.Must}, {"should", j.Should, &q.Should}, {"must_not", j.MustNot, &q.MustNot}, {"filter", j.Filter, &q.Filter}} {
			for i, raw := range part.from {
				sub, err := unmarshalQuery(raw, depth+1)
				if err != nil {
					return nil, fmt.Errorf("%s %d: %w", part.name, i, err)
				}
				*part.to = append(*part.to, sub)
			}
		}
		return q, nil
	case "boost":
		var j boostJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		inner, err := unmarshalQuery(j.Query, depth+1)
		return Boost{inner, j.By}, err
	case "constant":
		var j constantJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		inner, err := unmarshalQuery(j.Query, depth+1)
		return ConstantScore{inner, j.Score}, err
	case "prefix":
		var j prefixJSON
		err := document.DecodeObject(body, &j)
		return Prefix(j), err
	case "wildcard":
		var j wildcardJSON
		err := document.DecodeObject(body, &j)
		return Wildcard(j), err
	case "regexp":
		var j regexpJSON
		err := document.DecodeObject(body, &j)
		return Regexp(j), err
	case "term_range":
		var j termRangeJSON
		err := document.DecodeObject(body, &j)
		return TermRange(j), err
	case "range":
		var j rangeJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		return j.query()
	case "exists":
		var j existsJSON
		err := document.DecodeObject(body, &j)
		return Exists(j), err
	case "ids":
		var j idsJSON
		err := document.DecodeObject(body, &j)
		return IDs(j), err
	case "terms":
		var j termsJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		return j.query()
	case "fuzzy":
		var j fuzzyJSON
		err := document.DecodeObject(body, &j)
		return j.query(), err
	case "all":
		return All{}, document.DecodeObject(body, &struct{}{})
	}
	if q, ok, err := unmarshalWithin(kind, body); ok {
		return q, err
	}
	return nil, errors.New("there is no such query")
}

// value returns the value of a term: a time, a place, or a string, boolean or number.
func (j *termJSON) value() (any, error) {
	switch v := j.Value.(type) {
	case nil:
		switch {
		case j.Time != nil && j.Place == nil:
			return *j.Time, nil
		case j.Place != nil && j.Time == nil:
			return *j.Place, nil
		}
	case string, bool:
		if j.Time == nil && j.Place == nil {
			return v, nil
		}
	case json.Number:
		if j.Time != nil || j.Place != nil {
			break
		}
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u, nil
		}
		return v.Float64()
	}
	return nil, errors.New(`a "value" is wanted (a string, boolean or number), or a "time" or a "place"`)
}
