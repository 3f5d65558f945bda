package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/document"
)

// A queryToken is a term of a match's text in one field.
type queryToken struct {
	term           string
	position, next int  // see analysis.Token
	start, end     int  // bytes of the text
	open           bool // term is the name of a joined term, of those that begin with a word: see openEnded
}

// matchWords are the clauses of a match's words.
type matchWords struct {
	required []Clause // required under And
	optional []Clause // words that the analyzer of one of the fields drops
	whole    []Clause // fields that match the whole text or nothing: alternatives to the words
}

// A textWord is a span of a match's text, with its clause in one field.
type textWord struct {
	field      int
	start, end int // bytes of the text
	clause     Clause
}

// oneField makes a clause of each word of a match in one field. A word that the text repeats is one
// clause with several times the boost.
func (rw *Rewriter) oneField(q Match, field string, boost float64) (m matchWords, err error) {
	tokens, err := rw.analyse(q, field)
	if err != nil {
		return m, err
	}
	boost *= q.boost(field)
	if q.Mode != blockmax.And || !hasAlternatives(tokens) {
		m.required = make([]Clause, 0, len(tokens))
		for i := range tokens {
			c, err := rw.term(field, tokens[i].term, boost)
			if err != nil {
				return m, err
			}
			m.required = append(m.required, c)
		}
		if q.MinShould == 0 {
			m.required = mergeRepeats(m.required)
		}
		return m, nil
	}
	words, err := rw.words(nil, 0, tokens, field, boost)
	for i := range words {
		m.required = append(m.required, words[i].clause)
	}
	return m, err
}

func hasAlternatives(tokens []queryToken) bool {
	for i := 1; i < len(tokens); i++ {
		if tokens[i].position < tokens[i-1].next {
			return true
		}
	}
	return false
}

// words appends the words of one field. A token that no other token spans is a word of its own.
// Tokens that a synonym of several words spans are one word together.
func (rw *Rewriter) words(words []textWord, number int, tokens []queryToken, field string, boost float64) ([]textWord, error) {
	for len(tokens) > 0 {
		n, reach := 0, tokens[0].next
		w := textWord{field: number, start: tokens[0].start}
		for n < len(tokens) && (n == 0 || tokens[n].position < reach) {
			reach = max(reach, tokens[n].next)
			w.end = max(w.end, tokens[n].end)
			n++
		}
		paths, err := rw.paths(nil, nil, tokens[:n], 0, field, boost)
		if err != nil {
			return nil, err
		}
		w.clause = anyClause(paths)
		words = append(words, w)
		tokens = tokens[n:]
	}
	return words, nil
}

// paths appends a clause for each path through the tokens from number at on. It requires all terms
// of the path, and those in before.
func (rw *Rewriter) paths(out, before []Clause, tokens []queryToken, at int, field string, boost float64) ([]Clause, error) {
	for i := at; i < len(tokens) && tokens[i].position == tokens[at].position; i++ {
		c, err := rw.word(field, &tokens[i], boost)
		if err != nil {
			return nil, err
		}
		path := append(slices.Clip(before), c)
		next := i + 1
		for next < len(tokens) && tokens[next].position < tokens[i].next {
			next++
		}
		if next == len(tokens) {
			out = append(out, allClause(path))
			continue
		}
		if out, err = rw.paths(out, path, tokens, next, field, boost); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// allClause requires all of some clauses, and anyClause one of them.
func allClause(cs []Clause) Clause {
	if len(cs) == 1 {
		return cs[0]
	}
	return Clause{kind: clauseBool, must: cs}
}

func anyClause(cs []Clause) Clause {
	if len(cs) == 1 {
		return cs[0]
	}
	return Clause{kind: clauseBool, should: cs}
}

// severalFields makes a clause of each word, which may occur in any of the fields. The text is
// analysed once for each field, and words from the same characters are the same word.
func (rw *Rewriter) severalFields(q Match, fields []string, boost float64) (m matchWords, err error) {
	var words []textWord
	analysed := 0 // fields with words
	combined := new(combinedFields)
	var unread error
	for number, field := range fields {
		outer, weight := boost, q.boost(field)
		boost := boost * weight
		tokens, err := rw.analyse(q, field)
		if err != nil && !rw.isText(field) {
			unread = err // a text that is no number cannot match a field of numbers
			continue
		}
		if err != nil {
			return m, err
		}
		if len(tokens) == 0 {
			continue
		}
		if !rw.isText(field) {
			c, err := rw.term(field, tokens[0].term, boost)
			if err != nil {
				return m, err
			}
			m.whole = append(m.whole, c)
			continue
		}
		analysed++
		if q.Combine == CombineBM25F {
			boost = outer
			combined.names, combined.weights = append(combined.names, field), append(combined.weights, weight)
		}
		if q.Mode != blockmax.And {
			for i := range tokens {
				c, err := rw.term(field, tokens[i].term, boost)
				if err != nil {
					return m, err
				}
				words = append(words, textWord{number, tokens[i].start, tokens[i].end, c})
			}
			continue
		}
		if words, err = rw.words(words, number, tokens, field, boost); err != nil {
			return m, err
		}
	}
	whole := len(m.whole)
	if analysed+whole == 0 {
		return m, unread
	}
	if q.Mode == blockmax.And {
		words = m.takeWhole(words)
		analysed -= len(m.whole) - whole
	}
	slices.SortStableFunc(words, func(a, b textWord) int { return cmp.Compare(a.start, b.start) })
	for len(words) > 0 {
		n, reach := 0, words[0].end
		for n < len(words) && words[n].start < reach {
			reach = max(reach, words[n].end)
			n++
		}
		var word Clause
		in := 0
		if q.Combine == CombineBM25F {
			word, in = q.combinedWord(words[:n], combined, boost)
		} else {
			word, in = q.sameWord(words[:n])
		}
		if in == analysed {
			m.required = append(m.required, word)
		} else {
			m.optional = append(m.optional, word)
		}
		words = words[n:]
	}
	if len(m.required) == 0 { // each analyzer drops what another one keeps
		m.required, m.optional = m.optional, nil
	}
	return m, nil
}

// takeWhole takes out the words that cover a whole text, in which another analyzer finds several
// words. Those of keywords do.
func (m *matchWords) takeWhole(words []textWord) []textWord {
	count, most := map[int]int{}, 0
	start, end := math.MaxInt, 0
	for _, w := range words {
		count[w.field]++
		most = max(most, count[w.field])
		start, end = min(start, w.start), max(end, w.end)
	}
	if most < 2 {
		return words
	}
	return slices.DeleteFunc(words, func(w textWord) bool {
		if count[w.field] > 1 || w.start > start || w.end < end {
			return false
		}
		m.whole = append(m.whole, w.clause)
		return true
	})
}

// sameWord makes one clause of words from the same characters, and counts their fields. A field
// matches if it has all of its own words there.
func (q *Match) sameWord(words []textWord) (c Clause, fields int) {
	slices.SortStableFunc(words, func(a, b textWord) int { return cmp.Compare(a.field, b.field) })
	var alternatives []Clause
	for begin := 0; begin < len(words); fields++ {
		end := begin
		var own []Clause
		for ; end < len(words) && words[end].field == words[begin].field; end++ {
			own = append(own, words[end].clause)
		}
		switch {
		case q.Mode == blockmax.And:
			alternatives = append(alternatives, allClause(own))
		case q.Combine == CombineCross:
			alternatives = append(alternatives, anyClause(own))
		default:
			alternatives = append(alternatives, own...)
		}
		begin = end
	}
	if q.Combine == CombineCross {
		return q.bestClause(alternatives), fields
	}
	return anyClause(alternatives), fields
}

// bestClause requires one of some clauses; the best one scores.
func (q *Match) bestClause(cs []Clause) Clause {
	return DisMax(cs, q.Tie)
}

// bestField makes a clause of each field: a document matches if one field matches alone.
func (rw *Rewriter) bestField(q Match, fields []string, boost float64) (Clause, error) {
	var alternatives []Clause
	var unread error
	for _, field := range fields {
		m, err := rw.oneField(q, field, boost)
		switch {
		case err != nil && !rw.isText(field):
			unread = err // a text that is no number cannot match a field of numbers
		case err != nil:
			return Clause{}, err
		case len(m.required) == 0:
		default:
			alternatives = append(alternatives, q.require(m.required))
		}
	}
	if len(alternatives) == 0 {
		return Clause{kind: clauseBool}, unread // matches nothing
	}
	return q.bestClause(alternatives), nil
}

// analyse returns the tokens of a match's text in one field. They are lent until the next call.
func (rw *Rewriter) analyse(q Match, field string) ([]queryToken, error) {
	f, declared := rw.iv.Schema.Fields[field]
	if !rw.isText(field) {
		if declared && f.Type == document.PlaceField {
			return nil, Errorf("Match.Field", "field %q has places, which have no words", field)
		}
		v := document.Text(field, q.Text)
		var err error
		if declared {
			v, err = parseAs(f.Type, field, q.Text)
		} else {
			v = rw.asIndexed(field, v)
		}
		if err != nil {
			return nil, Errorf("Match.Text", "field %q: %w", field, err)
		}
		rw.tokens = append(rw.tokens[:0], queryToken{term: string(document.AppendTerm(nil, v)), next: 1, end: len(q.Text)})
		return rw.tokens, nil
	}
	name := f.Analyzer
	if q.Analyzer != "" {
		name = q.Analyzer
	}
	a, err := rw.iv.Analyzer(name)
	if err != nil {
		return nil, Errorf("Match.Analyzer", "%w", err)
	}
	if rw.emit == nil {
		rw.emit = rw.take
	}
	clear(rw.tokens) // or pieces of another text might remain after those of this one
	rw.tokens, rw.text = rw.tokens[:0], q.Text
	analysis.AnalyzeString(a, q.Text, rw.emit)
	return rw.tokens, nil
}

// take keeps the tokens of a batch. Most terms are slices of the text, which avoids allocating a
// string.
func (rw *Rewriter) take(batch []analysis.Token) {
	if len(rw.tokens) > MaxClauses {
		return
	}
	for i := range batch {
		t := &batch[i]
		term := rw.text[t.Start:t.End]
		if term != string(t.Term) {
			term = string(t.Term)
		}
		rw.tokens = append(rw.tokens, queryToken{term: term, position: t.Position, next: t.Next(), start: t.Start, end: t.End})
	}
}

// forget drops references to the text.
func (rw *Rewriter) forget() {
	clear(rw.tokens)
	rw.text, rw.index, rw.gather, rw.outside, rw.numbers = "", nil, nil, nil, nil
}
