package plan

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"
)

// A Choice is a part of a query that chooses among the terms of the index: a Fuzzy, a MoreLikeThis, or
// a pattern that may have more terms than Settings.MaxTerms. Each index says which candidates it has.
// Their sum decides.
//
// Some choices need two rounds: the words of a document that one index has are counted in all others,
// and terms are listed only if there are too many.
type Choice struct {
	Kind  ChoiceKind `json:"kind"`
	Final bool       `json:"final,omitempty"` // the candidates are complete; else another round is needed
	Most  int        `json:"most,omitempty"`  // how many terms are chosen, or allowed

	// Chosen is set when the candidates are those that were chosen, in their order.
	Chosen bool `json:"chosen,omitempty"`

	Fields     []string    `json:"fields,omitempty"` // of the candidates
	Candidates []Candidate `json:"candidates,omitempty"`

	// Of a MoreLikeThis:
	Least    int      `json:"least,omitempty"`    // documents that a term must have
	Greatest int      `json:"greatest,omitempty"` // documents that it may have; 0 for any number
	Stored   []string `json:"stored,omitempty"`   // ids of its documents that were found

	// Of a pattern: how many terms it has, at most, added up over segments.
	Terms int `json:"terms,omitempty"`
}

// A ChoiceKind is what chooses.
type ChoiceKind string

const (
	chooseFuzzy   ChoiceKind = "fuzzy"
	chooseLike    ChoiceKind = "like"
	choosePattern ChoiceKind = "pattern"
)

// mostParts is how many indexes together cannot have too many terms of a pattern if each has less than this
// share of them. Such patterns are not among the choices.
const mostParts = 4096

// A Candidate is a term that may be chosen.
type Candidate struct {
	Field     string
	Term      string
	Documents uint64 // that have it
	Edits     int    // of a Fuzzy
	Count     int    // of a MoreLikeThis: how often its documents have the term, and in the end its texts, too
}

type candidateJSON struct {
	Field     string `json:"f,omitempty"`
	Term      string `json:"t,omitempty"`
	Bytes     []byte `json:"b,omitempty"` // instead of Term if it is not UTF-8
	Documents uint64 `json:"n,omitempty"`
	Edits     int    `json:"e,omitempty"`
	Count     int    `json:"c,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Candidate) MarshalJSON() ([]byte, error) {
	j := candidateJSON{Field: c.Field, Term: c.Term, Documents: c.Documents, Edits: c.Edits, Count: c.Count}
	if !utf8.ValidString(c.Term) {
		j.Term, j.Bytes = "", []byte(c.Term)
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Candidate) UnmarshalJSON(data []byte) error {
	var j candidateJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Bytes != nil {
		j.Term = string(j.Bytes)
	}
	*c = Candidate{j.Field, j.Term, j.Documents, j.Edits, j.Count}
	return nil
}

// add adds the candidates of another index.
func (c *Choice) add(o *Choice) {
	if c.Kind == "" || o.Final && !c.Final { // a later round replaces the one before
		c.Kind, c.Final, c.Candidates = o.Kind, o.Final, nil
	}
	c.Most, c.Least, c.Greatest, c.Fields, c.Chosen = o.Most, o.Least, o.Greatest, o.Fields, o.Chosen
	if c.Terms += o.Terms; o.Final && c.Kind == choosePattern {
		c.Terms = 0
	}
	c.Stored = append(c.Stored, o.Stored...)
	if len(c.Stored) > 0 {
		slices.Sort(c.Stored)
		c.Stored = slices.Compact(c.Stored)
	}
	if c.Final != o.Final {
		return
	}
	all := slices.Concat(c.Candidates, o.Candidates)
	slices.SortStableFunc(all, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Term, b.Term)) })
	sum := all[:0]
	for _, from := range all {
		if n := len(sum); n > 0 && sum[n-1].Field == from.Field && sum[n-1].Term == from.Term {
			sum[n-1].Documents = saturated(sum[n-1].Documents, from.Documents)
			if c.Final {
				from.Count -= sum[n-1].Count // all indexes have the same
			}
			sum[n-1].Count += from.Count
			continue
		}
		sum = append(sum, from)
	}
	c.Candidates = sum
}

// chosen returns the chosen terms, the best first. docs returns how many documents have a field.
func (c *Choice) chosen(docs func(field string) uint64) []Candidate {
	if c.Chosen {
		return c.Candidates
	}
	found := slices.Clone(c.Candidates)
	switch c.Kind {
	case chooseFuzzy:
		slices.SortFunc(found, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Term, b.Term))
		})
	case chooseLike:
		found = slices.DeleteFunc(found, func(t Candidate) bool {
			return t.Documents < uint64(max(c.Least, 1)) || c.Greatest > 0 && t.Documents > uint64(c.Greatest)
		})
		// How well a term tells the texts from others: tf·idf.
		score := func(t *Candidate) float64 {
			idf := math.Log(float64(docs(t.Field)+1)/float64(t.Documents+1)) + 1
			return float64(t.Count) * idf
		}
		slices.SortFunc(found, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(score(&b), score(&a)), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Term, b.Term))
		})
	case choosePattern:
		// Of more terms than are allowed, the last one that counts is of interest.
		if len(found) <= c.Most {
			return nil
		}
		return found[c.Most-1 : c.Most]
	}
	return found[:min(len(found), c.Most)]
}

// SumStatistics adds up the statistics of a query in several indexes. known is what these were asked
// with: nil in the first round. again says that they must be asked once more, with the sum as what is
// known; at the latest the sum of the third round or so is complete.
func SumStatistics(known *Statistics, parts ...*Statistics) (sum *Statistics, again bool) {
	sum = &Statistics{}
	var before *Traits
	if known != nil {
		before = known.Traits
	}
	traits := before.clone()
	traits.Failed = false
	for _, part := range parts {
		sum.addNumbers(part)
		traits.add(part.Traits)
	}
	for _, part := range parts {
		again = again || !traits.coveredBy(before, part.Traits)
	}
	traits.leaveUnfinished(before, parts)
	again = again || traits.Failed
	for _, c := range traits.Choices {
		if c.Kind == choosePattern && !c.Final && c.Terms+len(parts)*(c.Most/mostParts) <= c.Most {
			c.Final, c.Terms = true, 0
		}
		again = again || !c.Final
	}
	for key, c := range traits.Choices {
		// The documents that have one of a pattern's terms are other ones with a limit.
		if was := before.choice(key); c.Kind == choosePattern && len(c.Candidates) > c.Most && (was == nil || !was.Final) {
			again = true
		}
	}
	if !again {
		for _, c := range traits.Choices {
			c.Candidates, c.Chosen = c.chosen(sum.documents), true
			sum.moveTerms(c)
		}
	}
	if !traits.IsZero() {
		sum.Traits = traits
	}
	for name, f := range sum.Fields {
		if t := traits.Fields[name]; t&aspectTerms != 0 && t&hasLengths == 0 && !again {
			f.Tokens = 0
			sum.Fields[name] = f
		}
	}
	return sum, again
}

// leaveUnfinished takes out what some of the parts did not look at, because the query was an error there:
// in the next round all look at it.
func (t *Traits) leaveUnfinished(before *Traits, parts []*Statistics) {
	for name, bits := range t.Fields {
		for _, part := range parts {
			for aspect, found := range aspects {
				if had := before.field(name) | part.Traits.field(name); had&aspect == 0 {
					bits &^= aspect | found
				}
			}
		}
		if t.Fields[name] = bits; bits == 0 {
			delete(t.Fields, name)
		}
	}
	for key, c := range t.Choices {
		was := before.choice(key)
		if was != nil && was.Final {
			continue
		}
		whole := true
		for _, part := range parts {
			own := part.Traits.choice(key)
			if c.Kind == choosePattern {
				whole = whole && (part.Traits == nil || !part.Traits.Failed)
			} else {
				whole = whole && own != nil && own.Final == c.Final
			}
		}
		if whole {
			continue
		}
		if delete(t.Choices, key); was != nil {
			t.addChoice(key, was)
		}
		t.Failed = true
	}
}

// moveTerms makes the chosen terms terms of the statistics.
func (s *Statistics) moveTerms(c *Choice) {
	for i := range c.Candidates {
		t := &c.Candidates[i]
		f, ok := s.Fields[t.Field]
		if !ok {
			continue // the last term of a pattern
		}
		if f.Terms == nil {
			f.Terms = map[string]uint64{}
			s.Fields[t.Field] = f
		}
		f.Terms[t.Term], t.Documents = t.Documents, 0
	}
}

// documents returns how many documents have a field.
func (s *Statistics) documents(field string) uint64 { return s.Fields[field].Documents }

// choose returns the terms of a choice by all indexes, if they are known. Otherwise own finds what the
// index of the query has; if several indexes are asked, that is recorded. final is false if more must be
// known to choose: then another round follows.
func (rw *Rewriter) choose(key string, own func(before *Choice) (*Choice, error)) (chosen []Candidate, stored []string, final bool, err error) {
	c, docs := rw.outside.choice(key), rw.documents
	if c != nil && c.Final {
		return c.chosen(docs), c.Stored, true, nil
	}
	if rw.gather.choice(key) != nil {
		return nil, nil, false, nil // an equal part of the query has recorded it
	}
	if c, err = own(c); err != nil {
		return nil, nil, false, err
	}
	if rw.gather != nil {
		rw.gather.addChoice(key, c)
		return nil, nil, false, nil
	}
	return c.chosen(docs), c.Stored, true, nil
}

// documents returns how many documents have a field in all indexes, if that is known, or in the index of
// the query.
func (rw *Rewriter) documents(field string) uint64 {
	if rw.numbers != nil {
		if f, ok := rw.numbers.Fields[field]; ok {
			return f.Documents
		}
	}
	docs, _ := rw.index.Totals(field)
	return docs
}

// unknown is the clause of a choice that is not made yet, which stands for it in a plan that is not run.
func unknown(score float64) Clause { return setOf(idSet(nil), score) }
