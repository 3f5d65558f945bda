package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// requireNorms compares norms with the codes of the documents that have the field.
func requireNorms(t testing.TB, n Norms, want map[uint32]uint8) {
	t.Helper()
	column := n.Column()
	if n.Sparse() {
		column = n.Expand()
	}
	var docs []uint32
	for doc, code := range want {
		docs = append(docs, doc)
		if column[doc] != code || n.of(doc) != code {
			t.Fatalf("document %d has code %d in the column, %d by itself, want %d", doc, column[doc], n.of(doc), code)
		}
	}
	slices.Sort(docs)
	codes := make([]uint8, len(docs))
	n.fill(codes, docs)
	for i, doc := range docs {
		if codes[i] != want[doc] {
			t.Fatalf("document %d of many has code %d, want %d", doc, codes[i], want[doc])
		}
	}
}

// TestMemoryNormsOfEveryView lets a field become frequent and rare again, and compares older and
// newer views with what was added.
func TestMemoryNormsOfEveryView(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 20 {
		m := NewMemory()
		type seen struct {
			v    *MemoryView
			want map[uint32]uint8
		}
		var views []seen
		want := map[uint32]uint8{}
		began := false // the field keeps lengths
		share := 2.0
		sparse, dense := 0, 0
		for doc := range uint32(2000) {
			if rng.IntN(250) == 0 {
				share = 1 + 60*rng.Float64()
			}
			d := Document{ID: fmt.Sprint(doc)}
			if rng.Float64()*share < 1 {
				f := FieldTerms{Name: "f", Norms: doc > 100, Length: 1 + rng.Uint32N(60), Terms: []TermFreq{{[]byte("t"), 1}}}
				d.Fields = append(d.Fields, f)
				want[doc] = 1
				if f.Norms {
					want[doc], began = uint8(f.Length), true
					if f.Length > 40 {
						want[doc] = 0 // filled in below
					}
				}
			}
			m.Add(d)
			if want[doc] == 0 {
				if n, err := m.View().Norms("f"); err == nil && n.kept() && len(d.Fields) > 0 {
					want[doc] = n.of(doc) // imprecise above 40; it only has to stay the same
				}
			}
			if rng.IntN(40) == 0 && began {
				all := map[uint32]uint8{}
				for d, code := range want {
					all[d] = code
				}
				views = append(views, seen{m.View(), all})
			}
			if len(views) > 0 && rng.IntN(20) == 0 {
				s := views[rng.IntN(len(views))]
				n, err := s.v.Norms("f")
				if err != nil {
					t.Fatal(err)
				}
				if n.Sparse() {
					sparse++
				} else {
					dense++
				}
				requireNorms(t, n, s.want)
			}
		}
		for _, s := range views {
			n, _ := s.v.Norms("f")
			requireNorms(t, n, s.want)
		}
		if sparse+dense == 0 {
			t.Error("nothing was read")
		}
	}
}

// TestSparseNormsRoundTrip encodes fields of every density and decodes them again.
func TestSparseNormsRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, docs := range []uint32{1, 5, 3000, normChunkDocs + 17, 3*normChunkDocs + 1} {
		for _, share := range []uint32{1, 2, 3, 9, 100, 5000} {
			e := normsEncoder{docs: docs}
			want := map[uint32]uint8{}
			uniform := rng.IntN(2) == 0
			for doc := range docs {
				if rng.Uint32N(share) == 0 {
					want[doc] = uint8(1 + rng.IntN(200))
					if uniform {
						want[doc] = 7
					}
					e.add(doc, want[doc])
				}
			}
			payloads := e.finish()
			if len(want)*2 < int(docs)-2 && payloads == nil && len(want) > 0 && share > 3 {
				t.Errorf("%d of %d documents: not sparse", len(want), docs)
			}
			var having []uint32
			var codes []uint8
			next := uint32(0)
			for c, p := range payloads {
				var err error
				having, codes, err = decodeSparseNorms(p, chunkLen(uint32(len(want)), uint32(c), normChunkDocs), next, docs, having, codes)
				if err != nil {
					t.Fatal(err)
				}
				next = having[len(having)-1] + 1
			}
			if payloads != nil {
				requireNorms(t, sparseNorms(docs, having, codes), want)
			}
		}
	}
}

// TestSparseMergesAreByteForByteTheSame checks that the sealed segment is the same whether a field
// came sparse or as a column, from memory, from a segment of version 4, or from a Bulk.
func TestSparseMergesAreByteForByteTheSame(t *testing.T) {
	m := versionModel(4)
	memory := m.memory().View()
	_, _, want := merge(t, []Input{{Reader: memory}}, MergeOptions{})
	old, err := Open(readSegment(t, "testdata/v4/segment"))
	if err != nil {
		t.Fatal(err)
	}
	// Segments of version 4 have another order: merged into order of score, both must agree.
	order := old.Order()
	_, _, byScore := merge(t, []Input{{Reader: memory}}, MergeOptions{Order: order})
	_, _, again := merge(t, []Input{{Reader: old}}, MergeOptions{Order: order})
	sameBytes(t, again, byScore)
	sealed, err := Open(want)
	if err != nil {
		t.Fatal(err)
	}
	_, _, twice := merge(t, []Input{{Reader: sealed}}, MergeOptions{})
	sameBytes(t, twice, want)
}

// TestMergeOfFieldWithAndWithoutNorms merges a field that keeps lengths in one input, for few of
// its documents, with one that keeps none.
func TestMergeOfFieldWithAndWithoutNorms(t *testing.T) {
	build := func(prefix string, norms bool, share int) model {
		m := make(model, 400)
		for i := range m {
			m[i] = modelDoc{id: fmt.Sprint(prefix, i), fields: map[string]modelField{}}
			if i%share == 3 {
				m[i].fields["f"] = modelField{norms: norms, length: 9, terms: map[string]uint32{"t": 2}}
			}
		}
		return m
	}
	for _, shares := range [][2]int{{50, 60}, {4, 90}, {90, 4}, {5, 6}} {
		a, b := build("a", true, shares[0]), build("b", false, shares[1])
		deleted := roaring.BitmapOf(3, 4, 5)
		d, _, s := merge(t, []Input{{Reader: a.memory().View(), Deleted: deleted}, {Reader: b.memory().View()}}, MergeOptions{})
		Check(context.Background(), s, func(err error) { t.Error(err) })
		n, err := d.Norms("f")
		if err != nil || !n.kept() {
			t.Fatalf("norms %v, %v", n, err)
		}
		l, _ := d.List("f", []byte("t"))
		for _, p := range readPostings(t, l) {
			want := uint8(9)
			if id, _ := d.ID(p.doc); id[0] == 'b' {
				want = 1
			}
			if got := n.of(p.doc); got != want {
				t.Errorf("shares %v: code %d of document %d, want %d", shares, got, p.doc, want)
			}
		}
	}
}

// manyFields is a model of n documents with a field each. Two of them share every twentieth field.
func manyFields(n int) model {
	m := make(model, n)
	for i := range m {
		m[i] = modelDoc{id: fmt.Sprintf("%06d", i), fields: map[string]modelField{
			fmt.Sprint("user", i-i%20/19): {norms: true, length: 4, terms: map[string]uint32{"some": 1, "words": 1, "of": 1, "text": 1}},
		}}
	}
	return m
}

// bytes is the size of the segment, and of its norms and tiles.
func (s *mapStore) bytes() (total, norms, tiles int) {
	for k, v := range s.values {
		total += len(k) + len(v)
		switch Kind(k[0]) {
		case kindNorms:
			norms += len(k) + len(v)
		case kindTiles:
			tiles += len(k) + len(v)
		}
	}
	return total, norms, tiles
}

// TestFieldsCostWhatTheirDocumentsCost checks that with a field for each document, twice the
// documents take twice the space, sealed and in memory, and that every way to write a segment
// agrees.
func TestFieldsCostWhatTheirDocumentsCost(t *testing.T) {
	var perDoc [2]float64
	for i, n := range []int{1000, 4000} {
		m := manyFields(n)
		memory := m.memory()
		d, _, s := merge(t, []Input{{Reader: memory.View()}}, MergeOptions{})
		total, norms, tiles := s.bytes()
		perDoc[i] = float64(total) / float64(n)
		if norms > 16*n || tiles > 16*n {
			t.Errorf("%d documents with a field each take %d bytes of norms and %d of tiles", n, norms, tiles)
		}
		for _, name := range m.fieldNames() {
			norms, err := d.Norms(name)
			if err != nil || !norms.Sparse() {
				t.Fatalf("norms of %s: %v, %v", name, norms, err)
			}
		}
		if held := d.HeldBytes(); held > 64*int64(n) {
			t.Errorf("the norms of %d fields hold %d bytes", len(m.fieldNames()), held)
		}
		if n == 1000 {
			Check(t.Context(), s, func(err error) { t.Error(err) })
			requireEqual(t, m, d)
			bulk, _, _ := bulkOf(t, m, 300, 2, 2)
			sameBytes(t, bulk, s)
			byScore := MergeOptions{Order: Order{Kind: ByGlobalScore, Alpha: 0.5}}
			_, _, sorted := merge(t, []Input{{Reader: d}}, byScore)
			Check(t.Context(), sorted, func(err error) { t.Error(err) })
		}
	}
	if perDoc[1] > 1.1*perDoc[0] {
		t.Errorf("%.1f bytes a document and field, with four times as many %.1f", perDoc[0], perDoc[1])
	}
}

// TestMoreFieldsThanTwoBytes seals, merges, reads and checks more fields than two bytes can number,
// because older versions let indexes grow that far.
func TestMoreFieldsThanTwoBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	const perDoc, docs = 16_500, 4
	m := NewMemory()
	for d := range docs {
		doc := Document{ID: fmt.Sprint(d)}
		for f := range perDoc {
			doc.Fields = append(doc.Fields, FieldTerms{Name: fmt.Sprintf("f%d_%05d", d, f), Norms: f%2 == 0, Length: 3, Terms: []TermFreq{{[]byte("t"), 1}, {[]byte{0}, 2}}})
		}
		m.Add(doc)
	}
	d, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	if len(d.Fields()) != perDoc*docs {
		t.Fatalf("%d fields, want %d", len(d.Fields()), perDoc*docs)
	}
	Check(t.Context(), s, func(err error) { t.Error(err) })
	for _, name := range []string{"f0_00000", "f3_16033", "f3_16034", "f3_16035", "f3_16036", "f3_16499"} { // 65,533 and later, and both ends
		it, err := d.Terms(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var terms []string
		for it.Next() {
			terms = append(terms, string(it.Term()))
		}
		it.Close()
		if !slices.Equal(terms, []string{"\x00", "t"}) {
			t.Errorf("terms %q of field %s", terms, name)
		}
		l, err := d.List(name, []byte("t"))
		if err != nil || l == nil || l.Count != 1 {
			t.Errorf("list of field %s: %v, %v", name, l, err)
		}
	}
	half := roaring.BitmapOf(0, 1)
	few, _, _ := merge(t, []Input{{Reader: d, Deleted: half}}, MergeOptions{})
	if len(few.Fields()) != perDoc*docs/2 {
		t.Errorf("%d fields are left of %d", len(few.Fields()), perDoc*docs)
	}
}

// TestWideKeysSort checks that keys with longer numbers sort after those with shorter ones, and
// that every number is read back.
func TestWideKeysSort(t *testing.T) {
	before := []byte(nil)
	for _, field := range []uint32{0, 1, 255, 256, wideField - 1, wideField, wideField + 1, 1 << 20, maxFields - 1} {
		key := appendTermKey(nil, Version, field, []byte{0xff, 0xff})
		if slices.Compare(key, before) <= 0 {
			t.Errorf("key %x of field %d does not follow %x", key, field, before)
		}
		before = key
		kind, got, term, ok := cutKey(key, Version)
		if kind != kindTerm || got != field || string(term) != "\xff\xff" || !ok {
			t.Errorf("key %x: kind %x, field %d, term %x, %v, want field %d", key, kind, got, term, ok, field)
		}
	}
	if _, _, _, ok := cutKey([]byte{byte(kindTerm), 0xff, 0xff, 0, 0, 0, 1}, Version); ok {
		t.Error("a short number in a long form is taken")
	}
	if _, field, term, ok := cutKey([]byte{byte(kindTerm), 0xff, 0xff, 'x'}, oldFieldVersion); field != 0xffff || string(term) != "x" || !ok {
		t.Error("field 65,535 of version 4 is not read")
	}
}

// FuzzSparseNorms decodes chunks of sparse norms, with allocations in proportion to the chunk.
func FuzzSparseNorms(f *testing.F) {
	f.Add(appendSparseNorms(nil, []uint32{3, 4, 90}, []uint8{7, 7, 9}), uint32(3), uint32(100))
	f.Add(appendSparseNorms(nil, []uint32{3, 4, 90}, []uint8{7, 7, 7}), uint32(3), uint32(100))
	f.Fuzz(func(t *testing.T, payload []byte, count, docs uint32) {
		having, codes, err := decodeSparseNorms(payload, int(count%normChunkDocs), 0, docs, nil, nil)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		if len(having) == 0 {
			return
		}
		again, codesAgain, err := decodeSparseNorms(appendSparseNorms(nil, having, codes), len(having), 0, docs, nil, nil)
		if err != nil || !slices.Equal(again, having) || !slices.Equal(codesAgain, codes) {
			t.Fatalf("round trip: %v %v, %v, want %v %v", again, codesAgain, err, having, codes)
		}
	})
}

// TestHugeNumberOfDocumentsIsNotAllocated opens a segment whose meta value claims two billion
// documents.
func TestHugeNumberOfDocumentsIsNotAllocated(t *testing.T) {
	s, _ := damaged(t)
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	m := *d.meta
	m.docs = maxDocs - 1
	s.values[string([]byte{byte(kindMeta)})] = endSealed(m.appendTo(startSealed(nil)))
	if d, err = Open(s); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Fields() {
		if n, err := d.Norms(f.Name); f.Norms && !d.meta.sparse[slices.Index(d.meta.fields, f)] && !errors.Is(err, corrupt.Err) {
			t.Errorf("norms of %s: %d, %v, want corruption", f.Name, n.bytes(), err)
		}
	}
	if _, err := d.Rank(); !errors.Is(err, corrupt.Err) {
		t.Errorf("rank: %v, want corruption", err)
	}
}

// TestViewSharesFields checks that a view after a small batch allocates only for the fields of the
// batch and shares the rest with the previous view.
func TestViewSharesFields(t *testing.T) {
	m := manyFields(2000).memory()
	before := m.View()
	m.Add(Document{ID: "x", Fields: []FieldTerms{{Name: "user5", Terms: []TermFreq{{[]byte("t"), 1}}}, {Name: "new", Terms: []TermFreq{{[]byte("t"), 1}}}}})
	after := m.View()
	same := 0
	for i := range before.infos {
		if &before.infos[i][0] == &after.infos[i][0] {
			same++
		}
	}
	if want := len(before.infos) - 2; same != want {
		t.Errorf("%d blocks of fields of %d are shared, want %d", same, len(before.infos), want)
	}
	if f, ok := before.Field("user5"); !ok || f.Docs != 1 {
		t.Errorf("field in the older view: %+v, %v", f, ok)
	}
	if f, ok := after.Field("user5"); !ok || f.Docs != 2 {
		t.Errorf("field in the newer view: %+v, %v", f, ok)
	}
	if _, ok := before.Field("new"); ok {
		t.Error("the older view has a new field")
	}
	if n := len(before.Fields()); n != len(after.Fields())-1 || !slices.IsSortedFunc(after.Fields(), compareFields) {
		t.Errorf("%d fields, then %d", n, len(after.Fields()))
	}
}
