package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/riffle-search/riffle/bench/protocol"
)

const (
	agreeK    = 100  // the hits of a task for more are not compared
	tolerance = 6e-4 // relative, between equal scores: one step of riffle's 16 bits in the longest documents
	nothing   = 1e-8 // scores below are all the same: riffle's values of functions have 32 bits
)

// An agreement counts how the hits of one engine compare with the reference's.
// Every hit of the reference is exactly one of same, tied and off.
type agreement struct {
	Engine string
	With   string
	Hits   int // of the reference
	Same   int // the other has the document with an equal score

	// Tied: the other lacks the document, but its score equals that of the other's last
	// hit: both lists were cut inside a tie, and broke it differently.
	Tied int

	// Off: anything else. These need an explanation.
	Off      int
	Examples []string // of Off, a few

	// Moved of Same stand at another place, among hits of equal score.
	Moved int

	Counts       int // exact counts compared
	CountsBorder int // other counts, of shapes: by documents so near to the border that precision decides
	CountsWrong  int
}

// Agreed returns the share of hits that are the same, or cut off inside a tie.
func (a *agreement) agreed() float64 {
	if a.Hits == 0 {
		return 1
	}
	return float64(a.Same+a.Tied) / float64(a.Hits)
}

func equal(a, b float64) bool {
	return math.Abs(a-b) <= max(nothing, tolerance*max(math.Abs(a), math.Abs(b)))
}

// compare adds the hits of one query. Scores of the other engine are multiplied
// by scale first.
func (a *agreement) compare(query string, ref, other []protocol.Hit, scale float64) {
	score := func(h protocol.Hit) float64 { return h.Score * scale }
	query = short(query)
	for i, r := range ref {
		a.Hits++
		at := slices.IndexFunc(other, func(o protocol.Hit) bool { return o.ID == r.ID })
		switch {
		case at >= 0 && equal(r.Score, score(other[at])) && equal(r.Score, score(other[min(i, len(other)-1)])):
			a.Same++
			if at != i {
				a.Moved++
			}
		case at < 0 && len(other) == len(ref) && equal(r.Score, score(other[len(other)-1])):
			a.Tied++
		default:
			a.Off++
			a.example(query, i, r, other, at, scale)
		}
	}
	if len(other) > len(ref) {
		a.Off += len(other) - len(ref)
		a.Hits += len(other) - len(ref)
		a.Examples = append(a.Examples, fmt.Sprintf("%q: %d hits, not %d", query, len(other), len(ref)))
	}
}

// sameValue: values and numbers of documents must be equal, but for the rounding of sums.
func sameValue(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(x) }

// compareValues adds the answer of one query of rows. Documents of one value may be in any order.
func (a *agreement) compareValues(query string, ref, other []protocol.Hit, equal func(x, y float64) bool) {
	query = short(query)
	for i, r := range ref {
		a.Hits++
		at := slices.IndexFunc(other, func(o protocol.Hit) bool { return o.ID == r.ID })
		switch {
		case i < len(other) && at == i && equal(r.Score, other[i].Score):
			a.Same++
		case at >= 0 && equal(r.Score, other[at].Score) && equal(r.Score, other[min(i, len(other)-1)].Score):
			a.Same++
			a.Moved++
		case at < 0 && len(other) == len(ref) && equal(r.Score, other[i].Score) && equal(r.Score, other[len(other)-1].Score):
			a.Tied++
		default:
			a.Off++
			a.example(query, i, r, other, at, 1)
		}
	}
	if len(other) > len(ref) {
		a.Off += len(other) - len(ref)
		a.Hits += len(other) - len(ref)
		a.Examples = append(a.Examples, fmt.Sprintf("%q: %d hits, not %d", query, len(other), len(ref)))
	}
}

// short cuts a query that is a polygon.
func short(query string) string {
	if len(query) > 100 {
		return query[:100] + "…"
	}
	return query
}

func (a *agreement) example(query string, i int, r protocol.Hit, other []protocol.Hit, at int, scale float64) {
	if len(a.Examples) >= 5 {
		return
	}
	where := "it lacks the document"
	if at >= 0 {
		where = fmt.Sprintf("it scores %.6g at place %d", other[at].Score*scale, at+1)
	}
	last := ""
	if n := len(other); n > 0 {
		last = fmt.Sprintf("; its last of %d hits scores %.6g", n, other[n-1].Score*scale)
	}
	a.Examples = append(a.Examples, fmt.Sprintf("%q: document %d scores %.6g at place %d; %s%s", query, r.ID, r.Score, i+1, where, last))
}

// differs are modes in which each engine has rules of its own: which terms a fuzzy word stands for when
// there are many.
var differs = []string{"fuzzy1", "fuzzy2"}

// scaleOf turns the scores of a task into riffle's; 0 when its formula is another.
func (e engine) scaleOf(t task) float64 {
	switch t.mode {
	case "prefix", "infix", "regexp": // 1 for all
		return math.Ceil(e.scale)
	case "slop", "near": // each counts a match with gaps in its way
		return 0
	}
	return e.scale
}

// agreements compares the cells of each engine with those of its reference.
func agreements(field []contestant, sets []querySet, cells []cell) []agreement {
	var all []agreement
	for _, c := range field[1:] {
		ref := reference(field, c.engine)
		if ref.name == c.name {
			continue
		}
		a := agreement{Engine: c.name, With: ref.name}
		for _, set := range sets {
			for i := range cells {
				mine := &cells[i]
				if mine.Engine != ref.name || mine.Queries != set.name {
					continue
				}
				at := slices.IndexFunc(cells, func(o cell) bool {
					return o.Engine == c.name && o.Queries == mine.Queries && o.Task == mine.Task
				})
				if at >= 0 && !slices.Contains(differs, mine.task.mode) && !slices.Contains(c.differs, mine.task.mode) {
					a.compareCells(set, mine, &cells[at], c.scaleOf(mine.task), c.loose)
				}
			}
		}
		all = append(all, a)
	}
	return all
}

func (a *agreement) compareCells(set querySet, ref, other *cell, scale float64, loose bool) {
	for i, n := range ref.counts {
		a.Counts++
		mine, others := border{least: n, most: n}, border{least: n, most: n} // what the two may count
		if set.borders != nil {
			mine, others = set.borders[i], set.borders[i].of(loose)
			if other.counts[i] != n && mine.has(n) && others.has(other.counts[i]) {
				a.CountsBorder++
			}
		}
		if !mine.has(n) || !others.has(other.counts[i]) {
			a.CountsWrong++
			if len(a.Examples) < 5 {
				a.Examples = append(a.Examples, fmt.Sprintf("%s of %q: %d, not %d", other.Task, short(set.queries[i]), other.counts[i], n))
			}
		}
	}
	if ref.task.columns() && !slices.Contains([]string{"filtered", "inside", "score"}, ref.task.mode) {
		equal := sameValue
		if ref.task.mode == "nearest" {
			equal = sameMetres(loose)
		}
		for i := range ref.hits {
			a.compareValues(ref.Task+" "+set.queries[i], ref.hits[i], other.hits[i], equal)
		}
		return
	}
	if scale == 0 {
		return
	}
	for i := range ref.hits {
		mine, others := ref.hits[i], other.hits[i]
		if set.borders != nil {
			if m, o := set.borders[i].without(mine), set.borders[i].without(others); len(m) < len(mine) || len(o) < len(others) {
				n := min(len(m), len(o)) // one list may have had to be filled up where the other was not
				mine, others = m[:n], o[:n]
			}
		}
		a.compare(ref.Task+" "+set.queries[i], mine, others, scale)
	}
}
