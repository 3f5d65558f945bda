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
func (rw *Rewriter) Boosting(positive, negative Clause, factor float64) (Clause, error) {
	demoted, err := rw.copyOf(positive, factor)
	if err != nil {
		return Clause{}, err
	}
	filter, err := rw.copyOf(negative, 1)
	return Clause{kind: clauseBool, best: true, should: []Clause{
		{kind: clauseBool, must: []Clause{positive}, not: []Clause{negative}},
		{kind: clauseBool, must: []Clause{demoted}, filter: []Clause{filter}, repeats: true},
	}}, err
}

// copyOf returns a copy of a clause that shares no clauses with it, and whose scores are multiplied by a
// factor. Every clause of it counts as a term, so that clauses that double at each level stay bounded.
func (rw *Rewriter) copyOf(c Clause, factor float64) (Clause, error) {
	if rw.n++; rw.n > MaxClauses {
		return Clause{}, errTooManyTerms()
	}
	c.boost *= factor
	if c.kind == clauseConstant {
		c.score, factor = c.score*factor, 1
	}
	if c.strict != nil {
		strict, err := rw.copyOf(*c.strict, factor)
		if err != nil {
			return Clause{}, err
		}
		c.strict = &strict
	}
	for _, part := range [...]*[]Clause{&c.must, &c.should, &c.not, &c.filter} {
		*part = slices.Clone(*part)
		for i := range *part {
			var err error
			if (*part)[i], err = rw.copyOf((*part)[i], factor); err != nil {
				return Clause{}, err
			}
		}
	}
	return c, nil
}
