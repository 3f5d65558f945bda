package bleve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// A request is a search request of bleve.
type request struct {
	query     node
	size      int
	from      int
	fields    []string
	highlight *highlighting
	locations bool
	unscored  bool
	facets    bool // that there are none is said by {} instead of null
	sort      []sortKey
	after     []string // sort keys of the hit that the page follows
	before    []string // sort keys of the hit that the page precedes
}

// A highlighting says which fields have fragments; nil stands for those that match.
type highlighting struct {
	Style  *string  `json:"style"`
	Fields []string `json:"fields"`
	how    style
}

// parseRequest reads a request. What this package does not answer exactly is an error that names the
// place.
func (m *Mapping) parseRequest(text []byte) (*request, error) {
	var j struct {
		Query     json.RawMessage            `json:"query"`
		Size      *int                       `json:"size"`
		From      int                        `json:"from"`
		Highlight *highlighting              `json:"highlight"`
		Fields    []string                   `json:"fields"`
		Facets    map[string]json.RawMessage `json:"facets"`
		Explain   bool                       `json:"explain"`
		Sort      []json.RawMessage          `json:"sort"`
		Locations bool                       `json:"includeLocations"`
		Score     string                     `json:"score"`
		After     []string                   `json:"search_after"`
		Before    []string                   `json:"search_before"`
		KNN       json.RawMessage            `json:"knn"`
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	r := &request{size: 10, from: max(j.From, 0), fields: j.Fields, highlight: j.Highlight, locations: j.Locations, after: j.After, before: j.Before}
	if j.Size != nil && *j.Size >= 0 {
		r.size = *j.Size
	}
	r.facets = j.Facets != nil
	for name := range j.Facets {
		return nil, placed(fmt.Sprintf("facets[%q]", name), errorf("facets need columns of values, which the index does not have"))
	}
	if len(j.KNN) > 0 && string(j.KNN) != "null" && string(j.KNN) != "[]" {
		return nil, placed("knn", errorf("vectors are not supported"))
	}
	if j.Explain {
		return nil, placed("explain", errorf("scores are not bleve's; riffle.Engine.Explain derives them"))
	}
	switch j.Score {
	case "":
	case "none":
		r.unscored = true
	default:
		return nil, placed("score", errorf("%q is not supported", j.Score))
	}
	if h := r.highlight; h != nil {
		name := "html"
		if h.Style != nil {
			name = *h.Style
		}
		how, ok := styles[name]
		if !ok {
			return nil, placed("highlight.style", errorf(`"html" or "ansi" is wanted, not %q`, name))
		}
		h.how = how
	}
	if err := r.order(j.Sort); err != nil {
		return nil, err
	}
	p := queryParser{m: m}
	var err error
	r.query, err = p.parse("query", j.Query)
	return r, err
}

// order reads the sort keys and what belongs to them.
func (r *request) order(list []json.RawMessage) error {
	if list == nil {
		r.sort = []sortKey{{descending: true}}
	}
	for i, text := range list {
		key, err := parseSortKey(text)
		if err != nil {
			return placed(fmt.Sprintf("sort[%d]", i), err)
		}
		r.sort = append(r.sort, key)
	}
	if r.after != nil && r.before != nil {
		return placed("search_before", errorf("it goes without search_after"))
	}
	for _, page := range []struct {
		name string
		keys []string
	}{{"search_after", r.after}, {"search_before", r.before}} {
		switch {
		case page.keys == nil:
			continue
		case r.from != 0:
			return placed("from", errorf("it goes without %s", page.name))
		case len(page.keys) != len(r.sort):
			return placed(page.name, errorf("%d sort keys are wanted, not %d", len(r.sort), len(page.keys)))
		}
		for i, key := range r.sort {
			if key.field != "" {
				if _, err := key.encode(page.keys[i]); err != nil {
					return placed(fmt.Sprintf("%s[%d]", page.name, i), err)
				}
				continue
			}
			if _, err := strconv.ParseFloat(page.keys[i], 64); err != nil && !key.id {
				return placed(fmt.Sprintf("%s[%d]", page.name, i), errorf("%q is no score", page.keys[i]))
			}
		}
	}
	return nil
}

// byScore reports whether hits are in the order in which riffle finds them, but for ties, which further
// keys order.
func (r *request) byScore() bool {
	return r.after == nil && r.before == nil && len(r.sort) > 0 && !r.sort[0].id && r.sort[0].field == "" && r.sort[0].descending
}

// tieBroken reports whether keys behind the score order ties.
func (r *request) tieBroken() bool {
	return slices.ContainsFunc(r.sort, func(k sortKey) bool { return k.id || k.field != "" })
}
