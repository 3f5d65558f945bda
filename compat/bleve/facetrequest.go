package bleve

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A facetRequest asks for the terms of a field among the documents found, or for how many of its values
// lie in ranges.
type facetRequest struct {
	field  string
	size   int
	ranges []facetRange // nil for terms
	dates  bool         // the ranges are of dates

	prefix  string
	pattern *regexp.Regexp // nil for all
}

// A facetRange is from its beginning to below its end. Of numbers, nil bounds are none; of dates, zero
// ones.
type facetRange struct {
	name       string
	min, max   *float64
	start, end time.Time
}

// accepts reports whether a term is among those that are counted one by one.
func (f *facetRequest) accepts(term string) bool {
	return strings.HasPrefix(term, f.prefix) && (f.pattern == nil || f.pattern.MatchString(term))
}

// in reports whether the number of a term lies in the range.
func (g *facetRange) in(n int64, dates bool) bool {
	if dates {
		t := time.Unix(0, n)
		return (g.start.IsZero() || !t.Before(g.start)) && (g.end.IsZero() || t.Before(g.end))
	}
	f := floatOf(n)
	return (g.min == nil || f >= *g.min) && (g.max == nil || f < *g.max)
}

// parseFacets reads the facets of a request, by name.
func (m *Mapping) parseFacets(texts map[string]json.RawMessage) (map[string]*facetRequest, error) {
	if texts == nil {
		return nil, nil
	}
	facets := map[string]*facetRequest{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f, err := m.parseFacet(texts[name])
		if err != nil {
			return nil, placed(fmt.Sprintf("facets[%q]", name), err)
		}
		facets[name] = f
	}
	return facets, nil
}

func (m *Mapping) parseFacet(text json.RawMessage) (*facetRequest, error) {
	var j *struct {
		Size    int    `json:"size"`
		Field   string `json:"field"`
		Prefix  string `json:"term_prefix"`
		Pattern string `json:"term_pattern"`
		Numbers []*struct {
			Name string   `json:"name"`
			Min  *float64 `json:"min"`
			Max  *float64 `json:"max"`
		} `json:"numeric_ranges"`
		Dates []*struct {
			Name   string  `json:"name"`
			Start  *string `json:"start"`
			End    *string `json:"end"`
			Parser string  `json:"datetime_parser"`
		} `json:"date_ranges"`
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	if j == nil {
		return nil, errorf("an object is wanted")
	}
	f := &facetRequest{field: j.Field, size: j.Size, prefix: j.Prefix}
	if f.size < 0 {
		return nil, placed("size", errorf("it must not be negative, as %d is", f.size))
	}
	if reason := m.unsupported[f.field]; reason != "" {
		return nil, placed("field", errorf("%q: %s", f.field, reason))
	}
	if j.Pattern != "" {
		var err error
		if f.pattern, err = regexp.Compile(j.Pattern); err != nil {
			return nil, placed("term_pattern", err)
		}
	}
	if len(j.Numbers) > 0 && len(j.Dates) > 0 {
		return nil, errorf("it has either numeric_ranges or date_ranges")
	}
	names := map[string]bool{}
	for i, g := range j.Numbers {
		at := fmt.Sprintf("numeric_ranges[%d]", i)
		switch {
		case g == nil:
			return nil, placed(at, errorf("an object is wanted"))
		case names[g.Name]:
			return nil, placed(at, errorf("another range is named %q, too", g.Name))
		case g.Min == nil && g.Max == nil:
			return nil, placed(at, errorf("a range needs min or max"))
		}
		names[g.Name] = true
		f.ranges = append(f.ranges, facetRange{name: g.Name, min: g.Min, max: g.Max})
	}
	for i, g := range j.Dates {
		at := fmt.Sprintf("date_ranges[%d]", i)
		switch {
		case g == nil:
			return nil, placed(at, errorf("an object is wanted"))
		case names[g.Name]:
			return nil, placed(at, errorf("another range is named %q, too", g.Name))
		}
		names[g.Name] = true
		to := facetRange{name: g.Name}
		parser := g.Parser
		if parser == "" {
			parser = defaultParser
		}
		parse, err := m.parserNamed(parser)
		if err != nil {
			return nil, placed(at+".datetime_parser", err)
		}
		for _, bound := range []struct {
			name string
			text *string
			to   *time.Time
		}{{"start", g.Start, &to.start}, {"end", g.End, &to.end}} {
			if bound.text == nil {
				continue
			}
			ok := false
			if *bound.to, _, ok = parse(*bound.text); !ok {
				return nil, placed(at+"."+bound.name, errorf("%q is no date", *bound.text))
			}
		}
		if to.start.IsZero() && to.end.IsZero() {
			return nil, placed(at, errorf("a range of dates needs start or end"))
		}
		f.ranges = append(f.ranges, to)
	}
	// As in bleve, a list without ranges still asks for ranges.
	switch {
	case j.Numbers != nil:
		f.ranges = append([]facetRange{}, f.ranges...)
	case j.Dates != nil:
		f.ranges, f.dates = append([]facetRange{}, f.ranges...), true
	}
	return f, nil
}

// wholeNumber returns the number of a term, if bleve takes the term for a whole number or a date. It takes
// any that begins with a space.
func wholeNumber(term string) (n int64, ok bool) {
	if term == "" || term[0] != ' ' {
		return 0, false
	}
	return prefixDecoded(term), true
}
