package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/segment"
)

// A MoreLikeThis is riffle.MoreLikeThis.
type MoreLikeThis struct {
	Fields      []string
	Texts       []string
	IDs         []string
	MinTermFreq int
	MinDocFreq  int
	MaxDocFreq  int
	MaxTerms    int
	MinShould   int
	Include     bool
}

// Defaults of MoreLikeThis are those of Lucene.
const (
	DefaultMinTermFreq = 2
	DefaultMinDocFreq  = 5
	DefaultMaxTerms    = 25

	likeMostTerms  = 1024 // the most that MaxTerms can be
	likeMostTokens = 5000 // of each text, as in Lucene
)

// Validate reports what is wrong with a more-like-this on any index.
func (q *MoreLikeThis) Validate() error {
	switch {
	case len(q.Fields) == 0:
		return Errorf("MoreLikeThis.Fields", "is empty")
	case slices.Contains(q.Fields, ""):
		return Errorf("MoreLikeThis.Fields", "has an empty name")
	case len(q.Texts)+len(q.IDs) == 0:
		return Errorf("MoreLikeThis", "has neither Texts nor IDs")
	case q.MaxTerms < 0 || q.MaxTerms > likeMostTerms:
		return Errorf("MoreLikeThis.MaxTerms", "must lie in 0 to %d, not %d", likeMostTerms, q.MaxTerms)
	}
	for _, n := range [...]struct {
		part  string
		value int
	}{{"MinTermFreq", q.MinTermFreq}, {"MinDocFreq", q.MinDocFreq}, {"MaxDocFreq", q.MaxDocFreq}} {
		if n.value < 0 {
			return Errorf("MoreLikeThis."+n.part, "must not be negative, as %d is", n.value)
		}
	}
	return checkLeast("MoreLikeThis.MinShould", q.MinShould)
}

// MoreLikeThis returns the clause of the terms that tell texts and documents from others.
func (rw *Rewriter) MoreLikeThis(q MoreLikeThis, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	texts, err := rw.textsOf(&q)
	if err != nil {
		return Clause{}, err
	}
	var terms []likeTerm
	for i, field := range q.Fields {
		if slices.Index(q.Fields, field) < i {
			continue
		}
		own, err := rw.likeTerms(&q, field, slices.Concat(q.Texts, texts[field]))
		if err != nil {
			return Clause{}, err
		}
		terms = append(terms, own...)
	}
	slices.SortFunc(terms, func(a, b likeTerm) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.field, b.field), cmp.Compare(a.term, b.term))
	})
	terms = terms[:min(len(terms), cmp.Or(q.MaxTerms, DefaultMaxTerms))]
	if len(terms) == 0 {
		return Clause{kind: clauseBool}, nil // matches nothing
	}
	out := Clause{kind: clauseBool, min: leastOf(q.MinShould, len(terms))}
	for _, t := range terms {
		c, err := rw.term(t.field, t.term, boost)
		if err != nil {
			return Clause{}, err
		}
		out.should = append(out.should, c)
	}
	if len(q.IDs) > 0 && !q.Include {
		ids := slices.Sorted(slices.Values(q.IDs))
		out.not = []Clause{{kind: clauseSet, set: idSet(slices.Compact(ids))}}
	}
	return out, nil
}

// textsOf returns the stored texts of the documents of a more-like-this by field. A field that is copied
// from others has theirs.
func (rw *Rewriter) textsOf(q *MoreLikeThis) (map[string][]string, error) {
	sources := map[string][]string{}
	var names []string
	s := rw.iv.Schema
	for _, field := range q.Fields {
		sources[field] = s.Fields[field].CopyFrom
		if len(sources[field]) == 0 {
			sources[field] = []string{field}
		}
		for _, source := range sources[field] {
			if len(q.IDs) > 0 && (s.NoStore || s.Fields[source].NoStore) {
				return nil, Errorf("MoreLikeThis.Fields", "field %q is not stored, so documents of IDs have no text of it; Texts need none", source)
			}
		}
		names = append(names, sources[field]...)
	}
	texts := map[string][]string{}
	if rw.index == nil {
		return texts, nil
	}
	for i, id := range q.IDs {
		if slices.Index(q.IDs, id) < i {
			continue
		}
		fields, ok, err := rw.index.Stored(id, names)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, Errorf("MoreLikeThis.IDs", "there is no document %q", id)
		}
		for field, from := range sources {
			for _, source := range from {
				texts[field] = appendTexts(texts[field], fields[source])
			}
		}
	}
	return texts, nil
}

// appendTexts appends the texts of a stored field.
func appendTexts(texts []string, value any) []string {
	switch v := value.(type) {
	case string:
		return append(texts, v)
	case []any:
		for _, one := range v {
			texts = appendTexts(texts, one)
		}
	}
	return texts
}

// A likeTerm is a term of the texts of a more-like-this.
type likeTerm struct {
	field, term string
	score       float64 // how well it tells the texts from others: tf·idf
}

// likeTerms returns the terms of texts in a field that may take part.
func (rw *Rewriter) likeTerms(q *MoreLikeThis, field string, texts []string) ([]likeTerm, error) {
	if _, err := rw.normalized("MoreLikeThis", field, "", true); err != nil {
		return nil, err
	}
	freqs := map[string]int{}
	for _, text := range texts {
		if err := rw.countTerms(freqs, field, text); err != nil {
			return nil, err
		}
	}
	var list termList
	for term, n := range freqs {
		if n >= cmp.Or(q.MinTermFreq, DefaultMinTermFreq) {
			list = append(list, term)
		}
	}
	if rw.index == nil || len(list) == 0 {
		return nil, nil
	}
	slices.Sort(list)
	docFreqs := map[string]int{}
	for i := range rw.index.Segments() {
		err := rw.index.Matching(i, field, list, func(m *segment.Match) error {
			n, err := m.Postings()
			docFreqs[string(m.Term)] += n
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	docs, _ := rw.index.Totals(field)
	var terms []likeTerm
	for _, term := range list {
		n := docFreqs[term]
		if n == 0 || n < cmp.Or(q.MinDocFreq, DefaultMinDocFreq) || q.MaxDocFreq > 0 && n > q.MaxDocFreq {
			continue
		}
		idf := math.Log(float64(docs+1)/float64(n+1)) + 1
		terms = append(terms, likeTerm{field, term, float64(freqs[term]) * idf})
	}
	return terms, nil
}

// countTerms counts the terms of a text in a field, of its first words.
func (rw *Rewriter) countTerms(freqs map[string]int, field, text string) error {
	if !rw.isText(field) {
		freqs[text]++
		return nil
	}
	a, err := rw.iv.Analyzer(rw.iv.Schema.Fields[field].Analyzer)
	if err != nil {
		return Errorf("MoreLikeThis.Fields", "field %q: %w", field, err)
	}
	left := likeMostTokens
	analysis.AnalyzeString(a, text, func(batch []analysis.Token) {
		batch = batch[:min(left, len(batch))]
		left -= len(batch)
		for i := range batch {
			freqs[string(batch[i].Term)]++
		}
	})
	return nil
}
