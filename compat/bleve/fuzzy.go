package bleve

import (
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// fuzzy matches documents that have a term, or one that differs from it by a few edits. Unlike
// riffle.Fuzzy it takes all such terms of the index, for whose sake it reads them all.
type fuzzy struct {
	field, term string
	edits       int
	prefix      string // with which terms begin
	boost       float64
}

// maxEdits bounds the edits of a fuzzy query.
const maxEdits = 2

// autoEdits returns the edits that "auto" stands for: by the length of a term in bytes.
func autoEdits(term string) int {
	switch {
	case len(term) > 5:
		return 2
	case len(term) > 2:
		return 1
	}
	return 0
}

func fuzzyNode(field, text string, edits, prefixBytes int, boost float64) (node, error) {
	switch {
	case edits > maxEdits:
		return nil, errorf("fuzziness is at most %d, not %d", maxEdits, edits)
	case edits < 0:
		return nil, errorf("fuzziness is negative")
	case edits == 0:
		return term{field, text, boost}, nil
	}
	prefix := text
	for i := range text {
		if i >= prefixBytes {
			prefix = text[:i]
			break
		}
	}
	return fuzzy{field, text, edits, prefix, boost}, nil
}

// accepts reports whether a term is found.
func (n fuzzy) accepts(t string) bool {
	return strings.HasPrefix(t, n.prefix) && editDistance([]rune(n.term), []rune(t), n.edits) <= n.edits
}

func (n fuzzy) locate(d *located, to []location) (bool, []location) {
	return d.match(n.field, n.accepts, to)
}

// similar returns the terms of a field of the index that are found.
func (n fuzzy) similar(c *compiler, field string) (terms []string, err error) {
	for t, err := range c.snapshot.Terms(c.ctx, field, "") {
		if err != nil {
			return nil, err
		}
		if n.accepts(t.Term) {
			terms = append(terms, t.Term)
		}
	}
	return terms, nil
}

// fewTerms is up to how many terms each of a fuzzy query scores by its own rarity.
const fewTerms = 64

func (n fuzzy) query(c *compiler) (riffle.Query, error) {
	if n.field == "" {
		return nil, nil
	}
	terms, err := n.similar(c, n.field)
	if err == nil {
		var more []string
		more, err = n.similar(c, plainField(n.field))
		terms = append(terms, more...)
	}
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	slices.Sort(terms)
	if terms = slices.Compact(terms); len(terms) > fewTerms {
		q := in(n.field, func(field string) riffle.Query { return riffle.Terms{Field: field, Values: anyValues(terms)} })
		return boosted(riffle.ConstantScore{Query: q, Score: 1}, n.boost), nil
	}
	var b riffle.Bool
	for _, t := range terms {
		edits := editDistance([]rune(n.term), []rune(t), n.edits)
		q := in(n.field, func(field string) riffle.Query { return riffle.Term{Field: field, Value: t} })
		b.Should = append(b.Should, boosted(q, n.boost/float64(edits+1)))
	}
	return one(b.Should, b), nil
}

func anyValues(terms []string) []any {
	values := make([]any, len(terms))
	for i, t := range terms {
		values[i] = t
	}
	return values
}

// editDistance returns how many characters must be inserted, dropped, replaced or exchanged with their
// neighbor to turn one word into another, each at most once; some number above most if it is more.
func editDistance(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) > most && (before == nil || slices.Min(last) > most) {
			return most + 1
		}
		before, last = last, row
	}
	return last[len(b)]
}
