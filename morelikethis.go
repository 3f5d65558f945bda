package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
)

// MoreLikeThis matches documents that have words which tell some texts, or documents of the index,
// from others: those that are frequent there and rare elsewhere. The words of each field are ranked by
// tf·idf, and the best MaxTerms of them are a Bool.Should. Defaults are those of Lucene.
//
// Of each text the first 5,000 words count. Documents of IDs must be in the index and have their
// fields stored; they are no hits, unless Include is set. They are those of the moment of the search.
//
// A cursor of such a query continues only while the words stay the same.
type MoreLikeThis struct {
	Fields []string // of texts, or of keywords
	Texts  []string // each is analysed for all fields
	IDs    []string

	MinTermFreq int // in all texts and documents together; 0 stands for 2
	MinDocFreq  int // documents of the index that have the word, deleted ones included; 0 stands for 5
	MaxDocFreq  int // the same; 0 for any number
	MaxTerms    int // 1 to 1,024; 0 stands for 25
	MinShould   int // how many of the words a document must have, as in Bool: see also Percent
	Include     bool
}

func (q MoreLikeThis) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rw.MoreLikeThis(plan.MoreLikeThis(q), boost)
}

// Validate implements Query.
func (q MoreLikeThis) Validate() error { return q.validate(1) }

func (q MoreLikeThis) validate(float64) error {
	m := plan.MoreLikeThis(q)
	return m.Validate()
}

func (MoreLikeThis) dependsOnK() bool { return false }

func (q MoreLikeThis) String() string { return queryText(q) }

type moreLikeThisJSON struct {
	Fields      []string  `json:"fields"`
	Texts       []string  `json:"texts,omitempty"`
	IDs         []string  `json:"ids,omitempty"`
	MinTermFreq int       `json:"min_term_freq,omitempty"`
	MinDocFreq  int       `json:"min_doc_freq,omitempty"`
	MaxDocFreq  int       `json:"max_doc_freq,omitempty"`
	MaxTerms    int       `json:"max_terms,omitempty"`
	Least       leastJSON `json:"min_should,omitempty"`
	Include     bool      `json:"include,omitempty"`
}

// MarshalJSON writes the query as {"more_like_this": …}; see UnmarshalQuery.
func (q MoreLikeThis) MarshalJSON() ([]byte, error) {
	if q.Fields == nil {
		q.Fields = []string{}
	}
	j := moreLikeThisJSON{q.Fields, q.Texts, q.IDs, q.MinTermFreq, q.MinDocFreq, q.MaxDocFreq, q.MaxTerms, leastJSON(q.MinShould), q.Include}
	return json.Marshal(map[string]any{"more_like_this": j})
}

func (j *moreLikeThisJSON) query() MoreLikeThis {
	return MoreLikeThis{j.Fields, j.Texts, j.IDs, j.MinTermFreq, j.MinDocFreq, j.MaxDocFreq, j.MaxTerms, int(j.Least), j.Include}
}
