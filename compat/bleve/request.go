package bleve

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	facets    map[string]*facetRequest
	sort      []sortKey
	after     []string // sort keys of the hit that the page follows
	before    []string // sort keys of the hit that the page precedes
	mark      *Hit     // that hit
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
	var err error
	if r.facets, err = m.parseFacets(j.Facets); err != nil {
		return nil, err
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
	if err := r.order(m, j.Sort); err != nil {
		return nil, err
	}
	p := queryParser{m: m}
	r.query, err = p.parse("query", j.Query)
	return r, err
}

// order reads the sort keys and what belongs to them.
func (r *request) order(m *Mapping, list []json.RawMessage) error {
	if list == nil {
		r.sort = []sortKey{{descending: true}}
	}
	for i, text := range list {
		key, err := parseSortKey(text)
		if reason := m.unsupported[key.field]; reason != "" && err == nil {
			err = errorf("%q: %s", key.field, reason)
		}
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
		var err error
		if r.mark, err = r.hitOf(page.name, page.keys); err != nil {
			return err
		}
	}
	return nil
}

// hitOf returns a hit with sort keys.
func (r *request) hitOf(name string, keys []string) (*Hit, error) {
	h := &Hit{terms: make([]string, len(keys))}
	for i, key := range r.sort {
		var err error
		switch {
		case key.id:
			h.ID = cmp.Or(h.ID, keys[i]) // a second one orders nothing
		case key.field != "":
			h.terms[i], err = key.encode(keys[i])
		default:
			if h.Score, err = strconv.ParseFloat(keys[i], 64); err != nil {
				err = errorf("%q is no score", keys[i])
			}
		}
		if err != nil {
			return nil, placed(fmt.Sprintf("%s[%d]", name, i), err)
		}
	}
	return h, nil
}

// byScore reports whether the best hits come first, and further keys order ties.
func (r *request) byScore() bool {
	return r.native() && len(r.sort) > 0 && !r.sort[0].id && r.sort[0].descending
}
