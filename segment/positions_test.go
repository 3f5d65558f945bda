package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// A placedDoc is a document whose fields are tokens at positions.
type placedDoc struct {
	id     string
	fields map[string]placedField
}

type placedField struct {
	words  bool // else exact terms
	tokens []placedToken
}

type placedToken struct {
	term string
	at   uint32
}

// placedDocs makes documents of words, of which some have holes or share a position, and of exact
// terms. Some documents are very long.
func placedDocs(rng *rand.Rand, n int, prefix string) []placedDoc {
	docs := make([]placedDoc, n)
	for i := range docs {
		docs[i] = placedDoc{fmt.Sprintf("%s%d", prefix, i), map[string]placedField{}}
		length := rng.IntN(40)
		if rng.IntN(300) == 0 {
			length = 3000
		}
		at := uint32(0)
		if rng.IntN(500) == 0 {
			at = 1 << 17
		}
		f := placedField{words: true}
		for range length {
			term := fmt.Sprintf("t%d", int(rng.ExpFloat64()*4))
			switch rng.IntN(12) {
			case 0:
				term = fmt.Sprintf("longer-%d", rng.IntN(50))
			case 1:
				term = fmt.Sprintf("r%x", rng.IntN(100_000))
			}
			f.tokens = append(f.tokens, placedToken{term, at})
			switch rng.IntN(30) {
			case 0: // the next one is at the same place
			case 1:
				at += 1 + PositionGap
			default:
				at++
			}
		}
		if length > 0 {
			docs[i].fields["body"] = f
		}
		docs[i].fields["key"] = placedField{tokens: []placedToken{{fmt.Sprintf("k%d", i%7), 0}, {"k1", 0}}}
	}
	return docs
}

// addTo puts a document into a chunk.
func (d placedDoc) addTo(c *Chunk, positions bool) {
	c.Begin(d.id)
	for _, name := range slices.Sorted(maps.Keys(d.fields)) {
		f := d.fields[name]
		c.Field(name, positions)
		for i := 0; i < len(f.tokens); {
			run := 1 // tokens at consecutive positions
			for i+run < len(f.tokens) && f.tokens[i+run].at == f.tokens[i].at+uint32(run) {
				run++
			}
			if run < 3 {
				c.AddAt([]byte(f.tokens[i].term), f.tokens[i].at)
				i++
				continue
			}
			var keys []uint64
			var long [][]byte
			for _, tok := range f.tokens[i : i+run] {
				if key := termKey([]byte(tok.term)); key < longTerm {
					keys = append(keys, key)
				} else {
					keys, long = append(keys, longTerm), append(long, []byte(tok.term))
				}
			}
			c.AddWords(keys, long, f.tokens[i].at)
			i += run
		}
		c.EndField(f.words, uint32(len(f.tokens)))
	}
	c.End(0, nil)
}

// placedMemory adds documents to a Memory, in chunks.
func placedMemory(rng *rand.Rand, m *Memory, docs []placedDoc, positions bool) {
	for len(docs) > 0 {
		var c Chunk
		n := 1 + rng.IntN(len(docs))
		for _, d := range docs[:n] {
			if rng.IntN(20) == 0 {
				c.Begin("abandoned")
				c.Field("body", positions)
				c.AddAt([]byte("t1"), 5)
				c.EndField(true, 1)
				c.Abandon()
			}
			d.addTo(&c, positions)
		}
		c.Group(OnePartition())
		m.AddChunk(&c)
		docs = docs[n:]
	}
}

// requirePlaces compares the positions of all terms of a segment with those of documents. exact says
// that fields of exact terms have positions, too, as in memory.
func requirePlaces(t testing.TB, docs []placedDoc, r Reader, exact bool) {
	t.Helper()
	lists := map[[2]string]map[uint32][]uint32{}
	for i, d := range docs {
		for name, f := range d.fields {
			for _, tok := range f.tokens {
				key := [2]string{name, tok.term}
				if lists[key] == nil {
					lists[key] = map[uint32][]uint32{}
				}
				lists[key][uint32(i)] = append(lists[key][uint32(i)], tok.at)
			}
		}
	}
	for _, f := range r.Fields() {
		words := false
		for _, d := range docs {
			words = words || d.fields[f.Name].words
		}
		if f.Docs > 0 && (f.Positions != (words || exact) || f.LacksPositions()) {
			t.Fatalf("field %+v, words %v", f, words)
		}
	}
	var p postings.Positions
	var ids [postings.BlockSize]uint32
	for key, want := range lists {
		l, err := r.List(key[0], []byte(key[1]))
		if err != nil || l == nil || l.Count != len(want) {
			t.Fatalf("%q: %v, %v, want %d postings", key, l, err, len(want))
		}
		p.Reset(l)
		for b := range l.Blocks() {
			n, err := l.Docs(b, &ids)
			if err == nil {
				err = p.Load(b)
			}
			if err != nil {
				t.Fatalf("%q: %v", key, err)
			}
			for i, doc := range ids[:n] {
				if got := p.Append(nil, i); !slices.Equal(got, want[doc]) {
					t.Fatalf("%q, document %d: positions %v, want %v", key, doc, got, want[doc])
				}
			}
		}
	}
}

// TestPositionsMove takes documents through memory, seals, bulks, and merges in all orders with
// deletions.
func TestPositionsMove(t *testing.T) {
	orders := []Order{{}, {Kind: ByGlobalScore, Alpha: 1, BM25: blockmax.DefaultBM25}, {Kind: ByGraph}}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 11))
		codec := []postings.Kind{postings.Packed, postings.Interpolative, postings.PFor}[rng.IntN(3)]
		var inputs []Input
		var live []placedDoc
		for i := range 1 + rng.IntN(3) {
			docs := placedDocs(rng, 1+rng.IntN(1500), fmt.Sprintf("%d-", i))
			m := NewMemory()
			half := rng.IntN(len(docs))
			placedMemory(rng, m, docs[:half], true)
			early := m.View()
			placedMemory(rng, m, docs[half:], true)
			requirePlaces(t, docs[:half], early, true)
			requirePlaces(t, docs, m.View(), true)
			var r Reader = m.View()
			if rng.IntN(2) == 0 {
				s, d := placedMerge(t, MergeOptions{Codec: codec}, Input{Reader: r})
				requirePlaces(t, docs, d, false)
				Check(t.Context(), s, func(err error) { t.Error(err) })
				sorters := []*plainSorter{nil, {room: 1 << 30}, {room: 20_000}, {room: 20_000, failAt: 2}}
				sameBytes(t, placedBulk(t, rng, docs, codec, sorters[(int(seed)+i)%len(sorters)]), s)
				r = d
			}
			in := Input{Reader: r}
			if rng.IntN(2) == 0 {
				in.Deleted = roaring.New()
				for doc := range uint32(len(docs)) {
					if rng.IntN(1+rng.IntN(20)) == 0 && doc > 0 {
						in.Deleted.Add(doc)
					}
				}
			}
			for doc := range docs {
				if in.Deleted == nil || !in.Deleted.Contains(uint32(doc)) {
					live = append(live, docs[doc])
				}
			}
			inputs = append(inputs, in)
		}
		for _, order := range orders {
			s, d := placedMerge(t, MergeOptions{Codec: codec, Order: order, Workers: 1 + rng.IntN(3)}, inputs...)
			sorted := make([]placedDoc, len(live))
			for _, doc := range live {
				n, ok, err := d.Lookup(doc.id)
				if !ok || err != nil {
					t.Fatalf("%q: %v, %v", doc.id, ok, err)
				}
				sorted[n] = doc
			}
			requirePlaces(t, sorted, d, false)
			Check(t.Context(), s, func(err error) { t.Error(err) })
			sizes, err := d.Sizes(t.Context())
			if err != nil || len(live) > 10 && sizes.Positions == 0 {
				t.Errorf("%d bytes of positions, %v", sizes.Positions, err)
			}
		}
	}
}

func placedMerge(t testing.TB, opts MergeOptions, inputs ...Input) (*mapStore, *Disk) {
	t.Helper()
	s := newMapStore(t)
	if _, err := Merge(context.Background(), s, inputs, opts); err != nil {
		t.Fatal(err)
	}
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

// placedBulk writes documents by a Bulk. With a Sorter, some of its partitions are the Sorter's.
func placedBulk(t testing.TB, rng *rand.Rand, docs []placedDoc, codec postings.Kind, sorter *plainSorter) *mapStore {
	t.Helper()
	var b *Bulk
	var parts *Partitions
	for len(docs) > 0 {
		var c Chunk
		n := 1 + rng.IntN(len(docs))
		for _, d := range docs[:n] {
			d.addTo(&c, true)
		}
		if b == nil {
			parts = c.Sample()
			b = NewBulk(parts, 2)
			if sorter != nil {
				b.Offload(sorter, []float64{0.5, 1}[rng.IntN(2)], func(err error) {
					if sorter.failAt == 0 {
						t.Error(err)
					}
				})
			}
		}
		c.Group(parts)
		b.Add(&c)
		docs = docs[n:]
	}
	s := newMapStore(t)
	if _, err := b.Write(context.Background(), s, BulkOptions{Codec: codec, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	requirePlacesOfBulk(t, newBulkView(b))
	return s
}

// requirePlacesOfBulk checks that lists of a Bulk have positions.
func requirePlacesOfBulk(t testing.TB, v *bulkView) {
	t.Helper()
	for _, f := range v.Fields() {
		it, err := v.Terms(f.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for it.Next() {
			if l, err := it.List(); err != nil || !l.HasPositions() {
				t.Fatalf("term %q: %v, positions %v", it.Term(), err, l.HasPositions())
			}
		}
	}
}

// TestPositionsMixed merges segments with and without positions: the field loses them, and says so.
// Exact terms need none.
func TestPositionsMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	docs := placedDocs(rng, 400, "a")
	with, without, exact := NewMemory(), NewMemory(), NewMemory()
	placedMemory(rng, with, docs, true)
	placedMemory(rng, without, placedDocs(rng, 300, "b"), false)
	keys := []placedDoc{{"c", map[string]placedField{"body": {tokens: []placedToken{{"t1", 0}, {"t1", 0}}}}}}
	placedMemory(rng, exact, keys, false)

	for _, sealed := range []bool{false, true} {
		readers := map[string]Reader{}
		for name, m := range map[string]*Memory{"with": with, "without": without, "exact": exact} {
			readers[name] = m.View()
			if sealed {
				_, readers[name] = placedMerge(t, MergeOptions{}, Input{Reader: readers[name]})
			}
		}
		s, d := placedMerge(t, MergeOptions{}, Input{Reader: readers["with"]}, Input{Reader: readers["without"]})
		Check(t.Context(), s, func(err error) { t.Error(err) })
		if f, _ := d.Field("body"); !f.LacksPositions() {
			t.Errorf("sealed %v: %+v has positions", sealed, f)
		}
		if strings.Contains(fmt.Sprint(d.Format().Features), positionsFeature) {
			t.Error("a segment without positions has the feature")
		}
		s, d = placedMerge(t, MergeOptions{}, Input{Reader: readers["with"]}, Input{Reader: readers["exact"]})
		Check(t.Context(), s, func(err error) { t.Error(err) })
		requirePlaces(t, append(slices.Clone(docs), keys...), d, false)
	}

	// In memory, a document without positions gets zeros where others have some.
	placedMemory(rng, with, keys, false)
	requirePlaces(t, append(slices.Clone(docs), keys...), with.View(), true)
	placedMemory(rng, without, docs, true)
	if f, _ := without.View().Field("body"); !f.LacksPositions() {
		t.Errorf("%+v has positions", f)
	}
}

// TestPositionsDamage changes bytes of the values of positions. Check finds each, and readers never
// panic.
func TestPositionsDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	docs := placedDocs(rng, 700, "d")
	m := NewMemory()
	placedMemory(rng, m, docs, true)
	s, _ := placedMerge(t, MergeOptions{}, Input{Reader: m.View()})
	for _, key := range slices.Clone(s.keys) {
		if k := Kind(key[0]); k != kindPosition && k != kindPositionShort {
			continue
		}
		value := s.values[key]
		for _, damage := range []string{"flip", "cut", "drop"} {
			switch damaged := slices.Clone(value); damage {
			case "flip":
				damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
				s.values[key] = damaged
			case "cut":
				s.values[key] = damaged[:rng.IntN(len(damaged))]
			case "drop":
				delete(s.values, key)
			}
			var found []error
			Check(t.Context(), s, func(err error) { found = append(found, err) })
			named := strings.Contains(fmt.Sprint(found), "positions")
			if len(found) == 0 || !errors.Is(found[0], corrupt.Err) || !named {
				t.Fatalf("%s: %s: found %v", KeyString([]byte(key)), damage, found)
			}
			s.values[key] = value
		}
	}
	s.keys = append(s.keys, string(positionKey(1<<20, 0)))
	s.values[s.keys[len(s.keys)-1]] = []byte("x")
	s.sorted = false
	stray := 0
	Check(t.Context(), s, func(error) { stray++ })
	if stray != 1 {
		t.Errorf("%d faults for a stray key", stray)
	}
}

// TestCheckFindsAnothersPositions lets terms that occur once in all lead to the documents and positions of
// each other: every count and bound of the segment holds.
func TestCheckFindsAnothersPositions(t *testing.T) {
	var docs []placedDoc
	for i, words := range []string{"abc", "dbe", "fbg"} {
		body := placedField{words: true}
		for at := range words {
			body.tokens = append(body.tokens, placedToken{words[at : at+1], uint32(at)})
		}
		docs = append(docs, placedDoc{id: fmt.Sprint(i), fields: map[string]placedField{"body": body}})
	}
	m := NewMemory()
	placedMemory(rand.New(rand.NewPCG(11, 11)), m, docs, true)
	s, d := placedMerge(t, MergeOptions{}, Input{Reader: m.View()})
	for _, pair := range [][2]string{{"a", "d"}, {"c", "e"}, {"e", "f"}} {
		key := string(d.termKey(0, []byte(pair[0])))
		value, other := s.values[key], s.values[string(d.termKey(0, []byte(pair[1])))]
		if len(value) != len(other) {
			t.Fatalf("entries of %q: %d and %d bytes", pair, len(value), len(other))
		}
		s.values[key] = other
		faults := 0
		Check(t.Context(), s, func(error) { faults++ })
		if faults != 1 {
			t.Errorf("%q: %d faults, want 1", pair, faults)
		}
		s.values[key] = value
	}
}

// TestPositionsTail compares the positions of the last documents of a view.
func TestPositionsTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	docs := placedDocs(rng, 500, "e")
	m := NewMemory()
	placedMemory(rng, m, docs[:300], true)
	lists := NewTailLists(250)
	for _, n := range []int{300, 400, 500} {
		if n > 300 {
			placedMemory(rng, m, docs[n-100:n], true)
		}
		tail := m.View().Tail(lists)
		var p postings.Positions
		for _, term := range []string{"t0", "t1", "t9"} {
			l, err := tail.List("body", term)
			if err != nil {
				t.Fatal(err)
			}
			if l == nil {
				continue
			}
			p.Reset(l)
			var ids [postings.BlockSize]uint32
			for b := range l.Blocks() {
				count, _ := l.Docs(b, &ids)
				if err := p.Load(b); err != nil {
					t.Fatal(err)
				}
				for i, doc := range ids[:count] {
					var want []uint32
					for _, tok := range docs[250+doc].fields["body"].tokens {
						if tok.term == term {
							want = append(want, tok.at)
						}
					}
					if got := p.Append(nil, i); !slices.Equal(got, want) {
						t.Fatalf("document %d: %v, want %v", doc, got, want)
					}
				}
			}
		}
	}
}
