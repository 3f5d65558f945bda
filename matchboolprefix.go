package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
)

// MatchBoolPrefix is a Match in which the last word is the beginning of a word, for search as you
// type. The words may stand anywhere; in a PhrasePrefix they must stand together.
//
// The last word stands for itself, as analysed, and for all terms that begin as it does, which score 1
// as those of a Prefix do. These are normalized, but neither stemmed nor dropped as stop words.
// Options.MaxTerms bounds their number.
//
// The documents of a short beginning, such as "s", take long to find: all lists of thousands of terms
// are read once in each segment, and the bits are cached. Suggest completes the last word.
type MatchBoolPrefix struct {
	Field    string
	Text     string
	Mode     Mode   // the zero value is ModeOr
	Analyzer string // replaces the field's own. Normally it is empty
}

func (q MatchBoolPrefix) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.MatchBoolPrefix(plan.MatchBoolPrefix(q), boost)
}

// Validate implements Query.
func (q MatchBoolPrefix) Validate() error { return q.validate(1) }

func (q MatchBoolPrefix) validate(float64) error {
	m := plan.MatchBoolPrefix(q)
	return m.Validate()
}

func (q MatchBoolPrefix) dependsOnK() bool { return q.Mode == ModeAndOr }

func (q MatchBoolPrefix) String() string { return queryText(q) }

type matchBoolPrefixJSON struct {
	Field    string `json:"field"`
	Text     string `json:"text"`
	Mode     string `json:"mode,omitempty"`
	Analyzer string `json:"analyzer,omitempty"`
}

// MarshalJSON writes the query as {"match_bool_prefix": …}; see UnmarshalQuery.
func (q MatchBoolPrefix) MarshalJSON() ([]byte, error) {
	if err := q.Validate(); q.Mode > ModeAndOr {
		return nil, err
	}
	j := matchBoolPrefixJSON{Field: q.Field, Text: q.Text, Analyzer: q.Analyzer}
	if q.Mode != ModeOr {
		j.Mode = modeNames[q.Mode]
	}
	return json.Marshal(map[string]any{"match_bool_prefix": j})
}

func (j *matchBoolPrefixJSON) query() (Query, error) {
	q := MatchBoolPrefix{Field: j.Field, Text: j.Text, Analyzer: j.Analyzer}
	var err error
	if j.Mode != "" {
		q.Mode, err = ParseMode(j.Mode)
	}
	return q, err
}
