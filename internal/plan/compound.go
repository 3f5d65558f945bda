package plan

import (
	"math"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// CheckDisMax reports what is wrong with a riffle.DisMax, apart from its queries.
func CheckDisMax(queries int, tie float64) error {
	switch {
	case queries == 0:
		return Errorf("DisMax.Queries", "is empty")
	case !(tie >= 0 && tie <= 1):
		return Errorf("DisMax.Tie", "must lie in 0 to 1, not %v", tie)
	}
	return nil
}

// DisMax requires one of some clauses. The best one scores, and of the others a share.
func DisMax(cs []Clause, tie float64) Clause {
	c := anyClause(cs)
	if len(cs) > 1 {
		c.best, c.tie = true, uint32(math.Round(tie*blockmax.TieOne))
	}
	return c
}

// CheckBoosting reports what is wrong with the factor of a riffle.Boosting.
func CheckBoosting(factor float64) error {
	if !(factor >= 0 && factor <= 1) {
		return Errorf("Boosting.Factor", "must lie in 0 to 1, not %v", factor)
	}
	return nil
}

// Boosting matches what positive does, and scores by a factor less what negative matches, too.
//
// It is the best of two clauses of which a document matches one: positive without negative, and, with
// other weights, positive filtered by negative. So executors need no arithmetic of their own, and the
// bound of the whole is the higher one of the two, not their sum.
//
// The price is that positive doubles, and with it each Boosting in positive, down to the innermost. Where
// nothing scores, positive alone says the same, so there nothing doubles.
func (rw *Rewriter) Boosting(positive, negative Clause, factor float64) (Clause, error) {
	if rw.unscored {
		return positive, nil
	}
	demoted, ok := rw.copyOf(positive, factor)
	if !ok {
		return Clause{}, Errorf("Boosting.Positive", "more than %d terms: each Boosting doubles those of its Positive, so nest fewer", MaxClauses)
	}
	filter, ok := rw.copyOf(negative, 1)
	if !ok {
		return Clause{}, Errorf("Boosting.Negative", "more than %d terms: each Boosting doubles those of its Negative", MaxClauses)
	}
	return Clause{kind: clauseBool, best: true, should: []Clause{
		{kind: clauseBool, must: []Clause{positive}, not: []Clause{negative}},
		{kind: clauseBool, must: []Clause{demoted}, filter: []Clause{filter}, repeats: true},
	}}, nil
}

// copyOf returns a copy of a clause that shares no clauses with it, and whose scores are multiplied by a
// factor. Every clause of it counts as a term, so that clauses that double at each level stay bounded; ok is
// false if they are too many.
func (rw *Rewriter) copyOf(c Clause, factor float64) (_ Clause, ok bool) {
	if rw.n++; rw.n > MaxClauses {
		return Clause{}, false
	}
	c.boost *= factor
	if c.kind == clauseConstant {
		c.score, factor = c.score*factor, 1
	}
	if c.strict != nil {
		strict, ok := rw.copyOf(*c.strict, factor)
		if !ok {
			return Clause{}, false
		}
		c.strict = &strict
	}
	for _, part := range [...]*[]Clause{&c.must, &c.should, &c.not, &c.filter} {
		*part = slices.Clone(*part)
		for i := range *part {
			if (*part)[i], ok = rw.copyOf((*part)[i], factor); !ok {
				return Clause{}, false
			}
		}
	}
	return c, true
}
