package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// Clauses of very many terms, such as all words with a prefix, do not become a list each. Their
// documents are gathered as bits, segment by segment, and executors see them as one leaf of a tree
// without a score. The index caches those that come again, as it does filters, and those of many terms
// at once.

// A documentSet finds the documents of such a clause.
type documentSet interface {
	// appendText appends a description: clauses with the same one match the same documents. The fields that
	// they read are in it letter by letter, so that caches know which updates concern it.
	appendText(to []byte) []byte

	// documents adds the documents of a segment to set, and returns how many terms they come from.
	documents(m *filterMaker, segment int, set []uint64) (terms int, err error)

	fmt.Stringer
}

// setOf is the clause of a set inside a constant score.
func setOf(s documentSet, score float64) Clause {
	return Constant(Clause{kind: clauseSet, set: s}, score)
}

// A termPattern is the documents that have one of the terms of a field that a pattern picks.
type termPattern struct {
	field   string
	kind    string // "prefix", "wildcard" and so on
	text    string // of the pattern, as it is sought
	Pattern termMatcher
}

func (s *termPattern) appendText(to []byte) []byte {
	to = appendText(to, s.kind)
	to = appendText(to, s.field)
	return appendText(to, s.text)
}

func (s *termPattern) documents(m *filterMaker, number int, set []uint64) (terms int, err error) {
	u := segment.Union{Set: set}
	var cached []*cache.List
	u.Opened = func(term []byte) *postings.List {
		l := m.index.Cached(number, s.field, term)
		if l == nil {
			return nil
		}
		cached = append(cached, l)
		return l.Postings
	}
	err = m.index.Matching(number, s.field, s.Pattern, func(t *segment.Match) error {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		return u.Add(t)
	})
	m.index.Settle(number, number+1, cached)
	return u.Terms, err
}

func (s *termPattern) String() string { return fmt.Sprintf("%s:%s(%q)", s.field, s.kind, s.text) }

// A termMatcher is a pattern that can be compared with a single term, too.
type termMatcher interface {
	segment.Pattern
	Match(term []byte) bool
}

// A termRange is a segment.Pattern of all terms between two.
type termRange struct {
	from, to []byte // from <= term < to; to is nil for no end
}

func (r termRange) Range() (from, to []byte, all bool) { return r.from, r.to, true }

func (r termRange) Find(*dictionary.Dictionary, func(int) bool) {
	panic("BUG: a range needs no search")
}

func (r termRange) Match(term []byte) bool {
	return bytes.Compare(r.from, term) <= 0 && (r.to == nil || bytes.Compare(term, r.to) < 0)
}

// A termSearch is a segment.Pattern that is sought among the terms with a prefix.
type termSearch struct {
	prefix []byte
	find   func(d *dictionary.Dictionary, yield func(i int) bool)
	match  func(term []byte) bool
}

func (s termSearch) Range() (from, to []byte, all bool) { return s.prefix, nil, false }

func (s termSearch) Find(d *dictionary.Dictionary, yield func(int) bool) { s.find(d, yield) }

func (s termSearch) Match(term []byte) bool { return s.match(term) }

// upTo is a pattern without the terms after the last one that may count.
type upTo struct {
	Pattern termMatcher
	last    []byte
}

func (p upTo) Range() (from, to []byte, all bool) {
	from, to, all = p.Pattern.Range()
	if end := append(bytes.Clone(p.last), 0); to == nil || bytes.Compare(end, to) < 0 {
		to = end
	}
	return from, to, all
}

func (p upTo) Find(d *dictionary.Dictionary, yield func(int) bool) {
	end := d.Search(append(bytes.Clone(p.last), 0))
	p.Pattern.Find(d, func(i int) bool { return i >= end || yield(i) })
}

func (p upTo) Match(term []byte) bool {
	return bytes.Compare(term, p.last) <= 0 && p.Pattern.Match(term)
}

// termList is a segment.Pattern of given terms, which ascend.
type termList []string

func (termList) Range() (from, to []byte, all bool) { return nil, nil, false }

func (l termList) Find(d *dictionary.Dictionary, yield func(int) bool) {
	for _, term := range l {
		if i := d.Search([]byte(term)); i < d.Len() && string(d.Term(i)) == term && !yield(i) {
			return
		}
	}
}

func (l termList) Match(term []byte) bool {
	_, ok := slices.BinarySearch(l, string(term))
	return ok
}

// An idSet is the documents with some ids, which ascend.
type idSet []string

func (s idSet) appendText(to []byte) []byte {
	to = appendText(to, "ids")
	for _, id := range s {
		to = appendText(to, id)
	}
	return to
}

func (s idSet) documents(m *filterMaker, number int, set []uint64) (int, error) {
	for _, id := range s {
		doc, ok, err := m.index.Lookup(number, id)
		if err != nil {
			return 0, err
		}
		if ok {
			set[doc/64] |= 1 << (doc % 64)
		}
	}
	return 0, nil
}

func (s idSet) String() string { return fmt.Sprintf("ids(%s)", strings.Join(s, ", ")) }

// An existing is the documents that have a field.
type existing struct {
	field    string
	byColumn bool // a column has all of its values
	noTerms  bool // nothing else has
}

func (s *existing) appendText(to []byte) []byte {
	return appendText(appendText(to, "exists"), s.field)
}

func (s *existing) column() string {
	if s.byColumn {
		return s.field
	}
	return ""
}

func (s *existing) spans(*columns.Column) ([]columns.Span, bool, error) {
	return []columns.Span{{Lo: 0, Hi: ^uint64(0)}}, false, nil
}

func (s *existing) patterns() []*termPattern { return nil }

func (s *existing) documents(m *filterMaker, number int, set []uint64) (int, error) {
	if s.noTerms {
		return 0, nil
	}
	x := m.index
	if err := s.addPlaces(x, number, set); err != nil {
		return 0, err
	}
	info, ok := x.Segment(number).Reader().Field(s.field)
	if !ok {
		return 0, nil
	}
	if info.Norms {
		// A document without the field has length code 0. One whose field has no term may have
		// another one, so the codes are an answer only if their number is right.
		codes, lazy, err := x.Norms(number, s.field)
		if err == nil {
			err = lazy.NeedAll(uint32(len(codes)))
		}
		if err != nil {
			return 0, err
		}
		have := uint32(0)
		for doc, code := range codes {
			if code > 0 {
				set[doc/64] |= 1 << (doc % 64)
				have++
			}
		}
		if have == info.Docs && int(x.Segment(number).Reader().Docs()) == len(codes) {
			return 0, nil
		}
		clear(set)
		if err := s.addPlaces(x, number, set); err != nil {
			return 0, err
		}
	}
	all := termPattern{field: s.field, Pattern: termRange{}}
	_, err := all.documents(m, number, set)
	return 0, err
}

// addPlaces adds the documents with places, which have no terms.
func (s *existing) addPlaces(x Index, number int, set []uint64) error {
	c, err := x.Column(number, s.field)
	if err != nil || c == nil || c.Kind() != columns.Place && c.Kind() != columns.Terms {
		return err
	}
	var have [blockmax.TileDocs / 64]uint64
	for tile := range c.Tiles() {
		if _, err := c.Have(tile, &have); err != nil {
			return x.Segment(number).At(err)
		}
		of := set[tile*len(have):]
		for i := range min(len(of), len(have)) {
			of[i] |= have[i]
		}
	}
	return nil
}

func (s *existing) String() string { return s.field + " exists" }

// makeSets finds the documents of the clauses that are sets, segment by segment.
func (b *planner) makeSets() error {
	for _, s := range b.sets {
		if err := b.makeSet(s); err != nil {
			return err
		}
	}
	return nil
}

func (b *planner) makeSet(s documentSet) error {
	sets, _, err := b.documentsOf(s)
	b.setBits = append(b.setBits, sets...)
	return err
}

// documentsOf returns the documents of a set by segment. With Settings.Partial these may be fewer than
// the set's own; limited are then the patterns of their terms. Those that a column finds are made when they
// are needed, unless they come again.
func (b *planner) documentsOf(s documentSet) (sets []blockmax.Set, limited []*termPattern, err error) {
	m := &filterMaker{ctx: b.ctx, index: b.index, sim: b.sim}
	c := Clause{kind: clauseSet, set: s}
	text := c.setText()
	terms := 0
	var byTerms []int // segments
	for i := range b.index.Segments() {
		if err := b.ctx.Err(); err != nil {
			return nil, nil, err
		}
		f := b.index.Filter(i, text)
		if f == nil {
			tiles, _, ok, err := inColumn(b.index, s, i)
			if err != nil {
				return nil, nil, err
			}
			if ok && (tiles.Empty() || !b.index.UseFilter(i, text)) {
				sets = append(sets, tiles)
				continue
			}
			bits, n, err := m.bitsIn(s, i)
			if err != nil {
				return nil, nil, err
			}
			f = cache.NewTermsFilter(bits, b.index.Segment(i).Reader().Docs(), n)
			b.index.KeepFilter(i, text, f)
		}
		if f.Terms() > 0 {
			byTerms = append(byTerms, i)
		}
		bits, count := f.Documents()
		sets = append(sets, blockmax.Set{Bits: bits, Count: count})
		terms += f.Terms()
	}
	if b.mostTerms == 0 || terms <= b.mostTerms && b.gather == nil && b.traits == nil {
		return sets, nil, nil
	}
	if limited, err = b.limitTerms(patternsOf(s), byTerms, terms); err != nil || limited == nil {
		return sets, nil, err
	}
	for _, i := range byTerms {
		docs := b.index.Segment(i).Reader().Docs()
		set := make([]uint64, (docs+63)/64)
		if _, err := documentsOfTerms(limited, m, i, set); err != nil {
			return nil, nil, err
		}
		bits, count := cache.NewTermsFilter(set, docs, 0).Documents()
		sets[i] = blockmax.Set{Bits: bits, Count: count}
	}
	return sets, limited, nil
}

// patternsOf returns the patterns of the terms of a set.
func patternsOf(s documentSet) []*termPattern {
	switch s := s.(type) {
	case *termPattern:
		return []*termPattern{s}
	case columnSet:
		return s.patterns()
	}
	return nil
}

// limitTerms returns patterns without the terms of some segments that are beyond mostTerms, or nil if
// there are none. It is an error without Settings.Partial.
func (b *planner) limitTerms(patterns []*termPattern, segments []int, terms int) (limited []*termPattern, err error) {
	for i, p := range patterns {
		last, err := b.lastTerm(p, segments, terms)
		if err != nil {
			return nil, err
		}
		if last == nil {
			continue
		}
		if !b.partial {
			return nil, Errorf("Query", "%v stands for more than %d terms, the limit of Options.MaxTerms", p, b.mostTerms)
		}
		b.incomplete = true
		if limited == nil {
			limited = slices.Clone(patterns)
		}
		limited[i] = &termPattern{field: p.field, Pattern: upTo{p.Pattern, last}}
	}
	return limited, nil
}

// lastTerm returns the last term of a pattern that mostTerms admits, or nil if it admits all: by all
// indexes if it is known, or over some segments, in which the pattern's set has so many terms, added up.
// If several indexes are asked, it records how many there are, and then which, if they are too many.
func (b *planner) lastTerm(p *termPattern, segments []int, terms int) (last []byte, err error) {
	key := fmt.Sprintf("pattern %q %s %q", p.field, p.kind, p.text)
	known := b.traits.choice(key)
	if known != nil && known.Final {
		if cut := known.chosen(nil); len(cut) > 0 {
			return []byte(cut[0].Term), nil
		}
		return nil, nil
	}
	if b.gather.choice(key) != nil {
		return nil, nil // an equal part of the query has recorded it
	}
	if b.gather != nil && known == nil {
		if terms > b.mostTerms/mostParts || b.empty() {
			b.gather.addChoice(key, &Choice{Kind: choosePattern, Most: b.mostTerms, Terms: terms})
		}
		return nil, nil
	}
	if terms <= b.mostTerms && b.gather == nil {
		return nil, nil
	}
	found, err := b.termsOf(p, segments)
	if err != nil {
		return nil, err
	}
	if b.gather != nil {
		c := &Choice{Kind: choosePattern, Final: true, Most: b.mostTerms}
		for _, term := range found[:min(len(found), b.mostTerms+1)] {
			c.Candidates = append(c.Candidates, Candidate{Term: term})
		}
		b.gather.addChoice(key, c)
		return nil, nil
	}
	if len(found) <= b.mostTerms {
		return nil, nil
	}
	return []byte(found[b.mostTerms-1]), nil
}

// empty reports whether the index has no document. Then others may have all terms of a pattern.
func (b *planner) empty() bool {
	for i := range b.index.Segments() {
		if b.index.Segment(i).Reader().Docs() > 0 {
			return false
		}
	}
	return true
}

// termsOf returns the terms of a pattern in some segments, in the order of their bytes.
func (b *planner) termsOf(p *termPattern, segments []int) ([]string, error) {
	found := map[string]bool{}
	for _, i := range segments {
		err := b.index.Matching(i, p.field, p.Pattern, func(m *segment.Match) error {
			found[string(m.Term)] = true
			return b.ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// setsOf returns the sets of a segment: b.setBits has those of all segments for the first set, then
// for the second, and so on.
func (b *planner) setsOf(number int) (sets []blockmax.Set) {
	for i := range b.sets {
		sets = append(sets, b.setBits[i*b.index.Segments()+number])
	}
	return sets
}

// appendSetText describes the documents of a set clause.
func (c *Clause) appendSetText(to []byte) []byte {
	begin := len(to)
	return withLength(c.set.appendText(to), begin)
}
