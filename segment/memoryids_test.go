package segment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// readIDs reads a page of at most n ids and their documents.
func readIDs(t *testing.T, r Reader, from string, n int) (ids []string, docs []uint32) {
	t.Helper()
	it, err := r.IDs(from)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for len(ids) < n && it.Next() {
		ids, docs = append(ids, string(it.ID())), append(docs, it.Doc())
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	return ids, docs
}

// TestMemorySortsIDsOnce walks a memory page by page: the first walk makes an order, and all pages
// of all views use it.
func TestMemorySortsIDsOnce(t *testing.T) {
	m := NewMemory()
	for i := range 5000 {
		m.Add(Document{ID: fmt.Sprintf("%04d", i*7%5000)})
	}
	before := m.Bytes()
	v := m.View()
	var order *[]uint32
	from, seen := "", 0
	for {
		ids, _ := readIDs(t, v, from, 256)
		if order == nil {
			order = m.byID.sorted.Load()
		}
		if m.byID.sorted.Load() != order {
			t.Fatalf("the page from %q sorts the ids again", from)
		}
		for _, id := range ids {
			if want := fmt.Sprintf("%04d", seen); id != want {
				t.Fatalf("id %q, want %q", id, want)
			}
			seen++
		}
		if len(ids) < 256 {
			break
		}
		from = ids[len(ids)-1] + "\x00"
	}
	if seen != 5000 {
		t.Errorf("%d ids, want 5000", seen)
	}
	if grown := m.Bytes() - before; grown != 4*5000 {
		t.Errorf("the order is counted as %d bytes, want %d", grown, 4*5000)
	}
	allocs := testing.AllocsPerRun(10, func() { readIDs(t, v, "2500", 1) })
	if allocs > 6 {
		t.Errorf("a page of one id makes %v allocations", allocs)
	}
}

// TestMemoryIDsOfEveryView compares the ids of all views, including older ones, with a stable sort.
func TestMemoryIDsOfEveryView(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	m := NewMemory()
	var ids []string
	var views []*MemoryView
	for range 300 {
		for range rng.IntN(9) {
			ids = append(ids, fmt.Sprint(rng.IntN(400)))
			m.Add(Document{ID: ids[len(ids)-1]})
		}
		views = append(views, m.View())
		v := views[rng.IntN(len(views))]
		from := fmt.Sprint(rng.IntN(400))
		var want []uint32
		for doc := range v.Docs() {
			if ids[doc] >= from {
				want = append(want, doc)
			}
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return strings.Compare(ids[a], ids[b]) })
		_, got := readIDs(t, v, from, 1<<20)
		if !slices.Equal(got, want) {
			t.Fatalf("documents %v from %q in a view of %d, want %v", got, from, v.Docs(), want)
		}
	}
}

// TestLookupOfAnIDPutOften looks up old documents of an id that was put 100,000 times.
func TestLookupOfAnIDPutOften(t *testing.T) {
	const puts = 100_000
	m := NewMemory()
	m.Add(Document{ID: "other"})
	for range puts {
		m.Add(Document{ID: "counter"})
	}
	for _, limit := range []uint32{0, 1, 2, 3, 777, puts, puts + 1, puts + 2, maxDocs} {
		doc, ok := m.LookupBelow("counter", limit)
		want := min(limit, puts+1) - 1
		if limit < 2 {
			if ok {
				t.Errorf("below %d: document %d, want none", limit, doc)
			}
		} else if !ok || doc != want {
			t.Errorf("below %d: document %d, %v, want %d", limit, doc, ok, want)
		}
	}
	if n := len(m.earlier); n != 1 {
		t.Errorf("%d ids with earlier documents, want 1", n)
	}
	// The list doubles as it grows, so the old documents cost 4 bytes each within a factor of two.
	if list := m.earlier[0]; len(list) != puts-1 || cap(list) > 2*puts {
		t.Errorf("%d earlier documents in room for %d", len(list), cap(list))
	}
}
