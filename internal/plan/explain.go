package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
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
	x := &explainer{ctx: ctx, c: c, seg: &c.Plan.Segments[segment], doc: doc}
	return x.root()
}

// An explainer scores one document by walking the query, not the index. It does not use bounds, so
// it also serves tests as an oracle.
type explainer struct {
	ctx context.Context
	c   *Compiled
	seg *blockmax.Segment
	doc uint32
}

func (x *explainer) public(score uint32) float64 { return float64(score) / x.c.Scale }

func (x *explainer) root() (*Explanation, error) {
	p := &x.c.Plan
	tree := p.Tree
	if tree == nil {
		tree = x.flat(p.Mode)
	}
	out, score, err := x.node(tree)
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
	if p.RankWeight > 0 {
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
	case n.All:
		out = &Explanation{Matches: true, Text: "matches every document"}
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
	var cur postings.Cursor
	cur.Reset(seg.List)
	found := cur.SeekGE(x.doc) == x.doc
	tf := uint32(0)
	if found {
		tf = cur.TF()
	}
	if err := cur.Err(); err != nil {
		return nil, 0, err
	}
	if !found {
		return &Explanation{Text: name + " does not occur"}, 0, nil
	}
	code := uint8(1)
	if seg.Norms != nil {
		code = seg.Norms[x.doc]
	}
	impact := seg.Table.Impact(tf, code)
	score := blockmax.Contribution(x.c.Plan.Weights[t], impact)
	out := &Explanation{Matches: true, Score: x.public(score), Text: fmt.Sprintf("%s = weight × impact", name)}
	out.Parts = []*Explanation{
		{Matches: true, Score: term.weight, Text: fmt.Sprintf("weight = boost %g × idf %.6f (%v, n = %d of N = %d)", term.boost, term.idf, x.c.sim.IDF, term.docFreq, term.docs)},
		{Matches: true, Score: float64(impact) / 65536, Text: fmt.Sprintf("impact = tf / (tf + k1(1 - b + b·len/avg)), tf = %d, len = %d, avg = %g, k1 = %g, b = %g",
			tf, blockmax.CodeLength(code), seg.Table.Key().Avg, seg.Table.Key().K1, seg.Table.Key().B)},
	}
	return out, score, nil
}

// printable returns a term that is not text (a number, a date) in hexadecimal.
func printable(term string) string {
	if strings.HasPrefix(term, "\x00") {
		return fmt.Sprintf("%x", term)
	}
	return term
}
