package segment

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// named seals documents that have only ids.
func named(t testing.TB, ids []string) (*Disk, *mapStore) {
	m := NewMemory()
	for _, id := range ids {
		m.Add(Document{ID: id})
	}
	d, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	return d, s
}

// idSets are ids of many kinds, without duplicates.
func idSets(rng *rand.Rand) map[string][]string {
	sets := map[string][]string{"none": nil, "empty": {""}, "one": {"a"}}
	number := func(n int, format string, order func([]string)) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf(format, i))
		}
		order(ids)
		return ids
	}
	kept := func([]string) {}
	mixed := func(ids []string) { rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) }
	sets["page"] = number(idPageIDs, "%03d", kept)
	sets["page and one"] = number(idPageIDs+1, "%03d", kept)
	sets["numbers"] = number(3000, "n%d", kept)
	sets["backwards"] = number(1000, "n%d", slices.Reverse)
	sets["mixed"] = append(number(2000, "id-%x", mixed), "", "i", "id", strings.Repeat("x", 5000))
	sets["heads"] = number(idPageIDs*idHeadPages+700, "%d", kept)
	return sets
}

// TestIDs looks up every id by document, every document by id, and missing ids.
func TestIDs(t *testing.T) {
	for name, ids := range idSets(rand.New(rand.NewPCG(41, 42))) {
		t.Run(name, func(t *testing.T) {
			d, s := named(t, ids)
			Check(t.Context(), s, func(err error) { t.Error(err) })
			want := map[string]uint32{}
			for doc, id := range ids {
				want[id] = uint32(doc)
			}
			for doc, id := range ids {
				if got := must(d.ID(uint32(doc))); got != id {
					t.Fatalf("document %d has id %q, want %q", doc, got, id)
				}
				for _, id := range []string{id, id + "0", id + "\x00", id[:max(0, len(id)-1)]} {
					doc, ok, err := d.Lookup(id)
					if wanted, has := want[id]; err != nil || ok != has || ok && doc != wanted {
						t.Fatalf("id %q is document %d, %v, %v, want %d, %v", id, doc, ok, err, wanted, has)
					}
				}
			}
			sorted := slices.Sorted(slices.Values(ids))
			checkIDOrder(t, d, ids, sorted)
			for _, from := range []string{"", "id", "n5", "n9999", "~", "25", "\xff"} {
				first, _ := slices.BinarySearch(sorted, from)
				it := must(d.IDs(from))
				for _, id := range sorted[first:] {
					if !it.Next() || string(it.ID()) != id || it.Doc() != want[id] {
						t.Fatalf("from %q: id %q is document %d, want %q, %d; %v", from, it.ID(), it.Doc(), id, want[id], it.Err())
					}
				}
				if it.Next() || it.Err() != nil {
					t.Fatalf("from %q: one id too many, %v", from, it.Err())
				}
			}
		})
	}
}

// TestIDCache reads more ids than fit into the cache.
func TestIDCache(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	var ids []string
	for i := range 30_000 {
		ids = append(ids, fmt.Sprintf("%x%s", rng.Uint32(), strings.Repeat("-", 1000+i%7)))
	}
	d, _ := named(t, ids)
	before := d.HeldBytes()
	for range 3 {
		for _, doc := range rng.Perm(len(ids))[:5000] {
			if got := must(d.ID(uint32(doc))); got != ids[doc] {
				t.Fatalf("document %d has id %q", doc, got)
			}
			if held := d.ids.bytes.Load(); held > IDCacheBytes || held > d.HeldBytes()-before {
				t.Fatalf("%d bytes of ids are held, %d in all", held, d.HeldBytes())
			}
		}
	}
	if held := d.ids.bytes.Load(); held < IDCacheBytes/2 {
		t.Errorf("only %d bytes are held", held)
	}
	d.release()
	if d.HeldBytes() != 0 || d.ids.bytes.Load() != 0 {
		t.Errorf("after Release %d bytes are held", d.HeldBytes())
	}
}

// TestHitIDs: without room for pages, the ids of the last hits stay, whatever else is read.
func TestHitIDs(t *testing.T) {
	var ids []string
	for i := range 20_000 {
		ids = append(ids, fmt.Sprintf("%x", i*7919%20_000))
	}
	d, store := named(t, ids)
	d.LimitIDs(0)
	hits := []uint32{0, 77, 4000, 19_999}
	for _, doc := range hits {
		must(d.ID(doc))
	}
	if held := d.ids.bytes.Load(); held != 0 {
		t.Errorf("%d bytes of pages are held", held)
	}
	pages := store.values
	store.values = nil
	for _, doc := range hits {
		if got := must(d.ID(doc)); got != ids[doc] {
			t.Errorf("document %d has id %q, want %q", doc, got, ids[doc])
		}
	}
	store.values = pages
	for doc, want := range ids {
		if got := must(d.ID(uint32(doc))); got != want {
			t.Fatalf("document %d has id %q, want %q", doc, got, want)
		}
	}
}

// TestCheckIDs changes values of ids and makes their checksums valid again.
func TestCheckIDs(t *testing.T) {
	ids := idSets(rand.New(rand.NewPCG(45, 46)))["numbers"]
	seal := func(s *mapStore, key []byte, payload []byte) {
		s.values[string(key)] = endSealed(append(startSealed(nil), payload...))
	}
	for name, change := range map[string]func(s *mapStore, ids []string, docs []uint32){
		"page of other documents": func(s *mapStore, ids []string, docs []uint32) {
			docs[3], docs[4] = docs[4], docs[3]
		},
		"document twice":    func(s *mapStore, ids []string, docs []uint32) { docs[3] = docs[4] },
		"document too high": func(s *mapStore, ids []string, docs []uint32) { docs[3] = 3000 },
		"another id":        func(s *mapStore, ids []string, docs []uint32) { ids[0] = "m" },
		"page behind the next": func(s *mapStore, ids []string, docs []uint32) {
			ids[idPageIDs-1] = "~"
		},
		"other places": func(s *mapStore, ids []string, docs []uint32) {
			places := make([]uint32, 3000)
			for i := range places {
				places[i] = uint32(i)
			}
			seal(s, numberKey(kindPlace, 0), appendPlaces(nil, places))
		},
	} {
		_, s := named(t, ids)
		order := make([]uint32, len(ids))
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(ids[a], ids[b]) })
		page, docs := make([]string, idPageIDs), slices.Clone(order[:idPageIDs])
		for i, doc := range docs {
			page[i] = ids[doc]
		}
		change(s, page, docs)
		var w idWriter
		for i, id := range page {
			w.addDoc([]byte(id), docs[i])
		}
		seal(s, numberKey(kindID, 0), w.appendTo(nil))
		faults := 0
		Check(t.Context(), s, func(err error) {
			if faults++; !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if faults == 0 {
			t.Errorf("%s: Check finds nothing", name)
		}
	}
}

func BenchmarkID(b *testing.B) {
	rng := rand.New(rand.NewPCG(47, 48))
	ids := idSets(rng)["heads"]
	d, _ := named(b, ids)
	b.Run("id", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf, _ = d.AppendID(buf[:0], rng.Uint32N(d.Docs()))
		}
	})
	b.Run("lookup=present", func(b *testing.B) {
		for b.Loop() {
			d.Lookup(ids[rng.IntN(len(ids))])
		}
	})
	b.Run("lookup=absent", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			d.Lookup(ids[rng.IntN(len(ids))] + "a")
		}
	})
}

// TestIDsTwice has pages with the same id many times, which no merge writes.
func TestIDsTwice(t *testing.T) {
	const docs = 5 * idPageIDs
	ids := make([]string, docs)
	for i := range ids {
		ids[i] = fmt.Sprintf("%05d", i/700*700) // 0, 700 times, then 700, the rest
	}
	_, s := named(t, ids[:1])
	m := &merger{sink: &countingSink{sink: s}, docs: docs, places: make([]uint32, docs)}
	p := idPager{m: m, twice: true}
	for key := range s.values {
		if Kind(key[0]) < kindMeta {
			s.delete(key)
		}
	}
	s.last = [3]string{}
	for doc, id := range ids {
		if err := p.add([]byte(id), uint32(doc)); err != nil {
			t.Fatal(err)
		}
	}
	s.delete(string([]byte{byte(kindMeta)}))
	for _, step := range []func() error{p.finish, m.writePlaces, m.writeMeta} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	Check(t.Context(), s, func(err error) { t.Error(err) })
	d := must(Open(s))
	for id, want := range map[string]uint32{"00000": 699, "00700": docs - 1} {
		if doc, ok, err := d.Lookup(id); doc != want || !ok || err != nil {
			t.Errorf("id %s is document %d, %v, %v, want %d", id, doc, ok, err, want)
		}
		it := must(d.IDs(id))
		if !it.Next() || string(it.ID()) != id || it.Doc() != want/700*700 {
			t.Errorf("from %s the first is %q, document %d", id, it.ID(), it.Doc())
		}
	}
}

// TestIDTooLong checks that a small page that claims many ids of the maximal length is refused
// before memory is allocated, and that merges refuse longer ids.
func TestIDTooLong(t *testing.T) {
	for _, long := range []int{maxIDBytes, maxIDBytes + 1} {
		id := strings.Repeat("x", long)
		var w idWriter
		for range idHeadPages {
			w.add([]byte(id))
		}
		l, err := decodeHeads(w.appendTo(nil), idHeadPages)
		m := NewMemory()
		m.Add(Document{ID: id})
		_, mergeErr := Merge(t.Context(), newMapStore(t), []Input{{Reader: m.View()}}, MergeOptions{})
		if long <= maxIDBytes {
			if err != nil || mergeErr != nil || string(l.at(idHeadPages-1)) != id {
				t.Errorf("ids of %d bytes: %v, %v", long, err, mergeErr)
			}
			continue
		}
		requireCorrupt(t, err)
		if mergeErr == nil {
			t.Errorf("an id of %d bytes has been written", long)
		}
	}
}

// checkIDOrder compares the places of a segment's ids with the ids in order.
func checkIDOrder(t *testing.T, d *Disk, ids, sorted []string) {
	for tile := range (len(ids) + blockmax.TileDocs - 1) / blockmax.TileDocs {
		var places [blockmax.TileDocs]uint32
		n := must(d.IDPlaces(tile, &places))
		if want := min(blockmax.TileDocs, len(ids)-tile*blockmax.TileDocs); n != want {
			t.Fatalf("tile %d has %d documents, want %d", tile, n, want)
		}
		least, greatest, err := d.IDPlaceBounds(tile)
		if err != nil || least > slices.Min(places[:n]) || greatest < slices.Max(places[:n]) {
			t.Fatalf("tile %d has places %d..%d, %v, want %d..%d", tile, least, greatest, err, slices.Min(places[:n]), slices.Max(places[:n]))
		}
		for i, place := range places[:n] {
			doc := uint32(tile*blockmax.TileDocs + i)
			if one := must(d.IDPlace(doc)); one != place || sorted[place] != ids[doc] {
				t.Fatalf("document %d, %q, is at %d and %d, where %q is", doc, ids[doc], place, one, sorted[place])
			}
		}
	}
	for i := range 2000 {
		id := "\xff"
		if i%2 == 0 && len(ids) > 0 {
			id = ids[i*7919%len(ids)]
		}
		for _, id := range []string{id, id + "\x00", id[:max(0, len(id)-1)], "n" + id} {
			want, has := slices.BinarySearch(sorted, id)
			place, found, err := d.PlaceOfID(id)
			if err != nil || found != has || int(place) != want {
				t.Fatalf("id %q is at %d, %v, %v, want %d, %v", id, place, found, err, want, has)
			}
		}
	}
}

// BenchmarkIDPlaces reads the places of random ids: of a tile, and of single documents.
func BenchmarkIDPlaces(b *testing.B) {
	ids := make([]string, 100_000)
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range ids {
		ids[i] = fmt.Sprintf("%016x", rng.Uint64())
	}
	d, _ := named(b, ids)
	b.Run("tile", func(b *testing.B) {
		var places [blockmax.TileDocs]uint32
		for b.Loop() {
			must(d.IDPlaces(3, &places))
		}
	})
	b.Run("one", func(b *testing.B) {
		doc := uint32(0)
		for b.Loop() {
			doc = (doc + 7919) % uint32(len(ids))
			must(d.IDPlace(doc))
		}
	})
}
