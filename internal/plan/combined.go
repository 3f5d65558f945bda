package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/proximity"
)

// CombineBM25F scores each word as if the fields were one: blockmax.Combined has the arithmetic. Its
// statistics are those of Lucene's CombinedFieldQuery: of the documents that have a field, and of those
// that have a word in it, the greatest number over the fields counts. The average length is
// the sum of weight × tokens over the fields, divided by that number of documents. (Tokens are the
// field's average length, as rounded for its own scores, times its documents.)

// combinedFields are the fields of a CombineBM25F in which its text has words.
type combinedFields struct {
	names   []string
	weights []float64
	text    string // of String, once it has been asked for
}

// String tells fields and weights apart.
func (f *combinedFields) String() string {
	if f == nil {
		return ""
	}
	if f.text == "" {
		f.text = fmt.Sprintf("%q%v", f.names, f.weights)
	}
	return f.text
}

// checkWeights reports fields that CombineBM25F cannot combine.
func (q *Match) checkWeights(fields []string) error {
	if q.Combine != CombineBM25F {
		return nil
	}
	if len(fields) > blockmax.MaxCombinedFields {
		return Errorf("Match.Fields", "%d fields, more than the %d that CombineBM25F takes", len(fields), blockmax.MaxCombinedFields)
	}
	for _, field := range fields {
		if by := q.boost(field); !(by >= 1 && by <= blockmax.MaxFieldWeight) {
			return Errorf("Match.Boosts", "field %q: with CombineBM25F, which repeats the text of a field so often, must lie in 1 to %d, not %v", field, blockmax.MaxFieldWeight, by)
		}
	}
	return nil
}

// combinesOne reports whether a match of one field scores otherwise than by BM25.
func (q *Match) combinesOne(field string) bool {
	return q.Combine == CombineBM25F && q.boost(field) != 1
}

// combinedWord makes one clause of words from the same characters. Those of the same span are one word.
// Under And, where fields divide the characters differently, the best field counts.
func (q *Match) combinedWord(words []textWord, fields *combinedFields, boost float64) (c Clause, in int) {
	var spans [][2]int
	count := map[int]int{} // words by field
	simple := true
	for _, w := range words {
		if span := [2]int{w.start, w.end}; !slices.Contains(spans, span) {
			spans = append(spans, span)
		}
		count[w.field]++
		simple = simple && anyOf(nil, []Clause{w.clause}) != nil
	}
	for _, n := range count {
		simple = simple && (n == len(spans) || q.Mode != blockmax.And)
	}
	if !simple {
		cross := *q
		cross.Combine = CombineCross
		return cross.sameWord(words)
	}
	var all []Clause
	for _, span := range spans {
		c := Clause{kind: clauseCombined, boost: boost, combined: fields}
		for _, w := range words {
			if w.start == span[0] && w.end == span[1] {
				c.should = append(c.should, anyOf(nil, []Clause{w.clause})...)
			}
		}
		for i := range c.should {
			c.should[i].combined = fields
		}
		all = append(all, c)
	}
	if q.Mode == blockmax.And {
		return allClause(all), len(count)
	}
	return anyClause(all), len(count)
}

// A planCombined is a word of several fields of a plan.
type planCombined struct {
	fields  *combinedFields
	terms   []int // numbers of the plan's terms
	boost   float64
	repeats bool // its weight is that of another one: see scale

	// Found by combine:
	lists         []blockmax.CombinedTerm
	weights       []blockmax.CombinedField
	docs, docFreq uint64
	idf           float64
	table         *blockmax.Table
}

// collectCombined numbers a word of several fields. Where it does not score, it is an OR of its terms.
func (b *planner) collectCombined(c *Clause, scores bool) {
	b.collectAll(c.should, false)
	c.index = -1
	if !scores {
		return
	}
	w := planCombined{fields: c.combined, boost: c.boost * b.factor, repeats: b.repeats}
	for i := range c.should {
		w.terms = append(w.terms, c.should[i].index)
		b.terms[c.should[i].index].counts = true
	}
	same := func(o planCombined) bool { return o.boost == w.boost && slices.Equal(o.terms, w.terms) }
	if c.index = slices.IndexFunc(b.combined, same); c.index < 0 { // another version of the query may have it
		c.index = len(b.combined)
		b.combined = append(b.combined, w)
	}
}

// combine finds the statistics of the words of several fields, whose terms are weighed, and the tables of
// their lists.
func (b *planner) combine() {
	for i := range b.combined {
		w := &b.combined[i]
		tokens := 0.0
		for at, name := range w.fields.names {
			weight := w.fields.weights[at]
			w.weights = append(w.weights, blockmax.CombinedField{Number: b.lengthsOf(name), Weight: uint64(math.Round(weight * proximity.One))})
			t := slices.IndexFunc(b.terms, func(t planTerm) bool { return t.counts && t.field == name })
			if t < 0 {
				continue
			}
			w.docs = max(w.docs, b.terms[t].docs)
			tokens += float64(weight * float64(b.terms[t].table.Key().Avg*float64(b.terms[t].docs)))
		}
		for _, t := range w.terms {
			w.docFreq = max(w.docFreq, b.terms[t].docFreq)
		}
		w.idf = b.sim.IDF.Weight(w.docs, w.docFreq)
		average := 1.0
		if w.docs > 0 {
			average = tokens / float64(w.docs)
		}
		w.table = b.index.Table(b.withLengths(w.fields.names), b.sim, average)
		for _, t := range w.terms {
			term := &b.terms[t]
			field := slices.Index(w.fields.names, term.field)
			w.lists = append(w.lists, blockmax.CombinedTerm{Term: t, Field: field})
			term.weighted = w.table.Weighted(w.weights[field].Weight)
		}
	}
}

// withLengths returns the first of some fields that has lengths in the index, so that its table has them.
func (b *planner) withLengths(fields []string) string {
	for _, field := range fields {
		if _, tokens := b.index.Totals(field); tokens > 0 {
			return field
		}
	}
	return fields[0]
}

// lengthsOf returns the number of a field among those whose lengths are summed.
func (b *planner) lengthsOf(field string) int {
	i := slices.Index(b.lengths, field)
	if i < 0 {
		i = len(b.lengths)
		b.lengths = append(b.lengths, field)
	}
	return i
}

// combinedWeight returns the weight of a word of several fields before scaling.
func (b *planner) combinedWeight(w *planCombined) float64 {
	if b.alpha > 0 && w.docFreq == 0 {
		return 0
	}
	return w.boost * w.idf
}

// combinedNode returns the node of a word of several fields.
func (b *planner) combinedNode(c *Clause) blockmax.Node {
	if c.index < 0 {
		return blockmax.Node{Should: b.nodes(c.should)}
	}
	w := &b.combined[c.index]
	return blockmax.NewCombined(&blockmax.Combined{
		Terms: w.lists, Fields: w.weights, Table: w.table,
		Weight: b.ints[len(b.terms)+len(b.constants)+len(b.proximities)+c.index],
	})
}

// lengthsIn returns the lengths of the fields that are summed, in a segment.
func (b *planner) lengthsIn(number int) ([]blockmax.Lengths, error) {
	var out []blockmax.Lengths
	for _, field := range b.lengths {
		var l blockmax.Lengths
		if _, ok := b.index.Segment(number).Reader().Field(field); !ok {
			l.None = true
		} else {
			var err error
			if l.Norms, l.Lazy, err = b.index.Norms(number, field); err != nil {
				return nil, err
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// combined explains a word of several fields.
func (x *explainer) combined(n *blockmax.Combined) (*Explanation, uint32, error) {
	if err := n.Need(x.seg, []uint32{x.doc}); err != nil {
		return nil, 0, err
	}
	freq, names, docFreq, docs := uint64(0), []string{}, uint64(0), uint64(0)
	var parts []*Explanation
	for _, t := range n.Terms {
		term := &x.c.terms[t.Term]
		tf, err := x.frequency(&x.seg.Terms[t.Term])
		if err != nil {
			return nil, 0, err
		}
		weight := n.Fields[t.Field].Weight
		freq += weight * uint64(tf)
		docFreq, docs = max(docFreq, term.docFreq), max(docs, term.docs)
		name := fmt.Sprintf("%s:%s", document.ShortName(term.field), printable(term.term))
		names = append(names, name)
		parts = append(parts, &Explanation{Matches: tf > 0, Score: float64(tf), Text: fmt.Sprintf(
			"tf of %s, weight %g, n = %d of N = %d", name, float64(weight)/proximity.One, term.docFreq, term.docs)})
	}
	what := "combined(" + strings.Join(names, " ") + ")"
	if freq == 0 {
		return &Explanation{Text: what + " does not occur", Parts: parts}, 0, nil
	}
	code := n.Code(x.seg, x.doc)
	impact, score, key := n.Table.ImpactOf(freq, code), n.Score(freq, code), n.Table.Key()
	parts = append([]*Explanation{
		{Matches: true, Score: x.public(n.Weight), Text: fmt.Sprintf("weight = boost × idf (%v, n = %d, N: the greatest of the fields)", x.c.sim.IDF, docFreq)},
		{Matches: true, Score: float64(impact) / 65536, Text: fmt.Sprintf("impact = freq / (freq + k1(1 - b + b·len/avg)), freq = %.6g, len = %d, avg = %g, k1 = %g, b = %g",
			float64(freq)/proximity.One, blockmax.CodeLength(code), key.Avg, key.K1, key.B)},
	}, parts...)
	return &Explanation{Matches: true, Score: x.public(score), Text: what + " = weight × impact", Parts: parts}, score, nil
}
