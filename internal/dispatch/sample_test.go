package dispatch

import (
	"math"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/gov2"
)

// TestSample compares what a sample says with all words of the lists: it may differ by what a sample of
// so few words does, on average of many queries by little.
func TestSample(t *testing.T) {
	c := gov2.Generate(gov2.Options{Docs: 300_000, Queries: 400})
	for i := range c.Lists {
		if err := refine(&c.Lists[i], c.Docs); err != nil {
			t.Fatal(err)
		}
	}
	var sampled, all reaching
	ranged, led := 0, 0
	for q := range c.Queries {
		p := c.Plan(q, blockmax.Or, 10)
		f := FeaturesOf(p)
		f.Sample(p)
		if !f.sampled {
			t.Fatalf("query %d has not been sampled", q)
		}
		if f.path() == oneLead || f.sparseLists > 0 {
			led++
			continue
		}
		ranged++
		sampled.words, all.words = sampled.words+f.at[0].words, all.words+float64(wordsReaching(p))
		sampled.tiles, all.tiles = sampled.tiles+f.at[0].tiles, all.tiles+float64(tilesReaching(p))
		if f.at[1].words > f.at[0].words || f.at[1].tiles > f.at[0].tiles || f.at[1].essential > f.at[0].essential {
			t.Errorf("query %d: more words reach a higher threshold: %+v", q, f.at)
		}
	}
	if ranged < 20 || led == 0 {
		t.Fatalf("%d queries of lists with bounds of words, %d others", ranged, led)
	}
	for _, x := range []struct {
		what      string
		got, want float64
	}{{"words", sampled.words, all.words}, {"tiles", sampled.tiles, all.tiles}} {
		if math.Abs(x.got-x.want) > 0.15*x.want {
			t.Errorf("%s that reach the threshold: the samples of %d queries say %.0f, there are %.0f", x.what, ranged, x.got, x.want)
		}
	}
}

// refine makes the bounds of words of a list, unless it is as rare as those for which executors make none.
func refine(term *blockmax.Term, docs uint32) error {
	l := term.List
	if uint32(l.Count) < docs/256 {
		return nil
	}
	tiles := blockmax.Tiles(docs)
	r := &blockmax.Ranges{Word: make([]uint8, 64*tiles), Tile: make([]uint8, (tiles+63)&^63), First: make([]uint32, tiles+1)}
	for b := range l.Blocks() {
		var to, freqs [128]uint32
		n, err := l.Docs(b, &to)
		if err == nil {
			_, err = l.Freqs(b, &freqs)
		}
		if err != nil {
			return err
		}
		for i, doc := range to[:n] {
			r.Add(doc, term.Table.Impact(freqs[i], term.Norms[doc]))
		}
	}
	term.Bounds.Refine(r)
	return nil
}

// wordsReaching counts the words of the plan whose bounds reach the first threshold.
func wordsReaching(p *Plan) (n int) {
	seg, seed := &p.Segments[0], p.Seed()
	for w := range 64 * blockmax.Tiles(seg.Docs) {
		sum := uint32(0)
		for t := range seg.Terms {
			sum += blockmax.CoarseUnit(p.Weights[t]) * uint32(seg.Terms[t].Bounds.Refined().Word[w])
		}
		if sum > 0 && sum >= seed {
			n++
		}
	}
	return n
}

// tilesReaching counts the tiles, times the lists with postings there.
func tilesReaching(p *Plan) (n int) {
	seg, seed := &p.Segments[0], p.Seed()
	for w := range blockmax.Tiles(seg.Docs) {
		sum, lists := uint32(0), 0
		for t := range seg.Terms {
			if bound := seg.Terms[t].Bounds.Refined().Tile[w]; bound > 0 {
				sum += blockmax.CoarseUnit(p.Weights[t]) * uint32(bound)
				lists++
			}
		}
		if lists > 0 && sum >= seed {
			n += lists
		}
	}
	return n
}

// TestSamplePaths: which prices a query has.
func TestSamplePaths(t *testing.T) {
	c := gov2.Generate(gov2.Options{Docs: 100_000, Queries: 200})
	seen := map[path]int{}
	for q := range c.Queries {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			for _, k := range []int{10, 1000} {
				p := c.Plan(q, mode, k)
				f := FeaturesOf(p)
				if got := f.path(); got != anyOf && got != allOf {
					t.Fatalf("without a sample a query has the prices of %s", pathNames[got])
				}
				f.Sample(p)
				seen[f.path()]++
				if one := f.path() == oneLead || f.path() == oneTile || f.path() == oneLead+many || f.path() == oneTile+many; one != (f.Terms == 1) {
					t.Errorf("%d lists have the prices of %s", f.Terms, pathNames[f.path()])
				}
			}
		}
	}
	for p := union; p < paths; p++ {
		if seen[p] == 0 {
			t.Errorf("no query has the prices of %s", pathNames[p])
		}
	}
	tree := Features{Tree: true, Terms: 2, Postings: 10}
	tree.Sample(new(Plan))
	if tree.path() != anyOf {
		t.Errorf("a tree has the prices of %s", pathNames[tree.path()])
	}
}

// TestSampleAllocates: every query that policy auto decides about is sampled, so that must make no garbage.
func TestSampleAllocates(t *testing.T) {
	c := gov2.Generate(gov2.Options{Docs: 200_000, Queries: 4})
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		for _, p := range c.Plans(mode, 10) {
			f := FeaturesOf(p)
			if n := testing.AllocsPerRun(10, func() { f.Sample(p) }); n > 0 {
				t.Errorf("a sample of %d terms, all of which are required: %v, allocates %v times", f.Terms, f.All, n)
			}
		}
	}
}

// BenchmarkSample measures a sample of lists that are in near caches.
func BenchmarkSample(b *testing.B) {
	c := gov2.Generate(gov2.Options{Docs: 200_000, Queries: 64})
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		plans := c.Plans(mode, 10)
		b.Run(map[blockmax.Mode]string{blockmax.Or: "or", blockmax.And: "and"}[mode], func(b *testing.B) {
			i := 0
			for b.Loop() {
				f := FeaturesOf(plans[i%len(plans)])
				f.Sample(plans[i%len(plans)])
				i++
			}
		})
	}
}
