package segment

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/onpair"
)

// codedModel is documents of words, which codes suit. Every ninth has no stored bytes, and every
// hundredth has many.
func codedModel(docs int, prefix string) model {
	rng := rand.New(rand.NewPCG(8, uint64(docs)))
	m := randomModel(rng, docs, prefix)
	for i := range m {
		n := 20 + rng.IntN(40)
		if i%100 == 50 {
			n = 4000
		}
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%x ", uint32(rng.IntN(200))*0x9e3779b9)
		}
		if m[i].stored = b.String(); i%9 == 0 {
			m[i].stored = ""
		}
	}
	return m
}

// mergeCoded is merge for a sink with tables, in which documents are coded.
func mergeCoded(t testing.TB, inputs []Input, opts MergeOptions) (*Disk, *mapStore) {
	t.Helper()
	opts.CodedBytes = codeAlways
	s := newTableStore(t)
	res, err := Merge(t.Context(), s, inputs, opts)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	all := s.all()
	for key, value := range all.values {
		size += int64(len(key) + len(value))
	}
	if size != res.bytes {
		t.Errorf("keys and values have %d bytes, the result says %d", size, res.bytes)
	}
	return openCodedStore(t, all), all
}

func openCodedStore(t testing.TB, s *mapStore) *Disk {
	t.Helper()
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	Check(t.Context(), s, func(err error) { t.Errorf("Check: %v", err) })
	if f := d.Format().Features; !slices.Contains(f, codedDocs) {
		t.Fatalf("documents are not coded: features %q", f)
	}
	return d
}

// all combines the tables, which must be finished and in order, with the keys from Set.
func (s *tableStore) all() *mapStore {
	last := ""
	for i, t := range s.tables {
		if first := slices.Min(slices.Collect(maps.Keys(t.values))); first <= last || !t.finished {
			s.t.Errorf("table %d: first key %x behind %x, finished %v", i, first, last, t.finished)
		}
		last = t.last
		maps.Copy(s.values, t.values)
	}
	s.keys, s.sorted = slices.Collect(maps.Keys(s.values)), false
	return s.mapStore
}

// requireStored compares all stored documents, forwards and in random order, with those of a source
// that lends them as well.
func requireStored(t *testing.T, m model, s *mapStore) {
	t.Helper()
	d := openCodedStore(t, s)
	lending, err := Open(lendingStore{s})
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(m))
	for i := range 2 * len(m) {
		doc := uint32(i)
		if i >= len(m) {
			doc = uint32(order[i-len(m)])
		}
		want := m[doc].stored
		if got, err := d.Stored(doc); err != nil || string(got) != want {
			t.Fatalf("document %d: %d bytes, %v, want %d", doc, len(got), err, len(want))
		}
		if got, ok, err := lending.AppendLent([]byte("before"), doc); err != nil || !ok || string(got) != "before"+want {
			t.Fatalf("document %d: lent %d bytes, %v, %v, want %d", doc, len(got), ok, err, len(want))
		}
		// Of two documents in a row, the second may lie in the run that was read for the first.
		if got, ok, err := d.AppendLent(nil, doc); err != nil || ok && string(got) != want {
			t.Fatalf("document %d: %d bytes of a run that was read, %v", doc, len(got), err)
		}
	}
	held := lending.HeldBytes()
	lending.release()
	if held == 0 || lending.HeldBytes() != 0 {
		t.Errorf("%d bytes are held, and %d after their release", held, lending.HeldBytes())
	}
}

// TestCoded merges documents into codes, and coded segments with others, with any number of workers.
func TestCoded(t *testing.T) {
	m := codedModel(1500, "m")
	_, want := mergeCoded(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	requireStored(t, m, want)
	for _, workers := range []int{1, 3} {
		_, s := mergeCoded(t, []Input{{Reader: m.memory().View()}}, MergeOptions{Workers: workers, TableBytes: 30 << 10})
		if !maps.EqualFunc(s.values, want.values, bytes.Equal) {
			t.Errorf("%d workers and small tables write something else", workers)
		}
	}
	other := codedModel(700, "other")
	plain, _, _ := merge(t, []Input{{Reader: other.memory().View()}}, MergeOptions{})
	coded, _ := mergeCoded(t, []Input{{Reader: other.memory().View()}}, MergeOptions{})
	first, err := Open(lendingStore{want})
	if err != nil {
		t.Fatal(err)
	}
	gone := func(doc uint32) bool { return doc%7 == 3 }
	deleted := roaring.New()
	for doc := range uint32(len(m)) {
		if gone(doc) {
			deleted.Add(doc)
		}
	}
	for i, second := range []*Disk{plain, coded} {
		_, s := mergeCoded(t, []Input{{Reader: first, Deleted: deleted}, {Reader: second}}, MergeOptions{})
		requireStored(t, append(m.without(gone), other...), s)
		d, _, _ := merge(t, []Input{{Reader: first}, {Reader: second}}, MergeOptions{Order: Order{Kind: ByGlobalScore, Alpha: 0.5}}) // back to blocks
		for doc := range d.Docs() {
			id, err := d.ID(doc)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(append(m, other...), func(d modelDoc) bool { return d.id == id })
			if got, err := d.Stored(doc); err != nil || string(got) != append(m, other...)[at].stored {
				t.Fatalf("input %d: document %d, %q: %d bytes, %v", i, doc, id, len(got), err)
			}
		}
	}
}

// TestNotCoded checks that documents with long common parts, and few documents, stay in blocks.
func TestNotCoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	common := make([]byte, 2000)
	for i := range common {
		common[i] = byte(rng.Uint32())
	}
	m := make(model, 1000)
	for i := range m {
		m[i] = modelDoc{id: fmt.Sprintf("%06d", i), stored: fmt.Sprint(i) + string(common)}
	}
	for _, opts := range []MergeOptions{{CodedBytes: 2}, {CodedBytes: 10 << 20}, {}, {CodedBytes: -1}} {
		docs := m
		if opts.CodedBytes != 2 {
			docs = codedModel(1500, "m")
		}
		s := newTableStore(t)
		if _, err := Merge(t.Context(), s, []Input{{Reader: docs.memory().View()}}, opts); err != nil {
			t.Fatal(err)
		}
		d, err := Open(s.all())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(d.Format().Features, codedDocs) {
			t.Errorf("documents are coded with %d", opts.CodedBytes)
		}
	}
}

// TestSampleSpreads checks that the units of a sample are all units, each once.
func TestSampleSpreads(t *testing.T) {
	m := &merger{maps: [][]uint32{make([]uint32, 40), nil, make([]uint32, 16), make([]uint32, 1)}}
	seen := map[[2]int]bool{}
	for n := range uint64(5) {
		input, first := m.unitAt(n * 2654435761 % 5)
		seen[[2]int{input, first}] = true
	}
	want := map[[2]int]bool{{0, 0}: true, {0, 16}: true, {0, 32}: true, {2, 0}: true, {3, 0}: true}
	if !maps.Equal(seen, want) {
		t.Errorf("units %v, want %v", seen, want)
	}
}

// FuzzCodedRun reads every document of runs of any bytes.
func FuzzCodedRun(f *testing.F) {
	f.Add([]byte("\x02\x02\x00\x05\x00ab\x00cd"), 2)
	f.Add([]byte("\x04\x00\x00\x00\x00"), 1)
	wide := appendCodedRun(nil, []int{1 << 16, 1<<16 + 2}, bytes.Repeat([]byte{'a', 0}, 1<<15+1))
	f.Add(wide, 2)
	table, err := onpair.Open([]byte("\x61\x00\x62\x00"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte, docs int) {
		if docs < 1 || docs > storedBlockDocs {
			return
		}
		r, err := openCodedRun(payload, 0, docs)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		for i := range docs {
			if _, err := r.appendDoc(nil, table, i); err != nil {
				var c *corrupt.Error
				if !errors.As(err, &c) || c.Offset < 0 || c.Offset > len(payload)+sealBytes {
					t.Fatalf("document %d: %v", i, err)
				}
			}
		}
	})
}

// FuzzCodedLengths decodes lengths of runs.
func FuzzCodedLengths(f *testing.F) {
	f.Add(appendCodedLengths(nil, []uint32{3, 1024, 7}), uint32(1034))
	f.Add([]byte{0}, uint32(0))
	f.Fuzz(func(t *testing.T, payload []byte, docs uint32) {
		first, err := decodeCodedLengths(payload, docs)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		if first[0] != 0 || first[len(first)-1] != docs || docs > math.MaxInt32 && len(first) < 1<<20 {
			t.Fatalf("runs begin at %v, of %d documents", first, docs)
		}
		c := coded{first: first}
		for i := 1; i < len(first); i++ {
			if c.runOf(first[i]-1) != uint32(i-1) || c.runOf(first[i-1]) != uint32(i-1) {
				t.Fatalf("documents %d and %d are not in run %d", first[i-1], first[i]-1, i-1)
			}
		}
	})
}
