package bleve

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// maxDepth bounds the nesting of queries.
const maxDepth = 100

// errorf makes an error without a place; placed adds one.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

func placed(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}

// A queryJSON has the members of all kinds of queries. Which kind one is, its members tell.
type queryJSON struct {
	Field     string          `json:"field"`
	Boost     *float64        `json:"boost"`
	Analyzer  string          `json:"analyzer"`
	Fuzziness json.RawMessage `json:"fuzziness"`
	Prefix    int             `json:"prefix_length"`
	Operator  json.RawMessage `json:"operator"`

	Match       *string         `json:"match"`
	MatchPhrase *string         `json:"match_phrase"`
	Terms       json.RawMessage `json:"terms"`
	Term        *string         `json:"term"`

	Must      json.RawMessage   `json:"must"`
	Should    json.RawMessage   `json:"should"`
	MustNot   json.RawMessage   `json:"must_not"`
	Filter    json.RawMessage   `json:"filter"`
	Conjuncts []json.RawMessage `json:"conjuncts"`
	Disjuncts []json.RawMessage `json:"disjuncts"`
	Query     *string           `json:"query"`

	Min            json.RawMessage `json:"min"` // a number or a text, or of how many disjuncts
	Max            json.RawMessage `json:"max"`
	InclusiveMin   *bool           `json:"inclusive_min"`
	InclusiveMax   *bool           `json:"inclusive_max"`
	Start          *string         `json:"start"`
	End            *string         `json:"end"`
	InclusiveStart *bool           `json:"inclusive_start"`
	InclusiveEnd   *bool           `json:"inclusive_end"`
	DateParser     string          `json:"datetime_parser"`

	PrefixText *string  `json:"prefix"`
	Regexp     *string  `json:"regexp"`
	Wildcard   *string  `json:"wildcard"`
	IDs        []string `json:"ids"`
	Bool       *bool    `json:"bool"`

	TopLeft     json.RawMessage `json:"top_left"` // a point, as all others here: see pointIn
	BottomRight json.RawMessage `json:"bottom_right"`
	Location    json.RawMessage `json:"location"`
	Distance    json.RawMessage `json:"distance"`
	Polygon     json.RawMessage `json:"polygon_points"`
}

// A queryParser reads queries for a mapping.
type queryParser struct {
	m     *Mapping
	depth int
}

// parse reads a query. Its kind is told by its members, in the order in which bleve looks for them.
func (p *queryParser) parse(place string, text json.RawMessage) (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, placed(place, errorf("queries are nested more than %d deep", maxDepth))
	}
	defer func() { p.depth-- }()
	var members map[string]json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, placed(place, errorf("an object is wanted"))
		}
	}
	if len(members) == 0 {
		return nothing{}, nil
	}
	var j queryJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, placed(place, err)
	}
	n, err := p.node(place, members, &j)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (p *queryParser) node(place string, members map[string]json.RawMessage, j *queryJSON) (node, error) {
	has := func(names ...string) bool {
		for _, name := range names {
			if _, ok := members[name]; ok {
				return true
			}
		}
		return false
	}
	boost := 1.0
	if j.Boost != nil {
		if boost = *j.Boost; !(boost >= 0) {
			return nil, placed(place+".boost", errorf("it must not be negative, as %v is", boost))
		} else if boost > riffle.MaxBoost {
			return nil, placed(place+".boost", errorf("it must be at most %v, not %v", riffle.MaxBoost, boost))
		}
	}
	field := j.Field
	if field == "" {
		field = p.m.defaultField
	}
	if reason := p.m.unsupported[field]; reason != "" {
		return nil, placed(place+".field", errorf("%q: %s", field, reason))
	}
	leaf := func(member string, n node, err error) (node, error) { return n, placed(place+"."+member, err) }
	switch {
	case has("fuzziness") && !has("match", "match_phrase", "terms"):
		n, err := p.fuzzy(field, j, boost)
		return leaf("fuzziness", n, err)
	case has("match"):
		n, err := p.match(field, j, boost)
		return leaf("match", n, err)
	case has("match_phrase"):
		edits, err := fuzziness(j.Fuzziness, 0)
		if err != nil {
			return leaf("fuzziness", nil, err)
		}
		n, err := p.m.matchPhrase(field, text(j.MatchPhrase), j.Analyzer, edits, boost)
		return leaf("match_phrase", n, err)
	case has("terms"):
		n, err := p.phrase(j, boost)
		return leaf("terms", n, err)
	case has("term"):
		return term{field, text(j.Term), boost}, nil
	case has("must", "should", "must_not", "filter"):
		return p.boolean(place, members, j)
	case has("conjuncts"):
		clauses, err := p.clauses(place+".conjuncts", j.Conjuncts)
		if err != nil || len(clauses) == 0 {
			return nothing{}, err
		}
		return all(clauses), nil
	case has("disjuncts"):
		return p.disjunction(place, j)
	case has("query"):
		n, err := p.m.parseQueryString(text(j.Query))
		return leaf("query", n, err)
	case isNumber(j.Min) || isNumber(j.Max):
		return p.numbers(place, field, j, boost)
	case isText(j.Min) || isText(j.Max):
		var from, to string
		if err := unmarshal(j.Min, &from); err != nil {
			return leaf("min", nil, err)
		}
		if err := unmarshal(j.Max, &to); err != nil {
			return leaf("max", nil, err)
		}
		if from == "" && to == "" {
			return leaf("min", nil, errorf("a range needs min or max"))
		}
		return termRangeNode(field, from, to, orElse(j.InclusiveMin, true), orElse(j.InclusiveMax, false), boost), nil
	case has("start", "end"):
		return p.dates(place, field, j, boost)
	case has("prefix"):
		return prefixNode(field, text(j.PrefixText), boost), nil
	case has("regexp"):
		n, err := regexpNode(field, strings.TrimPrefix(text(j.Regexp), "^"), boost)
		return leaf("regexp", n, err)
	case has("wildcard"):
		n, err := regexpNode(field, wildcardSyntax.Replace(text(j.Wildcard)), boost)
		return leaf("wildcard", n, err)
	case has("match_all"):
		return everything{boost}, nil
	case has("match_none"):
		return nothing{}, nil
	case has("ids"):
		return idSet{j.IDs, boost}, nil
	case has("bool"):
		if orElse(j.Bool, false) {
			return term{field, "T", boost}, nil
		}
		return term{field, "F", boost}, nil
	case has("top_left") && has("bottom_right"):
		return p.box(place, field, j, boost)
	case has("distance"):
		return p.circle(place, field, j, boost)
	case has("polygon_points"):
		n, err := p.polygon(field, j, boost)
		return leaf("polygon_points", n, err)
	}
	for _, member := range []string{"geometry", "cidr"} {
		if has(member) {
			return leaf(member, nil, errorf("shapes and addresses of networks are not supported"))
		}
	}
	return nil, placed(place, errorf("it is of no known kind"))
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orElse(b *bool, other bool) bool {
	if b == nil {
		return other
	}
	return *b
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// unmarshal reads a member that may be missing.
func unmarshal(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// fuzziness reads a number of edits, or "auto". Anything else is ignored, as in bleve.
func fuzziness(raw json.RawMessage, missing int) (int, error) {
	switch {
	case isNumber(raw):
		var n float64
		if err := json.Unmarshal(raw, &n); err != nil {
			return 0, err
		}
		if n <= -1 || n > 1000 {
			return 0, errorf("it must lie in 0 to %d", maxEdits)
		}
		return int(n), nil
	case string(raw) == `"auto"`:
		return autoFuzziness, nil
	}
	return missing, nil
}

func (p *queryParser) fuzzy(field string, j *queryJSON, boost float64) (node, error) {
	edits, err := fuzziness(j.Fuzziness, 1)
	if err != nil {
		return nil, err
	}
	t := text(j.Term)
	if edits == autoFuzziness {
		edits = autoEdits(t)
	}
	return fuzzyNode(field, t, edits, j.Prefix, boost)
}

func (p *queryParser) match(field string, j *queryJSON, boost float64) (node, error) {
	edits, err := fuzziness(j.Fuzziness, 0)
	if err != nil {
		return nil, err
	}
	and := false
	if op := string(j.Operator); op != "" {
		if and = op == `"and"`; !and && op != `"or"` {
			return nil, errorf(`operator: "or" or "and" is wanted, not %s`, op)
		}
	}
	return p.m.match(field, text(j.Match), j.Analyzer, edits, j.Prefix, and, boost)
}

// words analyzes the text of a query for a field.
func (m *Mapping) words(field, text, analyzer string) ([]token, error) {
	if analyzer == "" {
		analyzer = m.queryAnalyzer(field)
	}
	a, err := m.analyzerNamed(analyzer)
	if err != nil {
		return nil, err
	}
	return tokensOf(a, text), nil
}

func (m *Mapping) match(field, text, analyzer string, edits, prefix int, and bool, boost float64) (node, error) {
	words, err := m.words(field, text, analyzer)
	if err != nil || len(words) == 0 {
		return nothing{}, err
	}
	clauses := make([]node, len(words))
	for i, w := range words {
		e := edits
		if e == autoFuzziness {
			e = autoEdits(w.term)
		}
		if clauses[i], err = fuzzyNode(field, w.term, e, prefix, boost); err != nil {
			return nil, err
		}
	}
	if and {
		return all(clauses), nil
	}
	return some{clauses, 1}, nil
}

func (m *Mapping) matchPhrase(field, text, analyzer string, edits int, boost float64) (node, error) {
	words, err := m.words(field, text, analyzer)
	if err != nil || len(words) == 0 {
		return nothing{}, err
	}
	first := words[0].pos
	terms := make([][]string, words[len(words)-1].pos-first+1)
	for _, w := range words {
		terms[w.pos-first] = append(terms[w.pos-first], w.term)
	}
	return phraseNode(field, terms, edits, boost)
}

// phrase reads a list of terms, or of lists of terms. Such a query has no default field.
func (p *queryParser) phrase(j *queryJSON, boost float64) (node, error) {
	edits, err := fuzziness(j.Fuzziness, 0)
	if err != nil {
		return nil, err
	}
	var terms [][]string
	var plain []string
	if json.Unmarshal(j.Terms, &plain) == nil {
		for _, t := range plain {
			terms = append(terms, []string{t})
		}
	} else if err := json.Unmarshal(j.Terms, &terms); err != nil {
		return nil, errorf("a list of terms, or of lists of terms, is wanted")
	}
	if len(terms) == 0 {
		return nil, errorf("a phrase needs a term")
	}
	return phraseNode(j.Field, terms, edits, boost)
}

func (p *queryParser) clauses(place string, list []json.RawMessage) ([]node, error) {
	var out []node
	for i, text := range list {
		n, err := p.parse(fmt.Sprintf("%s[%d]", place, i), text)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (p *queryParser) disjunction(place string, j *queryJSON) (node, error) {
	var least float64
	if err := unmarshal(j.Min, &least); err != nil {
		return nil, placed(place+".min", errorf("a number is wanted"))
	}
	clauses, err := p.clauses(place+".disjuncts", j.Disjuncts)
	if err != nil {
		return nil, err
	}
	if least > float64(len(clauses)) {
		return nil, placed(place+".min", errorf("%v is more than there are clauses, %d", least, len(clauses)))
	}
	if len(clauses) == 0 {
		return nothing{}, nil
	}
	return some{clauses, int(least)}, nil
}

// boolean reads a query whose parts are a conjunction, disjunctions and any query.
func (p *queryParser) boolean(place string, members map[string]json.RawMessage, j *queryJSON) (node, error) {
	var parts [4]node
	for i, part := range []struct {
		name, want string
		text       json.RawMessage
	}{{"must", "conjuncts", j.Must}, {"should", "disjuncts", j.Should}, {"must_not", "disjuncts", j.MustNot}, {"filter", "", j.Filter}} {
		if _, ok := members[part.name]; !ok {
			continue
		}
		n, err := p.parse(place+"."+part.name, part.text)
		if err != nil {
			return nil, err
		}
		if part.want != "" && !hasMember(part.text, part.want) {
			return nil, placed(place+"."+part.name, errorf("a query with %q is wanted", part.want))
		}
		parts[i] = n
	}
	return newBoolean(parts[0], parts[1], parts[2], parts[3]), nil
}

func hasMember(text json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members[name] != nil
}

func (p *queryParser) numbers(place, field string, j *queryJSON, boost float64) (node, error) {
	bound := func(name string, raw json.RawMessage) (*int64, error) {
		var n *float64
		if err := unmarshal(raw, &n); err != nil {
			return nil, placed(place+"."+name, errorf("a number is wanted"))
		}
		if n == nil {
			return nil, nil
		}
		at := sortableFloat(*n)
		return &at, nil
	}
	from, err := bound("min", j.Min)
	if err != nil {
		return nil, err
	}
	to, err := bound("max", j.Max)
	if err != nil {
		return nil, err
	}
	return rangeNode(field, from, to, orElse(j.InclusiveMin, true), orElse(j.InclusiveMax, false), boost), nil
}

func (p *queryParser) dates(place, field string, j *queryJSON, boost float64) (node, error) {
	name := defaultParser
	if j.DateParser != "" {
		name = j.DateParser
	}
	parse, err := p.m.parserNamed(name)
	if err != nil {
		return nil, placed(place+".datetime_parser", err)
	}
	from, err := dateBound(parse, text(j.Start))
	if err != nil {
		return nil, placed(place+".start", err)
	}
	to, err := dateBound(parse, text(j.End))
	if err != nil {
		return nil, placed(place+".end", err)
	}
	if from == nil && to == nil {
		return nil, placed(place+".start", errorf("a range of dates needs start or end"))
	}
	return rangeNode(field, from, to, orElse(j.InclusiveStart, true), orElse(j.InclusiveEnd, false), boost), nil
}

// The years that bleve's ranges of dates reach.
var (
	firstDate = time.Date(1677, 12, 1, 0, 0, 0, 0, time.UTC)
	lastDate  = time.Date(2262, 4, 11, 11, 59, 59, 0, time.UTC)
)

// dateBound reads an end of a range of dates; "" is none.
func dateBound(parse dateParser, text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	t, _, ok := parse(text)
	if !ok {
		return nil, errorf("%q is no date that the date parser reads", text)
	}
	if t.IsZero() {
		return nil, nil
	}
	if t.Before(firstDate) || t.After(lastDate) {
		return nil, errorf("%q is outside of the years %d to %d", text, firstDate.Year(), lastDate.Year())
	}
	at := t.UnixNano()
	return &at, nil
}

// numberIs matches documents with a number.
func numberIs(field string, n float64, boost float64) node {
	if math.IsNaN(n) {
		return some{}
	}
	at := sortableFloat(n)
	return rangeNode(field, &at, &at, true, true, boost)
}
