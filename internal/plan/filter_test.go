package plan

import (
	"slices"
	"testing"
)

// TestDescriptions: clauses that may match different documents have different descriptions, and
// scores are not part of these.
func TestDescriptions(t *testing.T) {
	term := func(field, term string) Clause { return Clause{kind: clauseTerm, field: field, term: term, boost: 1} }
	a, b := term("f", "a"), term("f", "b")
	should := func(least int, cs ...Clause) Clause { return Clause{kind: clauseBool, should: cs, min: least} }
	different := []Clause{
		All(), a, b, term("fa", ""), term("", "fa"), term("g", "a"), term("f", "a\x01\x01f\x01b"),
		should(0, a), should(0, b), should(0, a, b), should(1, a, b), should(2, a, b), should(0, should(0, a), b), should(0, should(0, a, b)),
		{kind: clauseBool, must: []Clause{a}}, {kind: clauseBool, must: []Clause{a, b}}, {kind: clauseBool, must: []Clause{a}, should: []Clause{b}},
		{kind: clauseBool, must: []Clause{a}, not: []Clause{b}}, {kind: clauseBool, not: []Clause{a, b}}, {kind: clauseBool, not: []Clause{a}, filter: []Clause{b}},
		{kind: clauseBool, filter: []Clause{a}}, {kind: clauseBool, filter: []Clause{a, b}}, {kind: clauseBool, filter: []Clause{All()}, not: []Clause{a}},
		Constant(a, 1), Constant(should(0, a), 1),
	}
	seen := map[string]int{}
	for i := range different {
		text := string(different[i].appendSet(nil))
		if j, ok := seen[text]; ok {
			t.Errorf("clauses %d and %d have the same description %q", j, i, text)
		}
		seen[text] = i
	}
	boosted := Clause{kind: clauseTerm, field: "f", term: "a", boost: 7, index: 3}
	for _, same := range [][2]Clause{{a, boosted}, {Constant(a, 1), Constant(boosted, 2)}, {should(1, a, b), {kind: clauseBool, should: []Clause{a, b}, min: 1, best: true, tie: 5}}} {
		if !slices.Equal(same[0].appendSet(nil), same[1].appendSet(nil)) {
			t.Errorf("%+v and %+v have different descriptions", same[0], same[1])
		}
	}
}

// TestFilteredTrees: filters leave a tree if something else must match, and exclusions move to its
// core.
func TestFilteredTrees(t *testing.T) {
	a, b, f, n := Clause{kind: clauseTerm, term: "a"}, Clause{kind: clauseTerm, term: "b"}, Clause{kind: clauseTerm, term: "f"}, Clause{kind: clauseTerm, term: "n"}
	nested := Clause{kind: clauseBool, should: []Clause{{kind: clauseBool, must: []Clause{a, b}}, a}}
	with := func(c Clause, change func(*Clause)) Clause { change(&c); return c }
	for name, c := range map[string]struct {
		query, tree Clause
		filters     int
	}{
		"none":       {nested, nested, 0},
		"around":     {Clause{kind: clauseBool, must: []Clause{nested}, filter: []Clause{f}}, nested, 1},
		"two levels": {Clause{kind: clauseBool, filter: []Clause{f, b}, must: []Clause{{kind: clauseBool, must: []Clause{nested}, filter: []Clause{f}}}}, nested, 3},
		"exclusion":  {Clause{kind: clauseBool, must: []Clause{nested}, not: []Clause{n}}, with(nested, func(c *Clause) { c.not = []Clause{n} }), 0},
		"both": {Clause{kind: clauseBool, must: []Clause{with(nested, func(c *Clause) { c.not = []Clause{n} })}, filter: []Clause{f}, not: []Clause{b}},
			with(nested, func(c *Clause) { c.not = []Clause{b, n} }), 1},
		"optional words": {with(nested, func(c *Clause) { c.filter = []Clause{f} }), with(nested, func(c *Clause) { c.filter = []Clause{f} }), 0},
		"optional words in a filter": {Clause{kind: clauseBool, must: []Clause{with(nested, func(c *Clause) { c.filter = []Clause{f} })}, filter: []Clause{b}},
			with(nested, func(c *Clause) { c.filter = []Clause{f} }), 1},
		"required word": {Clause{kind: clauseBool, must: []Clause{a}, should: []Clause{b}, filter: []Clause{f}}, Clause{kind: clauseBool, must: []Clause{a}, should: []Clause{b}}, 1},
		"all":           {Clause{kind: clauseBool, must: []Clause{All()}, filter: []Clause{f}}, Clause{kind: clauseBool, must: []Clause{All()}}, 1},
	} {
		s := shapeOf(c.query)
		if s.tree == nil || len(s.filter) != c.filters || len(s.not) > 0 {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		if got, want := s.tree.appendSet(nil), c.tree.appendSet(nil); !slices.Equal(got, want) {
			t.Errorf("%s: the tree is %q, want %q", name, got, want)
		}
	}
}
