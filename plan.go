package riffle

import (
	"context"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/segment"
)

type plan = blockmax.Plan

// A compiled query is a plan and what is needed to turn its hits back into
// documents and explanations.
type compiled struct {
	plan  plan
	terms []planTerm // parallel to plan.Weights
	scale float64    // public score = integer score / scale
	sim   BM25
	alpha float64 // of the static rank; 0 when it does not count
}

// A planTerm is one term of a plan, with its statistics over the whole view.
type planTerm struct {
	field, term string
	boost       float64
	docs        uint64 // N: documents that have the field
	docFreq     uint64 // n: documents that have the term
	idf         float64
	weight      float64 // boost × idf, before scaling
	table       *blockmax.Table
}

// A shape is what a query comes down to: words in a flat mode, filtered, or else
// a tree.
type shape struct {
	words  []clause // clauseTerm each; empty when tree is set
	mode   Mode
	filter []clause
	not    []clause
	tree   *clause
}

// shapeOf finds the flat core of a clause. Flat plans have the fastest algorithms;
// everything else runs as a tree.
func shapeOf(c clause) (shape, error) {
	s := shape{}
	core := &c
	for core.kind == clauseBool && len(core.must) == 1 && len(core.should) == 0 && core.must[0].kind != clauseConstant {
		s.filter = append(s.filter, core.filter...)
		s.not = append(s.not, core.not...)
		core = &core.must[0]
	}
	switch {
	case core.kind == clauseTerm:
		s.words = []clause{*core}
	case core.kind != clauseBool:
	case core.andOr && allTerms(core.should):
		s.words, s.mode = core.should, AndOr
	case len(core.must) > 0 && len(core.should) == 0 && allTerms(core.must):
		s.words, s.mode = core.must, And
	case !core.andOr && len(core.must) == 0 && (core.min == 1 || core.min == 0 && len(core.filter) == 0):
		s.words = anyOf(nil, core.should)
	}
	if s.words == nil {
		if hasAndOr(&c) {
			return s, queryErrorf("Match.Mode", "AndOr works on one field, alone or with Must, Filter and MustNot around it")
		}
		return shape{tree: &c}, nil
	}
	if core.kind == clauseBool {
		s.filter = append(s.filter, core.filter...)
		s.not = append(s.not, core.not...)
	}
	s.words = mergeRepeats(s.words)
	return s, nil
}

// anyOf returns the terms of alternatives that are terms or themselves nothing but
// alternatives, or nil when one of them is something else.
func anyOf(words, alternatives []clause) []clause {
	for i := range alternatives {
		switch c := &alternatives[i]; {
		case c.kind == clauseTerm:
			words = append(words, *c)
		case c.kind == clauseBool && !c.andOr && c.min <= 1 && len(c.should) > 0 && len(c.must)+len(c.filter)+len(c.not) == 0:
			if words = anyOf(words, c.should); words == nil {
				return nil
			}
		default:
			return nil
		}
	}
	return words
}

func allTerms(cs []clause) bool {
	return !slices.ContainsFunc(cs, func(c clause) bool { return c.kind != clauseTerm })
}

func hasAndOr(c *clause) bool {
	if c.andOr {
		return true
	}
	for _, list := range [][]clause{c.must, c.should, c.not, c.filter} {
		for i := range list {
			if hasAndOr(&list[i]) {
				return true
			}
		}
	}
	return false
}

// mergeRepeats adds up the boosts of words that occur several times, in place.
func mergeRepeats(words []clause) []clause {
	out := words[:0]
	index := map[string]int(nil) // only for queries so long that a scan would be slower
	if len(words) > 32 {
		index = make(map[string]int, len(words))
	}
	for _, w := range words {
		i := -1
		if index == nil {
			i = slices.IndexFunc(out, func(o clause) bool { return o.field == w.field && o.term == w.term })
		} else if j, ok := index[w.field+"\x00"+w.term]; ok {
			i = j
		}
		if i >= 0 {
			out[i].boost += w.boost
			continue
		}
		if index != nil {
			index[w.field+"\x00"+w.term] = len(out)
		}
		out = append(out, w)
	}
	return out
}

// compile turns a clause into a plan over a view. The plan is b's, and lacks K and After.
func (v *view) compile(ctx context.Context, b *planner, c clause, o *searchSettings) (*compiled, error) {
	s, err := shapeOf(c)
	if err != nil {
		return nil, err
	}
	b.begin(ctx, v, o)
	if s.tree != nil {
		b.collect(s.tree, true)
	} else {
		for i := range s.words {
			b.collect(&s.words[i], true)
		}
	}
	q, err := b.finish()
	if err != nil {
		return nil, err
	}
	if s.tree != nil {
		n := b.node(s.tree)
		q.plan.Tree = &n
		return q, nil
	}
	q.plan.Mode = s.mode
	if len(s.filter)+len(s.not) > 0 {
		err = v.restrict(ctx, &q.plan, s, o)
	}
	return q, err
}

// restrict narrows the accepted documents of a flat plan to those that its
// filters let through.
func (v *view) restrict(ctx context.Context, p *plan, s shape, o *searchSettings) error {
	c := clause{kind: clauseBool, filter: s.filter, not: s.not}
	if len(c.filter) == 0 {
		c.filter = []clause{{kind: clauseAll}}
	}
	b := new(planner)
	b.begin(ctx, v, &searchSettings{sim: o.sim})
	b.collect(&c, false)
	q, err := b.finish()
	if err != nil {
		return err
	}
	defer v.e.lists.Settle(b.lists)
	n := b.node(&c)
	q.plan.K = 1
	for i := range p.Segments {
		bits, err := cpuexec.Matches(ctx, &q.plan, i, &n)
		if err != nil {
			return v.segs[i].home.at(err)
		}
		for j, w := range p.Segments[i].Accept {
			bits[j] &= w // documents that are not deleted
		}
		p.Segments[i].Accept = bits
	}
	return nil
}

// A planner turns the terms of a clause into the lists and weights of a plan: it
// collects them, looks them up in every segment, weighs and scales them, and then
// makes the nodes of a tree. It makes one plan after the other, in the same memory.
type planner struct {
	ctx   context.Context
	view  *view
	sim   BM25
	alpha float64

	terms     []planTerm
	scored    []bool    // parallel to terms: whether the term scores
	constants []float64 // scores of constant clauses
	ints      []uint32  // after finish: integer weights of terms, then of constants

	lists    []*cache.List // of all terms in the first segment, then of all in the second, and so on
	weights  []float64     // what ints are made from
	entries  []blockmax.Term
	segments []blockmax.Segment
	out      compiled
}

// begin makes the planner ready for another plan, on a view.
func (b *planner) begin(ctx context.Context, v *view, s *searchSettings) {
	b.ctx = ctx
	b.view, b.sim, b.alpha = v, s.sim, s.alpha
	b.terms, b.scored, b.constants = b.terms[:0], b.scored[:0], b.constants[:0]
}

// forget drops what belongs to the view.
func (b *planner) forget() {
	b.ctx, b.view, b.out = nil, nil, compiled{}
	clear(b.terms)
	clear(b.lists)
	b.lists = b.lists[:0] // the next query may fail before it has any
	clear(b.entries)
	clear(b.segments)
}

// collect numbers the terms and constants below a clause. Under a filter, MustNot
// or a constant nothing scores.
func (b *planner) collect(c *clause, scores bool) {
	switch c.kind {
	case clauseTerm:
		c.index = len(b.terms)
		b.terms = append(b.terms, planTerm{field: c.field, term: c.term, boost: c.boost})
		b.scored = append(b.scored, scores)
	case clauseConstant:
		c.index = -1
		if scores {
			c.index = len(b.constants)
			b.constants = append(b.constants, c.score)
		}
		b.collect(&c.must[0], false)
	case clauseBool:
		b.collectAll(c.must, scores)
		b.collectAll(c.should, scores)
		b.collectAll(c.filter, false)
		b.collectAll(c.not, false)
	}
}

func (b *planner) collectAll(cs []clause, scores bool) {
	for i := range cs {
		b.collect(&cs[i], scores)
	}
}

// node makes the tree node of a clause, with constant scores at the plan's scale.
func (b *planner) node(c *clause) blockmax.Node {
	switch c.kind {
	case clauseTerm:
		return blockmax.Node{Leaf: true, Term: c.index}
	case clauseAll:
		return blockmax.Node{All: true}
	case clauseConstant:
		n := blockmax.Node{Must: b.nodes(c.must), Constant: true}
		if c.index >= 0 {
			n.Score = b.ints[len(b.terms)+c.index]
		}
		return n
	}
	return blockmax.Node{
		Must: b.nodes(c.must), Should: b.nodes(c.should),
		Filter: b.nodes(c.filter), Not: b.nodes(c.not),
		MinShould: c.min,
	}
}

func (b *planner) nodes(cs []clause) []blockmax.Node {
	var ns []blockmax.Node
	for i := range cs {
		ns = append(ns, b.node(&cs[i]))
	}
	return ns
}

// finish looks the terms up, weighs them and makes the plan around them.
func (b *planner) finish() (*compiled, error) {
	if err := b.lookup(); err != nil {
		return nil, err
	}
	b.weigh()
	q := &b.out
	*q = compiled{terms: b.terms, sim: b.sim, alpha: b.alpha}
	b.scale(q)
	n := len(b.terms)
	b.entries = slices.Grow(b.entries[:0], len(b.lists))[:len(b.lists)]
	clear(b.entries)
	b.segments = b.segments[:0]
	for i := range b.view.segs {
		s, err := b.segment(&b.view.segs[i], b.lists[i*n:(i+1)*n], b.entries[i*n:(i+1)*n:(i+1)*n])
		if err != nil {
			return nil, err
		}
		b.segments = append(b.segments, s)
	}
	q.plan.Segments = b.segments
	return q, nil
}

// lookup opens the lists of all terms in all segments and adds up how many
// documents have each term.
func (b *planner) lookup() error {
	b.lists = b.lists[:0]
	for i := range b.view.segs {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		for t := range b.terms {
			term := &b.terms[t]
			l, err := b.view.list(&b.view.segs[i], term.field, term.term)
			if err != nil {
				return err
			}
			b.lists = append(b.lists, l)
			if l.Postings != nil {
				term.docFreq += uint64(l.Postings.Count)
			}
		}
	}
	return nil
}

// weigh fills in the statistics that the weights of the terms are made of.
func (b *planner) weigh() {
	var totals *fieldTotals
	var table *blockmax.Table
	for i := range b.terms {
		t := &b.terms[i]
		if i == 0 || t.field != b.terms[i-1].field {
			totals = b.view.field(t.field)
			table = totals.table(b.sim, &b.view.e.tables)
		}
		t.docs, t.table = totals.docs, table
		t.idf = b.sim.IDF.Weight(t.docs, t.docFreq)
		t.weight = t.boost * t.idf
	}
}

// scale makes integers of the weights. With a static rank the weights are first
// normalised to add up to 1-alpha, and the rank weighs alpha (Wang 2017).
func (b *planner) scale(q *compiled) {
	weights := b.weights[:0]
	sum := 0.0
	for t := range b.terms {
		w := 0.0
		if b.scored[t] {
			w = b.terms[t].weight
		}
		weights = append(weights, w)
		sum += w
	}
	for _, c := range b.constants {
		weights = append(weights, c)
		sum += c
	}
	if b.alpha > 0 {
		if sum > 0 {
			for i := range weights {
				weights[i] = weights[i] / sum * (1 - b.alpha)
			}
		}
		weights = append(weights, b.alpha)
	}
	b.weights = weights
	b.ints, q.scale = blockmax.AppendScaled(b.ints[:0], weights)
	q.plan.Weights = b.ints[:len(b.terms):len(b.terms)]
	if b.alpha > 0 {
		q.plan.RankWeight = b.ints[len(b.ints)-1]
	}
}

// segment makes one segment's part of the plan, with its terms in entries.
func (b *planner) segment(sv *segmentView, lists []*cache.List, entries []blockmax.Term) (blockmax.Segment, error) {
	s := blockmax.Segment{
		Base:   sv.base,
		Docs:   sv.reader.Docs(),
		Terms:  entries,
		Accept: sv.accept(),
	}
	var norms []uint8
	var err error
	of := -1 // the term whose field norms are of
	for t, l := range lists {
		term := &entries[t]
		term.Table = b.terms[t].table
		if l.Postings != nil {
			if of < 0 || b.terms[of].field != b.terms[t].field {
				if norms, err = b.view.norms(sv, b.terms[t].field); err != nil {
					return s, err
				}
				of = t
			}
			term.List, term.Norms, term.Bounds = l.Postings, norms, l.BoundsFor(term.Table)
			term.Key = sv.home.keyOf(l.Postings)
		}
	}
	if b.out.plan.RankWeight > 0 {
		if s.Rank, err = sv.reader.Rank(); err == nil {
			s.RankTile, err = sv.reader.RankTiles()
		}
		if err != nil {
			return s, sv.home.at(err)
		}
	}
	if sv.sealedByScore() {
		s.Tail, err = b.tail(sv, &b.out)
	}
	return s, err
}

// tail bounds what documents from each tile on can score, for a segment whose
// documents are in order of global score.
func (b *planner) tail(sv *segmentView, q *compiled) ([]uint32, error) {
	var fields []segment.TailField
	index := map[string]int{}
	for t, w := range q.plan.Weights {
		name := b.terms[t].field
		i, ok := index[name]
		if !ok {
			tiles, err := sv.reader.Tiles(name)
			if err != nil {
				return nil, sv.home.at(err)
			}
			if _, known := sv.reader.Field(name); !known {
				continue
			}
			i = len(fields)
			index[name] = i
			fields = append(fields, segment.TailField{Tiles: tiles, Table: b.terms[t].table})
		}
		fields[i].Weight += w
	}
	ranks, err := sv.reader.RankTiles()
	if err != nil {
		return nil, sv.home.at(err)
	}
	tail := segment.Tail(sv.reader.Docs(), ranks, q.plan.RankWeight, fields)
	constants := uint32(0)
	for _, c := range b.ints[len(b.terms) : len(b.terms)+len(b.constants)] {
		constants += c
	}
	for i := range tail {
		tail[i] += constants
	}
	return tail, nil
}
