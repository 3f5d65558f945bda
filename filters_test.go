package riffle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/invariants"
)

// shareTags say which documents have them: none, one, a few, or a share of all.
var shareTags = []struct {
	tag string
	has func(i int, rng *rand.Rand) bool
}{
	{"none", func(int, *rand.Rand) bool { return false }},
	{"one", func(i int, _ *rand.Rand) bool { return i == 2345 }},
	{"few", func(i int, _ *rand.Rand) bool { return i%1900 == 7 }},
	{"0.1%", func(_ int, rng *rand.Rand) bool { return rng.IntN(1000) == 0 }},
	{"1%", func(_ int, rng *rand.Rand) bool { return rng.IntN(100) == 0 }},
	{"10%", func(_ int, rng *rand.Rand) bool { return rng.IntN(10) == 0 }},
	{"50%", func(_ int, rng *rand.Rand) bool { return rng.IntN(2) == 0 }},
	{"all", func(int, *rand.Rand) bool { return true }},
}

// taggedIndex has three segments, the last one in memory, and deleted documents in each. It returns
// the tags of all documents that are left.
func taggedIndex(t testing.TB, opts *Options) (*testIndex, map[string][]string) {
	ix := newIndex(t, opts)
	rng, tags := rand.New(rand.NewPCG(13, 5)), map[string][]string{}
	for i, docs := 0, []int{4200, 800, 4300}; len(docs) > 0; docs = docs[1:] {
		b := new(Batch)
		for range docs[0] {
			id, has := fmt.Sprint("d", i), []string{}
			for _, s := range shareTags {
				if s.has(i, rng) {
					has = append(has, s.tag)
				}
			}
			var words []string
			for w, every := range []int{2, 3, 9, 40, 700} {
				for rng.IntN(every) == 0 && len(words) < 20 {
					words = append(words, fmt.Sprint("w", w))
				}
			}
			tags[id] = has
			b.Put(id, map[string]any{"t": strings.Join(words, " "), "tag": has})
			i++
		}
		ix.must(ix.Apply(context.Background(), b))
		if len(docs) > 1 {
			ix.flush()
		}
	}
	b := new(Batch)
	for i := 3; i < 9300; i += 11 {
		id := fmt.Sprint("d", i)
		b.Delete(id)
		delete(tags, id)
	}
	ix.must(ix.Apply(context.Background(), b))
	return ix, tags
}

var taggedSchema = &Schema{NoStore: true, Dynamic: DynamicIndex, Fields: map[string]Field{"tag": {Type: FieldKeyword}}}

// TestFilters compares filtered searches with the hits of the unfiltered one that pass the filter:
// the same documents with the same scores, in every mode, for filters of all selectivities, before
// and after they are cached, over several segments with deletions and over one without.
func TestFilters(t *testing.T) {
	ix, tags := taggedIndex(t, &Options{Schema: taggedSchema, Merge: MergeOptions{Disabled: true}})
	hasTag := func(tag string) func([]string) bool {
		return func(has []string) bool { return slices.Contains(has, tag) }
	}
	type filter struct {
		name  string
		query func(Query) Query
		has   func(tags []string) bool
	}
	var filters []filter
	for _, s := range shareTags {
		term := Term{"tag", s.tag}
		filters = append(filters, filter{s.tag, func(q Query) Query { return Bool{Must: []Query{q}, Filter: []Query{term}} }, hasTag(s.tag)})
		if s.tag == "one" || s.tag == "1%" || s.tag == "50%" {
			filters = append(filters, filter{"not " + s.tag, func(q Query) Query { return Bool{Must: []Query{q}, MustNot: []Query{term}} },
				func(has []string) bool { return !hasTag(s.tag)(has) }})
		}
	}
	filters = append(filters,
		filter{"10% and 50% without 1%",
			func(q Query) Query {
				return Bool{Must: []Query{q}, Filter: []Query{Term{"tag", "10%"}, Term{"tag", "50%"}}, MustNot: []Query{Term{"tag", "1%"}}}
			},
			func(has []string) bool { return hasTag("10%")(has) && hasTag("50%")(has) && !hasTag("1%")(has) }},
		filter{"one, or few of 50%",
			func(q Query) Query {
				few := Bool{Must: []Query{Term{"tag", "few"}, Term{"tag", "50%"}}}
				return Bool{Must: []Query{q}, Filter: []Query{Bool{Should: []Query{Term{"tag", "one"}, few}}}}
			},
			func(has []string) bool { return hasTag("one")(has) || hasTag("few")(has) && hasTag("50%")(has) }},
	)
	words := func(mode Mode, text string) Query { return Match{Field: "t", Text: text, Mode: mode} }
	ctx := context.Background()
	check := func(state string) {
		t.Helper()
		for _, text := range []string{"w0 w1 w2", "w3 w4", "w0 w3", "w2"} {
			// Unfiltered searches return all matches.
			or, and := ix.search(words(ModeOr, text), &SearchOptions{K: 10_000}).Hits, ix.search(words(ModeAnd, text), &SearchOptions{K: 10_000}).Hits
			first, rest, _ := strings.Cut(text, " ")
			nested := Bool{Should: []Query{words(ModeAnd, text), words(ModeOr, first+" "+rest)}}
			tree := ix.search(nested, &SearchOptions{K: 10_000}).Hits
			for _, f := range filters {
				passing := func(all []Hit) (hits []Hit) {
					for _, h := range all {
						if f.has(tags[h.ID]) {
							hits = append(hits, h)
						}
					}
					return hits
				}
				for _, k := range []int{1, 10, 300} {
					andOr := passing(and)
					if len(andOr) < k {
						andOr = passing(or)
					}
					for _, c := range []struct {
						name string
						q    Query
						want []Hit
					}{
						{"or", words(ModeOr, text), passing(or)},
						{"and", words(ModeAnd, text), passing(and)},
						{"and+or", words(ModeAndOr, text), andOr},
						{"tree", nested, passing(tree)},
					} {
						q := f.query(c.q)
						got := ix.search(q, &SearchOptions{K: k})
						where := fmt.Sprintf("%s, %s of %q, filter %s, k %d", state, c.name, text, f.name, k)
						if len(got.Hits) != min(k, len(c.want)) {
							t.Fatalf("%s: %d hits of %d", where, len(got.Hits), len(c.want))
						}
						for i, h := range got.Hits {
							if want := c.want[i]; h.ID != want.ID || h.Score != want.Score {
								t.Fatalf("%s: hit %d is %s, %v, want %s, %v", where, i, h.ID, h.Score, want.ID, want.Score)
							}
						}
						if got.Total > len(c.want) || got.TotalExact && got.Total != len(c.want) {
							t.Errorf("%s: total %d of %d", where, got.Total, len(c.want))
						}
						if k != 10 {
							continue
						}
						n, err := ix.Count(ctx, q)
						if ix.must(err); c.name != "and+or" && n != len(c.want) {
							t.Errorf("%s: %d are counted of %d", where, n, len(c.want))
						}
					}
				}
			}
		}
	}
	check("three segments")
	st, err := ix.Stats()
	ix.must(err)
	if st.Filters.Cached < len(filters) || st.Filters.Hits < st.Filters.Misses || st.Filters.Bytes <= 0 || st.Filters.Bytes > st.CacheBytes {
		t.Errorf("%+v of %d bytes", st.Filters, st.CacheBytes)
	}
	b := new(Batch)
	for i := 4; i < 9300; i += 123 {
		id := fmt.Sprint("d", i)
		b.Delete(id)
		delete(tags, id)
	}
	ix.must(ix.Apply(ctx, b))
	check("more deleted")
	b.Reset()
	for i := range 200 {
		id, has := fmt.Sprint("new", i), []string{"all", "50%", "10%", "few"}[:1+i%4]
		tags[id] = has
		b.Put(id, map[string]any{"t": []string{"w0 w1", "w2 w3 w0", "w4 w1 w1"}[i%3], "tag": has})
	}
	ix.must(ix.Apply(ctx, b))
	check("more in memory")
	ix.must(ix.Compact(ctx))
	if st, err = ix.Stats(); err != nil || st.Filters.Cached != 0 || st.Filters.Bytes != 0 {
		t.Errorf("%+v are cached for segments that are gone: %v", st.Filters, err)
	}
	check("one segment")
}

// TestFilterParts: a filter of several clauses is made of those that are cached, and the exclusions
// of a tree leave it when they come again. TestFilters compares the answers.
func TestFilterParts(t *testing.T) {
	ix, _ := taggedIndex(t, &Options{Schema: taggedSchema, SearchWorkers: 1})
	ix.must(ix.Compact(context.Background()))
	var before FilterStats
	expect := func(what string, q Query, cached int, hits, misses int64) {
		t.Helper()
		ix.search(q, nil)
		st, err := ix.Stats()
		ix.must(err)
		if f := st.Filters; f.Cached-before.Cached != cached || f.Hits-before.Hits != hits || f.Misses-before.Misses != misses {
			t.Errorf("%s: %+v after %+v; want %d more cached, %d hits, %d misses", what, f, before, cached, hits, misses)
		}
		before = st.Filters
	}
	words := match("t", "w0 w1")
	tags := func(tags ...string) (terms []Query) {
		for _, tag := range tags {
			terms = append(terms, Term{"tag", tag})
		}
		return terms
	}
	filtered := func(tag ...string) Query { return Bool{Must: []Query{words}, Filter: tags(tag...)} }
	expect("first use", filtered("10%"), 0, 0, 1)
	expect("second use", filtered("10%"), 1, 0, 1)
	expect("third use", filtered("10%"), 0, 1, 0)
	expect("with a part that is cached", filtered("10%", "50%"), 0, 1, 2)
	expect("with a part that is used the second time", filtered("50%", "10%"), 1, 1, 2)
	expect("with two that are cached", Bool{Must: []Query{words}, Filter: tags("50%", "10%"), MustNot: tags("1%")}, 0, 2, 2)
	tree := Bool{Should: []Query{Bool{Must: []Query{words, Term{"t", "w2"}}}, Term{"t", "w3"}}, MustNot: tags("0.1%")}
	expect("an exclusion", tree, 0, 0, 0)
	expect("an exclusion that comes again", tree, 1, 0, 1)
	expect("an exclusion that is cached", tree, 0, 1, 0)
}

// TestFilterExcerpts: queries under a filter that comes again read no blocks of sealed segments in the
// end, with the answers of the first query, also after more documents have been deleted.
func TestFilterExcerpts(t *testing.T) {
	ix, _ := taggedIndex(t, &Options{Schema: taggedSchema, SearchWorkers: 1})
	ix.must(ix.Compact(ctx))
	for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
		for _, tag := range []string{"one", "1%", "10%"} {
			q := Bool{Must: []Query{Match{Field: "t", Text: "w0 w1 w2 w3", Mode: mode}}, Filter: []Query{Term{Field: "tag", Value: tag}}}
			search := func() *Result {
				res, err := ix.Search(ctx, q, &SearchOptions{K: 10})
				ix.must(err)
				return res
			}
			first := search()
			for round := 0; ; round++ {
				res := search()
				if !slices.Equal(hitsOf(res), hitsOf(first)) {
					t.Fatalf("mode %v, tag %s, round %d: %v, want %v", mode, tag, round, hitsOf(res), hitsOf(first))
				}
				if res.Work.BlocksDecoded == 0 {
					break
				}
				if round == 1000 {
					t.Fatalf("mode %v, tag %s: still %d blocks are decoded", mode, tag, res.Work.BlocksDecoded)
				}
			}
			if len(first.Hits) == 0 {
				continue
			}
			gone := first.Hits[0].ID
			ix.must(ix.Delete(ctx, gone))
			for _, h := range search().Hits {
				if h.ID == gone {
					t.Errorf("mode %v, tag %s: deleted %s is a hit", mode, tag, gone)
				}
			}
		}
	}
}

// hitsOf returns ids and scores.
func hitsOf(res *Result) (hits []string) {
	for _, h := range res.Hits {
		hits = append(hits, fmt.Sprint(h.ID, " ", h.Score))
	}
	return hits
}

// TestFilterAllocations bounds what a cached filter adds to the allocations of a search.
func TestFilterAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("checks allocate")
	}
	ix, _ := taggedIndex(t, &Options{Schema: taggedSchema, SearchWorkers: 1})
	ix.must(ix.Compact(context.Background()))
	allocs := func(q Query) float64 {
		for range 10 {
			ix.search(q, nil)
		}
		return testing.AllocsPerRun(100, func() {
			if _, err := ix.Search(context.Background(), q, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	q := match("t", "w0 w2 w3")
	plain := allocs(Bool{Must: []Query{q}})
	for _, tag := range []string{"0.1%", "1%", "50%"} {
		n := allocs(Bool{Must: []Query{q}, Filter: []Query{Term{"tag", tag}}})
		if n > plain+10 {
			t.Errorf("%s: %v allocations, %v without the filter", tag, n, plain)
		}
		t.Logf("%s: %v allocations, %v without the filter", tag, n, plain)
	}
}
