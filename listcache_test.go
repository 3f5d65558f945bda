package riffle

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/search"
)

// TestListCacheSettles: what lists load for a query is counted when the query ends, and evicts
// others at once, even if the lists are never used again.
func TestListCacheSettles(t *testing.T) {
	ix := newIndex(t, &Options{CacheBytes: 256 << 10})
	b := new(Batch)
	for i := range 6000 {
		b.Put(fmt.Sprint("d", i), map[string]any{"t": fmt.Sprintf("a%d b%d c%d all", i*i%13, i*i%17, i*i%19)})
	}
	ix.must(ix.Apply(context.Background(), b))
	ix.must(ix.Flush(context.Background()))
	ask := func(q Query) {
		t.Helper()
		_, err := ix.Search(context.Background(), q, &SearchOptions{ExactTotal: true})
		ix.must(err)
		sum := ix.probe().Lists().Measure()
		if held, budget := ix.probe().Lists().Bytes(); held != sum || held > budget {
			t.Fatalf("after %v: %d bytes counted, %d held, the budget is %d", q, held, sum, budget)
		}
	}
	for i := range 19 {
		a, c := fmt.Sprint("a", i%13), fmt.Sprint("c", i)
		ask(match("t", a+" "+c+" all"))
		ask(Bool{Must: []Query{match("t", "all")}, Filter: []Query{Term{"t", c}, Term{"t", fmt.Sprint("b", i%17)}}})
	}
}

// TestResidentStats: Stats says what searches have left in memory, and counts bytes that were at hand
// and that were read.
func TestResidentStats(t *testing.T) {
	ix := newIndex(t, &Options{NoMap: true}) // what is lent from a mapped file takes no memory of a list
	b := new(Batch)
	for i := range 20_000 {
		b.Put(fmt.Sprint("d", i), map[string]any{"t": fmt.Sprintf("a%d b%d all", i*i%7, i*i%13)})
	}
	ix.must(ix.Apply(context.Background(), b))
	ix.must(ix.Flush(context.Background()))
	stats := func() *Stats {
		st, err := ix.Stats()
		ix.must(err)
		r := st.Resident
		if lists := r.Heads + r.Code + r.Rows + r.Positions + r.Ranges + r.Bitmaps + r.Columns + r.Filters; lists != st.CacheBytes {
			t.Errorf("%+v, but the lists have %d bytes", r, st.CacheBytes)
		}
		return st
	}
	if st := stats(); st.CacheBytes != 0 || st.CacheReadBytes != 0 || st.CacheHitBytes != 0 {
		t.Errorf("%+v before any search", st)
	}
	ask := func() {
		_, err := ix.Search(context.Background(), match("t", "a1 b4 all"), nil)
		ix.must(err)
	}
	ask()
	first := stats()
	if r := first.Resident; first.CacheReadBytes == 0 || first.CacheHitBytes != 0 || r.Heads == 0 || r.Code+r.Rows == 0 || r.Segments < 20_000 || r.Blocks == 0 || r.Sum() < first.CacheBytes+r.Segments {
		t.Errorf("after a search %+v, %d bytes read, %d at hand", r, first.CacheReadBytes, first.CacheHitBytes)
	}
	if first.CachePositionBytes != 0 || first.Resident.Positions > 4*64 { // where they lie, and no more
		t.Errorf("%d bytes of positions were read, and %d are held, for a search that needs none", first.CachePositionBytes, first.Resident.Positions)
	}
	ask()
	if again := stats(); again.CacheHitBytes < first.CacheBytes/2 || again.CacheHits != first.CacheHits+3 {
		t.Errorf("%d bytes of %d lists were at hand, of %d", again.CacheHitBytes, again.CacheHits, first.CacheBytes)
	}
}

// TestKeysOfLists: a long list of a sealed segment has a key of its own, which stays the same when
// the list is reopened, by this engine or the next. Other lists have none.
func TestKeysOfLists(t *testing.T) {
	ix := newIndex(t, nil)
	keys := func() (out []uint64) {
		v, err := ix.acquire()
		ix.must(err)
		defer v.Release()
		set, err := ix.settings(nil)
		ix.must(err)
		x, err := v.plan(context.Background(), match("t", "often each rare"), &set)
		ix.must(err)
		defer x.End()
		c := search.Compiled(x)
		for i := range c.Plan.Segments {
			for j := range c.Plan.Segments[i].Terms {
				out = append(out, c.Plan.Segments[i].Terms[j].Key)
			}
		}
		return out
	}
	b := new(Batch)
	for i := range 300 {
		b.Put(fmt.Sprint("d", i), map[string]any{"t": []string{"often each", "often each rare"}[i/299]})
	}
	ix.must(ix.Apply(context.Background(), b))
	if got := keys(); !slices.Equal(got, []uint64{0, 0, 0}) {
		t.Fatalf("keys of lists in memory are %x", got)
	}
	ix.must(ix.Flush(context.Background()))
	first := keys()
	if len(first) != 3 || first[0] == 0 || first[1] == 0 || first[0] == first[1] || first[2] != 0 {
		t.Fatalf("keys are %x; want two different ones, and none for a short list", first)
	}
	ix.probe().ForgetLists()
	if again := keys(); !slices.Equal(again, first) {
		t.Errorf("lists opened anew have keys %x, before %x", again, first)
	}
	ix.reopen(nil)
	if again := keys(); !slices.Equal(again, first) {
		t.Errorf("after opening the index anew keys are %x, before %x", again, first)
	}
}
