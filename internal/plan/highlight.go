package plan

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/proximity"
	"github.com/riffle-search/riffle/segment"
)

// A Highlighter finds the places in the texts of a document that make it match a query. It works on
// clauses, so a query of a new kind is highlighted as soon as it can be rewritten. The texts are
// analysed again, each once for each field of the query that has its words.
//
// Places of terms and proximities count where their clause matches: those of a Bool's alternative only
// if all of the alternative does. That is decided by the texts at hand; what they cannot decide is
// taken to match. Nothing that must not match counts.
//
// Many goroutines may use a Highlighter at once.
type Highlighter struct {
	root   highlightNode
	fields []highlightField
}

// A highlightNode is a clause with numbered terms.
type highlightNode struct {
	kind  clauseKind
	field int
	terms []int              // in the field's terms, or ^number of a pattern: one of a clauseTerm, those of a proximity
	set   int                // clauseSet: in the field's patterns, or -1 if the set is no pattern
	group int                // clauseTerm, clauseSet, and clauseProximity beside those of its terms
	expr  *proximity.Expr    // clauseProximity
	words []int              // clauseProximity: groups, parallel to terms
	parts [4][]highlightNode // by Part
	min   int
}

// A highlightField is a field that the query names.
type highlightField struct {
	name     string
	typ      document.FieldType
	sources  []string          // fields with its values: itself, or those that it is a copy of
	analyzer analysis.Analyzer // nil if its values are terms as they are
	stored   bool              // a document without the field, as stored, has none
	needed   bool              // it decides which alternatives match

	terms    []string
	numbers  map[string]int // of terms
	patterns []termMatcher
}

// A Place is a word of a document that makes it match. Several places may be the same word, in different
// groups.
type Place struct {
	Source     string // field of the value
	Value      int    // number among the field's values
	Start, End int    // bytes of the value
	Term       string
	Position   int // in the value
	Group      int // words of the query: same group, same word
}

// Highlighter returns the highlighter of a clause.
func (rw *Rewriter) Highlighter(c Clause) (*Highlighter, error) {
	h := &Highlighter{}
	b := highlightBuilder{rw: rw, h: h, numbers: map[string]int{}, groups: map[string]int{}}
	root, err := b.node(&c)
	if err != nil {
		return nil, err
	}
	h.root = root
	h.need(&h.root, true)
	return h, nil
}

// Sources returns the fields whose values the highlighter looks at to find places in the fields that are
// shown, in order.
func (h *Highlighter) Sources(shown func(source string) bool) []string {
	sources := map[string]bool{}
	for i := range h.fields {
		if f := &h.fields[i]; f.reads(shown) {
			for _, s := range f.sources {
				sources[s] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(sources))
}

func (f *highlightField) reads(shown func(string) bool) bool {
	return f.needed || slices.ContainsFunc(f.sources, shown)
}

// A highlightBuilder makes a Highlighter.
type highlightBuilder struct {
	rw      *Rewriter
	h       *Highlighter
	numbers map[string]int // of fields
	groups  map[string]int
}

func (b *highlightBuilder) field(name string) (int, error) {
	if n, ok := b.numbers[name]; ok {
		return n, nil
	}
	s := b.rw.iv.Schema
	declared, known := s.Fields[name]
	f := highlightField{name: name, typ: declared.Type, sources: []string{name}, numbers: map[string]int{}}
	if len(declared.CopyFrom) > 0 {
		f.sources = slices.DeleteFunc(slices.Clone(declared.CopyFrom), func(from string) bool {
			return s.Fields[from].Type == document.DateField
		})
	}
	if b.rw.isText(name) {
		a, err := b.rw.iv.Analyzer(declared.Analyzer)
		if err != nil {
			return 0, Errorf("Query", "field %q: %w", name, err)
		}
		f.analyzer = a
	}
	f.stored = !slices.ContainsFunc(f.sources, func(source string) bool { return !s.StoresField(source) })
	if !known {
		f.typ = document.TextField
	}
	n := len(b.h.fields)
	b.numbers[name] = n
	b.h.fields = append(b.h.fields, f)
	return n, nil
}

// term returns the number of a term of a field.
func (b *highlightBuilder) term(field int, term string) int {
	f := &b.h.fields[field]
	n, ok := f.numbers[term]
	if !ok {
		n = len(f.terms)
		f.terms = append(f.terms, term)
		f.numbers[term] = n
	}
	return n
}

// pattern returns the number of a new pattern of a field.
func (b *highlightBuilder) pattern(field int, p *termPattern) int {
	f := &b.h.fields[field]
	f.patterns = append(f.patterns, p.Pattern)
	return len(f.patterns) - 1
}

func (b *highlightBuilder) group(kind, text string) int {
	key := kind + "\x00" + text
	n, ok := b.groups[key]
	if !ok {
		n = len(b.groups)
		b.groups[key] = n
	}
	return n
}

// wordGroup is the group of a term. The terms that a fuzzy word stands for are one word.
func (b *highlightBuilder) wordGroup(c *Clause) int {
	if c.blend > 0 {
		return b.group("blend", strconv.Itoa(c.blend))
	}
	return b.group("term", c.term)
}

func (b *highlightBuilder) node(c *Clause) (n highlightNode, err error) {
	n = highlightNode{kind: c.kind, set: -1, min: c.min}
	switch c.kind {
	case clauseTerm:
		if n.field, err = b.field(c.field); err != nil {
			return n, err
		}
		n.terms, n.group = []int{b.term(n.field, c.term)}, b.wordGroup(c)
		return n, nil
	case clauseSet:
		patterns := patternsOf(c.set)
		if len(patterns) > 1 {
			any := Clause{kind: clauseBool}
			for _, p := range patterns {
				any.should = append(any.should, Clause{kind: clauseSet, set: p})
			}
			return b.node(&any)
		}
		if len(patterns) == 0 {
			return n, nil
		}
		p := patterns[0]
		if n.field, err = b.field(p.field); err != nil {
			return n, err
		}
		n.set, n.group = b.pattern(n.field, p), b.group(p.kind, p.text)
		return n, nil
	case clauseProximity:
		if n.field, err = b.field(c.field); err != nil {
			return n, err
		}
		n.expr = c.together
		text := appendProximity(nil, c.together)
		for i := range c.must {
			if j := c.must[i].joined; j != nil {
				n.terms = append(n.terms, ^b.pattern(n.field, j.pattern))
			} else {
				n.terms = append(n.terms, b.term(n.field, c.must[i].term))
			}
			n.words = append(n.words, b.wordGroup(&c.must[i]))
			text = appendText(text, c.must[i].term)
		}
		n.group = b.group("together", string(text))
		return n, nil
	}
	if n := len(c.should); n == 2 && c.should[1].repeats {
		return b.node(&c.should[0].must[0]) // Boosting: what is demoted matches because of the same words
	}
	for part, clauses := range [...][]Clause{Must: c.must, Should: c.should, MustNot: c.not, Filter: c.filter} {
		for i := range clauses {
			sub, err := b.node(&clauses[i])
			if err != nil {
				return n, err
			}
			n.parts[part] = append(n.parts[part], sub)
		}
	}
	return n, nil
}

// need finds the fields that decide which alternatives match. certain says that the node matches all
// documents that will be highlighted.
func (h *Highlighter) need(n *highlightNode, certain bool) {
	should := n.parts[Should]
	others := len(n.parts[Must]) + len(n.parts[Filter]) + len(n.parts[MustNot])
	switch {
	case certain:
		for _, part := range [...]Part{Must, Filter} {
			for i := range n.parts[part] {
				h.need(&n.parts[part][i], true)
			}
		}
		for i := range should {
			h.need(&should[i], n.required() == len(should))
		}
	case others > 0 && others+len(should) > 1 || n.min > 1:
		h.needAll(n)
	default:
		for _, part := range n.parts {
			for i := range part {
				h.need(&part[i], false)
			}
		}
	}
}

func (h *Highlighter) needAll(n *highlightNode) {
	switch n.kind {
	case clauseTerm, clauseProximity:
		h.fields[n.field].needed = true
	case clauseSet:
		if n.set >= 0 {
			h.fields[n.field].needed = true
		}
	}
	for _, part := range n.parts {
		for i := range part {
			h.needAll(&part[i])
		}
	}
}

// required is how many of the Should parts must match.
func (n *highlightNode) required() int {
	if n.min == 0 && len(n.parts[Must])+len(n.parts[Filter]) == 0 {
		return 1
	}
	return n.min
}

// Places returns the places in the fields that are shown, by field, value and bytes. complete says that the document has all values that the index stores of it, and that it
// matches the query; otherwise a field without values may have some.
func (h *Highlighter) Places(values []document.Value, shown func(source string) bool, complete bool) []Place {
	d := highlightDoc{h: h, fields: make([]documentWords, len(h.fields))}
	for i := range h.fields {
		if h.fields[i].reads(shown) {
			d.read(i, values, complete)
		}
	}
	d.eval(&h.root, complete)
	var out []Place
	for _, f := range d.found {
		w := d.fields[f.field].words[f.word]
		if w.spot && shown(w.Source) {
			w.Group = f.group
			out = append(out, w.Place)
		}
	}
	slices.SortFunc(out, comparePlaces)
	return slices.Compact(out)
}

func comparePlaces(a, b Place) int {
	if c := strings.Compare(a.Source, b.Source); c != 0 {
		return c
	}
	for _, c := range [...]int{a.Value - b.Value, a.Start - b.Start, a.End - b.End, a.Position - b.Position} {
		if c != 0 {
			return c
		}
	}
	if c := strings.Compare(a.Term, b.Term); c != 0 {
		return c
	}
	return a.Group - b.Group
}

// A highlightDoc is a document that is compared with a query.
type highlightDoc struct {
	h       *Highlighter
	fields  []documentWords
	found   []foundWord
	matcher proximity.Matcher
}

// A foundWord is a word that counts, if the clauses around it match.
type foundWord struct{ field, word, group int }

// documentWords are the words of a document that may count in one field.
type documentWords struct {
	known    bool // there are no others
	words    []documentWord
	terms    [][]int // words by term, ascending
	patterns [][]int // words by pattern
	others   map[string]*otherTerm
}

// A documentWord is a place whose Group is not known, and its position in the field. It is no spot in a
// text if the value is a number, date or boolean.
type documentWord struct {
	Place
	at   uint32
	spot bool
}

// An otherTerm is a term that the query does not name, and the patterns that it matches.
type otherTerm struct {
	term     string
	patterns []int
}

// read finds the words of a field that may count. Positions are those of document.Inverter.
func (d *highlightDoc) read(number int, values []document.Value, complete bool) {
	f, w := &d.h.fields[number], &d.fields[number]
	w.terms, w.patterns = make([][]int, len(f.terms)), make([][]int, len(f.patterns))
	w.others = map[string]*otherTerm{}
	w.known = complete && f.stored
	next := uint64(0)
	copied := len(f.sources) != 1 || f.sources[0] != f.name
	for _, source := range f.sources {
		value := -1
		for i := range values {
			v := &values[i]
			if v.Name != source {
				continue
			}
			value++
			text := v.Kind == document.KindText
			if copied && !text {
				continue
			}
			w.known = true
			place := Place{Source: source, Value: value}
			if !text || f.analyzer == nil {
				d.addExact(number, v, place)
				continue
			}
			first := next
			if next > 0 {
				first += segment.PositionGap
			}
			analysis.AnalyzeString(f.analyzer, v.Str, func(batch []analysis.Token) {
				for i := range batch {
					t := &batch[i]
					at := first + uint64(t.Position)
					next = max(next, first+uint64(t.Next()))
					place.Start, place.End, place.Position = t.Start, t.End, t.Position
					d.add(number, t.Term, documentWord{place, uint32(min(at, math.MaxUint32)), true})
				}
			})
		}
	}
}

// addExact adds a value that is a term.
func (d *highlightDoc) addExact(number int, v *document.Value, p Place) {
	exact := *v
	if v.Kind == document.KindText && d.h.fields[number].typ == document.DateField {
		t, err := document.ParseTime(v.Str)
		if err != nil {
			return
		}
		exact = document.Time(v.Name, t)
	}
	p.End = len(v.Str)
	d.add(number, document.AppendTerm(nil, exact), documentWord{p, 0, exact.Kind == document.KindText && p.End > 0})
}

// add adds a word if it may count.
func (d *highlightDoc) add(number int, term []byte, word documentWord) {
	f, w := &d.h.fields[number], &d.fields[number]
	n, named := f.numbers[string(term)]
	switch {
	case len(f.patterns) > 0:
		other := w.others[string(term)]
		if other == nil {
			other = &otherTerm{term: string(term)}
			for i, p := range f.patterns {
				if p.Match(term) {
					other.patterns = append(other.patterns, i)
				}
			}
			w.others[other.term] = other
		}
		if !named && other.patterns == nil {
			return
		}
		word.Term = other.term
		for _, i := range other.patterns {
			w.patterns[i] = append(w.patterns[i], len(w.words))
		}
	case !named:
		return
	default:
		word.Term = f.terms[n]
	}
	if named {
		w.terms[n] = append(w.terms[n], len(w.words))
	}
	w.words = append(w.words, word)
}

// An answer says whether a clause matches a document.
type answer uint8

const (
	no answer = iota
	perhaps
	yes
)

// eval finds the words of a clause that count. certain says that the clause matches.
func (d *highlightDoc) eval(n *highlightNode, certain bool) answer {
	switch n.kind {
	case clauseTerm:
		return d.leaf(n, d.wordsOf(n, n.terms[0]))
	case clauseSet:
		if n.set < 0 {
			return perhaps
		}
		if p := d.fields[n.field].patterns; p != nil {
			return d.leaf(n, p[n.set])
		}
		return perhaps
	case clauseProximity:
		return d.together(n)
	case clauseAll:
		return yes
	case clauseConstant, clauseFunction:
		return d.eval(&n.parts[Must][0], certain)
	}
	before := len(d.found)
	answer := d.combine(n, certain)
	if answer == no {
		d.found = d.found[:before]
	}
	return answer
}

// combine is eval for a clauseBool.
func (d *highlightDoc) combine(n *highlightNode, certain bool) answer {
	out := yes
	for _, part := range [...]Part{Must, Filter} {
		for i := range n.parts[part] {
			a := d.eval(&n.parts[part][i], certain)
			if out = min(out, a); a == no && !certain {
				return no
			}
		}
	}
	required, sure, possible := n.required(), 0, 0
	all := certain && required == len(n.parts[Should])
	for i := range n.parts[Should] {
		switch d.eval(&n.parts[Should][i], all) {
		case yes:
			sure++
			possible++
		case perhaps:
			possible++
		}
	}
	if certain {
		return yes
	}
	switch {
	case possible < required:
		return no
	case sure < required:
		out = min(out, perhaps)
	}
	for i := range n.parts[MustNot] {
		before := len(d.found)
		a := d.eval(&n.parts[MustNot][i], false)
		d.found = d.found[:before]
		switch a {
		case yes:
			return no
		case perhaps:
			out = min(out, perhaps)
		}
	}
	return out
}

// wordsOf returns the words of a term, or of the pattern ^term.
func (d *highlightDoc) wordsOf(n *highlightNode, term int) []int {
	switch w := &d.fields[n.field]; {
	case w.terms == nil: // the field is not read
		return nil
	case term < 0:
		return w.patterns[^term]
	default:
		return w.terms[term]
	}
}

// none is the answer of a clause without words.
func (d *highlightDoc) none(n *highlightNode) answer {
	if d.fields[n.field].known {
		return no
	}
	return perhaps
}

func (d *highlightDoc) leaf(n *highlightNode, words []int) answer {
	for _, w := range words {
		d.found = append(d.found, foundWord{n.field, w, n.group})
	}
	if len(words) == 0 {
		return d.none(n)
	}
	return yes
}

// together is eval for a clauseProximity.
func (d *highlightDoc) together(n *highlightNode) answer {
	w := &d.fields[n.field]
	positions := make([][]uint32, len(n.terms))
	for i, term := range n.terms {
		for _, word := range d.wordsOf(n, term) {
			positions[i] = append(positions[i], w.words[word].at)
		}
	}
	before := len(d.found)
	d.matcher.Reset(n.expr)
	d.matcher.Words(positions, func(term int, position uint32) {
		words := d.wordsOf(n, n.terms[term])
		at, _ := slices.BinarySearch(positions[term], position)
		for ; at < len(words) && positions[term][at] == position; at++ {
			d.found = append(d.found, foundWord{n.field, words[at], n.words[term]}, foundWord{n.field, words[at], n.group})
		}
	})
	if len(d.found) == before {
		return d.none(n)
	}
	return yes
}
