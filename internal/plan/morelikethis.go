package plan

import (
	"cmp"
	"encoding/json"
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
	form, err := json.Marshal(q)
	if err != nil {
		return Clause{}, err
	}
	found, stored, final, err := rw.choose("like "+string(form), func(before *Choice) (*Choice, error) { return rw.likeCandidates(&q, before) })
	if err != nil {
		return Clause{}, err
	}
	if !final {
		return unknown(boost), nil
	}
	for _, id := range q.IDs {
		if !slices.Contains(stored, id) && rw.index != nil {
			return Clause{}, Errorf("MoreLikeThis.IDs", "there is no document %q", id)
		}
	}
	if len(found) == 0 {
		return Clause{kind: clauseBool}, nil // matches nothing
	}
	out := Clause{kind: clauseBool, min: leastOf(q.MinShould, len(found))}
	for i := range found {
		c, err := rw.term(found[i].Field, found[i].Term, boost)
		if err != nil {
			return Clause{}, err
		}
		c.chosen = &found[i]
		out.should = append(out.should, c)
	}
	if len(q.IDs) > 0 && !q.Include {
		ids := slices.Sorted(slices.Values(q.IDs))
		out.not = []Clause{{kind: clauseSet, set: idSet(slices.Compact(ids))}}
	}
	return out, nil
}

// likeCandidates returns the terms of texts and documents, and how many documents of the index have each.
// If several indexes are asked, the first round finds how often the documents have each term, of which an
// index has some: before is then their sum in the next one.
func (rw *Rewriter) likeCandidates(q *MoreLikeThis, before *Choice) (*Choice, error) {
	c := &Choice{
		Kind: chooseLike, Final: before != nil || len(q.IDs) == 0 || rw.gather == nil, Fields: slices.Clone(q.Fields),
		Most: cmp.Or(q.MaxTerms, DefaultMaxTerms), Least: cmp.Or(q.MinDocFreq, DefaultMinDocFreq), Greatest: q.MaxDocFreq,
	}
	slices.Sort(c.Fields)
	c.Fields = slices.Compact(c.Fields)
	texts := map[string][]string{}
	if before == nil {
		var err error
		if texts, c.Stored, err = rw.textsOf(q); err != nil {
			return nil, err
		}
	}
	for _, field := range c.Fields {
		if _, err := rw.normalized("MoreLikeThis", field, "", true); err != nil {
			return nil, err
		}
		counts := map[string]int{}
		own := texts[field]
		if c.Final {
			own = slices.Concat(q.Texts, own)
		}
		for _, text := range own {
			if err := rw.countTerms(counts, field, text); err != nil {
				return nil, err
			}
		}
		if before != nil {
			for _, t := range before.Candidates {
				if t.Field == field {
					counts[t.Term] += t.Count
				}
			}
		}
		if rw.index == nil {
			continue
		}
		terms, err := rw.likeTerms(c, field, counts, cmp.Or(q.MinTermFreq, DefaultMinTermFreq))
		if err != nil {
			return nil, err
		}
		c.Candidates = append(c.Candidates, terms...)
	}
	return c, nil
}

// textsOf returns the stored texts of the documents of a more-like-this by field, and the ids of those that
// the index has. A field that is copied from others has theirs.
func (rw *Rewriter) textsOf(q *MoreLikeThis) (texts map[string][]string, stored []string, err error) {
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
				return nil, nil, Errorf("MoreLikeThis.Fields", "field %q is not stored, so documents of IDs have no text of it; Texts need none", source)
			}
		}
		names = append(names, sources[field]...)
	}
	texts = map[string][]string{}
	if rw.index == nil {
		return texts, nil, nil
	}
	for i, id := range q.IDs {
		if slices.Index(q.IDs, id) < i {
			continue
		}
		fields, ok, err := rw.index.Stored(id, names)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		stored = append(stored, id)
		for field, from := range sources {
			for _, source := range from {
				texts[field] = appendTexts(texts[field], fields[source])
			}
		}
	}
	return texts, stored, nil
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

// likeTerms returns the candidates of a field, from how often texts have its terms. A term that texts have
// less than least times is none, unless more texts follow.
func (rw *Rewriter) likeTerms(c *Choice, field string, counts map[string]int, least int) (found []Candidate, err error) {
	list := make(termList, 0, len(counts))
	for term, n := range counts {
		if n >= least || !c.Final {
			list = append(list, term)
		}
	}
	slices.Sort(list)
	docs := map[string]uint64{}
	for i := range rw.index.Segments() {
		if len(list) == 0 || !c.Final {
			break
		}
		err := rw.index.Matching(i, field, list, func(m *segment.Match) error {
			n, err := m.Postings()
			docs[string(m.Term)] += uint64(n)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, term := range list {
		if n := docs[term]; n > 0 || !c.Final {
			found = append(found, Candidate{Field: field, Term: term, Documents: n, Count: counts[term]})
		}
	}
	return found, nil
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
