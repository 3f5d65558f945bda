package plan

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/geo"
)

// MaxClauses bounds the terms of one query, so that one request cannot exhaust the memory.
const MaxClauses = 4096

// A Match is riffle.Match.
type Match struct {
	Field  string
	Fields []string
	Text   string
	Mode   blockmax.Mode

	MinShould int

	Boosts   map[string]float64
	Combine  Combine
	Tie      float64
	Analyzer string
}

// A Combine says how the score of a match is computed from its fields.
type Combine uint8

const (
	CombineSum Combine = iota
	CombineCross
	CombineBest
	CombineBM25F
)

// boost returns the factor of a field.
func (q *Match) boost(field string) float64 {
	if by, ok := q.Boosts[field]; ok {
		return by
	}
	return 1
}

// A Rewriter turns queries into clauses, under the rules of a schema. One goroutine at a time uses
// it; it reuses its memory from query to query. Errors are *Error.
type Rewriter struct {
	iv *document.Inverter
	n  int // terms so far

	unscored bool // see Unscored

	blend int // fuzzy words so far

	index        Index       // index of the query; nil where fields are not checked
	allowUnknown bool        // Settings.AllowUnknown
	now          time.Time   // Settings.Now
	gather       *Traits     // Settings.Gather
	outside      *Traits     // of Settings.Outside
	numbers      *Statistics // Settings.Outside, if it has more than traits

	tokens []queryToken // reused from match to match
	text   string       // of the current match
	emit   func([]analysis.Token)
}

// Unscored says whether only the documents of the queries that follow count, and not their scores. It
// returns what was said before.
func (rw *Rewriter) Unscored(unscored bool) (before bool) {
	before, rw.unscored = rw.unscored, unscored
	return before
}

// All is the clause of every document, with score 0.
func All() Clause { return Clause{kind: clauseAll} }

// MaxBoost bounds the factors of weights, so that the weights of MaxClauses terms fit in a float64.
const MaxBoost = 1e30

// Boosted returns the product of two boosts, the outer one and that of a Boost query.
func Boosted(boost, by float64) (float64, error) {
	product := boost * by
	if by >= 0 && by <= MaxBoost && product <= MaxBoost {
		return product, nil
	}
	if by >= 0 && by <= MaxBoost {
		return 0, Errorf("Boost.By", "%v makes %v with the boosts around it, more than %v", by, product, MaxBoost)
	}
	return 0, Errorf("Boost.By", "must lie in 0 to %v, not %v", MaxBoost, by)
}

// ConstantScore checks and returns the score of a Constant clause inside a boost.
func ConstantScore(boost, score float64) (float64, error) {
	product := boost * score
	if score >= 0 && score <= MaxBoost && product <= MaxBoost {
		return product, nil
	}
	if score >= 0 && score <= MaxBoost {
		return 0, Errorf("ConstantScore.Score", "%v makes %v with the boosts around it, more than %v", score, product, MaxBoost)
	}
	return 0, Errorf("ConstantScore.Score", "must lie in 0 to %v, not %v", MaxBoost, score)
}

// Constant matches the documents of a clause, all with one score.
func Constant(c Clause, score float64) Clause {
	return Clause{kind: clauseConstant, score: score, must: []Clause{c}}
}

// A Bool combines clauses.
type Bool struct{ c Clause }

// A Part is a part of a Bool.
type Part uint8

const (
	Must Part = iota
	Should
	MustNot
	Filter
)

// NewBool returns a Bool for a number of Should clauses, of which at least least must match.
func NewBool(should, least int) (Bool, error) {
	if _, share := percentOf(least); !share && (least < -should || least > should) {
		return Bool{}, Errorf("Bool.MinShould", "must lie in %d to %d, the number of Should, or be a Percent, not %d", -should, should, least)
	}
	return Bool{Clause{kind: clauseBool, min: leastOf(least, should)}}, nil
}

// ErrEmptyBool is the error of a Bool without clauses.
func ErrEmptyBool() error { return Errorf("Bool", "has no clause") }

// Add adds a clause to a part.
func (b *Bool) Add(p Part, c Clause) {
	switch p {
	case Must:
		b.c.must = append(b.c.must, c)
	case Should:
		b.c.should = append(b.c.should, c)
	case MustNot:
		b.c.not = append(b.c.not, c)
	case Filter:
		b.c.filter = append(b.c.filter, c)
	}
}

// Clause returns the Bool as a clause. One of MustNot alone matches all other documents.
func (b *Bool) Clause() (Clause, error) {
	if len(b.c.must)+len(b.c.should)+len(b.c.filter) == 0 {
		if len(b.c.not) == 0 {
			return Clause{}, ErrEmptyBool()
		}
		b.c.filter = []Clause{All()}
	}
	return b.c, nil
}

// Term returns the clause of an exact value.
func (rw *Rewriter) Term(field string, value any, boost float64) (Clause, error) {
	v, err := valueOf(field, value)
	if err != nil {
		return Clause{}, err
	}
	if rw.index != nil {
		hasTerms, err := rw.checkValues("Term.Field", field)
		if err != nil {
			return Clause{}, err
		}
		if v, err = rw.asDeclared(field, v); err != nil {
			return Clause{}, Errorf("Term.Value", "field %q: %w", field, err)
		}
		if !hasTerms || v.Kind == document.KindPlace {
			b := columns.Bound{Value: v.Column()}
			return setOf(&valueSet{field: field, from: b, to: b}, boost), nil
		}
	}
	return rw.term(field, string(document.AppendTerm(nil, v)), boost)
}

// TermOf returns the term under which a value is indexed.
func TermOf(field string, value any) (string, error) {
	v, err := valueOf(field, value)
	return string(document.AppendTerm(nil, v)), err
}

// valueOf returns the value of a Term.
func valueOf(field string, value any) (v document.Value, err error) {
	if field == "" {
		return v, Errorf("Term.Field", "is empty")
	}
	v, n, err := document.One("value", value) // a field that no document can have is no error
	if err != nil {
		var de *document.Error
		if errors.As(err, &de) {
			err = de.Err
		}
		return v, Errorf("Term.Value", "field %q: %w", field, err)
	}
	if n != 1 {
		return v, Errorf("Term.Value", "one value is wanted, not %#v", value)
	}
	return v, nil
}

func (rw *Rewriter) term(field, term string, boost float64) (Clause, error) {
	if rw.n++; rw.n > MaxClauses {
		return Clause{}, errTooManyTerms()
	}
	return Clause{kind: clauseTerm, field: field, term: term, boost: boost}, nil
}

func errTooManyTerms() error { return Errorf("Query", "more than %d terms", MaxClauses) }

// Validate reports what is wrong with a match on any index, inside boosts that multiply to boost.
// It returns the match's fields.
func (q *Match) Validate(boost float64) (fields []string, err error) {
	if q.Mode > blockmax.AndOr {
		return nil, Errorf("Match.Mode", "must be ModeOr, ModeAnd or ModeAndOr, not %d", q.Mode)
	}
	if q.MinShould != 0 && q.Mode != blockmax.Or {
		return nil, Errorf("Match.MinShould", "goes with ModeOr")
	}
	if err := checkLeast("Match.MinShould", q.MinShould); err != nil {
		return nil, err
	}
	fields = q.Fields
	switch {
	case q.Field != "" && len(fields) > 0:
		fields = append([]string{q.Field}, fields...)
	case q.Field != "":
		fields = []string{q.Field}
	}
	if len(fields) == 0 {
		return nil, Errorf("Match", "no field is named")
	}
	for _, field := range slices.Sorted(maps.Keys(q.Boosts)) {
		if !slices.Contains(fields, field) {
			return nil, Errorf("Match.Boosts", "field %q is not one of Fields", field)
		}
		if by := q.Boosts[field]; !(by >= 0 && by <= MaxBoost && boost*by <= MaxBoost) {
			return nil, Errorf("Match.Boosts", "field %q: must lie in 0 to %v, with the boosts around it, not %v", field, MaxBoost, by)
		}
	}
	if q.Combine > CombineBM25F {
		return nil, Errorf("Match.Combine", "there is no %d", q.Combine)
	}
	if err := q.checkWeights(fields); err != nil {
		return nil, err
	}
	if !(q.Tie >= 0 && q.Tie <= 1) || q.Tie > 0 && q.Combine != CombineCross && q.Combine != CombineBest {
		return nil, Errorf("Match.Tie", "must lie in 0 to 1, and goes with CombineCross or CombineBest, not %v", q.Tie)
	}
	return fields, nil
}

// Match returns the clause of a text.
func (rw *Rewriter) Match(q Match, boost float64) (Clause, error) {
	fields, err := q.Validate(boost)
	if err != nil {
		return Clause{}, err
	}
	for _, field := range fields {
		if f, declared := rw.iv.Schema.Fields[field]; declared && (f.NoIndex || f.Type == document.PlaceField) && len(fields) == 1 && rw.index != nil && rw.iv.Schema.HasColumn(field) {
			return rw.Term(field, q.Text, boost*q.boost(field))
		}
		if err := rw.checkField("Match.Field", field); err != nil {
			return Clause{}, err
		}
	}
	if q.Mode != blockmax.AndOr {
		return rw.match(q, fields, boost)
	}
	q.Mode = blockmax.Or
	c, err := rw.match(q, fields, boost)
	if err != nil || c.kind == clauseBool && len(c.should) == 0 { // without words nothing matches in any mode
		return c, err
	}
	if c.kind != clauseBool {
		c = Clause{kind: clauseBool, should: []Clause{c}}
	}
	c.andOr = true
	if len(fields) > 1 || q.combinesOne(fields[0]) || hasAlternatives(rw.tokens) {
		q.Mode = blockmax.And
		strict, err := rw.match(q, fields, boost)
		c.strict = &strict
		return c, err
	}
	return c, nil
}

// match is Match for Or and And.
func (rw *Rewriter) match(q Match, fields []string, boost float64) (Clause, error) {
	if q.MinShould != 0 {
		return rw.matchLeast(q, fields, boost)
	}
	var m matchWords
	var err error
	switch {
	case len(fields) == 1 && !q.combinesOne(fields[0]):
		m, err = rw.oneField(q, fields[0], boost)
	case q.Combine == CombineBest:
		return rw.bestField(q, fields, boost)
	default:
		m, err = rw.severalFields(q, fields, boost)
	}
	if err != nil {
		return Clause{}, err
	}
	out := Clause{kind: clauseBool}
	switch {
	case q.Mode == blockmax.Or || len(m.required) == 0:
		out.should = slices.Concat(m.required, m.optional, m.whole)
	case len(m.whole) == 0:
		out.must, out.should = m.required, m.optional
	default:
		out.should = append(m.whole, Clause{kind: clauseBool, must: m.required, should: m.optional})
	}
	return out, nil
}

// parseAs reads the text of a match as a value of a field that is not analysed.
func parseAs(t document.FieldType, field, text string) (document.Value, error) {
	switch t {
	case document.NumberField:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return document.Int(field, i), nil
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return document.Uint(field, u), nil
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return document.Value{}, fmt.Errorf("%q is not a number", text)
		}
		return document.Float(field, x), nil
	case document.DateField:
		d, err := document.ParseTime(text)
		if err != nil {
			return document.Value{}, err
		}
		return document.Time(field, d), nil
	case document.BoolField:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return document.Value{}, fmt.Errorf("%q is neither true nor false", text)
		}
		return document.Bool(field, b), nil
	case document.PlaceField:
		p, err := geo.ParsePoint(text)
		if err != nil {
			return document.Value{}, err
		}
		return document.Place(field, p), nil
	}
	return document.Text(field, text), nil
}
