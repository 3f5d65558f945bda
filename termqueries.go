package riffle

import (
	"encoding/json"
	"fmt"

	"github.com/riffle-search/riffle/internal/plan"
)

// The queries of this file find documents by what their terms look like. Except for Fuzzy, every
// document that matches scores 1, times the boosts around the query.
//
// Terms are words as the analyzer of the field has left them. Where it makes them lower-case, or
// removes accents, so it does with what these queries look for: Prefix{"body", "Caf", false} finds
// "café" in a field that folds. Raw leaves the text as it is. Stop words and stemmers do not apply: in
// a field with a stemmer, "running" is the term "run".
//
// Numbers, dates and booleans have no such terms: only Range, Terms, Exists and IDs find them.

// Prefix matches the documents that have a term which begins with a prefix. The empty prefix matches
// all that have a term.
type Prefix struct {
	Field  string
	Prefix string
	Raw    bool
}

// Wildcard matches the documents that have a term which matches a pattern as a whole: * stands for
// any number of characters, ? for one, and a backslash takes its meaning from the character after it.
//
// A pattern that begins with a literal costs as much as Prefix. Any other pattern, such as *infix*, costs
// a scan of all terms of the field: 20 to 40 ms for a million. After some twenty scans, sealed segments
// have an index of their terms by trigrams (Options.TrigramBytes). With it, a pattern with a literal of
// three bytes or more costs only the terms that are likely to match, and some 0.1 ms for a million.
type Wildcard struct {
	Field   string
	Pattern string
	Raw     bool
}

// Regexp matches the documents that have a term which matches a regular expression as a whole, in the
// syntax of package regexp. \b and \B are not supported.
//
// An expression that begins with a literal is compared only with the terms that do. Other literals
// are sought by trigrams as those of a Wildcard are. Without any, all terms are read.
type Regexp struct {
	Field string
	Expr  string
	Raw   bool // otherwise literals are normalized; classes such as [A-Z] never are
}

// TermRange matches the documents that have a term between From and To, in the order of their bytes.
// From belongs to the range, and To does not.
type TermRange struct {
	Field       string
	From        string // empty for the first term
	To          string // empty for no end
	ExcludeFrom bool
	IncludeTo   bool
	Raw         bool
}

// Terms matches the documents that have one of many values in a field. A value is what Term takes.
type Terms struct {
	Field  string
	Values []any
}

// Exists matches the documents that have a field with at least one term.
type Exists struct {
	Field string
}

// IDs matches the documents with some ids.
type IDs struct {
	Values []string
}

// Fuzzy matches the documents that have a word or one that is spelled almost like it. An edit
// inserts, drops or replaces a character, or exchanges two neighbors. As in Lucene, a word with as
// many edits as characters does not match.
//
// Each of the words found scores as in a Match, with a weight that falls with its edits, and all with
// the idf of the most frequent of them: a rare misspelling does not outrank the right word. They are
// chosen over the whole index, those with the fewest edits first, then the most frequent.
//
// A cursor of a fuzzy query continues only while the words found stay the same.
type Fuzzy struct {
	Field      string
	Term       string
	Edits      int // AutoEdits, NoEdits, 1 or 2
	Prefix     int // characters at the beginning that must not differ
	Expansions int // most words found, 1 to 1,024; 0 stands for 64
	Raw        bool
}

// Edits of a Fuzzy.
const (
	AutoEdits = plan.AutoEdits // none for a word of one or two characters, one for three to five, two for longer ones
	NoEdits   = plan.NoEdits   // the word itself
)

func (q Prefix) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Prefix(q.Field, q.Prefix, q.Raw, boost)
}

func (q Wildcard) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Wildcard(q.Field, q.Pattern, q.Raw, boost)
}

func (q Regexp) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Regexp(q.Field, q.Expr, q.Raw, boost)
}

func (q TermRange) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.TermRange(q.Field, q.From, q.To, q.ExcludeFrom, q.IncludeTo, q.Raw, boost)
}

func (q Terms) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Terms(q.Field, q.Values, boost)
}

func (q Exists) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Exists(q.Field, boost)
}

func (q IDs) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.IDs(q.Values, boost), nil
}

func (q Fuzzy) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Fuzzy(plan.Fuzzy(q), boost)
}

// named reports a query without a field.
func named(kind, field string) error {
	if field == "" {
		return plan.Errorf(kind+".Field", "is empty")
	}
	return nil
}

func (q Prefix) validate(float64) error { return named("Prefix", q.Field) }

func (q Wildcard) validate(float64) error {
	if err := named("Wildcard", q.Field); err != nil {
		return err
	}
	return plan.CheckWildcard(q.Pattern)
}

func (q Regexp) validate(float64) error {
	if err := named("Regexp", q.Field); err != nil {
		return err
	}
	return plan.CheckRegexp(q.Expr)
}

func (q TermRange) validate(float64) error { return named("TermRange", q.Field) }

func (q Terms) validate(float64) error {
	if err := named("Terms", q.Field); err != nil {
		return err
	}
	for _, v := range q.Values {
		if _, err := plan.TermOf(q.Field, v); err != nil {
			return plan.Errorf("Terms.Values", "%w", err)
		}
	}
	return nil
}

func (q Exists) validate(float64) error { return named("Exists", q.Field) }

func (q IDs) validate(float64) error { return nil }

func (q Fuzzy) validate(float64) error {
	f := plan.Fuzzy(q)
	return f.Validate()
}

// Validate implements Query.
func (q Prefix) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Wildcard) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Regexp) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q TermRange) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Terms) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Exists) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q IDs) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Fuzzy) Validate() error { return q.validate(1) }

func (Prefix) dependsOnK() bool    { return false }
func (Wildcard) dependsOnK() bool  { return false }
func (Regexp) dependsOnK() bool    { return false }
func (TermRange) dependsOnK() bool { return false }
func (Terms) dependsOnK() bool     { return false }
func (Exists) dependsOnK() bool    { return false }
func (IDs) dependsOnK() bool       { return false }
func (Fuzzy) dependsOnK() bool     { return false }

func (q Prefix) String() string    { return queryText(q) }
func (q Wildcard) String() string  { return queryText(q) }
func (q Regexp) String() string    { return queryText(q) }
func (q TermRange) String() string { return queryText(q) }
func (q Terms) String() string     { return queryText(q) }
func (q Exists) String() string    { return queryText(q) }
func (q IDs) String() string       { return queryText(q) }
func (q Fuzzy) String() string     { return queryText(q) }

// Forms in JSON.
type (
	prefixJSON struct {
		Field  string `json:"field"`
		Prefix string `json:"prefix"`
		Raw    bool   `json:"raw,omitempty"`
	}
	wildcardJSON struct {
		Field   string `json:"field"`
		Pattern string `json:"pattern"`
		Raw     bool   `json:"raw,omitempty"`
	}
	regexpJSON struct {
		Field string `json:"field"`
		Expr  string `json:"expr"`
		Raw   bool   `json:"raw,omitempty"`
	}
	termRangeJSON struct {
		Field       string `json:"field"`
		From        string `json:"from,omitempty"`
		To          string `json:"to,omitempty"`
		ExcludeFrom bool   `json:"exclude_from,omitempty"`
		IncludeTo   bool   `json:"include_to,omitempty"`
		Raw         bool   `json:"raw,omitempty"`
	}
	termsJSON struct {
		Field  string            `json:"field"`
		Values []json.RawMessage `json:"values"` // a string, boolean or number, or {"time": …}
	}
	existsJSON struct {
		Field string `json:"field"`
	}
	idsJSON struct {
		Values []string `json:"values"`
	}
	fuzzyJSON struct {
		Field      string `json:"field"`
		Term       string `json:"term"`
		Edits      *int   `json:"edits,omitempty"` // missing for AutoEdits
		Prefix     int    `json:"prefix,omitempty"`
		Expansions int    `json:"expansions,omitempty"`
		Raw        bool   `json:"raw,omitempty"`
	}
)

// MarshalJSON writes the query as {"prefix": …}; see UnmarshalQuery.
func (q Prefix) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"prefix": prefixJSON(q)})
}

// MarshalJSON writes the query as {"wildcard": …}; see UnmarshalQuery.
func (q Wildcard) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"wildcard": wildcardJSON(q)})
}

// MarshalJSON writes the query as {"regexp": …}; see UnmarshalQuery.
func (q Regexp) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"regexp": regexpJSON(q)})
}

// MarshalJSON writes the query as {"term_range": …}; see UnmarshalQuery.
func (q TermRange) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"term_range": termRangeJSON(q)})
}

// MarshalJSON writes the query as {"terms": …}; see UnmarshalQuery.
func (q Terms) MarshalJSON() ([]byte, error) {
	j := termsJSON{Field: q.Field, Values: []json.RawMessage{}}
	for _, value := range q.Values {
		raw, err := valueJSON(value)
		if err != nil {
			return nil, plan.Errorf("Terms.Values", "%w", err)
		}
		j.Values = append(j.Values, raw)
	}
	return json.Marshal(map[string]any{"terms": j})
}

func (j *termsJSON) query() (Query, error) {
	q := Terms{Field: j.Field}
	for i, raw := range j.Values {
		v, err := parseValueJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		q.Values = append(q.Values, v)
	}
	return q, nil
}

func (j *fuzzyJSON) query() Query {
	q := Fuzzy{Field: j.Field, Term: j.Term, Prefix: j.Prefix, Expansions: j.Expansions, Raw: j.Raw}
	if j.Edits != nil {
		if q.Edits = *j.Edits; q.Edits == 0 {
			q.Edits = NoEdits
		}
	}
	return q
}

// MarshalJSON writes the query as {"exists": …}; see UnmarshalQuery.
func (q Exists) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"exists": existsJSON(q)})
}

// MarshalJSON writes the query as {"ids": …}; see UnmarshalQuery.
func (q IDs) MarshalJSON() ([]byte, error) {
	if q.Values == nil {
		q.Values = []string{}
	}
	return json.Marshal(map[string]any{"ids": idsJSON(q)})
}

// MarshalJSON writes the query as {"fuzzy": …}; see UnmarshalQuery.
func (q Fuzzy) MarshalJSON() ([]byte, error) {
	j := fuzzyJSON{Field: q.Field, Term: q.Term, Prefix: q.Prefix, Expansions: q.Expansions, Raw: q.Raw}
	if q.Edits != AutoEdits {
		edits := max(q.Edits, 0)
		j.Edits = &edits
	}
	return json.Marshal(map[string]any{"fuzzy": j})
}
