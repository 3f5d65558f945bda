package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// A Clause is a query after analysis: terms instead of text, boosts multiplied
// into weights.
type Clause struct {
	kind clauseKind

	field, term string     // clauseTerm
	boost       float64    // clauseTerm: factor of the idf; repeated words count several times
	score       float64    // clauseConstant
	index       int        // set by a planner: number of the term, of the constant, of the set, of the proximity, or of the combined word
	blend       int        // clauseTerm: terms with the same number above 0 have one idf
	chosen      *Candidate // clauseTerm: why it is in the query, if it was chosen among others
	set         documentSet
	joined      *joinedTerm     // clauseTerm: it stands for many terms, and term is its name
	combined    *combinedFields // clauseCombined, whose terms are in should; and these terms

	function *functionScore // clauseFunction, whose query is in must; boost multiplies what it adds

	together *proximity.Expr // clauseProximity: over the terms in must; its weight is boost times their idfs

	must, should, not, filter []Clause // clauseBool; clauseConstant has its query in must
	min                       int

	best bool   // clauseBool: blockmax.Node.Best
	tie  uint32 // with best

	repeats bool // the weights of the clause are those of another one: see scale

	// clauseBool: an AND+OR match. It requires all of should (or strict where that is set) if K
	// documents match the query that way; otherwise it is the clause itself.
	andOr  bool
	strict *Clause
}

type clauseKind uint8

const (
	clauseTerm clauseKind = iota
	clauseAll
	clauseBool
	clauseConstant
	clauseSet
	clauseProximity
	clauseCombined
	clauseFunction
)

// A shape is the simplest form of a query: words in a flat mode, filtered, or a tree.
type shape struct {
	words  []Clause // clauseTerm each; empty when tree is set
	mode   blockmax.Mode
	filter []Clause
	not    []Clause
	tree   *Clause // without filter; not is empty

	exclusions []Clause // those of tree, if they can leave it

	outer *Clause // clauseFunction: the rest of the shape is its query

	once []Clause // filters over columns that do not come again: see columnFilters
}

// shapeOf finds the flat core of a clause. Flat plans have the fastest algorithms; all other
// clauses run as a tree.
func shapeOf(c Clause) shape { return shapeInside(c, true) }

// shapeInside is shapeOf for a plan that may have an outer function or not.
func shapeInside(c Clause, outer bool) shape {
	s := shape{}
	core := &c
	for {
		if core.kind == clauseFunction && outer && s.outer == nil {
			s.outer, core = core, &core.must[0]
			continue
		}
		if core.kind != clauseBool || len(core.must) != 1 || len(core.should) > 0 || core.must[0].kind == clauseConstant {
			break
		}
		s.filter = append(s.filter, core.filter...)
		s.not = append(s.not, core.not...)
		core = &core.must[0]
	}
	switch {
	case core.kind == clauseTerm:
		s.words = []Clause{*core}
	case core.kind != clauseBool:
	case core.best:
	case core.andOr && core.strict == nil && allTerms(core.should):
		s.words, s.mode = core.should, blockmax.AndOr
	case len(core.must) > 0 && len(core.should) == 0 && allTerms(core.must):
		s.words, s.mode = core.must, blockmax.And
	case !core.andOr && len(core.must) == 0 && (core.min == 1 || core.min == 0 && len(core.filter) == 0):
		s.words = anyOf(nil, core.should)
	}
	if core.kind == clauseBool {
		s.filter = append(s.filter, core.filter...)
		s.not = append(s.not, core.not...)
	}
	switch {
	case slices.ContainsFunc(s.filter, hasAndOr) || slices.ContainsFunc(s.not, hasAndOr):
		return shape{tree: &c}
	case s.words == nil:
		if core == &c && len(s.filter) == 0 {
			return shape{tree: &c, exclusions: c.not}
		}
		return filteredTree(*core, s)
	}
	s.words = mergeRepeats(s.words)
	return s
}

// filteredTree is the shape of a clause whose core is a tree, and whose filters and exclusions are
// known. The filters leave the tree, unless the core has nothing else that must match. Exclusions
// stay: they are often words of this query alone, and cost little where they are tested last.
func filteredTree(core Clause, s shape) shape {
	switch {
	case core.kind != clauseBool || core.andOr && len(s.not) > 0:
		core = Clause{kind: clauseBool, must: []Clause{core}}
	case len(core.must) > 0 || core.min > 0 || len(core.filter) == 0:
		core.filter = nil
	default:
		s.filter = s.filter[:len(s.filter)-len(core.filter)]
	}
	core.not = s.not
	return shape{tree: &core, filter: s.filter, exclusions: s.not, outer: s.outer}
}

// withoutExclusions moves the exclusions out of the tree.
func (s shape) withoutExclusions() shape {
	core := *s.tree
	core.not = nil
	return shape{tree: &core, filter: s.filter, not: s.exclusions, outer: s.outer}
}

// Shape describes the shape of a clause in a line: the words of a flat plan and the numbers of its
// filters and exclusions, or "tree".
func (c Clause) Shape() string {
	s := shapeOf(c)
	if s.tree != nil {
		return "tree"
	}
	var words []string
	for _, w := range s.words {
		word := w.field + ":" + w.term
		if w.boost != 1 {
			word += fmt.Sprintf("^%g", w.boost)
		}
		words = append(words, word)
	}
	out := [...]string{"or", "and", "and+or"}[s.mode] + "(" + strings.Join(words, " ") + ")"
	if n := len(s.filter); n > 0 {
		out += fmt.Sprintf(" #%d", n)
	}
	if n := len(s.not); n > 0 {
		out += fmt.Sprintf(" -%d", n)
	}
	return out
}

// anyOf returns the terms of alternatives that are terms, or consist only of alternatives. It
// returns nil if one of them is anything else.
func anyOf(words, alternatives []Clause) []Clause {
	for i := range alternatives {
		switch c := &alternatives[i]; {
		case c.kind == clauseTerm:
			words = append(words, *c)
		case c.kind == clauseBool && !c.andOr && !c.best && c.min <= 1 && len(c.should) > 0 && len(c.must)+len(c.filter)+len(c.not) == 0:
			if words = anyOf(words, c.should); words == nil {
				return nil
			}
		default:
			return nil
		}
	}
	return words
}

func allTerms(cs []Clause) bool {
	return !slices.ContainsFunc(cs, func(c Clause) bool { return c.kind != clauseTerm })
}

func hasAndOr(c Clause) bool {
	return c.andOr || slices.ContainsFunc(c.must, hasAndOr) || slices.ContainsFunc(c.should, hasAndOr) ||
		slices.ContainsFunc(c.not, hasAndOr) || slices.ContainsFunc(c.filter, hasAndOr)
}

// strictly returns the clause with all words of its AND+OR matches required.
func (c Clause) strictly() Clause {
	switch {
	case c.andOr && c.strict != nil:
		return *c.strict
	case c.andOr:
		return Clause{kind: clauseBool, must: slices.Clone(c.should)}
	}
	for _, part := range [...]*[]Clause{&c.must, &c.should, &c.not, &c.filter} {
		*part = slices.Clone(*part)
		for i := range *part {
			(*part)[i] = (*part)[i].strictly()
		}
	}
	return c
}

// key tells the words apart that mergeRepeats adds up.
func (c *Clause) key() string { return fmt.Sprintf("%s\x00%s\x00%d", c.field, c.term, c.blend) }

// mergeRepeats adds up the boosts of words that occur several times, in place.
func mergeRepeats(words []Clause) []Clause {
	out := words[:0]
	index := map[string]int(nil) // only for queries so long that a scan would be slower
	if len(words) > 32 {
		index = make(map[string]int, len(words))
	}
	for _, w := range words {
		i := -1
		if index == nil {
			i = slices.IndexFunc(out, func(o Clause) bool { return o.field == w.field && o.term == w.term && o.blend == w.blend })
		} else if j, ok := index[w.key()]; ok {
			i = j
		}
		if i >= 0 {
			out[i].boost += w.boost
			continue
		}
		if index != nil {
			index[w.key()] = len(out)
		}
		out = append(out, w)
	}
	return out
}
