package bleve

import (
	"context"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// A node is a query of bleve, ready to be run: texts are analyzed, and clauses that bleve drops are
// gone. It finds documents as a query of riffle, and then tells where it matches in one of them.
type node interface {
	// query returns the query that finds the documents. nil stands for none.
	query(c *compiler) (riffle.Query, error)

	// locate reports whether the query matches a document, and appends the places where it does.
	locate(d *located, to []location) (bool, []location)
}

// A compiler makes queries for an index.
type compiler struct {
	ctx      context.Context
	snapshot *riffle.Snapshot
}

// in returns the query for a field: what find makes of it, and of the field with its values without
// places.
func in(field string, find func(field string) riffle.Query) riffle.Query {
	return riffle.Bool{Should: []riffle.Query{find(field), find(plainField(field))}}
}

// nothing matches no document. bleve drops it in some places, where it would keep another query that
// matches nothing.
type nothing struct{}

func (nothing) query(*compiler) (riffle.Query, error)                  { return nil, nil }
func (nothing) locate(_ *located, to []location) (bool, []location)    { return false, to }
func isNothing(n node) bool                                            { _, ok := n.(nothing); return ok }
func (everything) locate(_ *located, to []location) (bool, []location) { return true, to }
func (n everything) query(*compiler) (riffle.Query, error) {
	return riffle.ConstantScore{Query: riffle.All{}, Score: n.boost}, nil
}
func (n idSet) locate(d *located, to []location) (bool, []location) {
	return slices.Contains(n.ids, d.id), to
}

// everything matches all documents.
type everything struct{ boost float64 }

// idSet matches documents by their ids.
type idSet struct {
	ids   []string
	boost float64
}

func (n idSet) query(*compiler) (riffle.Query, error) {
	if len(n.ids) == 0 {
		return nil, nil
	}
	return boosted(riffle.ConstantScore{Query: riffle.IDs{Values: n.ids}, Score: 1}, n.boost), nil
}

func boosted(q riffle.Query, by float64) riffle.Query {
	if q == nil || by == 1 {
		return q
	}
	return riffle.Boost{Query: q, By: by}
}

// term matches documents that have a term.
type term struct {
	field, term string
	boost       float64
}

func (n term) query(c *compiler) (riffle.Query, error) {
	if n.term == "" || n.field == "" {
		return nil, nil
	}
	q := in(n.field, func(field string) riffle.Query { return riffle.Term{Field: field, Value: n.term} })
	return boosted(q, n.boost), nil
}

func (n term) locate(d *located, to []location) (bool, []location) {
	return d.match(n.field, func(t string) bool { return t == n.term }, to)
}

// pattern matches documents that have a term which a function accepts.
type pattern struct {
	field   string
	boost   float64
	accepts func(string) bool
	finds   func(field string) riffle.Query // the same
}

func (n pattern) query(c *compiler) (riffle.Query, error) {
	if n.field == "" {
		return nil, nil
	}
	return boosted(riffle.ConstantScore{Query: in(n.field, n.finds), Score: 1}, n.boost), nil
}

func (n pattern) locate(d *located, to []location) (bool, []location) {
	return d.match(n.field, n.accepts, to)
}

func prefixNode(field, prefix string, boost float64) node {
	return pattern{field, boost, func(t string) bool { return strings.HasPrefix(t, prefix) }, func(field string) riffle.Query {
		return riffle.Prefix{Field: field, Prefix: prefix, Raw: true}
	}}
}

// wildcardSyntax turns a wildcard into a regular expression. A backslash is itself.
var wildcardSyntax = strings.NewReplacer("+", `\+`, "(", `\(`, ")", `\)`, "^", `\^`, "$", `\$`, ".", `\.`, "{", `\{`, "}", `\}`,
	"[", `\[`, "]", `\]`, "|", `\|`, `\`, `\\`, "*", ".*", "?", ".")

// regexpNode matches whole terms. Like bleve, it refuses what depends on a place between characters,
// and lazy repetition.
func regexpNode(field, expr string, boost float64) (node, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if err := supported(parsed); err != nil {
		return nil, err
	}
	whole, err := regexp.Compile(`\A(?:` + expr + `)\z`)
	if err != nil {
		return nil, err
	}
	return pattern{field, boost, whole.MatchString, func(field string) riffle.Query {
		return riffle.Regexp{Field: field, Expr: `(?-s:` + expr + `)`, Raw: true} // a dot is no line break
	}}, nil
}

func supported(e *syntax.Regexp) error {
	if e.Flags&syntax.NonGreedy != 0 {
		return errorf("lazy quantifiers are not allowed")
	}
	switch e.Op {
	case syntax.OpEndLine, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndText:
		return errorf("zero width assertions are not allowed")
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return errorf("word boundaries are not allowed")
	}
	for _, sub := range e.Sub {
		if err := supported(sub); err != nil {
			return err
		}
	}
	return nil
}

func termRangeNode(field, from, to string, withFrom, withTo bool, boost float64) node {
	accepts := func(t string) bool {
		return (t > from || t == from && (withFrom || from == "")) && (to == "" || t < to || t == to && withTo)
	}
	return pattern{field, boost, accepts, func(field string) riffle.Query {
		return riffle.TermRange{Field: field, From: from, To: to, ExcludeFrom: !withFrom && from != "", IncludeTo: withTo, Raw: true}
	}}
}

// numberRange matches documents that have a number or a date from one bound to another.
type numberRange struct {
	field    string
	from, to int64 // as value.sortable has it; both belong to the range
	boost    float64
}

// rangeNode makes a range of numbers. A bound of nil is none.
func rangeNode(field string, from, to *int64, withFrom, withTo bool, boost float64) node {
	n := numberRange{field, sortableFloat(math.Inf(-1)), sortableFloat(math.Inf(1)), boost}
	if from != nil {
		n.from = *from
	}
	if to != nil {
		n.to = *to
	}
	if !withFrom && n.from != math.MaxInt64 {
		n.from++
	}
	if !withTo && n.to != math.MinInt64 {
		n.to--
	}
	return n
}

func (n numberRange) query(*compiler) (riffle.Query, error) {
	spans := numberSpans(n.from, n.to)
	if len(spans) == 0 || n.field == "" {
		return nil, nil
	}
	q := in(n.field, func(field string) riffle.Query {
		var any riffle.Bool
		for _, s := range spans {
			if s.from == s.to {
				any.Should = append(any.Should, riffle.ConstantScore{Query: riffle.Term{Field: field, Value: s.from}, Score: 1})
				continue
			}
			any.Should = append(any.Should, riffle.TermRange{Field: field, From: s.from, To: s.to, IncludeTo: true, Raw: true})
		}
		return any
	})
	return boosted(riffle.ConstantScore{Query: q, Score: 1}, n.boost), nil
}

func (n numberRange) locate(d *located, to []location) (bool, []location) {
	for _, v := range d.valuesOf(n.field) {
		if at, ok := v.sortable(); ok && v.indexed && n.from <= at && at <= n.to {
			return true, to
		}
	}
	return false, to
}

// all matches what all of its clauses match.
type all []node

func (n all) query(c *compiler) (riffle.Query, error) {
	var b riffle.Bool
	for _, sub := range n {
		q, err := sub.query(c)
		if err != nil || q == nil {
			return nil, err
		}
		b.Must = append(b.Must, q)
	}
	return one(b.Must, b), nil
}

// one returns the only query of a list, or the one that combines several; nil for none.
func one(list []riffle.Query, several riffle.Query) riffle.Query {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return several
}

func (n all) locate(d *located, to []location) (bool, []location) {
	from := len(to)
	for _, sub := range n {
		ok := false
		if ok, to = sub.locate(d, to); !ok {
			return false, to[:from]
		}
	}
	return len(n) > 0, to
}

// some matches what at least least of its clauses match, and at least one.
type some struct {
	clauses []node
	least   int
}

func (n some) query(c *compiler) (riffle.Query, error) {
	var b riffle.Bool
	for _, sub := range n.clauses {
		q, err := sub.query(c)
		if err != nil {
			return nil, err
		}
		if q != nil {
			b.Should = append(b.Should, q)
		}
	}
	if n.least > len(b.Should) {
		return nil, nil
	}
	if n.least > 1 {
		b.MinShould = n.least
	}
	return one(b.Should, b), nil
}

func (n some) locate(d *located, to []location) (bool, []location) {
	from, count := len(to), 0
	for _, sub := range n.clauses {
		ok := false
		if ok, to = sub.locate(d, to); ok {
			count++
		}
	}
	if count < max(n.least, 1) {
		return false, to[:from]
	}
	return true, to
}

// boolean combines clauses, each of which may be nil.
type boolean struct{ must, should, mustNot, filter node }

// newBoolean drops clauses as bleve does: one that is nothing is as good as none.
func newBoolean(must, should, mustNot, filter node) node {
	for _, n := range []*node{&must, &should, &mustNot} {
		if *n != nil && isNothing(*n) {
			*n = nil
		}
	}
	if must == nil && should == nil {
		if mustNot == nil && filter == nil {
			return nothing{}
		}
		must = everything{1}
	}
	return boolean{must, should, mustNot, filter}
}

// needsShould reports whether a document must match should.
func (n boolean) needsShould() bool {
	s, ok := n.should.(some)
	return n.should != nil && (n.must == nil || ok && s.least > 0)
}

func (n boolean) query(c *compiler) (riffle.Query, error) {
	var b riffle.Bool
	for _, part := range []struct {
		n        node
		to       *[]riffle.Query
		required bool
	}{{n.must, &b.Must, true}, {n.should, &b.Should, n.needsShould()}, {n.mustNot, &b.MustNot, false}, {n.filter, &b.Filter, true}} {
		if part.n == nil {
			continue
		}
		q, err := part.n.query(c)
		if err != nil || q == nil && part.required {
			return nil, err
		}
		if q == nil {
			continue
		}
		*part.to = append(*part.to, q)
	}
	if n.needsShould() {
		b.Must, b.Should = append(b.Must, b.Should...), nil
	}
	return b, nil
}

func (n boolean) locate(d *located, to []location) (bool, []location) {
	from, ok := len(to), true
	if n.must != nil {
		if ok, to = n.must.locate(d, to); !ok {
			return false, to[:from]
		}
	}
	if n.should != nil {
		if ok, to = n.should.locate(d, to); !ok && n.needsShould() {
			return false, to[:from]
		}
	}
	if n.mustNot != nil {
		if ok, _ = n.mustNot.locate(d, nil); ok {
			return false, to[:from]
		}
	}
	if n.filter != nil {
		if ok, _ = n.filter.locate(d, nil); !ok {
			return false, to[:from]
		}
	}
	return true, to
}
