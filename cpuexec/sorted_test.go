package cpuexec_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestSort compares with sorting all matches: columns of all kinds, with several values and without,
// of different kinds in the segments, page by page.
func TestSort(t *testing.T) {
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	executors := []cpuexec.Parallel{{}, {Pool: pool, Policy: cpuexec.FGQP, Grain: 1}, {Pool: pool, Policy: cpuexec.DOCP}}
	pages, pruned, shared := 0, 0, 0
	defer cpuexec.SetSparseShare(cpuexec.SetSparseShare(64))
	for round := range exectest.Fewer(300) {
		cpuexec.SetSparseShare([]int{64, 1}[round/2%2])
		rng := rand.New(rand.NewPCG(31, uint64(round)))
		exectest.Plans(31, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if round%2 == 0 {
				if err := cpuexec.MakeBitmaps(p, func(*postings.List) bool { return round%4 == 0 }); err != nil {
					t.Fatal(err)
				}
			}
			matches := wholeAnswer(ix, p)
			c := newSortCase(t, rng, p)
			want := c.sorted(matches)
			k := 1 + rng.IntN(12)
			if rng.IntN(4) == 0 {
				k = 1 + rng.IntN(1000)
			}
			o := c.order
			for i, x := range executors {
				o.After = nil
				got := 0
				for page := 0; page < 5 || i == 0 && page < 20; page++ {
					q := *p
					if q.Else == nil && (q.Tree != nil || q.Mode != blockmax.AndOr) { // K decides what matches
						q.K = k
					}
					q.CountAll = rng.IntN(2) == 0
					s, err := x.Sort(context.Background(), &q, &o)
					if err != nil {
						t.Fatalf("round %d: %v", round, err)
					}
					rest := want[min(got, len(want)):]
					rest = rest[:min(len(rest), q.K)]
					if d := differ(s.Places, rest); d != "" {
						t.Fatalf("round %d, executor %d, page %d of %d, %s: %s", round, i, page, k, c, d)
					}
					if s.Total > len(want) || s.Exact && s.Total != len(want) || q.CountAll && !s.Exact {
						t.Fatalf("round %d: total %d (exact %v) of %d", round, s.Total, s.Exact, len(want))
					}
					if !s.Exact {
						pruned++
					}
					if s.Work.Tasks > 0 {
						shared++
					}
					pages++
					got += len(s.Places)
					if len(s.Places) < q.K {
						break
					}
					last := s.Places[len(s.Places)-1]
					o.After = &last
				}
			}
			return true
		})
	}
	if pruned < pages/10 || shared == 0 {
		t.Errorf("of %d pages %d were pruned and %d shared", pages, pruned, shared)
	}
}

// differ says how places differ from the expected ones.
func differ(got, want []cpuexec.Place) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d places, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Doc != w.Doc || g.Score != w.Score {
			return fmt.Sprintf("place %d is document %d, score %d, keys %v; want %d, %d, %v", i, g.Doc, g.Score, g.Keys, w.Doc, w.Score, w.Keys)
		}
		for j := range g.Keys {
			if g.Keys[j].Missing != w.Keys[j].Missing || !g.Keys[j].Missing && columns.Compare(g.Keys[j].Value, w.Keys[j].Value) != 0 {
				return fmt.Sprintf("place %d: key %d is %v, want %v", i, j, g.Keys[j], w.Keys[j])
			}
		}
	}
	return ""
}

// A sortCase is an order of a plan's documents, with the values that the columns were made of.
type sortCase struct {
	plan   *blockmax.Plan
	order  cpuexec.Order
	values [][][][]columns.Value // by key, segment, document
	ids    [][]string            // by segment, document
}

func (c *sortCase) String() string {
	var b strings.Builder
	for i, k := range c.order.Keys {
		fmt.Fprintf(&b, "[%d: by %d mode %d desc %v first %v:", i, k.By, k.Mode, k.Desc, k.MissingFirst)
		for _, col := range k.Columns {
			if col == nil {
				b.WriteString(" none")
			} else {
				fmt.Fprintf(&b, " %v", col.Kind())
			}
		}
		b.WriteString("]")
	}
	return b.String()
}

func newSortCase(t *testing.T, rng *rand.Rand, p *blockmax.Plan) *sortCase {
	c := &sortCase{plan: p}
	for range 1 + rng.IntN(3) {
		k := cpuexec.SortKey{
			By: cpuexec.By(max(0, rng.IntN(6)-3)), Mode: cpuexec.SortMode(rng.IntN(3)), Desc: rng.IntN(2) == 0, MissingFirst: rng.IntN(2) == 0,
		}
		values := make([][][]columns.Value, len(p.Segments))
		if k.By == cpuexec.ByColumn {
			like := newValues(rng)
			for s := range p.Segments {
				if rng.IntN(4) == 0 {
					like = newValues(rng) // of another kind
				}
				if rng.IntN(6) == 0 {
					k.Columns = append(k.Columns, nil)
					values[s] = make([][]columns.Value, p.Segments[s].Docs)
					continue
				}
				values[s] = like(int(p.Segments[s].Docs))
				k.Columns = append(k.Columns, columnOf(t, values[s]))
			}
		}
		c.order.Keys, c.values = append(c.order.Keys, k), append(c.values, values)
	}
	for s := range p.Segments {
		ids := make([]string, p.Segments[s].Docs)
		for d := range ids {
			ids[d] = fmt.Sprintf("%x", uint32(d*7919+s*104729)%65521)
		}
		c.ids = append(c.ids, ids)
	}
	c.order.ID = func(dst []byte, segment int, doc uint32) ([]byte, error) {
		return append(dst, c.ids[segment][doc]...), nil
	}
	if rng.IntN(3) > 0 {
		for s := range p.Segments {
			var known cpuexec.IDOrder
			if rng.IntN(3) > 0 {
				known = newIDOrder(c.ids[s])
			}
			c.order.IDs = append(c.order.IDs, known)
		}
	}
	return c
}

// newValues returns a source of documents' values that are alike.
func newValues(rng *rand.Rand) func(docs int) [][]columns.Value {
	kind, missing, several, spread := rng.IntN(8), rng.IntN(3), rng.IntN(3), []int{1, 3, 50, 1 << 20, math.MaxInt}[rng.IntN(5)]
	at := 0
	one := func() columns.Value {
		at++
		switch kind {
		case 0:
			return columns.OfInt(int64(rng.IntN(spread)) - int64(spread/2))
		case 1:
			return columns.OfUint(rng.Uint64() >> rng.IntN(3))
		case 2:
			return columns.OfFloat(float64(rng.IntN(spread)) / 4)
		case 3:
			return columns.OfTime(time.Unix(int64(rng.IntN(min(spread, 1<<30))), 5))
		case 4:
			return columns.OfBool(rng.IntN(2) == 0)
		case 5:
			return columns.OfString(fmt.Sprint("k", rng.IntN(min(spread, 3000))))
		case 6: // rising
			return columns.OfInt(int64(at / 3))
		}
		return []columns.Value{ // limits
			columns.OfInt(math.MinInt64), columns.OfInt(math.MaxInt64), columns.OfUint(math.MaxUint64), columns.OfUint(0),
			columns.OfFloat(math.Inf(-1)), columns.OfFloat(math.NaN()), columns.OfFloat(0.5), columns.OfString("")}[rng.IntN(min(8, spread))]
	}
	return func(docs int) [][]columns.Value {
		all := make([][]columns.Value, docs)
		for d := range all {
			n := 1
			if several == 1 {
				n = rng.IntN(4)
			} else if missing == 1 && rng.IntN(10) == 0 || missing == 2 && rng.IntN(10) > 0 {
				n = 0
			}
			for range n {
				all[d] = append(all[d], one())
			}
			slices.SortFunc(all[d], columns.Compare)
		}
		return all
	}
}

// columnOf makes a column.
func columnOf(t *testing.T, values [][]columns.Value) *columns.Column {
	var mix columns.Mix
	for _, doc := range values {
		for _, v := range doc {
			mix.Add(v)
		}
	}
	kind := mix.Kind()
	b := columns.NewBuilder(kind, nil)
	ords := map[string]uint64{}
	if kind == columns.Terms {
		var terms []string
		for _, doc := range values {
			for _, v := range doc {
				terms = append(terms, string(v.AppendTerm(nil)))
			}
		}
		slices.Sort(terms)
		for i, term := range slices.Compact(terms) {
			ords[term] = uint64(i)
			if err := b.Term([]byte(term)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for d, doc := range values {
		var keys []uint64
		for _, v := range doc {
			if kind == columns.Terms {
				keys = append(keys, ords[string(v.AppendTerm(nil))])
				continue
			}
			key, ok := v.In(kind)
			if !ok {
				t.Fatalf("%v is not of kind %v", v, kind)
			}
			keys = append(keys, key)
		}
		if err := b.Add(uint32(d), keys...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.View(uint32(len(values)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sorted returns the places of all matches, in order.
func (c *sortCase) sorted(matches []blockmax.Hit) []cpuexec.Place {
	scored := slices.ContainsFunc(c.order.Keys, func(k cpuexec.SortKey) bool { return k.By == cpuexec.ByScore })
	places := make([]cpuexec.Place, len(matches))
	for i, h := range matches {
		p := &places[i]
		p.Doc = h.Doc
		if scored {
			p.Score = h.Score
		}
		segment := len(c.plan.Segments) - 1
		for c.plan.Segments[segment].Base > h.Doc {
			segment--
		}
		doc := h.Doc - c.plan.Segments[segment].Base
		for j, k := range c.order.Keys {
			v := cpuexec.KeyValue{}
			switch k.By {
			case cpuexec.ByScore:
				v.Value = columns.OfUint(uint64(h.Score))
			case cpuexec.ByID:
				v.Value = columns.Value{Kind: columns.Terms, Term: c.ids[segment][doc]}
			default:
				switch all := c.values[j][segment][doc]; {
				case len(all) == 0:
					v.Missing = true
				case k.Mode == cpuexec.LeastValue:
					v.Value = all[0]
				case k.Mode == cpuexec.GreatestValue:
					v.Value = all[len(all)-1]
				default:
					v.Value = all[(len(all)-1)/2]
				}
			}
			p.Keys = append(p.Keys, v)
		}
	}
	slices.SortFunc(places, func(a, b cpuexec.Place) int {
		for i, k := range c.order.Keys {
			x, y := a.Keys[i], b.Keys[i]
			rank := func(v cpuexec.KeyValue) int {
				switch {
				case !v.Missing:
					return 1
				case k.MissingFirst:
					return 0
				}
				return 2
			}
			d := cmp.Compare(rank(x), rank(y))
			if d == 0 && !x.Missing {
				d = columns.Compare(x.Value, y.Value)
				if k.By == cpuexec.ByID {
					d = strings.Compare(x.Value.Term, y.Value.Term)
				}
				if k.Desc {
					d = -d
				}
			}
			if d != 0 {
				return d
			}
		}
		return cmp.Compare(a.Doc, b.Doc)
	})
	return places
}

// TestSortSheets: sheets are visited in any order, those of a rising column from the last to the first.
func TestSortSheets(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 33))
	const docs = 3*64*blockmax.TileDocs - 1000
	values := make([]columns.Value, docs)
	builder := columns.NewBuilder(columns.Int, nil)
	for d := range values {
		values[d] = columns.OfInt(int64(d)/50 + rng.Int64N(300))
		if err := builder.Add(uint32(d), values[d].Key); err != nil {
			t.Fatal(err)
		}
	}
	column, err := builder.View(docs)
	if err != nil {
		t.Fatal(err)
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs}
	has := [][]bool{make([]bool, docs), make([]bool, docs)}
	for i, every := range []int{5, 3000} {
		var l postings.Builder
		for d := range uint32(docs) {
			if has[i][d] = rng.IntN(every) == 0; has[i][d] {
				l.Add(d, 1, 1)
			}
		}
		list := l.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: list, Table: table, Bounds: segment.Bounds(list, table)})
	}
	leaf := func(i int) blockmax.Node { return blockmax.Node{Leaf: true, Term: i} }
	for i, c := range []struct {
		tree    blockmax.Node
		matches func(d int) bool
	}{
		{blockmax.Node{All: true}, func(int) bool { return true }},
		{leaf(0), func(d int) bool { return has[0][d] }},
		{leaf(1), func(d int) bool { return has[1][d] }},
		{blockmax.Node{Should: []blockmax.Node{leaf(0), leaf(1)}}, func(d int) bool { return has[0][d] || has[1][d] }},
		{blockmax.Node{Must: []blockmax.Node{leaf(0), leaf(1)}}, func(d int) bool { return has[0][d] && has[1][d] }},
	} {
		var order []int
		for d := range docs {
			if c.matches(d) {
				order = append(order, d)
			}
		}
		for _, desc := range []bool{false, true} {
			slices.SortStableFunc(order, func(a, b int) int {
				if desc {
					return columns.Compare(values[b], values[a])
				}
				return columns.Compare(values[a], values[b])
			})
			p := &blockmax.Plan{K: 100, Weights: []uint32{1, 1}, Segments: []blockmax.Segment{seg}, Tree: &c.tree}
			o := &cpuexec.Order{Keys: []cpuexec.SortKey{{Columns: []*columns.Column{column}, Desc: desc}}}
			for round, got := 0, 0; round < 30 && got < len(order); round++ {
				s, err := cpuexec.Parallel{}.Sort(context.Background(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, place := range s.Places {
					if int(place.Doc) != order[got] {
						t.Fatalf("tree %d, descending %v: place %d is document %d, want %d", i, desc, got, place.Doc, order[got])
					}
					got++
				}
				o.After = &s.Places[len(s.Places)-1]
				if round%3 == 2 { // far behind
					got = min(len(order)-1, got+rng.IntN(len(order)/8+1))
					at := order[got-1]
					o.After = &cpuexec.Place{Doc: uint32(at), Keys: []cpuexec.KeyValue{{Value: values[at]}}}
				}
			}
		}
	}
}
