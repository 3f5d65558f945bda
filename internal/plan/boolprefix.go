package plan

import "github.com/riffle-search/riffle/blockmax"

// A MatchBoolPrefix is riffle.MatchBoolPrefix.
type MatchBoolPrefix struct {
	Field    string
	Text     string
	Mode     blockmax.Mode
	Analyzer string
}

// Validate reports what is wrong with a match of a prefix on any index.
func (q *MatchBoolPrefix) Validate() error {
	switch {
	case q.Field == "":
		return Errorf("MatchBoolPrefix.Field", "is empty")
	case q.Mode > blockmax.AndOr:
		return Errorf("MatchBoolPrefix.Mode", "must be ModeOr, ModeAnd or ModeAndOr, not %d", q.Mode)
	}
	return nil
}

// MatchBoolPrefix returns the clause of a text whose last word is the beginning of one.
func (rw *Rewriter) MatchBoolPrefix(q MatchBoolPrefix, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	tokens, _, some, err := rw.openEnded("MatchBoolPrefix", q.Field, q.Text, q.Analyzer)
	if err != nil || !some {
		return Clause{kind: clauseBool}, err // without words nothing matches
	}
	if q.Mode == blockmax.And {
		return rw.allWords(tokens, q.Field, boost)
	}
	c := Clause{kind: clauseBool}
	for i := range tokens {
		word, err := rw.word(q.Field, &tokens[i], boost)
		if err != nil {
			return Clause{}, err
		}
		c.should = append(c.should, word)
	}
	if q.Mode == blockmax.AndOr {
		all, err := rw.allWords(tokens, q.Field, boost)
		c.andOr, c.strict = true, &all
		return c, err
	}
	return c, nil
}

// allWords requires all words of a text.
func (rw *Rewriter) allWords(tokens []queryToken, field string, boost float64) (Clause, error) {
	words, err := rw.words(nil, 0, tokens, field, boost)
	c := Clause{kind: clauseBool}
	for i := range words {
		c.must = append(c.must, words[i].clause)
	}
	return c, err
}

// word returns the clause of a token: that of its term, or of all terms that begin with it.
func (rw *Rewriter) word(field string, t *queryToken, boost float64) (Clause, error) {
	if t.open {
		return setOf(prefixPattern(field, t.term), boost), nil
	}
	return rw.term(field, t.term, boost)
}
