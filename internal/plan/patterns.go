package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/internal/document"
)

// Queries for terms by what they look like. Their patterns are compared with terms as the analyzer
// has left them, so the pattern is lower-cased and folded where the field's words are, unless it is
// raw.

// normalized returns a part of a word of a field as the field's analyzer writes it.
func (rw *Rewriter) normalized(part, field, text string, raw bool) (string, error) {
	return rw.written(part, field, text, raw, analysis.Normalize)
}

// normalizedWord is normalized for a whole word.
func (rw *Rewriter) normalizedWord(part, field, word string, raw bool) (string, error) {
	return rw.written(part, field, word, raw, analysis.NormalizeWord)
}

func (rw *Rewriter) written(part, field, text string, raw bool, normalize func(analysis.Analyzer, string) string) (string, error) {
	if err := rw.checkField(part+".Field", field); err != nil {
		return "", err
	}
	if f, declared := rw.iv.Schema.Fields[field]; declared && f.Type != document.TextField && f.Type != document.KeywordField {
		return "", Errorf(part+".Field", "field %q has values of type %s, not texts", field, f.Type)
	}
	if raw || !rw.isText(field) {
		return text, nil
	}
	a, err := rw.iv.Analyzer(rw.iv.Schema.Fields[field].Analyzer)
	if err != nil {
		return "", Errorf(part+".Field", "%w", err)
	}
	return normalize(a, text), nil
}

// Prefix returns the clause of the terms of a field that begin with a prefix.
func (rw *Rewriter) Prefix(field, prefix string, raw bool, score float64) (Clause, error) {
	prefix, err := rw.normalized("Prefix", field, prefix, raw)
	if err != nil {
		return Clause{}, err
	}
	r := termRange{from: []byte(prefix), to: dictionary.Successor([]byte(prefix))}
	return setOf(&termPattern{field: field, kind: "prefix", text: prefix, Pattern: r.texts()}, score), nil
}

// firstText is the first term of a text: those of numbers, dates and booleans begin with a zero byte.
var firstText = []byte{1}

// texts is the range without numbers, dates and booleans.
func (r termRange) texts() termRange {
	if string(r.from) < string(firstText) {
		r.from = firstText
	}
	return r
}

// CheckWildcard reports what is wrong with a pattern.
func CheckWildcard(pattern string) error {
	if _, err := dictionary.ParseWildcard(pattern); err != nil {
		return Errorf("Wildcard.Pattern", "%q: %w", pattern, err)
	}
	return nil
}

// Wildcard returns the clause of the terms of a field that match a pattern with * and ?.
func (rw *Rewriter) Wildcard(field, pattern string, raw bool, score float64) (Clause, error) {
	w, err := dictionary.ParseWildcard(pattern)
	if err != nil {
		return Clause{}, Errorf("Wildcard.Pattern", "%q: %w", pattern, err)
	}
	if _, err := rw.normalized("Wildcard", field, "", raw); err != nil {
		return Clause{}, err
	}
	w.Map(func(literal string) string {
		literal, _ = rw.normalized("Wildcard", field, literal, raw)
		return literal
	})
	p := termSearch{w.Prefix(), w.Find, w.Match}
	return setOf(&termPattern{field: field, kind: "wildcard", text: w.String(), Pattern: p}, score), nil
}

// CheckRegexp reports what is wrong with an expression.
func CheckRegexp(expr string) error {
	if _, err := dictionary.ParseRegexp(expr, nil); err != nil {
		return Errorf("Regexp.Expr", "%q: %w", expr, err)
	}
	return nil
}

// Regexp returns the clause of the terms of a field that match a regular expression as a whole.
func (rw *Rewriter) Regexp(field, expr string, raw bool, score float64) (Clause, error) {
	if _, err := rw.normalized("Regexp", field, "", raw); err != nil {
		return Clause{}, err
	}
	r, err := dictionary.ParseRegexp(expr, func(literal string) string {
		literal, _ = rw.normalized("Regexp", field, literal, raw)
		return literal
	})
	if err != nil {
		return Clause{}, Errorf("Regexp.Expr", "%q: %w", expr, err)
	}
	p := termSearch{r.Prefix(), r.Find, r.Match}
	kind := "regexp"
	if raw {
		kind = "raw regexp"
	}
	return setOf(&termPattern{field: field, kind: kind, text: expr, Pattern: p}, score), nil
}

// TermRange returns the clause of the terms of a field between two others.
func (rw *Rewriter) TermRange(field, from, to string, excludeFrom, includeTo, raw bool, score float64) (Clause, error) {
	from, err := rw.normalizedWord("TermRange", field, from, raw)
	if err != nil {
		return Clause{}, err
	}
	r := termRange{from: []byte(from)}
	if excludeFrom {
		r.from = append(r.from, 0)
	}
	kind := "range without end"
	if to != "" { // it may become empty, such as an accent that is folded away; no term is less
		kind = "range"
		to, _ = rw.normalizedWord("TermRange", field, to, raw)
		r.to = []byte(to)
		if includeTo {
			r.to = append(r.to, 0)
		}
	}
	r = r.texts()
	text := string(appendText(appendText(nil, string(r.from)), string(r.to)))
	terms := &termPattern{field: field, kind: kind, text: text, Pattern: r}
	if !rw.valuesInColumn(field) {
		return setOf(terms, score), nil
	}
	set := &valueSet{field: field, terms: func() []*termPattern { return []*termPattern{terms} }}
	set.from = columns.Bound{Value: columns.OfString(string(firstText))}
	if from >= string(firstText) {
		set.from = columns.Bound{Value: columns.OfString(from), Exclusive: excludeFrom}
	}
	set.to = columns.Bound{Value: columns.OfString(to), Exclusive: !includeTo, Open: r.to == nil}
	return setOf(set, score), nil
}

// Terms returns the clause of the documents that have one of many values in a field.
func (rw *Rewriter) Terms(field string, values []any, score float64) (Clause, error) {
	hasTerms, err := rw.checkValues("Terms.Field", field)
	if err != nil {
		return Clause{}, err
	}
	list := make(termList, 0, len(values))
	exact := make([]document.Value, 0, len(values))
	for _, value := range values {
		v, err := valueOf(field, value)
		if err == nil {
			v, err = rw.asDeclared(field, v)
		}
		if err != nil {
			return Clause{}, Errorf("Terms.Values", "field %q: %w", field, err)
		}
		hasTerms = hasTerms && v.Kind != document.KindPlace
		exact = append(exact, v)
		list = append(list, string(document.AppendTerm(nil, v)))
	}
	if !hasTerms {
		return setOf(newValueList(field, exact, nil), score), nil
	}
	slices.Sort(list)
	list = slices.Compact(list)
	var text []byte
	for _, term := range list {
		text = appendText(text, term)
	}
	terms := &termPattern{field: field, kind: "terms", text: string(text), Pattern: list}
	if len(list) >= manyValues && rw.valuesInColumn(field) {
		return setOf(newValueList(field, exact, terms), score), nil
	}
	return setOf(terms, score), nil
}

// Exists returns the clause of the documents that have a field.
func (rw *Rewriter) Exists(field string, score float64) (Clause, error) {
	hasTerms, err := rw.checkValues("Exists.Field", field)
	if err != nil {
		return Clause{}, err
	}
	return setOf(&existing{field: field, byColumn: rw.valuesInColumn(field), noTerms: !hasTerms}, score), nil
}

// valuesInColumn reports whether the column of a field has all values that its terms have, where a
// segment has one. Texts of a field that is not declared are no values.
func (rw *Rewriter) valuesInColumn(field string) bool {
	f, declared := rw.iv.Schema.Fields[field]
	return declared && f.Type != document.TextField
}

// IDs returns the clause of the documents with some ids.
func (rw *Rewriter) IDs(ids []string, score float64) Clause {
	s := slices.Sorted(slices.Values(ids))
	return setOf(idSet(slices.Compact(s)), score)
}

// A Fuzzy is riffle.Fuzzy.
type Fuzzy struct {
	Field      string
	Term       string
	Edits      int
	Prefix     int
	Expansions int
	Raw        bool
}

// AutoEdits is the Edits that depends on the length of the word, and NoEdits that of the word alone.
const (
	AutoEdits = 0
	NoEdits   = -1
)

// DefaultExpansions and MaxExpansions bound the terms that a fuzzy word stands for.
const (
	DefaultExpansions = 64
	MaxExpansions     = 1024
)

// Validate reports what is wrong with a fuzzy word on any index.
func (q *Fuzzy) Validate() error {
	switch {
	case q.Field == "":
		return Errorf("Fuzzy.Field", "is empty")
	case q.Edits < NoEdits || q.Edits > dictionary.MaxEdits:
		return Errorf("Fuzzy.Edits", "must be AutoEdits, NoEdits, or 1 to %d, not %d", dictionary.MaxEdits, q.Edits)
	case q.Prefix < 0:
		return Errorf("Fuzzy.Prefix", "must not be negative, as %d is", q.Prefix)
	case q.Expansions < 0 || q.Expansions > MaxExpansions:
		return Errorf("Fuzzy.Expansions", "must lie in 0 to %d, not %d", MaxExpansions, q.Expansions)
	}
	return nil
}

// editsFor is the number of edits of a word under AutoEdits: none below three characters, one below
// six, and two from there on.
func editsFor(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 3:
		return 0
	case n < 6:
		return 1
	}
	return 2
}

// An expansion is a term that a fuzzy word stands for.
type expansion struct {
	term    string
	edits   int
	share   float64 // of the weight: 1 without edits, less by the share of edited characters
	docFreq int
}

// fuzzyTerms returns the terms that a fuzzy word stands for, the best first.
func (rw *Rewriter) fuzzyTerms(q Fuzzy) ([]expansion, error) {
	word, err := rw.normalizedWord("Fuzzy", q.Field, q.Term, q.Raw)
	if err != nil {
		return nil, err
	}
	edits := max(q.Edits, 0)
	if q.Edits == AutoEdits {
		edits = editsFor(word)
	}
	f, err := dictionary.NewFuzzy(word, edits, q.Prefix)
	if err != nil {
		return nil, Errorf("Fuzzy", "%w", err)
	}
	found, err := rw.expand(q.Field, f)
	for i := range found {
		found[i].share = shareOf(found[i].edits, word, found[i].term)
	}
	return found, err
}

// Fuzzy returns the clause of the terms that are few edits away from a word. Of too many, those with
// the fewest edits count, and of these the most frequent ones in the whole index.
func (rw *Rewriter) Fuzzy(q Fuzzy, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	if q.Expansions == 0 {
		q.Expansions = DefaultExpansions
	}
	word, err := rw.normalizedWord("Fuzzy", q.Field, q.Term, q.Raw)
	if err != nil {
		return Clause{}, err
	}
	q.Term, q.Raw = word, true
	key := fmt.Sprintf("fuzzy %q %q %d %d %d", q.Field, q.Term, q.Edits, q.Prefix, q.Expansions)
	found, _, final, err := rw.choose(key, func(*Choice) (*Choice, error) { return rw.fuzzyCandidates(q) })
	if err != nil {
		return Clause{}, err
	}
	if !final {
		return unknown(boost), nil
	}
	rw.blend++
	out := Clause{kind: clauseBool}
	for i := range found {
		e := &found[i]
		c, err := rw.term(q.Field, e.Term, boost*shareOf(e.Edits, word, e.Term))
		if err != nil {
			return Clause{}, err
		}
		c.blend, c.chosen = rw.blend, e
		out.should = append(out.should, c)
	}
	return out, nil
}

// fuzzyCandidates returns the terms of the index among which those of a fuzzy word are. Terms with more
// edits than enough others cannot be.
func (rw *Rewriter) fuzzyCandidates(q Fuzzy) (*Choice, error) {
	found, err := rw.fuzzyTerms(q)
	c := &Choice{Kind: chooseFuzzy, Final: true, Most: q.Expansions, Fields: []string{q.Field}}
	for i, e := range found {
		if i >= q.Expansions && e.edits > found[i-1].edits {
			break
		}
		c.Candidates = append(c.Candidates, Candidate{Field: q.Field, Term: e.term, Documents: uint64(e.docFreq), Edits: e.edits})
	}
	return c, err
}

// shareOf returns the share of the weight of a word that a term has which is some edits away: 1 without
// edits, less by the share of edited characters.
func shareOf(edits int, word, term string) float64 {
	if edits == 0 {
		return 1
	}
	return 1 - float64(edits)/float64(min(utf8.RuneCountInString(word), utf8.RuneCountInString(term)))
}

// everyTerm is more terms than a segment has.
const everyTerm = 1 << 28

// expand returns the terms of a field that are near a word, the best first.
func (rw *Rewriter) expand(field string, f *dictionary.Fuzzy) ([]expansion, error) {
	if rw.index == nil {
		return nil, nil
	}
	byTerm := map[string]*expansion{}
	p := termSearch{f.Prefix(), func(d *dictionary.Dictionary, yield func(int) bool) {
		f.Find(d, func(i, _ int) bool { return yield(i) })
	}, nil}
	for i := range rw.index.Segments() {
		terms, err := rw.index.Frequent(i, field, p, everyTerm) // which reads no rows
		if err != nil {
			return nil, err
		}
		for _, t := range terms {
			if t.Documents == 0 || strings.HasPrefix(t.Term, "\x00") {
				continue
			}
			e := byTerm[t.Term]
			if e == nil {
				e = &expansion{term: t.Term, edits: f.Distance([]byte(t.Term))}
				byTerm[e.term] = e
			}
			e.docFreq += t.Documents
		}
	}
	found := make([]expansion, 0, len(byTerm))
	for _, e := range byTerm {
		found = append(found, *e)
	}
	slices.SortFunc(found, func(a, b expansion) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.docFreq, a.docFreq), cmp.Compare(a.term, b.term))
	})
	return found, nil
}

// blendTerms gives the terms that one fuzzy word stands for the same idf, that of the most frequent
// of them: else a rare misspelling would outrank the word.
func (b *planner) blendTerms() {
	highest := map[int]uint64{}
	for i := range b.terms {
		if t := &b.terms[i]; t.blend > 0 {
			highest[t.blend] = max(highest[t.blend], t.docFreq)
		}
	}
	for i := range b.terms {
		if t := &b.terms[i]; t.blend > 0 {
			t.blended = highest[t.blend]
			t.idf = b.sim.IDF.Weight(t.docs, t.blended)
			t.weight = t.boost * t.idf
		}
	}
}
