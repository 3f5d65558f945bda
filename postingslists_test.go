package riffle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/accelerator"
)

// fillSquares adds documents 0000 to n-1 in which "all" is everywhere, "few" in every 64th, and the
// length and the frequency of "all" vary.
func (ix *testIndex) fillSquares(n int) {
	b := new(Batch)
	for i := range n {
		text := strings.Repeat("all ", 1+i*i%11) + strings.Repeat("x ", i*i%29)
		if i%64 == 3 {
			text += "few"
		}
		b.Put(fmt.Sprintf("%05d", i), map[string]any{"t": text})
	}
	ix.must(ix.Apply(ix.t.Context(), b))
}

// TestPostings: a list is described block by block and extent by extent; no document scores more than the
// bound of its block, and some document of each block as much; and pages are parts of the whole.
func TestPostings(t *testing.T) {
	const docs = 9000
	for _, sealed := range []bool{false, true} {
		ix := newIndex(t, nil)
		ix.fillSquares(docs)
		if sealed {
			ix.flush()
		}
		for _, term := range []string{"all", "few"} {
			scores := make([]float64, docs)
			having := 0
			for _, h := range ix.search(Term{"t", term}, &SearchOptions{K: MaxK}).Hits {
				var i int
				fmt.Sscanf(h.ID, "%d", &i)
				scores[i] = h.Score
				having++
			}
			for _, extents := range []bool{false, true} {
				lists, err := ix.Postings(t.Context(), "t", term, &PostingsOptions{Limit: 1 << 20, Extents: extents})
				ix.must(err)
				if len(lists) != 1 {
					t.Fatalf("sealed %v: %d lists, want 1", sealed, len(lists))
				}
				l := lists[0]
				want := l.Blocks
				if extents {
					want = l.Extents
				}
				if l.Documents != having || l.Blocks != (having+127)/128 || l.Extents != (l.Blocks+31)/32 || len(l.Ranges) != want || l.SegmentDocs != docs || l.Base != 0 || (l.Segment > 0) != sealed {
					t.Errorf("sealed %v: %q in %d documents: %+v", sealed, term, having, l)
				}
				next, n, bits, highest := uint32(0), 0, 0, 0.0
				for i, r := range l.Ranges {
					best := slices.Max(scores[r.First : r.Last+1])
					last := !sealed && i == len(l.Ranges)-1 // has bounds of documents to come
					if r.Number != i || r.First != next || scores[r.Last] == 0 || best > r.Bound || best < r.Bound && !last {
						t.Fatalf("sealed %v: %q: range %d begins at %d, and the best score is %v: %+v", sealed, term, i, next, best, r)
					}
					if r.Frequency == 0 || r.Length < r.Frequency || (r.Encoding == "") != extents || (r.Bits == 0 && r.Encoding != "run tf/0") != extents {
						t.Errorf("sealed %v: %q: %+v", sealed, term, r)
					}
					next, n, bits, highest = r.Last+1, n+r.Postings, bits+r.Bits, max(highest, r.Bound)
				}
				if n != having || highest > l.Bound || highest < l.Bound && sealed {
					t.Errorf("sealed %v: %q: %d postings up to %v in ranges of %+v", sealed, term, n, highest, l)
				}
				if !extents && (int64(bits) > 8*l.Bytes || int64(bits) < 8*l.Bytes-8*int64(l.Extents)) {
					t.Errorf("sealed %v: %q: %d bits in blocks of %d bytes", sealed, term, bits, l.Bytes)
				}
				for from := -1; from < want+1; from += 7 {
					page, err := ix.Postings(t.Context(), "t", term, &PostingsOptions{From: from, Limit: 7, Extents: extents})
					ix.must(err)
					if begin := min(max(from, 0), want); !reflect.DeepEqual(page[0].Ranges, l.Ranges[begin:min(begin+7, want)]) {
						t.Errorf("sealed %v: %q: the page from %d on is %+v", sealed, term, from, page[0].Ranges)
					}
				}
			}
		}
		for _, o := range []*PostingsOptions{nil, {Limit: -1}} {
			lists, err := ix.Postings(t.Context(), "t", "all", o)
			ix.must(err)
			if want := map[bool]int{true: 71, false: 0}[o == nil]; len(lists[0].Ranges) != want {
				t.Errorf("%d ranges, want %d", len(lists[0].Ranges), want)
			}
		}
	}
}

// TestPostingsOfSegments: each segment with the term has a list; one can be chosen; looking changes nothing in
// the cache.
func TestPostingsOfSegments(t *testing.T) {
	ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}})
	ix.fillSquares(300)
	ix.flush()
	ix.put("other", map[string]any{"t": "another"})
	ix.flush()
	ix.put("last", map[string]any{"t": "all of it", "n": 7})
	before, err := ix.Stats()
	ix.must(err)
	lists, err := ix.Postings(t.Context(), "t", "all", nil)
	ix.must(err)
	after, err := ix.Stats()
	ix.must(err)
	if after.CacheMisses != before.CacheMisses || after.CacheHits != before.CacheHits || after.CacheBytes != before.CacheBytes {
		t.Error("looking at a list changes the cache")
	}
	if len(lists) != 2 || lists[0].Documents != 300 || lists[1].Documents != 1 || lists[1].Segment != 0 || lists[1].Base != 301 || lists[0].Visits != 0 || lists[0].CachedBytes != 0 {
		t.Fatalf("%+v", lists)
	}
	for range 3 {
		ix.search(Term{"t", "all"}, nil)
	}
	only, err := ix.Postings(t.Context(), "t", "all", &PostingsOptions{Segment: &lists[0].Segment})
	ix.must(err)
	if len(only) != 1 || only[0].Segment != lists[0].Segment || only[0].Visits != 3 || only[0].CachedBytes == 0 {
		t.Errorf("%+v", only)
	}
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	ix.put("more", map[string]any{"t": "all"})
	if then, err := s.Postings(t.Context(), "t", "all", nil); err != nil || len(then) != 2 || then[1].Documents != 1 {
		t.Errorf("%+v, %v in the snapshot", then, err)
	}
	if none, err := ix.Postings(t.Context(), "t", "absent", nil); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v of a term that no document has", none, err)
	}
	var qe *QueryError
	if _, err := ix.Postings(t.Context(), "unknown", "all", nil); !errors.As(err, &qe) {
		t.Errorf("an unknown field: %v", err)
	}
}

// TestCachedLists: the lists that searches look up most come first, with what they take.
func TestCachedLists(t *testing.T) {
	ix := newIndex(t, &Options{NoMap: true}) // what is lent from a mapped file takes no memory of a list
	ix.fillSquares(9000)
	ix.flush()
	if lists, err := ix.CachedLists(10); err != nil || len(lists) != 0 {
		t.Errorf("%+v, %v before any search", lists, err)
	}
	for range 200 {
		ix.search(Term{"t", "few"}, nil)
	}
	for range 5 {
		ix.search(Term{"t", "all"}, nil)
	}
	ix.search(Term{"t", "x"}, nil)
	ix.search(Term{"t", "absent"}, nil)
	lists, err := ix.CachedLists(10)
	ix.must(err)
	st, err := ix.Stats()
	ix.must(err)
	var sum int64
	for _, l := range lists {
		if l.Bytes != l.Heads+l.Code+l.Rows+l.Bitmap+l.Positions || l.Heads <= 0 || l.Code+l.Rows <= 0 || l.Segment != st.Segments[0].Number || l.Field != "t" || l.Pair {
			t.Errorf("%+v", l)
		}
		sum += l.Bytes
	}
	if len(lists) != 3 || lists[0].Term != "few" || lists[1].Term != "all" || lists[2].Term != "x" || lists[1].Visits != 5 || lists[2].Visits != 1 || lists[0].Postings != 141 {
		t.Errorf("%+v", lists)
	}
	if v := lists[0].Visits; v < 64 || v > 600 {
		t.Errorf("%d visits are estimated of 200", v)
	}
	if absent := st.CacheBytes - sum; absent <= 0 || absent > 1000 {
		t.Errorf("lists of %d bytes, and %d in the cache with an absent one", sum, st.CacheBytes)
	}
	if first, err := ix.CachedLists(1); err != nil || len(first) != 1 || first[0].Term != "few" {
		t.Errorf("%+v, %v", first, err)
	}
}

// listedDevices is an Accelerator with a known content of its caches.
type listedDevices struct {
	accelerator.Accelerator
	lists [][]accelerator.CachedList
}

func (l *listedDevices) Lists(n int) [][]accelerator.CachedList { return l.lists }

// TestGPUCachedLists: lists of a GPU's cache get their names from those of the cache in main memory.
func TestGPUCachedLists(t *testing.T) {
	o, over, devices := &Options{GPU: &GPUOptions{}}, overDevices(&halfDevice{}), &listedDevices{}
	o.private.accelerator = func(a accelerator.Options) (accelerator.Accelerator, error) {
		x, err := over(a)
		devices.Accelerator = x
		return devices, err
	}
	ix := newIndex(t, o)
	ix.fillSquares(9000)
	ix.flush()
	ix.search(Term{"t", "all"}, nil)
	st, err := ix.Stats()
	ix.must(err)
	key := st.Segments[0].Number<<32 | 1 // lists are numbered in the order of their terms
	devices.lists = [][]accelerator.CachedList{{{Key: key, Visits: 2.5, Extents: 3, CachedExtents: 2, CachedBytes: 4096}, {Key: key + 1, Visits: 1}}, {}}
	got, err := ix.GPUCachedLists(5)
	ix.must(err)
	want := [][]GPUCachedList{{
		{Segment: st.Segments[0].Number, Field: "t", Term: "all", Visits: 2.5, Extents: 3, CachedExtents: 2, CachedBytes: 4096},
		{Segment: st.Segments[0].Number, Visits: 1},
	}, nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if lists, err := newIndex(t, nil).GPUCachedLists(5); err != nil || lists != nil {
		t.Errorf("%v, %v without a GPU", lists, err)
	}
}
