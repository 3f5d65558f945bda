package plan

import (
	"context"
	"math"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/segment"
)

// A Plan is the input of executors.
type Plan = blockmax.Plan

// A Compiled query is a plan, with what is needed to turn its hits back into documents and
// explanations.
type Compiled struct {
	Plan  Plan
	Scale float64 // public score = integer score / scale

	Incomplete bool // a clause stands for more terms than Settings.MaxTerms, and some were left out

	terms []planTerm    // parallel to Plan.Weights
	sets  []documentSet // parallel to Segment.Sets
	sim   blockmax.BM25
	alpha float64 // of the static rank; 0 when it is ignored

	gathered *Traits  // Settings.Gather
	traits   *Traits  // of Settings.Outside
	others   []uint32 // weights of constants, proximities, combined words, functions and the static rank

	functions []planFunction
	outer     *blockmax.Function // of the whole plan, if Plan has it as a static rank
}

// Term returns the field and the text of a term of the plan.
func (c *Compiled) Term(t int) (field, text string) {
	return c.terms[t].field, printable(c.terms[t].term)
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
	counts      bool // scores depend on its statistics

	blend   int    // Clause.blend
	blended uint64 // with blend, the n of idf

	joined *joinedTerm
	chosen *Candidate // Clause.chosen

	combined string          // describes the fields of a combined word
	weighted *blockmax.Table // of its list in a combined word, instead of table

	repeats bool // its weight is that of another term: see scale

	phrase int // the number of its proximity plus one, if that has pairs
	paired int // of a phrase over pairs: the number of the word's term, or of a pair's first, plus one
}

// compile turns a clause into a plan over an index. The plan uses b's memory, and lacks K and
// After.
func (b *planner) compile(ctx context.Context, x Index, c Clause, o *Settings) (*Compiled, error) {
	s := shapeInside(c, o.Alpha == 0) // a plan has a static rank or an outer function
	if len(s.exclusions) > 0 && comeAgain(x, s.exclusions) {
		s = s.withoutExclusions()
	}
	if len(s.filter) > 0 && !o.Device {
		var err error
		if s, err = s.columnFilters(x); err != nil {
			return nil, err
		}
	}
	b.begin(ctx, x, o)
	if err := b.makeFunctions(&s, o); err != nil {
		return nil, err
	}
	if s.outer != nil {
		b.seeds = false
		b.enterFunction(s.outer)
	}
	var strict *Clause
	if s.tree != nil {
		b.collect(s.tree, true)
		if hasAndOr(*s.tree) {
			all := s.tree.strictly()
			strict = &all
			b.again()
			b.collect(strict, true)
		}
	} else {
		for i := range s.words {
			b.collect(&s.words[i], true)
		}
	}
	b.omits = o.Best && s.tree == nil && s.mode != blockmax.AndOr
	b.required = s.mode == blockmax.And || len(b.terms) == 1
	b.seeds = b.seeds && len(s.filter)+len(s.not)+len(s.once) == 0 // of a filter it is not yet known which documents pass
	q, err := b.finish()
	if err != nil {
		return nil, err
	}
	if s.outer != nil {
		if err := b.changeScores(q, s.outer, o); err != nil {
			return nil, err
		}
	}
	if s.tree != nil {
		n := b.node(s.tree)
		q.Plan.Tree = &n
		if strict != nil {
			all := b.node(strict)
			q.Plan.Tree, q.Plan.Else = &all, &n
		}
	}
	q.Plan.Mode = s.mode
	if len(s.filter)+len(s.not) > 0 {
		err = restrict(ctx, x, &q.Plan, s, o)
	}
	if err == nil && len(s.once) > 0 {
		err = b.restrictOnce(&q.Plan, s.once)
	}
	return q, err
}

// A planner turns the terms of a clause into the lists and weights of a plan. It collects them,
// looks them up in every segment, weighs and scales them, and then makes the nodes of a tree. It
// makes one plan after the other in the same memory.
type planner struct {
	ctx     context.Context
	index   Index
	sim     blockmax.BM25
	alpha   float64
	outside *Statistics // Settings.Outside, if it has more than traits
	traits  *Traits     // of Settings.Outside
	gather  *Traits     // Settings.Gather
	frozen  string      // Settings.Frozen

	terms     []planTerm
	known     map[knownTerm][]int // terms of an earlier version of the query, see again
	scored    []bool              // parallel to terms: whether the term scores
	constant  int                 // number of constants so far
	constants []float64           // scores of constant clauses
	repeated  []bool              // parallel to constants: it is that of another clause
	repeats   bool                // what is collected repeats other clauses
	sets      []documentSet
	setBits   []blockmax.Set // see setsOf
	ints      []uint32       // after finish: integer weights of terms, of constants, of proximities

	proximity   int // number of proximities so far
	proximities []planProximity
	combined    []planCombined
	lengths     []string // fields whose lengths are summed for them

	functions []planFunction
	applied   []appliedFunction
	factor    float64 // of weights: the units of the products around what is collected

	usesPairs  bool // phrases are answered by pairs of words, where segments have these
	omits      bool // a flat plan of which only the best hits are wanted
	required   bool // and it requires all terms
	seeds      bool // or its threshold may begin at what K documents are known to reach
	k          int
	mostTerms  int  // Settings.MaxTerms
	partial    bool // Settings.Partial
	incomplete bool // a set lacks terms
	after      *blockmax.Hit
	later      []int    // by term, postings in the last segment if their list is not open
	rarest     []uint64 // of lastHasAll: terms and their numbers of postings, ascending by these
	names      []string

	once []onceBits // by segment, of restrictOnce

	lists    []*cache.List // of all terms in the first segment, then of all in the second, and so on
	weights  []float64     // input of ints
	entries  []blockmax.Term
	segments []blockmax.Segment
	out      Compiled
}

// begin prepares the planner for another plan.
func (b *planner) begin(ctx context.Context, x Index, s *Settings) {
	b.ctx = ctx
	b.known, b.constant, b.proximity = nil, 0, 0
	b.index, b.sim, b.alpha = x, s.Sim, s.Alpha
	b.outside, b.traits, b.gather = s.Outside, nil, s.Gather
	if s.Outside != nil {
		b.traits = s.Outside.Traits
	}
	if s.Gather != nil || b.outside != nil && b.outside.Fields == nil {
		b.outside = nil // only what the query means is known
	}
	if b.frozen, b.usesPairs = s.Frozen, !s.Words; b.outside != nil {
		b.frozen = "" // the cursor's are those of the index
	}
	b.omits, b.required, b.seeds, b.k, b.after = false, false, !s.CountAll, s.K, s.After
	b.terms, b.scored, b.constants = b.terms[:0], b.scored[:0], b.constants[:0]
	b.repeated, b.repeats = b.repeated[:0], false
	b.sets, b.setBits, b.incomplete = b.sets[:0], b.setBits[:0], false
	b.mostTerms, b.partial = s.MaxTerms, s.Partial
	b.proximities, b.combined, b.lengths = b.proximities[:0], b.combined[:0], b.lengths[:0]
	b.functions, b.applied, b.factor = b.functions[:0], b.applied[:0], 1
}

// forget drops references to the index.
func (b *planner) forget() {
	b.ctx, b.index, b.out = nil, nil, Compiled{}
	b.outside, b.traits, b.gather, b.frozen, b.after = nil, nil, nil, "", nil
	clear(b.terms)
	clear(b.names[:cap(b.names)])
	clear(b.proximities)
	clear(b.combined)
	clear(b.lengths)
	clear(b.functions)
	clear(b.lists)
	b.lists = b.lists[:0] // the next query may fail before it has any
	clear(b.entries)
	clear(b.segments)
	clear(b.sets)
	clear(b.setBits)
}

// collect numbers the terms and constants below a clause. Under a filter, MustNot
// or a constant nothing scores.
func (b *planner) collect(c *Clause, scores bool) {
	switch c.kind {
	case clauseTerm:
		if b.known != nil {
			key := knownTerm{c.field, c.term, c.boost * b.factor, scores, c.joined, c.combined.String()}
			if free := b.known[key]; len(free) > 0 {
				c.index, b.known[key] = free[0], free[1:]
				return
			}
		}
		c.index = len(b.terms)
		b.terms = append(b.terms, planTerm{field: c.field, term: c.term, boost: c.boost * b.factor, counts: scores, blend: c.blend, chosen: c.chosen, joined: c.joined, combined: c.combined.String(), repeats: b.repeats})
		b.scored = append(b.scored, scores)
	case clauseSet:
		c.index = len(b.sets)
		b.sets = append(b.sets, c.set)
	case clauseConstant:
		c.index = -1
		if scores {
			c.index = b.constant
			if b.constant++; b.constant > len(b.constants) {
				b.constants, b.repeated = append(b.constants, c.score*b.factor), append(b.repeated, b.repeats)
			}
		}
		b.collect(&c.must[0], false)
	case clauseProximity:
		b.collectProximity(c, scores)
	case clauseCombined:
		b.collectCombined(c, scores)
	case clauseFunction:
		b.collectFunction(c, scores)
	case clauseBool:
		outer := b.repeats
		b.repeats = outer || c.repeats
		defer func() { b.repeats = outer }()
		b.collectAll(c.must, scores)
		b.collectAll(c.should, scores)
		b.collectAll(c.filter, false)
		b.collectAll(c.not, false)
	}
}

// A knownTerm is a term of both versions of a query.
type knownTerm struct {
	field, term string
	boost       float64
	scores      bool
	joined      *joinedTerm
	combined    string
}

// again makes collect number another version of the same query. The search will answer only one of
// them, so terms of both count once. Constants are the same in both.
func (b *planner) again() {
	b.constant, b.proximity, b.known = 0, 0, make(map[knownTerm][]int, len(b.terms))
	for i, t := range b.terms {
		key := knownTerm{t.field, t.term, t.boost, b.scored[i], t.joined, t.combined}
		b.known[key] = append(b.known[key], i)
	}
}

func (b *planner) collectAll(cs []Clause, scores bool) {
	for i := range cs {
		b.collect(&cs[i], scores)
	}
}

// node returns the tree node of a clause, with constant scores at the plan's scale.
func (b *planner) node(c *Clause) blockmax.Node {
	switch c.kind {
	case clauseTerm:
		return blockmax.Node{Leaf: true, Term: c.index}
	case clauseSet:
		return blockmax.Node{Set: true, Number: c.index}
	case clauseAll:
		return blockmax.Node{All: true}
	case clauseConstant:
		n := blockmax.Node{Must: b.nodes(c.must), Constant: true}
		if c.index >= 0 {
			n.Score = b.ints[len(b.terms)+c.index]
		}
		return n
	case clauseProximity:
		return b.proximityNode(c)
	case clauseCombined:
		return b.combinedNode(c)
	case clauseFunction:
		if c.index < 0 {
			return b.node(&c.must[0])
		}
		return blockmax.Node{Must: b.nodes(c.must), Function: b.functionOf(c)}
	}
	return blockmax.Node{
		Must: b.nodes(c.must), Should: b.nodes(c.should),
		Filter: b.nodes(c.filter), Not: b.nodes(c.not),
		MinShould: c.min, Best: c.best, Tie: c.tie,
	}
}

func (b *planner) nodes(cs []Clause) []blockmax.Node {
	var ns []blockmax.Node
	for i := range cs {
		ns = append(ns, b.node(&cs[i]))
	}
	return ns
}

// finish looks the terms up, weighs them and makes the plan.
func (b *planner) finish() (*Compiled, error) {
	if err := b.lookup(); err != nil {
		return nil, err
	}
	b.weigh()
	if err := b.reweigh(); err != nil {
		return nil, err
	}
	b.blendTerms()
	b.combine()
	b.lendTables()
	if err := b.makeSets(); err != nil {
		return nil, err
	}
	q := &b.out
	*q = Compiled{terms: b.terms, sets: b.sets, sim: b.sim, alpha: b.alpha, functions: b.functions, gathered: b.gather, traits: b.traits, Incomplete: b.incomplete}
	if err := b.scale(q); err != nil {
		return nil, err
	}
	n := len(b.terms)
	b.entries = slices.Grow(b.entries[:0], len(b.lists))[:len(b.lists)]
	clear(b.entries)
	b.segments = b.segments[:0]
	for i := range b.index.Segments() {
		if i == b.index.Segments()-1 {
			omit, err := b.openLast(i)
			if err != nil {
				return nil, err
			}
			if omit {
				sv := b.index.Segment(i)
				b.segments = append(b.segments, blockmax.Segment{Base: sv.Base(), Docs: sv.Reader().Docs(), Terms: b.entries[i*n:], Accept: sv.Accept(), Functions: b.functionsIn(i)})
				break
			}
		}
		s, err := b.segment(i, b.lists[i*n:(i+1)*n], b.entries[i*n:(i+1)*n:(i+1)*n])
		if err != nil {
			return nil, err
		}
		b.segments = append(b.segments, s)
	}
	q.Plan.Segments = b.segments
	return q, nil
}

// lookup opens the lists of all terms in all segments and adds up how many
// documents have each term.
func (b *planner) lookup() error {
	n := len(b.terms)
	size := n * b.index.Segments()
	b.lists, b.later = slices.Grow(b.lists[:0], size)[:size], b.later[:0]
	clear(b.lists)
	for t := range b.terms {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		term := &b.terms[t]
		if term.joined != nil {
			b.later = append(b.later, 0)
			if err := b.joinLists(t); err != nil {
				return err
			}
			continue
		}
		later, err := b.index.Lists(term.field, term.term, b.lists[min(t, size):], n, b.omits)
		if err != nil {
			return err
		}
		b.later = append(b.later, later)
		term.docFreq += uint64(later)
		for i := t; i < size; i += n {
			if l := b.lists[i]; l != nil && l.Postings != nil {
				term.docFreq += uint64(l.Postings.Count)
			}
		}
	}
	return nil
}

// mostOmitted is the most documents of a segment for which openLast compares what its terms reach.
// With more documents, it almost always has enough of the terms.
const mostOmitted = 512

// openLast opens the lists of the last segment that lookup has left out. It opens none, and returns
// true, if no document of the segment can be among the best: none of them has all required terms, or
// all its terms together reach less than the best K of another segment. After a small batch, that is
// often so for the documents of the batch.
func (b *planner) openLast(last int) (omit bool, err error) {
	lists := b.lists[last*len(b.terms):]
	if !slices.ContainsFunc(b.later, func(n int) bool { return n > 0 }) {
		return false, nil
	}
	p := &b.out.Plan
	most, lacks := p.RankWeight, false
	for t, l := range lists {
		if b.later[t] > 0 || l.Postings != nil {
			most += p.Weights[t]
		} else {
			lacks = true
		}
	}
	if b.required && (lacks || !b.lastHasAll(lists)) {
		return true, nil
	}
	if !b.required && b.seeds && b.index.Segment(last).Reader().Docs() <= mostOmitted {
		others := Plan{Segments: b.segments, Weights: p.Weights, K: b.k, After: b.after}
		if most < others.Seed() {
			return true, nil
		}
	}
	for t := range lists {
		if b.later[t] == 0 {
			continue
		}
		term := &b.terms[t]
		if lists[t], err = b.index.List(last, term.field, term.term); err != nil {
			return false, err
		}
	}
	return false, nil
}

// lastHasAll reports whether a document of the last segment, with the lists that are open there, may
// have all terms.
func (b *planner) lastHasAll(lists []*cache.List) bool {
	if len(b.terms) < 2 {
		return true
	}
	b.rarest, b.names = b.rarest[:0], b.names[:0]
	for t, l := range lists {
		n := b.later[t]
		if n == 0 {
			n = l.Postings.Count
		}
		if b.terms[t].field != b.terms[0].field {
			return true
		}
		b.rarest = append(b.rarest, uint64(n)<<32|uint64(t))
	}
	slices.Sort(b.rarest)
	for _, r := range b.rarest {
		b.names = append(b.names, b.terms[uint32(r)].term)
	}
	return b.index.LastHasAll(b.terms[0].field, b.names)
}

// weigh fills in the statistics from which the terms' weights are computed.
func (b *planner) weigh() {
	var docs uint64
	var table *blockmax.Table
	for i := range b.terms {
		t := &b.terms[i]
		if t.paired > 0 {
			continue // see lendTables
		}
		if i == 0 || t.field != b.terms[i-1].field {
			docs, table = b.index.Field(t.field, b.sim)
		}
		t.docs, t.table = docs, table
		t.weigh(b.sim)
	}
}

// reweigh weighs the terms by outside or frozen statistics instead of the index's, if given.
func (b *planner) reweigh() error {
	switch {
	case b.frozen != "":
		return b.thaw(b.frozen)
	case b.outside != nil:
		return b.weighBy(b.outside)
	}
	return nil
}

func (t *planTerm) weigh(sim blockmax.BM25) {
	t.idf = sim.IDF.Weight(t.docs, t.docFreq)
	t.weight = t.boost * t.idf
}

// scale turns the weights into integers. With a static rank the weights are first normalized to add
// up to 1-alpha, and the rank weighs alpha (Wang 2017). Words that no document has would take the
// largest share in vain, so they then weigh nothing. Clauses that repeat others, with lower weights, for
// other documents, take no share. Products inside products may weigh more than a float64 holds.
func (b *planner) scale(q *Compiled) error {
	weights := b.weights[:0]
	sum := 0.0
	for t := range b.terms {
		w := 0.0
		if b.scored[t] && (b.alpha == 0 || b.terms[t].docFreq > 0) {
			w = b.terms[t].weight
		}
		weights = append(weights, w)
		if !b.terms[t].repeats {
			sum += w
		}
	}
	for i, c := range b.constants {
		weights = append(weights, c)
		if !b.repeated[i] {
			sum += c
		}
	}
	for i := range b.proximities {
		w := b.proximityWeight(&b.proximities[i])
		weights = append(weights, w)
		if !b.proximities[i].repeats {
			sum += w
		}
	}
	for i := range b.combined {
		w := b.combinedWeight(&b.combined[i])
		weights = append(weights, w)
		if !b.combined[i].repeats {
			sum += w
		}
	}
	for i := range b.applied {
		weights = append(weights, b.applied[i].weight)
		if !b.applied[i].repeats {
			sum += b.applied[i].weight
		}
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if !finite(total) {
		return Errorf("FunctionScore", "the values of FunctionScores inside one another multiply to more than %v", math.MaxFloat64)
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
	b.ints, q.Scale = blockmax.AppendScaled(b.ints[:0], weights)
	q.Plan.Weights, q.others = b.ints[:len(b.terms):len(b.terms)], b.ints[len(b.terms):]
	b.weighPairs()
	if b.alpha > 0 {
		q.Plan.RankWeight = b.ints[len(b.ints)-1]
	}
	return nil
}

// segment makes one segment's part of the plan, with its terms in entries.
func (b *planner) segment(number int, lists []*cache.List, entries []blockmax.Term) (blockmax.Segment, error) {
	sv := b.index.Segment(number)
	reader := sv.Reader()
	s := blockmax.Segment{
		Base:   sv.Base(),
		Docs:   reader.Docs(),
		Terms:  entries,
		Accept: sv.Accept(),
		Sets:   b.setsOf(number),

		Functions: b.functionsIn(number),
	}
	var norms []uint8
	var lazy *blockmax.LazyNorms
	var err error
	of := -1 // the term whose field's norms were read
	for t, l := range lists {
		term := &entries[t]
		if term.Table = b.terms[t].table; b.terms[t].weighted != nil {
			term.Table = b.terms[t].weighted
		}
		if l.Postings != nil && b.uses(number, t) {
			words := t // whose lengths count
			if p := b.terms[t].paired; p > 0 {
				words = p - 1
			}
			if of < 0 || b.terms[of].field != b.terms[words].field {
				if norms, lazy, err = b.index.Norms(number, b.terms[words].field); err != nil {
					return s, err
				}
				of = words
			}
			term.List, term.Norms, term.Lazy = l.Postings, norms, lazy
			if term.Bounds, err = l.BoundsFor(term.Table, norms); err != nil {
				return s, sv.At(err)
			}
			term.Key = sv.Key(l.Postings)
		}
	}
	if len(b.lengths) > 0 {
		if s.Fields, err = b.lengthsIn(number); err != nil {
			return s, err
		}
	}
	if b.out.Plan.RankWeight > 0 {
		if s.Rank, err = reader.Rank(); err == nil {
			s.RankTile, err = reader.RankTiles()
		}
		if err != nil {
			return s, sv.At(err)
		}
	}
	if sv.ByScore() && len(b.functions) == 0 {
		s.Tail, err = b.tail(sv, &b.out)
	}
	return s, err
}

// tail bounds what documents from each tile on can score, for a segment whose
// documents are in order of global score.
func (b *planner) tail(sv Segment, q *Compiled) ([]uint32, error) {
	reader := sv.Reader()
	var fields []segment.TailField
	index := map[string]int{}
	for t, w := range q.Plan.Weights {
		name := b.terms[t].field
		i, ok := index[name]
		if !ok {
			tiles, err := reader.Tiles(name)
			if err != nil {
				return nil, sv.At(err)
			}
			if _, known := reader.Field(name); !known {
				continue
			}
			i = len(fields)
			index[name] = i
			fields = append(fields, segment.TailField{Tiles: tiles, Table: b.terms[t].table})
		}
		fields[i].Weight += w
	}
	ranks, err := reader.RankTiles()
	if err != nil {
		return nil, sv.At(err)
	}
	tail := segment.Tail(reader.Docs(), ranks, q.Plan.RankWeight, fields)
	constants := uint32(0)
	for _, c := range b.ints[len(b.terms) : len(b.terms)+len(b.constants)+len(b.proximities)+len(b.combined)] {
		constants += c // a proximity, or a word of several fields, may have a higher frequency than a posting
	}
	for i := range tail {
		tail[i] += constants
	}
	return tail, nil
}
