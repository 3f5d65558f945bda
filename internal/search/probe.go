package search

import "github.com/riffle-search/riffle/internal/plan"

// Compiled returns the plan of a run, which is lent until its end.
func Compiled(x *Run) *plan.Compiled { return x.compiled }

// Accessors for tests of the packages above.

// Place returns the place that a cursor records, and the statistics of its page.
func Place(c Cursor) (doc, local, score uint32, statistics string) {
	return c.doc, c.local, c.score, c.page.text[c.page.statistics:]
}

// Forge returns a cursor of another place in the answer to the same query, as a client that tampers
// with a text can make one.
func Forge(c Cursor, local, score uint32, id, statistics string) Cursor {
	page := *c.page
	page.text, page.statistics = id+statistics, len(id)
	return Cursor{page: &page, segment: c.segment, local: local, score: score, to: uint32(len(id))}
}
