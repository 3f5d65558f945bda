package riffle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/plan"
)

// A Query says which documents match and how they score. The types of this package are its only
// implementations: Match, MatchBoolPrefix and Term; Phrase, PhrasePrefix, Near and Intervals; Prefix,
// Wildcard, Regexp, Fuzzy, TermRange, Range, Terms, Exists and IDs; WithinDistance, WithinBox and
// WithinPolygon; MoreLikeThis; Bool, DisMax, Boosting, FunctionScore, Boost, All and ConstantScore. A query
// is a plain value; it can be shared and reused.
//
// json.Marshal writes a query in a stable form, and UnmarshalQuery reads it. String writes it for
// people, and ParseQuery reads that.
type Query interface {
	fmt.Stringer
	json.Marshaler

	// Validate reports the first part of the query that is invalid on any index, as a *QueryError:
	// boosts and scores that are negative, infinite or above MaxBoost when multiplied, an unknown
	// mode, a missing query or field. Faults that depend on an index, such as unknown analyzers,
	// are reported by the search.
	Validate() error

	validate(boost float64) error
	rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error)
	dependsOnK() bool
}

// MaxBoost bounds the product of nested boosts, and scores of ConstantScore times the boosts around
// them. So scores are always finite.
const MaxBoost = plan.MaxBoost

// A Mode says how many words of a Match a document must have.
type Mode = blockmax.Mode

const (
	ModeOr    = blockmax.Or    // at least one
	ModeAnd   = blockmax.And   // every one
	ModeAndOr = blockmax.AndOr // every one; but at least one if fewer than K documents match the query that way
)

var modeNames = [...]string{ModeOr: "or", ModeAnd: "and", ModeAndOr: "and+or"}

var combineNames = [...]string{CombineSum: "sum", CombineCross: "cross", CombineBest: "best", CombineBM25F: "bm25f"}

// ParseMode reads "or", "and" or "and+or".
func ParseMode(s string) (Mode, error) {
	if m := slices.Index(modeNames[:], strings.ToLower(s)); m >= 0 {
		return Mode(m), nil
	}
	return 0, fmt.Errorf(`unknown mode %q (want "or", "and" or "and+or")`, s)
}

// Match analyses Text as the field's own text was analysed, and ranks the documents that have its
// words. A word that Text repeats counts as often as it is repeated. A text without words matches
// nothing.
//
// Terms that the analyzer puts at one position are alternatives: ModeAnd requires one of them, and
// all that a document has score. Under ModeAnd a synonym of several words is one alternative (all
// of its words, or what it stands for); under ModeOr its words count one by one.
//
// Words of several fields are the same word if they come from the same characters of Text, whatever
// the analyzers make of them. Under ModeAnd, a word that the analyzer of one of the fields drops,
// as a stop word, is not required, and a field whose analyzer drops all of Text is ignored. A field
// that is not analysed, such as a keyword or a number, matches the whole of Text or nothing: under
// ModeAnd it is an alternative to all words together.
type Match struct {
	Field  string   // the field to search; or
	Fields []string // several: Combine says how they score together
	Text   string
	Mode   Mode // the zero value is ModeOr

	// MinShould is how many words a document must have under ModeOr, if more than one: a number; that
	// of words which may be missing, as a negative number; or a share of them, see Percent. A word
	// that Text repeats counts each time. More than there are stands for all, and fewer for one. As
	// under ModeAnd, terms at one position are one word, and a word that the analyzer of one of the
	// fields drops does not count.
	MinShould int

	// Boosts multiply the scores of fields: {"title": 3}. Fields that it does not name have boost
	// 1. With CombineBM25F they are the weights of the fields, from 1 to 1,000.
	Boosts map[string]float64

	// Combine and Tie say how the scores of several fields are combined.
	Combine Combine
	Tie     float64 // share of the scores below the best, in [0, 1]; with CombineCross and CombineBest

	// Analyzer replaces the field's own. Normally it is empty.
	Analyzer string
}

// A Combine says how the score of a Match is computed from its fields. S(f, w) is the BM25 score of
// word w in field f, multiplied by the boost of the field, or 0 where the field lacks the word.
// best(x, y, …) is the greatest of them, plus Tie times the sum of the others.
//
// CombineBM25F scores by BM25F (Robertson, Zaragoza and Taylor 2004), as Lucene's CombinedFieldQuery
// does: each word by BM25 as if the fields were one, in which the text of each is repeated as often as
// its boost says. Frequencies and lengths are sums over the fields, times their boosts, and so is the
// average length; of the numbers of documents that have a field, and that have the word in it, the
// greatest over the fields count. Lengths are coded as always, to 3 bits of mantissa, and their sum is
// once more. A field that is not analysed scores by itself. Such queries run on the CPU.
//
// Under ModeAnd, CombineSum, CombineCross and CombineBM25F look for each word in any of the fields,
// CombineBest for all words in one. A synonym of several words, under ModeAnd or with MinShould, and words
// that fields divide differently, score by CombineCross.
type Combine = plan.Combine

const (
	CombineSum   = plan.CombineSum   // Σw Σf S(f, w): a word counts in each field
	CombineCross = plan.CombineCross // Σw best of f of S(f, w): the fields act as one, like first and last name
	CombineBest  = plan.CombineBest  // best of f of Σw S(f, w): dis-max, the field that fits the text best
	CombineBM25F = plan.CombineBM25F // Σw BM25F of w: the fields are one, with one frequency and one length
)

// Term matches documents that have exactly this term: a word as the analyzer leaves it, a keyword,
// a number, a time.Time, a Point or a boolean. In a field that holds numbers, times or booleans and no
// texts, a string is read as the value that it spells.
type Term struct {
	Field string
	Value any // string, bool, any integer or float type, time.Time or Point
}

// Bool combines queries. A document matches when it matches every Must and Filter query, none of
// MustNot, and at least MinShould of Should. Without Must and Filter, at least one Should must
// match. A Bool of MustNot alone matches all other documents, with score 0. The score is the sum
// over the Must and Should queries that the document matches.
type Bool struct {
	Must      []Query
	Should    []Query
	MustNot   []Query
	Filter    []Query // in the outermost Bool, the documents of a Filter that comes again are cached
	MinShould int     // 0 to len(Should); or negative: how many may be missing; or a Percent
}

// Boost multiplies the scores of a query.
type Boost struct {
	Query Query
	By    float64 // 0 to MaxBoost, also when multiplied with boosts around it
}

// All matches every document, with score 0. Wrap it in ConstantScore for another score.
type All struct{}

// ConstantScore matches the documents of its query, all with the same score.
type ConstantScore struct {
	Query Query
	Score float64 // 0 to MaxBoost, also when multiplied with boosts around it
}

// rewrite turns a query into a clause, with its scores multiplied by boost. Errors are *QueryError.
func rewrite(q Query, rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	if q == nil {
		return plan.Clause{}, plan.Errorf("Query", "is nil")
	}
	return q.rewrite(rw, boost)
}

// rewriteUnscored is rewrite for a query of which only the documents count: a filter, or what demotes.
func rewriteUnscored(q Query, rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	defer rw.Unscored(rw.Unscored(true))
	return rewrite(q, rw, boost)
}

func (q Match) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Match(plan.Match(q), boost)
}

func (q Term) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Term(q.Field, q.Value, boost)
}

func (q Bool) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	b, err := plan.NewBool(len(q.Should), q.MinShould)
	if err != nil {
		return plan.Clause{}, err
	}
	for _, part := range [...]struct {
		part    plan.Part
		queries []Query
		rewrite func(Query, *plan.Rewriter, float64) (plan.Clause, error)
	}{{plan.Must, q.Must, rewrite}, {plan.Should, q.Should, rewrite}, {plan.MustNot, q.MustNot, rewriteUnscored}, {plan.Filter, q.Filter, rewriteUnscored}} {
		for _, sub := range part.queries {
			c, err := part.rewrite(sub, rw, boost)
			if err != nil {
				return plan.Clause{}, err
			}
			b.Add(part.part, c)
		}
	}
	return b.Clause()
}

func (q Boost) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	boost, err := plan.Boosted(boost, q.By)
	if err != nil {
		return plan.Clause{}, err
	}
	return rewrite(q.Query, rw, boost)
}

func (All) rewrite(*plan.Rewriter, float64) (plan.Clause, error) { return plan.All(), nil }

func (q ConstantScore) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	score, err := plan.ConstantScore(boost, q.Score)
	if err != nil {
		return plan.Clause{}, err
	}
	inner, err := rewriteUnscored(q.Query, rw, 1)
	return plan.Constant(inner, score), err
}

// Validate implements Query.
func (q Match) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Term) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Bool) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Boost) Validate() error { return q.validate(1) }

// Validate implements Query.
func (All) Validate() error { return nil }

// Validate implements Query.
func (q ConstantScore) Validate() error { return q.validate(1) }

// validate validates a query inside boosts that multiply to boost.
func validate(q Query, boost float64) error {
	if q == nil {
		return plan.Errorf("Query", "is nil")
	}
	return q.validate(boost)
}

func (q Match) validate(boost float64) error {
	m := plan.Match(q)
	_, err := m.Validate(boost)
	return err
}

func (q Term) validate(float64) error {
	_, err := plan.TermOf(q.Field, q.Value)
	return err
}

func (q Bool) validate(boost float64) error {
	if _, err := plan.NewBool(len(q.Should), q.MinShould); err != nil {
		return err
	}
	if len(q.Must)+len(q.Should)+len(q.MustNot)+len(q.Filter) == 0 {
		return plan.ErrEmptyBool()
	}
	for _, part := range [...][]Query{q.Must, q.Should, q.MustNot, q.Filter} {
		for _, sub := range part {
			if err := validate(sub, boost); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q Boost) validate(boost float64) error {
	boost, err := plan.Boosted(boost, q.By)
	if err != nil {
		return err
	}
	return validate(q.Query, boost)
}

func (All) validate(float64) error { return nil }

func (q ConstantScore) validate(boost float64) error {
	if _, err := plan.ConstantScore(boost, q.Score); err != nil {
		return err
	}
	return validate(q.Query, 1)
}

// dependsOnK reports whether the answer to a query depends on K: whether ModeAndOr occurs in it.
func dependsOnK(q Query) bool { return q != nil && q.dependsOnK() }

func (q Match) dependsOnK() bool { return q.Mode == ModeAndOr }

func (Term) dependsOnK() bool { return false }

func (q Bool) dependsOnK() bool {
	return slices.ContainsFunc(q.Must, dependsOnK) || slices.ContainsFunc(q.Should, dependsOnK) ||
		slices.ContainsFunc(q.MustNot, dependsOnK) || slices.ContainsFunc(q.Filter, dependsOnK)
}

func (q Boost) dependsOnK() bool { return dependsOnK(q.Query) }

func (All) dependsOnK() bool { return false }

func (q ConstantScore) dependsOnK() bool { return dependsOnK(q.Query) }

func (q Match) String() string         { return queryText(q) }
func (q Term) String() string          { return queryText(q) }
func (q Bool) String() string          { return queryText(q) }
func (q Boost) String() string         { return queryText(q) }
func (q All) String() string           { return queryText(q) }
func (q ConstantScore) String() string { return queryText(q) }
