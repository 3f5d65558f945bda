package riffle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/document"
)

// A Query says which documents are wanted and what they score. The types of
// this package are its only implementations: Match, Term, Bool, Boost, All and
// ConstantScore. A query is a plain value; it can be shared and used again.
type Query interface {
	fmt.Stringer
	isQuery()
}

// A Mode says how many words of a Match a document must have.
type Mode = blockmax.Mode

const (
	Or    = blockmax.Or    // at least one
	And   = blockmax.And   // every one
	AndOr = blockmax.AndOr // every one; and when fewer than k documents have them all, at least one
)

// ParseMode reads "or", "and" or "and+or".
func ParseMode(s string) (Mode, error) {
	switch strings.ToLower(s) {
	case "or":
		return Or, nil
	case "and":
		return And, nil
	case "and+or":
		return AndOr, nil
	}
	return 0, fmt.Errorf(`unknown mode %q (want "or", "and" or "and+or")`, s)
}

// Match analyses Text as the field's own text was analysed and ranks the
// documents that have its words. A word that Text repeats counts as often as it
// is repeated. A text without words matches nothing.
//
// Terms that the analyzer puts at one position are alternatives: And wants one of them,
// and all that a document has score. A synonym of several words is one alternative
// under And (all of its words, or what it stands for); under Or its words count one by one.
//
// Words of several fields are the same word where they come from the same characters of
// Text, whatever the analyzers make of them. A word that the analyzer of one of the fields drops,
// as a stop word, is not required under And; a field whose analyzer drops all of Text does not
// count there. A field that is not analysed, such as a keyword or a number, has the whole of Text or
// nothing: under And it is an alternative to all words together.
type Match struct {
	Field  string   // the field to search; or
	Fields []string // several: a word may lie in any of them, and scores in each
	Text   string
	Mode   Mode // the zero value is Or

	// Analyzer overrides the field's own. Normally it is empty.
	Analyzer string
}

// Term matches documents that have exactly this term: a word as the analyzer
// leaves it, a keyword, a number, a time.Time or a boolean.
type Term struct {
	Field string
	Value any // string, bool, any integer or float type, or time.Time
}

// Bool combines queries. A document matches when it matches every Must and
// Filter query, none of MustNot, and at least MinShould of Should. When there is
// neither Must nor Filter at least one Should must match. A Bool with nothing but
// MustNot matches all other documents, with score 0. The score is the sum over
// the Must and Should queries that the document matches.
type Bool struct {
	Must      []Query
	Should    []Query
	MustNot   []Query
	Filter    []Query
	MinShould int // 0 to len(Should)
}

// Boost multiplies the scores of a query.
type Boost struct {
	Query Query
	By    float64 // finite, not negative
}

// All matches every document, with score 0 (give it one with ConstantScore).
type All struct{}

// ConstantScore matches what its query matches, all with the same score.
type ConstantScore struct {
	Query Query
	Score float64 // finite, not negative
}

func (Match) isQuery()         {}
func (Term) isQuery()          {}
func (Bool) isQuery()          {}
func (Boost) isQuery()         {}
func (All) isQuery()           {}
func (ConstantScore) isQuery() {}

func (q Match) String() string {
	fields := q.Fields
	if q.Field != "" {
		fields = append([]string{q.Field}, fields...)
	}
	mode := [...]string{"or", "and", "and+or"}[min(q.Mode, AndOr)]
	return fmt.Sprintf("match(%s %s %q)", strings.Join(fields, ","), mode, q.Text)
}

func (q Term) String() string { return fmt.Sprintf("term(%s %#v)", q.Field, q.Value) }

func (q Bool) String() string {
	var parts []string
	add := func(sign string, qs []Query) {
		for _, c := range qs {
			parts = append(parts, fmt.Sprintf("%s%v", sign, c))
		}
	}
	add("+", q.Must)
	add("", q.Should)
	add("#", q.Filter)
	add("-", q.MustNot)
	if q.MinShould > 0 {
		parts = append(parts, fmt.Sprintf("min=%d", q.MinShould))
	}
	return "bool(" + strings.Join(parts, " ") + ")"
}

func (q Boost) String() string         { return fmt.Sprintf("%v^%g", q.Query, q.By) }
func (All) String() string             { return "all" }
func (q ConstantScore) String() string { return fmt.Sprintf("constant(%v %g)", q.Query, q.Score) }

// A clause is a query after analysis: terms instead of text, boosts multiplied
// into weights.
type clause struct {
	kind clauseKind

	field, term string  // clauseTerm
	boost       float64 // clauseTerm: factor of the idf; repeated words count several times
	score       float64 // clauseConstant
	index       int     // set by a planner: number of the term, or of the constant

	must, should, not, filter []clause // clauseBool; clauseConstant has its query in must
	min                       int
	andOr                     bool // clauseBool: should holds the words of an AND+OR match
}

type clauseKind uint8

const (
	clauseTerm clauseKind = iota
	clauseAll
	clauseBool
	clauseConstant
)

// maxClauses bounds the terms of one query, so that one request cannot take all memory.
const maxClauses = 4096

// A rewriter turns queries into clauses.
type rewriter struct {
	iv *document.Inverter
	n  int // terms so far

	tokens []queryToken // used again from match to match
	text   string       // of the match at hand
	emit   func([]analysis.Token)
}

// rewrite checks a query and brings it into clauses. Errors are *QueryError.
func (rw *rewriter) rewrite(q Query, boost float64) (clause, error) {
	switch q := q.(type) {
	case nil:
		return clause{}, queryErrorf("Query", "is nil")
	case Match:
		return rw.rewriteMatch(q, boost)
	case Term:
		return rw.rewriteTerm(q, boost)
	case Bool:
		return rw.rewriteBool(q, boost)
	case Boost:
		if !(q.By >= 0) || math.IsInf(q.By, 0) || math.IsInf(boost*q.By, 0) {
			return clause{}, queryErrorf("Boost.By", "must be finite and not negative, not %v", q.By)
		}
		return rw.rewrite(q.Query, boost*q.By)
	case All:
		return clause{kind: clauseAll}, nil
	case ConstantScore:
		score := boost * q.Score
		if !(score >= 0) || math.IsInf(score, 0) {
			return clause{}, queryErrorf("ConstantScore.Score", "must be finite and not negative, not %v", q.Score)
		}
		inner, err := rw.rewrite(q.Query, 1)
		return clause{kind: clauseConstant, score: score, must: []clause{inner}}, err
	}
	return clause{}, queryErrorf("Query", "unknown type %T", q)
}

func (rw *rewriter) rewriteTerm(q Term, boost float64) (clause, error) {
	if q.Field == "" {
		return clause{}, queryErrorf("Term.Field", "is empty")
	}
	vals, err := document.Flatten(map[string]any{"value": q.Value}) // a field that no document can have is no error
	if err != nil {
		var de *DocumentError
		if errors.As(err, &de) {
			err = de.Err
		}
		return clause{}, queryErrorf("Term.Value", "field %q: %w", q.Field, err)
	}
	if len(vals) != 1 {
		return clause{}, queryErrorf("Term.Value", "one value is wanted, not %#v", q.Value)
	}
	return rw.term(q.Field, string(document.AppendTerm(nil, vals[0])), boost)
}

func (rw *rewriter) term(field, term string, boost float64) (clause, error) {
	if rw.n++; rw.n > maxClauses {
		return clause{}, queryErrorf("Query", "more than %d terms", maxClauses)
	}
	return clause{kind: clauseTerm, field: field, term: term, boost: boost}, nil
}

func (rw *rewriter) rewriteMatch(q Match, boost float64) (clause, error) {
	if q.Mode > AndOr {
		return clause{}, queryErrorf("Match.Mode", "must be Or, And or AndOr, not %d", q.Mode)
	}
	fields := q.Fields
	switch {
	case q.Field != "" && len(fields) > 0:
		fields = append([]string{q.Field}, fields...)
	case q.Field != "":
		fields = []string{q.Field}
	}
	if len(fields) == 0 {
		return clause{}, queryErrorf("Match", "no field is named")
	}
	var m matchWords
	var err error
	if len(fields) == 1 {
		m, err = rw.oneField(q, fields[0], boost)
	} else {
		m, err = rw.severalFields(q, fields, boost)
	}
	if err != nil {
		return clause{}, err
	}
	out := clause{kind: clauseBool}
	switch {
	case q.Mode != And || len(m.required) == 0:
		out.should = slices.Concat(m.required, m.optional, m.whole)
		out.andOr = q.Mode == AndOr && len(out.should) > 0 // without words nothing matches in any mode
	case len(m.whole) == 0:
		out.must, out.should = m.required, m.optional
	default:
		out.should = append(m.whole, clause{kind: clauseBool, must: m.required, should: m.optional})
	}
	return out, nil
}

func (rw *rewriter) rewriteBool(q Bool, boost float64) (clause, error) {
	if q.MinShould < 0 || q.MinShould > len(q.Should) {
		return clause{}, queryErrorf("Bool.MinShould", "must lie in 0 to %d, the number of Should, not %d", len(q.Should), q.MinShould)
	}
	out := clause{kind: clauseBool, min: q.MinShould}
	for _, part := range []struct {
		name string
		from []Query
		to   *[]clause
	}{{"Must", q.Must, &out.must}, {"Should", q.Should, &out.should}, {"MustNot", q.MustNot, &out.not}, {"Filter", q.Filter, &out.filter}} {
		for _, sub := range part.from {
			c, err := rw.rewrite(sub, boost)
			if err != nil {
				return clause{}, err
			}
			*part.to = append(*part.to, c)
		}
	}
	if len(out.must)+len(out.should)+len(out.filter) == 0 {
		if len(out.not) == 0 {
			return clause{}, queryErrorf("Bool", "has no clause")
		}
		out.filter = []clause{{kind: clauseAll}}
	}
	return out, nil
}

// parseAs reads the text of a match against a field that is not analysed.
func parseAs(t FieldType, field, text string) (document.Value, error) {
	switch t {
	case NumberField:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return document.Int(field, i), nil
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return document.Value{}, fmt.Errorf("%q is not a number", text)
		}
		return document.Float(field, x), nil
	case DateField:
		d, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return document.Value{}, fmt.Errorf("%q is not a time as RFC 3339 writes it", text)
		}
		return document.Time(field, d), nil
	case BoolField:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return document.Value{}, fmt.Errorf("%q is neither true nor false", text)
		}
		return document.Bool(field, b), nil
	}
	return document.Text(field, text), nil
}
