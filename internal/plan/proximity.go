package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/proximity"
)

// A Phrase is riffle.Phrase.
type Phrase struct {
	Field    string
	Text     string
	Terms    [][]string
	Slop     int
	Analyzer string
}

// A Near is riffle.Near.
type Near struct {
	Field    string
	Phrases  []string
	Distance int
	Analyzer string
}

// Intervals are riffle.Intervals.
type Intervals struct {
	Field    string
	Rule     Interval
	Analyzer string
}

// An Interval is a rule of riffle.Intervals. Text is set for a text; otherwise Op is, and Rules.
type Interval struct {
	Op    proximity.Op // Ordered or Unordered of a text; Phrase for its words as a phrase
	Text  string
	Rules []Interval
	Max   int // as proximity.Expr.Max
}

// MaxSlop bounds slops, gaps, distances and positions of queries.
const MaxSlop = 1 << 20

// Validate reports what is wrong with a phrase on any index.
func (q *Phrase) Validate() error {
	switch {
	case q.Field == "":
		return Errorf("Phrase.Field", "is empty")
	case q.Text != "" && len(q.Terms) > 0:
		return Errorf("Phrase", "has both Text and Terms")
	case len(q.Terms) > 0 && q.Analyzer != "":
		return Errorf("Phrase.Analyzer", "goes with Text: Terms are as they are indexed")
	case len(q.Terms) > proximity.MaxParts:
		return Errorf("Phrase.Terms", "%d places, more than %d", len(q.Terms), proximity.MaxParts)
	case q.Slop < 0 || q.Slop > MaxSlop:
		return Errorf("Phrase.Slop", "must lie in 0 to %d, not %d", MaxSlop, q.Slop)
	}
	for i, place := range q.Terms {
		if slices.Contains(place, "") {
			return Errorf("Phrase.Terms", "place %d has an empty term", i)
		}
	}
	return nil
}

// Validate reports what is wrong with a near on any index.
func (q *Near) Validate() error {
	switch {
	case q.Field == "":
		return Errorf("Near.Field", "is empty")
	case len(q.Phrases) == 0:
		return Errorf("Near.Phrases", "is empty")
	case len(q.Phrases) > proximity.MaxParts:
		return Errorf("Near.Phrases", "%d phrases, more than %d", len(q.Phrases), proximity.MaxParts)
	case q.Distance < 0 || q.Distance > MaxSlop:
		return Errorf("Near.Distance", "must lie in 0 to %d, not %d", MaxSlop, q.Distance)
	}
	return nil
}

// A phraseBuilder makes an expression over the terms of a field.
type phraseBuilder struct {
	rw    *Rewriter
	part  string // of the query, for errors
	field string
	terms []string
	parts int
}

// word returns the expression of alternatives.
func (b *phraseBuilder) word(terms ...string) proximity.Expr {
	e := proximity.Expr{Op: proximity.Word}
	for _, term := range terms {
		t := slices.Index(b.terms, term)
		if t < 0 {
			t = len(b.terms)
			b.terms = append(b.terms, term)
		}
		if !slices.Contains(e.Terms, t) {
			e.Terms = append(e.Terms, t)
		}
	}
	return e
}

// clause returns the clause of an expression over the builder's terms. That of a single word needs no
// positions.
func (b *phraseBuilder) clause(e proximity.Expr, boost float64) (Clause, error) {
	for len(e.Parts) == 1 && e.Parts[0].Op != proximity.Repeat && (e.Op == proximity.Phrase || e.Op == proximity.Ordered || e.Op == proximity.Unordered || e.Op == proximity.Near || e.Op == proximity.Any) {
		e = e.Parts[0]
	}
	c := Clause{kind: clauseProximity, field: b.field, boost: boost, together: &e}
	for _, term := range b.terms {
		t, err := b.rw.term(b.field, term, boost)
		if err != nil {
			return Clause{}, err
		}
		c.must = append(c.must, t)
	}
	if e.Op == proximity.Word {
		var words []Clause
		for _, t := range e.Terms {
			words = append(words, c.must[t])
		}
		return anyClause(words), nil
	}
	if err := e.Check(len(b.terms)); err != nil {
		return Clause{}, Errorf(b.part, "%w", err)
	}
	return c, b.rw.checkPositions(b.part, b.field)
}

// checkPositions reports a field that has text without positions.
func (rw *Rewriter) checkPositions(part, field string) error {
	if rw.index == nil {
		return nil
	}
	if t, err := rw.traitsOf(field, aspectPositions); err != nil || t&lacksPositions == 0 {
		return err
	}
	return Errorf(part+".Field", "the index has text of field %q without positions, which phrases need; Reindex makes an index that has them", document.ShortName(field))
}

// analyseFor is analyse for another query than a Match.
func (rw *Rewriter) analyseFor(part, field, text, analyzer string) ([]queryToken, error) {
	tokens, err := rw.analyse(Match{Text: text, Analyzer: analyzer}, field)
	var e *Error
	if errors.As(err, &e) {
		err = &Error{Part: part + strings.TrimPrefix(e.Part, "Match"), Err: e.Err}
	}
	return tokens, err
}

// Phrase returns the clause of a phrase.
func (rw *Rewriter) Phrase(q Phrase, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	if err := rw.checkField("Phrase.Field", q.Field); err != nil {
		return Clause{}, err
	}
	b := &phraseBuilder{rw: rw, part: "Phrase", field: q.Field}
	if len(q.Terms) > 0 {
		e := proximity.Expr{Op: proximity.Phrase, Max: q.Slop}
		for i, place := range q.Terms {
			if len(place) > 0 {
				e.Parts, e.Offsets = append(e.Parts, b.word(place...)), append(e.Offsets, uint32(i))
			}
		}
		fromZero(&e)
		return b.orNothing(e, boost)
	}
	tokens, err := rw.analyseFor("Phrase", q.Field, q.Text, q.Analyzer)
	if err != nil {
		return Clause{}, err
	}
	paths, err := b.phrases(tokens)
	if err != nil {
		return Clause{}, err
	}
	var alternatives []Clause
	for _, e := range paths {
		if e.Max = q.Slop; len(paths) > 1 {
			b = &phraseBuilder{rw: rw, part: "Phrase", field: q.Field, terms: b.terms}
		}
		c, err := b.orNothing(e, boost)
		if err != nil {
			return Clause{}, err
		}
		alternatives = append(alternatives, c)
	}
	return DisMax(alternatives, 0), nil
}

// fromZero makes the offsets of a phrase begin at 0.
func fromZero(e *proximity.Expr) {
	for i := len(e.Offsets) - 1; i >= 0; i-- {
		e.Offsets[i] -= e.Offsets[0]
	}
}

// orNothing is clause, but an expression without parts matches nothing.
func (b *phraseBuilder) orNothing(e proximity.Expr, boost float64) (Clause, error) {
	if len(e.Parts) == 0 {
		return Clause{kind: clauseBool}, nil
	}
	return b.clause(e, boost)
}

// maxPaths bounds the phrases that a text with synonyms of several words stands for.
const maxPaths = 64

// phrases returns the phrases that a text stands for: one, unless it has a synonym of several words.
// Places of dropped words stay empty.
func (b *phraseBuilder) phrases(tokens []queryToken) ([]proximity.Expr, error) {
	if len(tokens) > proximity.MaxParts {
		return nil, Errorf(b.part, "%d words, more than %d", len(tokens), proximity.MaxParts)
	}
	for i := range tokens {
		if tokens[i].next > tokens[i].position+1 {
			var out []proximity.Expr
			err := b.paths(&out, proximity.Expr{Op: proximity.Phrase}, tokens, 0, 0)
			return out, err
		}
	}
	e := proximity.Expr{Op: proximity.Phrase}
	for i := 0; i < len(tokens); {
		var place []string
		at := tokens[i].position
		for ; i < len(tokens) && tokens[i].position == at; i++ {
			place = append(place, tokens[i].term)
		}
		e.Parts, e.Offsets = append(e.Parts, b.word(place...)), append(e.Offsets, uint32(at))
	}
	fromZero(&e)
	return []proximity.Expr{e}, nil
}

// paths appends the phrases that begin with the given one and go on with the token at number at, or
// with another one at its position. offset is that of the token.
func (b *phraseBuilder) paths(out *[]proximity.Expr, before proximity.Expr, tokens []queryToken, at int, offset uint32) error {
	for i := at; i < len(tokens) && tokens[i].position == tokens[at].position; i++ {
		e := before
		e.Parts = append(slices.Clip(e.Parts), b.word(tokens[i].term))
		e.Offsets = append(slices.Clip(e.Offsets), offset)
		next := i + 1
		for next < len(tokens) && tokens[next].position < tokens[i].next {
			next++
		}
		if next < len(tokens) {
			if err := b.paths(out, e, tokens, next, offset+1+uint32(tokens[next].position-tokens[i].next)); err != nil {
				return err
			}
			continue
		}
		if len(*out) == maxPaths {
			return Errorf(b.part, "its synonyms make more than %d phrases", maxPaths)
		}
		*out = append(*out, e)
	}
	return nil
}

// Near returns the clause of a near.
func (rw *Rewriter) Near(q Near, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	if err := rw.checkField("Near.Field", q.Field); err != nil {
		return Clause{}, err
	}
	b := &phraseBuilder{rw: rw, part: "Near", field: q.Field}
	e := proximity.Expr{Op: proximity.Near, Max: q.Distance}
	for _, text := range q.Phrases {
		tokens, err := rw.analyseFor("Near", q.Field, text, q.Analyzer)
		if err != nil {
			return Clause{}, err
		}
		paths, err := b.phrases(tokens)
		switch {
		case err != nil:
			return Clause{}, err
		case len(paths) > 1:
			return Clause{}, Errorf("Near.Phrases", "%q has a synonym of several words", text)
		case len(paths[0].Parts) == 0: // the analyzer drops all of it
		case len(paths[0].Parts) == 1:
			e.Parts = append(e.Parts, paths[0].Parts[0])
		default:
			e.Parts = append(e.Parts, paths[0])
		}
	}
	return b.orNothing(e, boost)
}

// Intervals returns the clause of intervals.
func (rw *Rewriter) Intervals(q Intervals, boost float64) (Clause, error) {
	if q.Field == "" {
		return Clause{}, Errorf("Intervals.Field", "is empty")
	}
	if err := rw.checkField("Intervals.Field", q.Field); err != nil {
		return Clause{}, err
	}
	b := &phraseBuilder{rw: rw, part: "Intervals", field: q.Field}
	e, some, err := b.interval(&q.Rule, q.Analyzer)
	if err != nil {
		return Clause{}, err
	}
	if !some {
		return Clause{kind: clauseBool}, nil
	}
	return b.clause(e, boost)
}

// interval returns the expression of a rule. some is false if it matches nothing, because texts have no
// words.
func (b *phraseBuilder) interval(r *Interval, analyzer string) (e proximity.Expr, some bool, err error) {
	if b.parts++; b.parts > proximity.MaxParts {
		return e, false, Errorf(b.part, "more than %d rules", proximity.MaxParts)
	}
	if len(r.Rules) == 0 {
		return b.textInterval(r, analyzer)
	}
	e = proximity.Expr{Op: r.Op, Max: r.Max}
	for i := range r.Rules {
		part, some, err := b.interval(&r.Rules[i], analyzer)
		switch {
		case err != nil:
			return e, false, err
		case some:
			e.Parts = append(e.Parts, part)
		case r.Op == proximity.NotContaining && i == 1 || r.Op == proximity.Any:
			// nothing is contained, and nothing is an alternative
		default:
			return e, false, nil
		}
	}
	switch {
	case len(e.Parts) == 0:
		return e, false, nil
	case r.Op == proximity.NotContaining && len(e.Parts) == 1:
		return e.Parts[0], true, nil
	case r.Op == proximity.Unordered:
		e.Parts = repeated(e.Parts)
	}
	return e, true, nil
}

// textInterval returns the expression of a rule that is a text.
func (b *phraseBuilder) textInterval(r *Interval, analyzer string) (e proximity.Expr, some bool, err error) {
	tokens, err := b.rw.analyseFor(b.part, b.field, r.Text, analyzer)
	if err != nil {
		return e, false, err
	}
	paths, err := b.phrases(tokens)
	if err != nil {
		return e, false, err
	}
	any := proximity.Expr{Op: proximity.Any}
	for _, p := range paths {
		if r.Op != proximity.Phrase {
			p.Op, p.Offsets, p.Max = r.Op, nil, r.Max
		}
		if r.Op == proximity.Unordered {
			p.Parts = repeated(p.Parts)
		}
		if len(p.Parts) == 1 && p.Parts[0].Op == proximity.Word {
			p = p.Parts[0]
		}
		if len(p.Parts) > 0 || p.Op == proximity.Word {
			any.Parts = append(any.Parts, p)
		}
	}
	if len(any.Parts) == 1 {
		return any.Parts[0], true, nil
	}
	return any, len(any.Parts) > 0, nil
}

// repeated makes parts that are the same one that must match as often: else they would all match at the
// same place.
func repeated(parts []proximity.Expr) (out []proximity.Expr) {
	counts := make(map[string]int, len(parts))
	for i := range parts {
		counts[fmt.Sprint(parts[i])]++
	}
	for _, p := range parts {
		text := fmt.Sprint(p)
		switch n := counts[text]; {
		case n > 1:
			out = append(out, proximity.Expr{Op: proximity.Repeat, Max: n, Parts: []proximity.Expr{p}})
		case n == 1:
			out = append(out, p)
		}
		delete(counts, text)
	}
	return out
}

// A planProximity is a proximity of a plan.
type planProximity struct {
	expr   *proximity.Expr
	terms  []int // numbers of the plan's terms
	boost  float64
	scores bool

	repeats bool // its weight is that of another one: see scale

	pairs *phrasePairs // that answer it in some segments, or nil
}

// collectProximity numbers a proximity.
func (b *planner) collectProximity(c *Clause, scores bool) {
	b.collectAll(c.must, false)
	p := planProximity{expr: c.together, boost: c.boost * b.factor, scores: scores, repeats: b.repeats}
	for i := range c.must {
		p.terms = append(p.terms, c.must[i].index)
		if scores {
			b.terms[c.must[i].index].counts = true
		}
	}
	c.index = b.proximity
	if b.proximity++; b.proximity > len(b.proximities) {
		b.proximities = append(b.proximities, p)
		b.collectPairs(c)
	}
}

// proximityWeight returns the weight of a proximity before scaling: its boost times the sum of the idfs
// of its words, each as often as it occurs. Of alternatives the most frequent one counts.
func (b *planner) proximityWeight(p *planProximity) float64 {
	idf, possible := b.idfOf(p, p.expr)
	if !p.scores || b.alpha > 0 && !possible {
		return 0
	}
	return p.boost * idf
}

func (b *planner) idfOf(p *planProximity, e *proximity.Expr) (idf float64, possible bool) {
	if e.Op == proximity.Word {
		for i, t := range e.Terms {
			term := &b.terms[p.terms[t]]
			if i == 0 || term.idf < idf {
				idf = term.idf
			}
			possible = possible || term.docFreq > 0
		}
		return idf, possible
	}
	for i := range e.Parts {
		x, ok := b.idfOf(p, &e.Parts[i])
		switch {
		case i == 0:
			idf, possible = x, ok
		case e.Op == proximity.NotContaining:
		case e.Op == proximity.Any:
			idf, possible = min(idf, x), possible || ok
		default:
			idf, possible = idf+x, possible && ok
		}
	}
	if e.Op == proximity.Repeat {
		idf *= float64(e.Max)
	}
	return idf, possible
}

// proximityNode returns the node of a proximity.
func (b *planner) proximityNode(c *Clause) blockmax.Node {
	p := &b.proximities[c.index]
	weight := b.ints[len(b.terms)+len(b.constants)+c.index]
	if p.pairs == nil {
		return blockmax.NewProximity(&blockmax.Proximity{Expr: p.expr, Terms: p.terms, Weight: weight})
	}
	pairs := p.pairs.node(weight)
	if !p.pairs.some {
		return pairs
	}
	words := blockmax.NewProximity(&blockmax.Proximity{Expr: p.expr, Terms: p.terms, Weight: weight})
	return blockmax.Node{Should: []blockmax.Node{pairs, words}, Either: true}
}

// appendProximity appends a description of a proximity, without its field and terms.
func appendProximity(to []byte, e *proximity.Expr) []byte { return fmt.Append(to, *e) }
