package segment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/columns"
)

// addTo puts a document into a chunk.
func (d modelDoc) addTo(c *Chunk) {
	c.Begin(d.id)
	for name, f := range d.fields {
		c.Field(name, false)
		for term, tf := range f.terms {
			for range tf {
				if len(term) > 0 && len(term) < 8 && tf%2 == 0 {
					c.AddWords([]uint64{termKey([]byte(term))}, nil, 0)
				} else if len(term) >= 8 && tf%2 == 0 {
					c.AddWords([]uint64{longTerm}, [][]byte{[]byte(term)}, 0)
				} else {
					c.Add([]byte(term))
				}
			}
		}
		c.EndField(f.norms, f.length)
	}
	d.addValues(c)
	c.End(d.rank, []byte(d.stored))
}

// bulkOf writes the model through a Bulk, in chunks of perChunk documents. Occasionally it begins a
// document and abandons it.
func bulkOf(t testing.TB, m model, perChunk, indexers, workers int) (*mapStore, *BulkResult, *bulkView) {
	t.Helper()
	return preparedBulk(t, m, perChunk, indexers, workers, func(*Bulk) {})
}

// preparedBulk is bulkOf, with prepare called on the empty Bulk.
func preparedBulk(t testing.TB, m model, perChunk, indexers, workers int, prepare func(*Bulk)) (*mapStore, *BulkResult, *bulkView) {
	t.Helper()
	var c Chunk
	var parts *Partitions
	var b *Bulk
	store := newMapStore(t)
	stored := NewStoredWriter(context.Background(), store, StoredOptions{Workers: workers})
	flush := func() {
		if parts == nil {
			parts = c.Sample()
			b = NewBulk(parts, indexers)
			prepare(b)
		}
		c.Group(parts)
		b.Add(&c)
		if err := stored.Write(&c); err != nil {
			t.Fatal(err)
		}
		c.Reset()
	}
	for i, d := range m {
		if i%5 == 0 {
			c.Begin("abandoned")
			c.Field("body", false)
			c.Add([]byte("abandoned term"))
			c.Add([]byte("t1"))
			if i%2 == 0 {
				c.EndField(true, 2)
				c.Field("another", false)
			}
			c.Value("year", columns.OfString("abandoned"))
			c.Value("another", columns.OfInt(1))
			c.Abandon()
		}
		d.addTo(&c)
		if c.Docs() == uint32(perChunk) {
			flush()
		}
	}
	flush()
	if err := stored.Close(); err != nil {
		t.Fatal(err)
	}
	storedKeys := store.keys
	store.keys, store.last = nil, [3]string{}
	res, err := b.Write(context.Background(), store, BulkOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	store.keys = append(store.keys, storedKeys...)
	return store, res, newBulkView(b)
}

// TestBulkIsMerge checks that for any chunks and workers, a Bulk writes the same bytes as a sealed
// Memory, except for the cuts between blocks of stored documents.
func TestBulkIsMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{1, 3, 200, 3000} {
		m := randomModel(rng, n, "m")
		want := newMapStore(t)
		if _, err := Merge(context.Background(), want, []Input{{Reader: m.memory().View()}}, MergeOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, how := range []struct{ perChunk, indexers, workers int }{{1 << 20, 1, 1}, {1, 3, 2}, {37, 2, 16}, {500, 100, 3}} {
			got, res, view := bulkOf(t, m, how.perChunk, how.indexers, how.workers)
			if int(res.Docs) != n || len(res.Replaced) > 0 {
				t.Fatalf("%d documents, %d replaced", res.Docs, len(res.Replaced))
			}
			sameBytes(t, got, want)
			d, err := Open(got)
			if err != nil {
				t.Fatal(err)
			}
			requireEqual(t, m, d)
			requireFields(t, m, view)
			requireIDs(t, m, view)
			Check(context.Background(), got, func(err error) { t.Error(err) })
		}
	}
}

func sameBytes(t testing.TB, got, want *mapStore) {
	t.Helper()
	keys := func(s *mapStore) (keys []string) {
		for k := range s.values {
			if Kind(k[0]) != kindStored {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		return keys
	}
	g, w := keys(got), keys(want)
	if !slices.Equal(g, w) {
		t.Fatalf("%d keys, want %d", len(g), len(w))
	}
	for _, k := range g {
		if string(got.values[k]) != string(want.values[k]) {
			t.Fatalf("%s: %x, want %x", KeyString([]byte(k)), got.values[k], want.values[k])
		}
	}
}

// TestBulkReplaced checks that an id of several documents finds the last.
func TestBulkReplaced(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(6, 6)), 300, "m")
	var want []uint32
	for i := range m {
		if i%3 == 1 {
			m[i].id = fmt.Sprintf("same %d", i%4)
			if i+12 < len(m) {
				want = append(want, uint32(i))
			}
		}
	}
	store, res, _ := bulkOf(t, m, 50, 2, 2)
	if !slices.Equal(res.Replaced, want) {
		t.Fatalf("replaced %v, want %v", res.Replaced, want)
	}
	Check(context.Background(), store, func(err error) { t.Error(err) })
	d, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, m, d)
}

// TestTermTable checks that terms of any length are numbered by first occurrence.
func TestTermTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var table termTable
	for range 3 {
		numbers := make(map[string]uint32)
		for range 20_000 {
			term := make([]byte, rng.IntN(20))
			for i := range term {
				term[i] = byte(rng.IntN(3)) << (7 * rng.IntN(2))
			}
			want, known := numbers[string(term)]
			if got, ok := table.find(term); ok != known || ok && got != want {
				t.Fatalf("find %x: %d, %v, want %d, %v", term, got, ok, want, known)
			}
			if !known {
				want = uint32(len(numbers))
				numbers[string(term)] = want
			}
			if got := table.slot(term).number - 1; got != want || string(table.term(got)) != string(term) {
				t.Fatalf("slot of %x: number %d, want %d", term, got, want)
			}
		}
		table.reset()
	}
}

// TestPartitions checks that partitions are ranges, in order, and about equally heavy where
// prefixes allow.
func TestPartitions(t *testing.T) {
	var weight [prefixes]uint64
	rng := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		weight[rng.IntN(prefixes)] += uint64(rng.IntN(100))
	}
	p := newPartitions(&weight)
	if p.n != maxPartitions {
		t.Fatalf("%d partitions", p.n)
	}
	var total, most uint64
	for prefix := 1; prefix < prefixes; prefix++ {
		if d := int(p.of[prefix]) - int(p.of[prefix-1]); d != 0 && d != 1 {
			t.Fatalf("prefix %x is in partition %d, the one before in %d", prefix, p.of[prefix], p.of[prefix-1])
		}
	}
	for _, w := range p.weight {
		total, most = total+w, max(most, w)
	}
	if most*maxPartitions > 2*total {
		t.Errorf("the heaviest partition has %d of %d", most, total)
	}
	seen := map[int]bool{}
	for _, share := range p.share(5) {
		var load uint64
		for _, part := range share {
			if seen[part] {
				t.Errorf("partition %d is shared out twice", part)
			}
			seen[part] = true
			load += p.weight[part]
		}
		if load*5 > total*11/10 || load*5 < total*9/10 {
			t.Errorf("an indexer has %d of %d", load, total)
		}
	}
	if len(seen) != p.n {
		t.Errorf("%d of %d partitions are shared out", len(seen), p.n)
	}
	if one := newPartitions(new([prefixes]uint64)); one.n != 1 {
		t.Errorf("%d partitions of nothing", one.n)
	}
}

// TestAddChunk checks that a Memory that takes chunks equals one that takes documents, also for
// views taken in between.
func TestAddChunk(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{1, 40, 2000} {
		m := randomModel(rng, n, "m")
		for i := range m {
			if i%5 == 2 {
				m[i].id = fmt.Sprintf("same %d", i%3)
			}
		}
		mem := NewMemory()
		var c Chunk
		var views []*MemoryView
		for i, d := range m {
			d.addTo(&c)
			if i%397 != 3 && i != n-1 {
				continue
			}
			c.Group(OnePartition())
			if first := mem.AddChunk(&c); first != uint32(i+1)-c.Docs() {
				t.Fatalf("the chunk begins at %d", first)
			}
			c.Reset()
			views = append(views, mem.View())
		}
		for _, v := range views {
			requireEqual(t, m[:v.Docs()], v)
		}
		want := newMapStore(t)
		deleted := roaring.New()
		for i, d := range m {
			if last, _ := mem.Lookup(d.id); last != uint32(i) {
				deleted.Add(uint32(i))
			}
		}
		for _, mem := range []*Memory{m.memory(), mem} {
			got := newMapStore(t)
			if _, err := Merge(context.Background(), got, []Input{{Reader: mem.View(), Deleted: deleted}}, MergeOptions{}); err != nil {
				t.Fatal(err)
			}
			if len(want.values) > 0 {
				sameBytes(t, got, want)
			}
			want = got
		}
	}
}

// TestBulkManyTerms uses a dictionary too large for a near cache, whose first term is empty.
func TestBulkManyTerms(t *testing.T) {
	m := make(model, 200)
	for i := range m {
		m[i] = modelDoc{id: fmt.Sprint(i), fields: map[string]modelField{"f": {terms: map[string]uint32{"": 1}}}}
		for j := range 40 {
			m[i].fields["f"].terms[fmt.Sprintf("%x", (i*31+j*97)%5000*77777)] = 1 + uint32(j)
		}
	}
	store, _, _ := bulkOf(t, m, 9, 2, 2)
	d, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, m, d)
	mem := NewMemory()
	var c Chunk
	for i, d := range m {
		if d.addTo(&c); i%9 == 8 || i == len(m)-1 {
			c.Group(OnePartition())
			mem.AddChunk(&c)
			c.Reset()
		}
	}
	requireEqual(t, m, mem.View())
}

// TestBulkBytes checks that the reported memory of a Bulk is about what the heap has grown by, and
// not less.
func TestBulkBytes(t *testing.T) {
	docs, _ := zipfDocuments(6000)
	var c Chunk
	var b *Bulk
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	add := func(docs []Document) {
		for _, d := range docs {
			c.Begin(d.ID)
			c.Field("text", false)
			for _, tf := range d.Fields[0].Terms {
				c.Add(tf.Term)
			}
			c.EndField(true, 180)
			c.End(0, nil)
		}
		if b == nil {
			b = NewBulk(c.Sample(), 2)
		}
		c.Group(b.parts)
		b.Add(&c)
		c.Reset()
	}
	add(docs[:500]) // after this the chunk has allocated the memory it needs
	heapBefore, before := heap(), b.bytes()
	for chunk := range slices.Chunk(docs[500:], 500) {
		add(chunk)
	}
	grown, said := heap()-heapBefore, b.bytes()-before
	if said < 1<<20 || grown > said*9/8 || grown < said/2 {
		t.Errorf("the heap has grown by %d bytes, the Bulk says %d", grown, said)
	}
	if b.Full(b.bytes()+1) || !b.Full(b.bytes()) {
		t.Error("not full when it has its budget")
	}
	runtime.KeepAlive(docs)
}
