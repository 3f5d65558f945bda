package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/proximity"
)

// An Explanation derives the score of one document, term by term. The value of
// the root is exactly the score that Search returns.
type Explanation struct {
	Matches bool    // the document matches (this part of) the query
	Score   float64 // what it adds; at the root, the hit's score
	Text    string  // how the score is derived
	Parts   []*Explanation
}

// String prints the tree, one part a line, indented.
func (x *Explanation) String() string {
	var b strings.Builder
	x.print(&b, 0)
	return b.String()
}

func (x *Explanation) print(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%.6f  %s\n", strings.Repeat("  ", depth), x.Score, x.Text)
	for _, p := range x.Parts {
		p.print(b, depth+1)
	}
}

// Explain derives the score of a document of a segment. An error concerns that segment.
func (c *Compiled) Explain(ctx context.Context, segment int, doc uint32) (*Explanation, error) {
	x := &explainer{ctx: ctx, c: c, seg: &c.Plan.Segments[segment], doc: doc, segment: segment, factor: 1}
	return x.root()
}

// An explainer scores one document by walking the query, not the index. It does not use bounds, so
// it also serves tests as an oracle.
type explainer struct {
	ctx context.Context
	c   *Compiled
	seg *blockmax.Segment
	doc uint32

	segment int
	factor  float64 // by which weights are multiplied: the units of the products around
}

func (x *explainer) public(score uint32) float64 { return float64(score) / x.c.Scale / x.factor }

func (x *explainer) root() (*Explanation, error) {
	p := &x.c.Plan
	tree := p.Tree
	if tree == nil {
		tree = x.flat(p.Mode)
	}
	outer := p.Outer
	if outer == nil {
		outer = x.c.outer
	}
	inside := x.inside(outer)
	out, score, err := x.node(tree)
	inside()
	if err != nil {
		return nil, err
	}
	if out.Matches && x.seg.Accept != nil && x.seg.Accept[x.doc/64]>>(x.doc%64)&1 == 0 {
		out.Matches = false
		out.Text += ", but a filter excludes the document"
	}
	if !out.Matches {
		return &Explanation{Text: "no match: " + out.Text, Parts: out.Parts}, nil
	}
	if outer != nil {
		if out, score, err = x.function(outer, out, score); err != nil {
			return nil, err
		}
	} else if p.RankWeight > 0 {
		out.Score = x.public(score)
		rank := uint16(0)
		if x.seg.Rank != nil {
			rank = x.seg.Rank[x.doc]
		}
		part := blockmax.Contribution(p.RankWeight, rank)
		score += part
		out = &Explanation{Matches: true, Text: "BM25 normalised by the query's weights, and static rank", Parts: []*Explanation{out, {
			Matches: true, Score: x.public(part),
			Text: fmt.Sprintf("static rank %.6f × alpha %g", float64(rank)/65535, x.c.alpha),
		}}}
	}
	out.Score = x.public(score)
	return out, nil
}

// flat returns the tree of a flat plan. In mode AndOr a document scores as in OR: if it has all
// words, the two are the same.
func (x *explainer) flat(mode blockmax.Mode) *blockmax.Node {
	leaves := make([]blockmax.Node, len(x.c.terms))
	for i := range leaves {
		leaves[i] = blockmax.Node{Leaf: true, Term: i}
	}
	switch {
	case len(leaves) == 1:
		return &leaves[0]
	case mode == blockmax.And:
		return &blockmax.Node{Must: leaves}
	}
	return &blockmax.Node{Should: leaves}
}

func (x *explainer) node(n *blockmax.Node) (*Explanation, uint32, error) {
	if err := x.ctx.Err(); err != nil {
		return nil, 0, err
	}
	var out *Explanation
	var score uint32
	var err error
	switch {
	case n.Leaf:
		out, score, err = x.leaf(n.Term)
	case n.Proximity != nil:
		out, score, err = x.proximity(n.Proximity)
	case n.Combined != nil:
		out, score, err = x.combined(n.Combined)
	case n.All:
		out = &Explanation{Matches: true, Text: "matches every document"}
	case n.Set:
		out = &Explanation{Text: x.c.sets[n.Number].String()}
		if out.Matches, err = x.seg.Sets[n.Number].Has(x.doc); !out.Matches {
			out.Text = "not " + out.Text
		}
	case n.Function != nil:
		inside := x.inside(n.Function)
		out, score, err = x.node(&n.Must[0])
		if inside(); err == nil && out.Matches {
			out, score, err = x.function(n.Function, out, score)
		}
	default:
		out, score, err = x.boolean(n)
	}
	if err != nil {
		return nil, 0, err
	}
	if n.Constant && out.Matches {
		score = n.Score
		out = &Explanation{Matches: true, Text: "constant score", Parts: out.Parts}
	}
	if !out.Matches {
		score = 0
	}
	out.Score = x.public(score)
	return out, score, nil
}

func (x *explainer) boolean(n *blockmax.Node) (*Explanation, uint32, error) {
	out := &Explanation{Matches: true, Text: "sum of what matches"}
	var score uint32
	fail := func(why string) {
		if out.Matches {
			out.Matches, out.Text = false, why
		}
	}
	matched, best, should := 0, uint32(0), uint32(0)
	for _, group := range []struct {
		nodes  []blockmax.Node
		name   string
		scores bool
	}{{n.Must, "must", true}, {n.Should, "should", true}, {n.Filter, "filter", false}, {n.Not, "must not", false}} {
		for i := range group.nodes {
			part, s, err := x.node(&group.nodes[i])
			if err != nil {
				return nil, 0, err
			}
			switch {
			case group.name == "should" && part.Matches:
				matched++
			case group.name == "must not" && part.Matches:
				fail("a must-not clause matches")
			case (group.name == "must" || group.name == "filter") && !part.Matches:
				fail("a " + group.name + " clause does not match")
			}
			switch {
			case !part.Matches || !group.scores:
				part.Score = 0
			case group.name == "should":
				best, should = max(best, s), should+s
			default:
				score += s
			}
			if part.Matches || !out.Matches {
				part.Text = group.name + ": " + part.Text
				out.Parts = append(out.Parts, part)
			}
		}
	}
	if n.Best {
		should = blockmax.BestOf(best, should, n.Tie)
		out.Text = "the best of what matches"
		if n.Tie > 0 {
			out.Text += fmt.Sprintf(", and %g of the others", float64(n.Tie)/blockmax.TieOne)
		}
	}
	score += should
	least := n.MinShould
	if least == 0 && len(n.Must)+len(n.Filter) == 0 {
		least = 1
	}
	if matched < least {
		fail(fmt.Sprintf("%d should clauses match, %d are needed", matched, least))
	}
	return out, score, nil
}

func (x *explainer) leaf(t int) (*Explanation, uint32, error) {
	term := &x.c.terms[t]
	name := fmt.Sprintf("%s:%s", term.field, printable(term.term))
	seg := &x.seg.Terms[t]
	if seg.Bounds == nil {
		return &Explanation{Text: name + " does not occur"}, 0, nil
	}
	tf, err := x.frequency(seg)
	if err != nil {
		return nil, 0, err
	}
	if tf == 0 {
		return &Explanation{Text: name + " does not occur"}, 0, nil
	}
	code := uint8(1)
	if err := seg.Lazy.Need([]uint32{x.doc}); err != nil {
		return nil, 0, err
	}
	if seg.Norms != nil {
		code = seg.Norms[x.doc]
	}
	impact := seg.Table.Impact(tf, code)
	score := blockmax.Contribution(x.c.Plan.Weights[t], impact)
	out := &Explanation{Matches: true, Score: x.public(score), Text: fmt.Sprintf("%s = weight × impact", name)}
	n := term.docFreq
	if term.blend > 0 {
		n = term.blended
	}
	out.Parts = []*Explanation{
		{Matches: true, Score: term.weight / x.factor, Text: fmt.Sprintf("weight = boost %g × idf %.6f (%v, n = %d of N = %d)", term.boost/x.factor, term.idf, x.c.sim.IDF, n, term.docs)},
		{Matches: true, Score: float64(impact) / 65536, Text: fmt.Sprintf("impact = tf / (tf + k1(1 - b + b·len/avg)), tf = %d, len = %d, avg = %g, k1 = %g, b = %g",
			tf, blockmax.CodeLength(code), seg.Table.Key().Avg, seg.Table.Key().K1, seg.Table.Key().B)},
	}
	return out, score, nil
}

// frequency returns how often a document has a term.
func (x *explainer) frequency(t *blockmax.Term) (tf uint32, err error) {
	if t.Bounds == nil {
		return 0, nil
	}
	var cur postings.Cursor
	cur.Reset(t.List)
	if cur.SeekGE(x.doc) == x.doc {
		tf = cur.TF()
	}
	return tf, cur.Err()
}

// printable returns a term that is not text (a number, a date) in hexadecimal.
func printable(term string) string {
	if prefix, ok := strings.CutPrefix(term, joinedMark); ok {
		return prefix + "*"
	}
	if strings.HasPrefix(term, "\x00") {
		return fmt.Sprintf("%x", term)
	}
	return term
}

// mostPlaces is how many matches of a proximity an explanation lists.
const mostPlaces = 20

// proximity explains a proximity from the positions of its words, with the places of its matches.
func (x *explainer) proximity(p *blockmax.Proximity) (*Explanation, uint32, error) {
	positions := make([][]uint32, len(p.Terms))
	parts := []*Explanation{}
	var seg *blockmax.Term
	names := make([]string, len(p.Terms))
	for i, t := range p.Terms {
		term := &x.c.terms[t]
		names[i] = printable(term.term)
		at, err := x.positions(&x.seg.Terms[t])
		if err != nil {
			return nil, 0, err
		}
		if positions[i] = at; len(at) > 0 {
			seg = &x.seg.Terms[t]
		}
		parts = append(parts, &Explanation{Matches: len(at) > 0, Score: term.idf, Text: fmt.Sprintf(
			"%s:%s occurs %d times, idf %.6f (%v, n = %d of N = %d)", term.field, names[i], len(at), term.idf, x.c.sim.IDF, term.docFreq, term.docs)})
	}
	what := fmt.Sprintf("%s:%s", x.c.terms[p.Terms[0]].field, p.Expr.Text(names))
	var m proximity.Matcher
	m.Reset(p.Expr)
	matches := m.Matches(positions)
	if len(matches) == 0 {
		return &Explanation{Text: what + " does not occur", Parts: parts}, 0, nil
	}
	freq, places := uint64(0), []string{}
	for i, v := range matches {
		freq += proximity.Share(v.Gaps)
		switch {
		case i == mostPlaces:
			places = append(places, "...")
		case i < mostPlaces:
			places = append(places, v.String())
		}
	}
	code := uint8(1)
	if err := seg.Lazy.Need([]uint32{x.doc}); err != nil {
		return nil, 0, err
	}
	if seg.Norms != nil {
		code = seg.Norms[x.doc]
	}
	impact := seg.Table.ImpactOf(freq, code)
	score := blockmax.Contribution(p.Weight, impact)
	key := seg.Table.Key()
	parts = append([]*Explanation{
		{Matches: true, Score: x.public(p.Weight), Text: "weight = boost × the sum of the idfs of its words"},
		{Matches: true, Score: float64(impact) / 65536, Text: fmt.Sprintf("impact = freq / (freq + k1(1 - b + b·len/avg)), freq = %.6g, len = %d, avg = %g, k1 = %g, b = %g",
			float64(freq)/proximity.One, blockmax.CodeLength(code), key.Avg, key.K1, key.B)},
	}, parts...)
	return &Explanation{Matches: true, Text: fmt.Sprintf("%s = weight × impact, at %s", what, strings.Join(places, ", ")), Parts: parts}, score, nil
}

// positions returns the positions of a term in the document.
func (x *explainer) positions(t *blockmax.Term) ([]uint32, error) {
	if t.Bounds == nil {
		return nil, nil
	}
	b := t.List.Seek(0, x.doc)
	if b == t.List.Blocks() {
		return nil, nil
	}
	var docs [postings.BlockSize]uint32
	n, err := t.List.Docs(b, &docs)
	if err != nil {
		return nil, err
	}
	i := postings.SeekIn(&docs, n, x.doc)
	if i == n || docs[i] != x.doc {
		return nil, nil
	}
	var p postings.Positions
	p.Reset(t.List)
	if err := p.Load(b); err != nil {
		return nil, err
	}
	return p.Append(nil, i), nil
}
