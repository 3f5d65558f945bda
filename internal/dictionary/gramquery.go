package dictionary

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// A gramQuery is a condition on the trigrams of a term, which all terms that a pattern picks meet. The
// zero value is met by any term.
type gramQuery struct {
	grams []uint32      // all of them
	each  [][]gramQuery // of each, one
}

// any reports whether any term meets the condition.
func (q *gramQuery) any() bool { return len(q.grams) == 0 && len(q.each) == 0 }

// hasAll adds the trigrams of a literal, if it has three bytes.
func (q *gramQuery) hasAll(literal []byte) {
	for i := 2; i < len(literal); i++ {
		q.grams = append(q.grams, uint32(literal[i-2])<<16|uint32(literal[i-1])<<8|uint32(literal[i]))
	}
}

// maxEach bounds the alternatives of a condition: each takes as long as some trigrams.
const maxEach = 8

// hasOne adds the condition that one of some others is met.
func (q *gramQuery) hasOne(of []gramQuery) {
	for i := range of {
		if of[i].any() {
			return
		}
	}
	if len(q.each) >= maxEach { // enough conditions
		return
	}
	if len(of) == 1 {
		q.grams, q.each = append(q.grams, of[0].grams...), append(q.each, of[0].each...)
		return
	}
	q.each = append(q.each, of)
}

// narrow leaves those blocks in a set that may have a term which meets the condition.
func (q *gramQuery) narrow(x *gramIndex, set *gramSet) {
	for _, gram := range q.grams {
		if x.intersect(gram, set); *set == (gramSet{}) {
			return
		}
	}
	for _, of := range q.each {
		var union gramSet
		for i := range of {
			own := *set
			of[i].narrow(x, &own)
			for w := range union {
				union[w] |= own[w]
			}
		}
		*set = union
	}
}

// maxTexts and maxTextBytes bound the texts that a part of an expression is kept as.
const (
	maxTexts     = 64
	maxTextBytes = 16
)

// gramsOf returns the trigrams that terms have which an expression matches.
//
// Parts of the expression that match few texts, such as literals and small classes, are kept as these
// texts, also where some follow each other. Trigrams come from them when they grow too many.
func gramsOf(tree *syntax.Regexp) *gramQuery {
	p := gramPart(tree)
	p.flush()
	return &p.needs
}

// A textPart is what is known of a part of an expression: the condition that it sets, and the texts that
// it matches, if they are few.
type textPart struct {
	needs gramQuery
	texts []string // nil if not known
}

// flush makes a condition of the texts, and forgets them.
func (p *textPart) flush() {
	if p.texts == nil {
		return
	}
	of := make([]gramQuery, len(p.texts))
	for i, text := range p.texts {
		of[i].hasAll([]byte(text))
	}
	p.needs.hasOne(of)
	p.texts = nil
}

// follow adds the part after this one.
func (p *textPart) follow(next textPart) {
	p.needs.hasOne([]gramQuery{next.needs})
	if p.texts != nil && next.texts != nil && len(p.texts)*len(next.texts) <= maxTexts && longestOf(p.texts)+longestOf(next.texts) <= maxTextBytes {
		var texts []string
		for _, a := range p.texts {
			for _, b := range next.texts {
				texts = append(texts, a+b)
			}
		}
		p.texts = texts
		return
	}
	p.flush()
	p.texts = next.texts
}

func longestOf(texts []string) (n int) {
	for _, text := range texts {
		n = max(n, len(text))
	}
	return n
}

func gramPart(tree *syntax.Regexp) textPart {
	switch tree.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return textPart{texts: []string{""}}
	case syntax.OpLiteral:
		p := textPart{texts: []string{""}}
		for _, r := range tree.Rune {
			p.follow(textPart{texts: runeTexts(r, tree.Flags&syntax.FoldCase != 0)})
		}
		return p
	case syntax.OpCharClass:
		return textPart{texts: classTexts(tree.Rune)}
	case syntax.OpCapture:
		return gramPart(tree.Sub[0])
	case syntax.OpConcat:
		p := textPart{texts: []string{""}}
		for _, sub := range tree.Sub {
			p.follow(gramPart(sub))
		}
		return p
	case syntax.OpAlternate:
		return oneOf(tree.Sub)
	case syntax.OpPlus:
		p := gramPart(tree.Sub[0])
		p.flush()
		return p
	case syntax.OpQuest:
		if p := gramPart(tree.Sub[0]); p.texts != nil && p.needs.any() && len(p.texts) < maxTexts {
			return textPart{texts: append(p.texts, "")}
		}
	}
	return textPart{}
}

// oneOf is what is known of alternatives.
func oneOf(subs []*syntax.Regexp) (p textPart) {
	parts := make([]textPart, len(subs))
	few := true
	for i, sub := range subs {
		parts[i] = gramPart(sub)
		p.texts = append(p.texts, parts[i].texts...)
		few = few && parts[i].texts != nil && parts[i].needs.any() && len(p.texts) <= maxTexts
	}
	if few {
		return p
	}
	of := make([]gramQuery, len(parts))
	for i := range parts {
		parts[i].flush()
		of[i] = parts[i].needs
	}
	p = textPart{}
	p.needs.hasOne(of)
	return p
}

// runeTexts returns the texts that a character matches. Any byte that is not UTF-8 matches U+FFFD.
func runeTexts(r rune, fold bool) []string {
	if r == utf8.RuneError {
		return nil
	}
	texts := []string{string(r)}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		texts = append(texts, string(f))
	}
	return texts
}

// classTexts returns the texts that a class of characters matches, or nil if these are many.
func classTexts(ranges []rune) (texts []string) {
	for i := 0; i < len(ranges); i += 2 {
		if int(ranges[i+1]-ranges[i])+len(texts) >= maxTexts {
			return nil
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError {
				return nil
			}
			texts = append(texts, string(r))
		}
	}
	return texts
}
