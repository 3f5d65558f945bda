package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
)

// PhrasePrefix matches documents in which the words of Text stand together, as those of a Phrase,
// where the last word is the beginning of a word: for search as you type. "white wha" finds "white
// whale" and "white whaling ships".
//
// The last word stands for itself, as analysed, and for all terms that begin as it does. These are
// normalized, but neither stemmed nor dropped as stop words: see Prefix. Options.MaxTerms bounds
// their number.
//
// The score is that of a Phrase. The terms that begin as the last word does count as one there: its
// documents are those that have any of them. A text of one word is a Prefix, which scores 1.
//
// The positions of all those terms are read in the documents that have the words before. That takes
// long where a common word is followed by a single letter, as in "the w".
type PhrasePrefix struct {
	Field    string
	Text     string
	Slop     int
	Analyzer string // replaces the field's own. Normally it is empty
}

func (q PhrasePrefix) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.PhrasePrefix(plan.PhrasePrefix(q), boost)
}

// Validate implements Query.
func (q PhrasePrefix) Validate() error { return q.validate(1) }

func (q PhrasePrefix) validate(float64) error {
	p := plan.PhrasePrefix(q)
	return p.Validate()
}

func (PhrasePrefix) dependsOnK() bool { return false }

func (q PhrasePrefix) String() string { return queryText(q) }

type phrasePrefixJSON struct {
	Field    string `json:"field"`
	Text     string `json:"text"`
	Slop     int    `json:"slop,omitempty"`
	Analyzer string `json:"analyzer,omitempty"`
}

// MarshalJSON writes the query as {"phrase_prefix": …}; see UnmarshalQuery.
func (q PhrasePrefix) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"phrase_prefix": phrasePrefixJSON(q)})
}
