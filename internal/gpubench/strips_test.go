package main

import (
	"context"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/internal/gov2"
	"github.com/riffle-search/riffle/postings"
)

// impacts is a table: for each list the impact of every document plus one, or 0 where it has no
// posting.
type impacts [][]uint32

func readImpacts(t *testing.T, p *collection.Plan) (all impacts) {
	t.Helper()
	s := &p.Segments[0]
	for i := range s.Terms {
		row := make([]uint32, s.Docs)
		var c postings.Cursor
		c.Reset(s.Terms[i].List)
		for d := c.Next(); d != postings.End; d = c.Next() {
			row[d] = uint32(s.Terms[i].Table.Impact(c.TF(), s.Terms[i].Norms[d])) + 1
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// bound examines all documents of a group. It returns a bound on their scores, whether any can
// match, and the number of their postings. Tiles bound lists that are not flat, and cells of sparse
// lists have the bound of their strip.
func (all impacts) bound(p *collection.Plan, shift, width, from uint32) (bound uint32, matches bool, postings int64) {
	lists := 0
	for i, row := range all {
		count, strips := p.Segments[0].Terms[i].List.Count, (len(row)+1<<shift-1)>>shift*32
		highest := func(width uint32) (most uint32, n int64) {
			lo := from / width * width
			for d := lo; d < min(lo+width, uint32(len(row))); d++ {
				if most = max(most, row[d]); row[d] > 0 {
					n++
				}
			}
			return most, n
		}
		most, n := highest(width)
		postings += n
		switch {
		case count*256 < strips:
			most, _ = highest(1 << shift)
		case count < strips && most > 0 && width == 1<<shift/256:
			most, _ = highest(1 << shift / 32)
		}
		if most > 0 {
			lists++
			byte := max(1, (most-1+256)/257)
			bound += uint32(uint64(p.Weights[i]) * uint64(257*byte) >> 16)
		}
	}
	return bound, lists > 0 && (p.Mode == blockmax.Or || lists == len(all)), postings
}

// alive counts group by group.
func (all impacts) alive(p *collection.Plan, shift uint32, score, doc uint32) (n alive) {
	docs := uint32(len(all[0]))
	wins := func(width, from uint32) (yes bool, postings int64) {
		bound, matches, postings := all.bound(p, shift, width, from)
		return matches && (bound > score || bound == score && from <= doc), postings
	}
	for tile := uint32(0); tile < docs; tile += 1 << shift {
		yes, in := wins(1<<shift, tile)
		n.postings += in
		if yes {
			n.tiles++
			n.inTiles += in
		}
		strips := n.strips
		for strip := tile; strip < tile+1<<shift; strip += 1 << shift / 32 {
			yes, in := wins(1<<shift/32, strip)
			if !yes {
				continue
			}
			n.strips++
			n.inStrips += in
			cells := n.cells
			for cell := strip; cell < strip+1<<shift/32; cell += 1 << shift / 256 {
				if bound, matches, in := all.bound(p, shift, 1<<shift/256, cell); matches && bound >= score {
					n.cells++
					n.inCells += in
				}
			}
			if n.cells > cells {
				n.stripsWithCells++
				n.inStripsWithCells += in
			}
		}
		if n.strips > strips {
			n.tilesWithStrips++
		}
	}
	return n
}

// score is what a document scores, if it matches.
func (all impacts) score(p *collection.Plan, doc uint32) (score uint32, matches bool) {
	lists := 0
	for i, row := range all {
		if row[doc] > 0 {
			score += uint32(uint64(p.Weights[i]) * uint64(row[doc]-1) >> 16)
			lists++
		}
	}
	return score, lists > 0 && (p.Mode == blockmax.Or || lists == len(all))
}

// TestStripsByHand recounts everything document by document.
func TestStripsByHand(t *testing.T) {
	kinds := map[string]int{}
	for _, o := range []gov2.Options{{Docs: 20_300, Queries: 12, Postings: 0.03}, {Docs: 20_300, Queries: 12, Postings: 1}} {
		b := &bench{settings: &settings{}, ctx: context.Background(), answers: map[plans]*reference{}}
		b.c, b.shape.TileShift = gov2.Generate(o), 8
		for _, p := range []plans{{blockmax.Or, 10}, {blockmax.Or, 100}, {blockmax.And, 1}, {blockmax.And, 10}} {
			checkByHand(t, b, p, kinds)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("lists are %v, not of all kinds", kinds)
	}
}

// checkByHand checks all queries of one form, and counts the kinds of their lists.
func checkByHand(t *testing.T, b *bench, p plans, kinds map[string]int) {
	t.Helper()
	r, err := b.reference(p)
	if err != nil {
		t.Fatal(err)
	}
	shift := b.shape.TileShift
	var sum aliveByThreshold
	for i, plan := range r.plans {
		all := readImpacts(t, plan)
		g, err := newGrid(plan, shift)
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range plan.Segments[0].Terms {
			kinds[kindOf(term.List.Count, len(g.strips.bound))]++
		}
		keys, err := g.thresholds(r.tops[i].Hits)
		if err != nil {
			t.Fatal(err)
		}
		checkThresholds(t, g, all, keys, r.tops[i].Hits)
		for at, key := range append(keys[:], g.ties()...) {
			n := all.alive(plan, shift, uint32(key>>32), ^uint32(key))
			if got := g.alive(key); got != n {
				t.Errorf("%v, query %d, threshold %d: %+v, want %+v", p, i, at, got, n)
			}
			if at < thresholds {
				sum[at].add(&n)
			}
		}
	}
	got, err := b.countAlive(p)
	if err != nil || *got != sum {
		t.Errorf("%v: all queries together give %+v, %v, want %+v", p, got, err, sum)
	}
	if sum[finally].inCells >= sum[finally].inTiles || sum[finally].cells > sum[afterSeeds].cells {
		t.Errorf("%v: bounds and thresholds are of no use: %+v", p, sum)
	}
}

func kindOf(count, strips int) string {
	switch {
	case count*256 < strips:
		return "short"
	case count < strips:
		return "sparse"
	}
	return "dense"
}

// ties returns keys that a strip's bound just reaches, and keys that it just misses because the
// strip's documents come later.
func (g *grid) ties() (keys []uint64) {
	for _, strip := range g.bestStrips() {
		if doc := strip << g.strips.shift; doc > 0 {
			key := keyOf(blockmax.Hit{Score: g.strips.bound[strip], Doc: doc})
			return []uint64{key, key + 1}
		}
	}
	return nil
}

// seedsByHand finds, for each residue class of tiles, the best one strip by strip, and its strips
// that are nearly as good.
func (g *grid) seedsByHand() (strips []uint32) {
	classes, bounds := map[bool]int{true: 16, false: 64}[g.all], g.strips.bound
	for class := range classes {
		best := -1
		for i, bound := range bounds {
			if i/32%classes == class && bound != noBound && (best < 0 || bound > bounds[best]) {
				best = i
			}
		}
		for i := best &^ 31; best >= 0 && i < best|31+1; i++ {
			if bounds[i] != noBound && bounds[i] >= bounds[best]-bounds[best]/8 {
				strips = append(strips, uint32(i))
			}
		}
	}
	return strips
}

// checkThresholds compares the thresholds after some strips with the scores there. No threshold may
// lose a hit.
func checkThresholds(t *testing.T, g *grid, all impacts, keys [thresholds]uint64, hits []blockmax.Hit) {
	t.Helper()
	if tiles, best := len(g.tilesByStrips()), len(g.bestStrips()); best != min(tiles, g.firstTiles()) {
		t.Errorf("%d best strips of %d tiles", best, tiles)
	}
	got, want := g.seeds(), g.seedsByHand()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("strips of seeds are %v, want %v", got, want)
	}
	for at, strips := range map[int][]uint32{afterBest: g.bestStrips(), afterSeeds: g.seeds()} {
		var found []uint64
		for d := range uint32(len(all[0])) {
			if score, matches := all.score(g.plan, d); matches && slices.Contains(strips, d>>g.strips.shift) {
				found = append(found, uint64(score)<<32|uint64(^d))
			}
		}
		slices.Sort(found)
		want := uint64(0)
		if g.plan.Mode == blockmax.Or {
			want = uint64(g.plan.Seed()) << 32
		}
		if n := len(found) - g.plan.K; n >= 0 {
			want = max(want, found[n])
		}
		if keys[at] != want || want > keys[finally] {
			t.Errorf("%s: threshold %x, want %x, at most %x", thresholdNames[at], keys[at], want, keys[finally])
		}
	}
	for _, h := range hits {
		if bound := g.cells.bound[h.Doc>>g.cells.shift]; bound == noBound || bound < h.Score {
			t.Errorf("document %d scores %d where the bound is %d", h.Doc, h.Score, bound)
		}
	}
}
