package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// someList is a list of n documents.
func someList(n int) *postings.List {
	var b postings.Builder
	for d := range n {
		b.Add(uint32(2*d), 1, 1)
	}
	return b.View(postings.MaxDoc)
}

// TestListCacheBitmaps gives lists bitmaps until their share of the budget is used up.
func TestListCacheBitmaps(t *testing.T) {
	const budget, bitmap = 1 << 20, 8 << 10
	c := NewLists(budget)
	get := func(i int) *List {
		e, err := c.Get(Key{1, "f", fmt.Sprint(i)}, func() (*postings.List, error) { return someList(200), nil })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	kept := 0
	for i := range 100 {
		e := get(i)
		e.Postings.KeepBitmap(make([]uint64, bitmap/8))
		if c.Settle([]*List{e}); e.Postings.Bitmap() != nil {
			kept++
		}
		if c.Settle([]*List{e}); c.bitmaps.Load() != int64(kept*bitmap) {
			t.Fatalf("%d bitmaps are counted as %d bytes", kept, c.bitmaps.Load())
		}
	}
	if want := budget / 2 / bitmap; kept != want {
		t.Errorf("%d bitmaps are kept, want %d", kept, want)
	}
	if held := c.bytes.Load(); held < int64(kept*bitmap) || held > budget {
		t.Errorf("%d bytes are counted, with %d bitmaps", held, kept)
	}
	c.DropSegment(1)
	if c.bytes.Load() != 0 || c.bitmaps.Load() != 0 {
		t.Errorf("an empty cache holds %d bytes, %d of bitmaps", c.bytes.Load(), c.bitmaps.Load())
	}
}

func TestListCacheBudget(t *testing.T) {
	const budget = 64 << 10
	c, opened := NewLists(budget), 0
	get := func(segment uint64, term string, l *postings.List) *List {
		e, err := c.Get(Key{segment, "f", term}, func() (*postings.List, error) { opened++; return l, nil })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	absent := get(1, "absent", nil)
	if again := get(1, "absent", nil); again != absent || absent.Postings != nil || opened != 1 {
		t.Errorf("an absent term was looked up %d times", opened)
	}
	for i := range 1000 {
		get(1, fmt.Sprint(i), someList(200))
		if held := c.bytes.Load(); held > budget {
			t.Fatalf("%d bytes after %d lists, the budget is %d", held, i, budget)
		}
	}
	opened = 0
	for i := range 1000 {
		get(1, fmt.Sprint(999-i), someList(200))
	}
	if kept := 1000 - opened; kept < 20 || kept > 100 {
		t.Errorf("%d of 1,000 lists of about a kilobyte were kept in 64 KB", kept)
	}
	large := get(2, "large", someList(100_000))
	if get(2, "large", nil) != large {
		t.Error("a list above the budget is not kept while it is the newest")
	}
	get(1, "one more", someList(1))
	if held := c.bytes.Load(); held > budget {
		t.Errorf("%d bytes after a large list, the budget is %d", held, budget)
	}
	c.DropSegment(1)
	c.DropSegment(2)
	if held := c.bytes.Load(); held != 0 {
		t.Errorf("%d bytes are held for no segment", held)
	}
	n := c.Counts()
	if n.Hits+n.Misses != 1+1+1000+1000+2+1 || n.Misses < 1000 {
		t.Errorf("%d hits, %d misses", n.Hits, n.Misses)
	}
}

// TestListCacheSameTerm: a term of several segments, which share one hash and its strings, has a
// list for each.
func TestListCacheSameTerm(t *testing.T) {
	c := NewLists(1 << 20)
	segments := []uint64{7, 3, MemoryLists | 3, 9}
	get := func(segment uint64, field string, l *postings.List) *postings.List {
		e, err := c.Get(Key{segment, field, string([]byte("x"))}, func() (*postings.List, error) { return l, nil })
		if err != nil {
			t.Fatal(err)
		}
		return e.Postings
	}
	for i, segment := range segments {
		get(segment, "a", someList(i+1))
		get(segment, "b", someList(i+11))
	}
	c.DropSegment(9)
	get(9, "a", someList(4))
	hash := c.hash(Key{0, "a", "x"})
	shard := c.shard(hash)
	term := unsafe.StringData(shard.lists[hash].key.Term)
	for _, drop := range []int{1, 3, 0, 2} { // from within a chain, its ends, and the last
		for i, segment := range segments {
			e := shard.find(hash, Key{segment, "a", "x"})
			if e == nil {
				continue
			}
			if e.Postings.Count != i+1 {
				t.Errorf("segment %d has another list", segment)
			}
			if unsafe.StringData(e.key.Term) != term {
				t.Errorf("segment %d has a string of its own for the term", segment)
			}
		}
		c.remove(shard, shard.find(hash, Key{segments[drop], "a", "x"}))
		if shard.find(hash, Key{segments[drop], "a", "x"}) != nil {
			t.Errorf("segment %d still has a list", segments[drop])
		}
	}
	if shard.lists[hash] != nil {
		t.Error("the hash is left")
	}
	for i, segment := range segments[:3] {
		if got := get(segment, "b", nil); got == nil || got.Count != i+11 {
			t.Errorf("segment %d has another list of the other field", segment)
		}
	}
}

// TestTogether: the lists of a term are found in any order of the segments, without those that are
// not cached or have been checked for another view.
func TestTogether(t *testing.T) {
	c := NewLists(1 << 20)
	var all []*List
	places := []Place{{Segment: 4}, {Segment: 2}, {Segment: 8}, {Segment: MemoryLists | 2, Docs: 50}}
	for i, p := range places {
		for _, term := range []string{"x", "y"} {
			open := func() (*postings.List, error) { return someList(i + 1), nil }
			var e *List
			var err error
			if p.Docs == 0 {
				e, err = c.Get(Key{p.Segment, "f", term}, open)
			} else {
				e, err = c.Growing(Key{p.Segment, "f", term}, 0, p.Docs, i+1, open)
			}
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, e); term == "y" {
				all = all[:len(all)-1]
			}
		}
	}
	check := func(places []Place, want ...*List) {
		t.Helper()
		into, found := make([]*List, 2*len(places)), 0
		n := c.Together("f", "x", places, into, 2)
		for i, e := range want {
			if into[2*i] != e || into[2*i+1] != nil {
				t.Errorf("place %d: not its list", i)
			}
			if e != nil {
				found++
			}
		}
		if n != found {
			t.Errorf("%d lists are found, want %d", n, found)
		}
	}
	check(places, all...)
	check([]Place{places[3], places[0], {Segment: 5}, places[2]}, all[3], all[0], nil, all[2])
	check([]Place{places[1], {Segment: MemoryLists | 2, Docs: 51}}, all[1], nil)
	check(nil)
	c.DropSegment(2)
	check(places, all[0], nil, all[2], all[3])
	if c.Together("g", "x", places, make([]*List, 4), 1) != 0 {
		t.Error("another field has lists")
	}
}

func TestListCacheErrors(t *testing.T) {
	c, broken := NewLists(1000), errors.New("broken")
	for range 2 { // an error is not cached
		if _, err := c.Get(Key{Term: "x"}, func() (*postings.List, error) { return nil, broken }); err != broken {
			t.Errorf("the error is %v", err)
		}
	}
	if e, err := c.Get(Key{Term: "x"}, func() (*postings.List, error) { return nil, nil }); err != nil || e == nil {
		t.Errorf("%v %v", e, err)
	}
}

// TestListCacheConcurrent: every caller gets the list of its key, and the size adds up in the end.
func TestListCacheConcurrent(t *testing.T) {
	lists := make([]*postings.List, 300)
	for i := range lists {
		lists[i] = someList(i + 1)
	}
	c := NewLists(100 << 10)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 3000 {
				i := rng.IntN(len(lists))
				e, err := c.Get(Key{uint64(i % 3), "f", fmt.Sprint(i)}, func() (*postings.List, error) { return lists[i], nil })
				if err != nil || e.Postings != lists[i] {
					t.Errorf("another list than asked for: %v", err)
				}
				if rng.IntN(500) == 0 {
					c.DropSegment(uint64(rng.IntN(3)))
				}
			}
		})
	}
	wg.Wait()
	sum, n := int64(0), 0
	for i := range c.shards {
		s := &c.shards[i]
		for e := range s.entries {
			sum += e.size.Load()
			n++
		}
		for _, e := range s.lists {
			for ; e != nil; e = e.same {
				n--
			}
		}
	}
	if held := c.bytes.Load(); held != sum || held > c.budget.Load() || n != 0 {
		t.Errorf("%d bytes counted, %d held, the budget is %d; the rings have %d more entries than the maps", held, sum, c.budget.Load(), n)
	}
}

// parts serves the stored parts of a list.
type parts struct{ postings.Encoded }

func (p parts) Directory(part int) ([]byte, error) { return p.Encoded.Directory[part], nil }
func (p parts) Chunk(chunk int) ([]byte, error)    { return p.Chunks[chunk], nil }

// failing serves the stored parts of a list, or an error.
type failing struct {
	parts
	err error
}

func (f *failing) Directory(part int) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.parts.Directory(part)
}

// TestFailedListIsDropped: a list whose directory could not be read is opened anew for the next query.
func TestFailedListIsDropped(t *testing.T) {
	b := postings.Builder{Codec: postings.Interpolative}
	for d := range uint32(20_000) {
		b.Add(3*d, 1, 10)
	}
	src := &failing{parts: parts{b.Encode()}}
	c, opened := NewLists(1<<20), 0
	get := func() *List {
		e, err := c.Get(Key{1, "f", "t"}, func() (*postings.List, error) {
			opened++
			return postings.Open(src.Entry, src)
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := get()
	e.Postings.Shrink() // forgets the directory
	src.err = errors.New("lost")
	var docs [postings.BlockSize]uint32
	if _, err := e.Postings.Docs(70, &docs); !errors.Is(err, src.err) {
		t.Fatalf("%v, want %v", err, src.err)
	}
	c.Settle([]*List{e})
	c.Settle([]*List{e})
	if held, _ := c.Bytes(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	src.err = nil
	if _, err := get().Postings.Docs(70, &docs); err != nil || opened != 2 {
		t.Errorf("opened %d times, then %v", opened, err)
	}
	c.Settle([]*List{e})
	if get(); opened != 2 {
		t.Errorf("opened %d times: settling the old list drops the new one", opened)
	}
}

// TestListsShrink: under pressure, lists lose their postings, the oldest first, before any list is
// evicted.
func TestListsShrink(t *testing.T) {
	const lists, count = 40, 20_000
	enc := func() postings.Encoded {
		b := postings.Builder{Codec: postings.Interpolative}
		for d := range uint32(count) {
			b.Add(37*d+d*d%37, 1+d%7, uint8(10+d%20))
		}
		return b.Encode()
	}()
	c := NewLists(1 << 19) // for the rows of twenty
	opened := 0
	use := func(i int) *List {
		e, err := c.Get(Key{1, "f", fmt.Sprint(i)}, func() (*postings.List, error) { opened++; return postings.Open(enc.Entry, parts{enc}) })
		if err != nil {
			t.Fatal(err)
		}
		for b := range e.Postings.Blocks() {
			if _, err := e.Postings.Payload(b); err != nil {
				t.Fatal(err)
			}
		}
		c.Settle([]*List{e})
		if held, budget := c.Bytes(); held > budget || held != c.Measure() {
			t.Fatalf("%d bytes are counted, %d held, the budget is %d", held, c.Measure(), budget)
		}
		return e
	}
	all := make([]*List, lists)
	for range 2 {
		for i := range all {
			all[i] = use(i)
		}
	}
	if opened != lists {
		t.Errorf("%d lists were opened %d times", lists, opened)
	}
	full := all[lists-1].size.Load()
	shrunk := 0
	for _, e := range all {
		if e.size.Load() < full/4 {
			shrunk++
		}
	}
	if shrunk < lists/2 || shrunk == lists {
		t.Errorf("%d of %d lists have shrunk", shrunk, lists)
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 20)
	bounds, err := all[0].BoundsFor(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := postings.Open(enc.Entry, parts{enc})
	if err != nil {
		t.Fatal(err)
	}
	c.Settle(all[:1])
	if want := segment.Bounds(fresh, table); !slices.Equal(bounds.Block, want.Block) {
		t.Error("a shrunk list has other bounds")
	}
	longer := blockmax.NewTable(blockmax.DefaultBM25, 20.01)
	read := all[0].Postings.Fetched()
	if follows, err := all[0].BoundsFor(longer, nil); err != nil || all[0].Postings.Fetched() != read {
		t.Errorf("bounds under a slightly longer average read the list: %v", err)
	} else if again, _ := all[0].BoundsFor(longer, nil); again != follows {
		t.Error("bounds under the same table are not kept")
	} else if base, slack := follows.Base(); base != table || !slack {
		t.Error("bounds under a slightly longer average are computed anew")
	}
	c.Settle(all[:1])
	for i := range 200 {
		use(lists + i)
	}
	before := opened
	for i := range all {
		use(i)
	}
	if again := opened - before; again < lists/2 {
		t.Errorf("%d of %d lists were evicted: shrunk ones alone exceed the budget", again, lists)
	}
}

// TestResident: the parts of what is held add up, and bytes of hits and of reads are counted.
func TestResident(t *testing.T) {
	enc := func() postings.Encoded {
		b := postings.Builder{Codec: postings.Interpolative}
		for d := range uint32(20_000) {
			b.Add(3*d+d%2, 1+d%3, 10)
		}
		return b.Encode()
	}()
	stored := int64(0)
	for _, part := range slices.Concat(enc.Directory, enc.Chunks) {
		stored += int64(len(part))
	}
	c := NewLists(1 << 20)
	get := func() *List {
		e, err := c.Get(Key{1, "f", "t"}, func() (*postings.List, error) { return postings.Open(enc.Entry, parts{enc}) })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := get()
	var docs [postings.BlockSize]uint32
	if _, err := e.Postings.Docs(1, &docs); err != nil {
		t.Fatal(err)
	}
	c.Settle([]*List{e})
	r := c.Resident()
	if r.Code == 0 || r.Rows == 0 || r.Heads == 0 || r.Sum() != c.Measure() {
		t.Errorf("%+v, %d bytes are held", r, c.Measure())
	}
	for b := range e.Postings.Blocks() {
		if _, err := e.Postings.Docs(b, &docs); err != nil {
			t.Fatal(err)
		}
	}
	e.Postings.KeepBitmap(make([]uint64, 1000))
	c.Settle([]*List{e})
	c.KeepFilter(1, "x", NewFilter(make([]uint64, 100), 6400), nil)
	c.KeepFilter(1, "x", NewFilter(make([]uint64, 100), 6400), nil)
	if r := c.Resident(); r.Code != 0 || r.Bitmaps != 8000 || r.Filters < 800 || r.Sum() != c.Measure() {
		t.Errorf("%+v, %d bytes are held", r, c.Measure())
	}
	if n := c.Counts(); n.ReadBytes != stored || n.HitBytes != 0 {
		t.Errorf("%+v; %d bytes are stored", n, stored)
	}
	size := e.size.Load()
	get()
	c.Together("f", "t", []Place{{Segment: 1}}, make([]*List, 1), 1)
	if n := c.Counts(); n.ReadBytes != stored || n.HitBytes != 2*size {
		t.Errorf("%+v after two hits of %d bytes", n, size)
	}
}

// TestBeside: lists leave room for what others hold, but keep half of the budget.
func TestBeside(t *testing.T) {
	held := int64(0)
	c := NewLists(64 << 10)
	c.Beside(func() int64 { return held })
	fill := func() int64 {
		for i := range 200 {
			e, err := c.Get(Key{1, "f", fmt.Sprint(i)}, func() (*postings.List, error) { return someList(200), nil })
			if err != nil {
				t.Fatal(err)
			}
			c.Settle([]*List{e})
		}
		bytes, _ := c.Bytes()
		return bytes
	}
	for _, want := range []int64{64 << 10, 54 << 10, 32 << 10} {
		if got := fill(); got > want || got < want-8<<10 {
			t.Errorf("%d bytes beside %d others", got, held)
		}
		held = 10*held + 10<<10
	}
}
