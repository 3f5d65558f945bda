package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
)

// Phrase matches documents in which words of one field stand together. They are those of Text,
// analysed as the field's own text was, or Terms as they are indexed.
//
// The words must have the places that they have in the phrase. Words that the analyzer drops, such as
// stop words, leave their places empty. Terms that it puts at one position are alternatives there. A
// synonym of several words makes several phrases, the best of which counts.
//
// With a Slop the words may be moved by up to so many places in total, as in Lucene: one word between
// two takes 1 move, exchanging two neighbours 2. Words that share a term do not match at the same place.
//
// The score is BM25 as of one word, whose frequency is that of the phrase, and whose idf is the sum of
// the idfs of its words. A match with m moves counts 1/(1+m). Matches that contain another one do not
// count. (Lucene counts sloppy phrases in another way, which depends on the order of words.) Of
// alternatives at one place, the idf of the most frequent one counts.
//
// Phrases need the positions of the words; see Field.Positions. They run on the CPU.
type Phrase struct {
	Field    string
	Text     string
	Terms    [][]string // instead of Text: the alternatives at each place; none where any word may stand
	Slop     int
	Analyzer string // replaces the field's own, for Text. Normally it is empty
}

// Near matches documents in which several phrases, of one word or more, stand near each other in one
// field, in any order. At most Distance words lie between the end of any of them and the beginning of
// the last. That is NEAR of SQLite's FTS5.
//
// The score is that of a Phrase: a match in which g places are between the phrases counts 1/(1+g).
type Near struct {
	Field    string
	Phrases  []string
	Distance int
	Analyzer string // replaces the field's own. Normally it is empty
}

// Intervals matches documents in which a rule finds intervals of one field. See Interval.
//
// The score is that of a Phrase: an interval with g gaps, places at which no word of the rule stands,
// counts 1/(1+g).
type Intervals struct {
	Field    string
	Rule     Interval
	Analyzer string // replaces the field's own. Normally it is empty
}

func (q Phrase) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Phrase(plan.Phrase(q), boost)
}

func (q Near) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.Near(plan.Near(q), boost)
}

func (q Intervals) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	rule, err := ruleOf(q.Rule, 0)
	if err != nil {
		return plan.Clause{}, err
	}
	return rw.Intervals(plan.Intervals{Field: q.Field, Rule: rule, Analyzer: q.Analyzer}, boost)
}

// Validate implements Query.
func (q Phrase) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Near) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Intervals) Validate() error { return q.validate(1) }

func (q Phrase) validate(float64) error {
	p := plan.Phrase(q)
	return p.Validate()
}

func (q Near) validate(float64) error {
	n := plan.Near(q)
	return n.Validate()
}

func (q Intervals) validate(float64) error {
	if q.Field == "" {
		return plan.Errorf("Intervals.Field", "is empty")
	}
	_, err := ruleOf(q.Rule, 0)
	return err
}

func (Phrase) dependsOnK() bool { return false }

func (Near) dependsOnK() bool { return false }

func (Intervals) dependsOnK() bool { return false }

func (q Phrase) String() string    { return queryText(q) }
func (q Near) String() string      { return queryText(q) }
func (q Intervals) String() string { return queryText(q) }

type phraseJSON struct {
	Field    string      `json:"field"`
	Text     string      `json:"text,omitempty"`
	Terms    []placeJSON `json:"terms,omitempty"`
	Slop     int         `json:"slop,omitempty"`
	Analyzer string      `json:"analyzer,omitempty"`
}

// A placeJSON is a place of a phrase: a term, or a list of alternatives.
type placeJSON []string

func (p placeJSON) MarshalJSON() ([]byte, error) {
	if len(p) == 1 {
		return json.Marshal(p[0])
	}
	return json.Marshal(append([]string{}, p...))
}

func (p *placeJSON) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*p = placeJSON{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(p))
}

type nearJSON struct {
	Field    string   `json:"field"`
	Phrases  []string `json:"phrases"`
	Distance int      `json:"distance,omitempty"`
	Analyzer string   `json:"analyzer,omitempty"`
}

type intervalsJSON struct {
	Field    string          `json:"field"`
	Rule     json.RawMessage `json:"rule"`
	Analyzer string          `json:"analyzer,omitempty"`
}

// MarshalJSON writes the query as {"phrase": …}; see UnmarshalQuery.
func (q Phrase) MarshalJSON() ([]byte, error) {
	j := phraseJSON{Field: q.Field, Text: q.Text, Slop: q.Slop, Analyzer: q.Analyzer}
	for _, place := range q.Terms {
		j.Terms = append(j.Terms, placeJSON(place))
	}
	return json.Marshal(map[string]any{"phrase": j})
}

// MarshalJSON writes the query as {"near": …}; see UnmarshalQuery.
func (q Near) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"near": nearJSON(q)})
}

// MarshalJSON writes the query as {"intervals": …}; see UnmarshalQuery.
func (q Intervals) MarshalJSON() ([]byte, error) {
	rule, err := marshalRule(q.Rule)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"intervals": intervalsJSON{q.Field, rule, q.Analyzer}})
}

func (j *phraseJSON) query() Phrase {
	q := Phrase{Field: j.Field, Text: j.Text, Slop: j.Slop, Analyzer: j.Analyzer}
	for _, place := range j.Terms {
		q.Terms = append(q.Terms, []string(place))
	}
	return q
}
