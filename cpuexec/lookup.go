package cpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// lookUp adds what the lane contributes to the candidates of some words, and drops
// those that cannot reach need with what rest says is still to come.
func (r *run) lookUp(c *lane, words uint64, need uint32, rest *sums) error {
	cs := &r.cands
	kept := 0
	for p := range cs.n {
		doc, score := cs.docs[p], cs.score[p]
		w := doc / wordDocs % 64
		if words>>w&1 == 1 {
			impact, ok, err := c.find(doc)
			if err != nil {
				return err
			}
			if ok {
				score += blockmax.Contribution(c.weight, impact)
			}
			if score+rest[w] < need {
				continue
			}
		}
		cs.docs[kept], cs.score[kept] = doc, score
		kept++
	}
	cs.n = kept
	return nil
}

// find returns the impact of the posting of a document of the tile. Calls within a
// tile come in ascending order.
func (c *lane) find(doc uint32) (impact uint16, ok bool, err error) {
	if c.exact {
		docs := c.few.docs[:c.to]
		for c.at < c.to && docs[c.at] < doc {
			c.at++
		}
		if c.at < c.to && docs[c.at] == doc {
			return c.few.impacts[c.at], true, nil
		}
		return 0, false, nil
	}
	b := c.at
	for last := c.list.Last; b < c.to && last[b] < doc; {
		b++
	}
	c.at = b
	if b == c.to {
		return 0, false, nil
	}
	return c.findIn(b, doc)
}

// findIn is find in block b.
func (c *lane) findIn(b int, doc uint32) (impact uint16, ok bool, err error) {
	if c.scored == b {
		i := search(c.docs[:c.n], doc)
		if i == c.n || c.docs[i&127] != doc {
			return 0, false, nil
		}
		return c.impacts[i&127], true, nil
	}
	if c.peeked != b {
		if err := c.list.Peek(b, &c.peek); err != nil {
			return 0, false, c.fail(err)
		}
		c.peeked = b
		if c.peek.Ranks() {
			c.spend()
		}
	}
	var i int
	if c.peek.Ranks() {
		if i = c.peek.Rank(doc); i < 0 {
			return 0, false, nil
		}
	} else {
		if err := c.load(b); err != nil {
			return 0, false, err
		}
		i = search(c.docs[:c.n], doc)
		if i == c.n || c.docs[i&127] != doc {
			return 0, false, nil
		}
	}
	tf := c.peek.TF(i)
	if tf == 0 {
		return 0, false, c.fail(&corrupt.Error{Block: b, Offset: -1, Reason: "a posting that the block does not have"})
	}
	impact = c.table.Impact(tf, c.code(doc))
	c.check(b, doc, impact)
	return impact, true, nil
}
