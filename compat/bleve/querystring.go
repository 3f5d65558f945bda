package bleve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/language"
)

// parseQueryString reads a query string. Its language is that of riffle.ParseQuery without additions;
// what a clause means is bleve's: digits are searched as a number as well, patterns are not analyzed,
// and a clause without words is dropped.
func (m *Mapping) parseQueryString(text string) (node, error) {
	if text == "" {
		return nothing{}, nil
	}
	read, err := language.Parse(text, language.Options{MaxDepth: 1, MaxClauses: len(text) + 1}) // bleve has no bounds
	if err != nil {
		return nil, stringError(err)
	}
	var parts [3][]node
	for _, c := range read.Query.Clauses {
		n, err := m.stringClause(c.Node)
		if err != nil {
			return nil, err
		}
		part := map[language.Occur]int{language.Plain: shouldPart, language.Must: mustPart, language.MustNot: mustNotPart}[c.Occur]
		parts[part] = append(parts[part], n)
	}
	// Clauses that are nothing are dropped; a part of which none is left is nothing itself.
	var combined [3]node
	for i, list := range parts {
		kept := []node{}
		for _, n := range list {
			if !isNothing(n) {
				kept = append(kept, n)
			}
		}
		switch {
		case len(list) == 0:
		case len(kept) == 0:
			combined[i] = nothing{}
		case i == mustPart:
			combined[i] = all(kept)
		default:
			combined[i] = some{kept, 0}
		}
	}
	return newBoolean(combined[mustPart], combined[shouldPart], combined[mustNotPart], nil), nil
}

const (
	shouldPart = iota
	mustPart
	mustNotPart
)

// stringError returns an error of the language as those of requests are.
func stringError(err error) error {
	var e *language.Error
	if !errors.As(err, &e) {
		return err
	}
	reason := errors.New(e.Reason)
	if e.Hint != "" {
		reason = errorf("%w; %s", reason, e.Hint)
	}
	return at(e.Offset, reason)
}

// at adds an offset in a query string to an error.
func at(offset int, err error) error { return placed(fmt.Sprintf("offset %d", offset), err) }

// stringClause makes a query of a clause.
func (m *Mapping) stringClause(c *language.Node) (node, error) {
	field, boost := m.defaultField, 1.0
	if len(c.Fields) > 0 && c.Fields[0].Name != "" {
		field = c.Fields[0].Name
	}
	if reason := m.unsupported[field]; reason != "" {
		return nil, at(c.Start, errorf("field %q: %s", field, reason))
	}
	for _, f := range c.Factors {
		if boost = f.By; !(boost >= 0 && boost <= riffle.MaxBoost) {
			return nil, at(f.Start, errorf("%v is no boost", boost))
		}
	}
	switch c.Kind {
	case language.Word:
		words, err := m.match(field, c.Text, "", 0, 0, false, boost)
		if err != nil || !c.Number {
			return words, err
		}
		value, err := strconv.ParseFloat(c.Text, 64)
		if err != nil {
			return nil, at(c.Start, err)
		}
		either := some{clauses: []node{numberIs(field, value, boost)}}
		if !isNothing(words) {
			either.clauses = append(either.clauses, words)
		}
		return either, nil
	case language.Fuzzy:
		return m.match(field, c.Text, "", c.Edits, 0, false, boost)
	case language.Phrase:
		return m.matchPhrase(field, c.Text, "", 0, boost)
	case language.Regexp:
		n, err := regexpNode(field, strings.TrimPrefix(c.Text, "^"), boost)
		return n, at(c.Start, err)
	case language.Pattern: // in which a backslash is escaped, to bleve a character like any other
		n, err := regexpNode(field, wildcardSyntax.Replace(strings.ReplaceAll(c.Text, `\\`, `\`)), boost)
		return n, at(c.Start, err)
	case language.Range:
		return stringRange(field, c.Bounds, boost)
	}
	return nil, at(c.Start, errorf("it is of no known kind"))
}

// stringRange makes a query of a range that is open at one end, of numbers or of dates.
func stringRange(field string, b language.Bounds, boost float64) (node, error) {
	bound, above := b.From, true
	if bound.Open {
		bound, above = b.To, false
	}
	var limit *int64
	if bound.Quoted {
		var err error
		if limit, err = dateBound(byLayouts(optionalLayouts), bound.Text); err == nil && limit == nil {
			err = errorf("a date is wanted")
		}
		if err != nil {
			return nil, at(bound.Start, err)
		}
	} else {
		n, err := strconv.ParseFloat(bound.Text, 64)
		if err != nil {
			return nil, at(bound.Start, err)
		}
		number := sortableFloat(n)
		limit = &number
	}
	if above {
		return rangeNode(field, limit, nil, !b.ExcludeFrom, false, boost), nil
	}
	return rangeNode(field, nil, limit, true, b.IncludeTo, boost), nil
}
