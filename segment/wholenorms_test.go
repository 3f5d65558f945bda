package segment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A lendingStore lends its plain values.
type lendingStore struct{ *mapStore }

func (s lendingStore) Lend(key []byte) ([]byte, bool) {
	value, ok := s.values[string(key)]
	return slices.Clip(value), ok && Kind(key[0]) >= kindPlain
}

func isWholeNorms(f feature) bool { return f.name == wholeNorms }

// wholeModel is a memory segment whose documents have fields: "whole" with many codes, "chunks" with
// one code in the second chunk, and "some" in every fifth document.
func wholeModel(docs uint32) (m *Memory, codes map[string]map[uint32]uint8) {
	m = NewMemory()
	codes = map[string]map[uint32]uint8{"whole": {}, "chunks": {}, "some": {}}
	for doc := range docs {
		var fields []FieldTerms
		add := func(name string, length uint32) {
			fields = append(fields, FieldTerms{Name: name, Norms: true, Length: length, Terms: []TermFreq{{[]byte("t"), 1}}})
			codes[name][doc] = uint8(length)
		}
		add("whole", 1+doc%7)
		if doc/normChunkDocs == 1 {
			add("chunks", 3)
		} else {
			add("chunks", 1+doc%5)
		}
		if doc%5 == 0 {
			add("some", 1+doc%3)
		}
		slices.SortFunc(fields, func(a, b FieldTerms) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
		m.Add(Document{ID: fmt.Sprintf("%07d", doc), Fields: fields})
	}
	return m, codes
}

// TestWholeNorms writes columns as one value or in chunks, reads them back from sources that lend and
// that do not, and merges them.
func TestWholeNorms(t *testing.T) {
	for _, docs := range []uint32{1000, 2*normChunkDocs + 500} {
		m, codes := wholeModel(docs)
		_, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
		Check(t.Context(), s, func(err error) { t.Error(err) })
		Check(t.Context(), lendingStore{s}, func(err error) { t.Error(err) })
		for _, source := range []Source{s, lendingStore{s}} {
			d, err := Open(source)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(d.Format().Features, wholeNorms); got != (docs > normChunkDocs) {
				t.Errorf("%d documents: features %q", docs, d.Format().Features)
			}
			for field, want := range codes {
				n, err := d.Norms(field)
				if err != nil {
					t.Fatal(err)
				}
				requireNorms(t, n, want)
				i, _ := findField(d.meta.fields, field)
				if whole := field == "whole" && docs > normChunkDocs; d.meta.whole[i] != whole {
					t.Errorf("%d documents: field %s is one value: %v", docs, field, !whole)
				}
				_, lends := source.(lendingStore)
				if one := field != "some" && (field == "whole" || docs <= normChunkDocs); n.lent != (lends && one) {
					t.Errorf("%d documents: field %s is lent: %v", docs, field, n.lent)
				}
			}
			_, _, again := merge(t, []Input{{Reader: d}}, MergeOptions{})
			sameBytes(t, again, s)
		}
	}
}

// TestDamagedWholeNorms checks that a value of a wrong length and features that name wrong fields are
// corruption.
func TestDamagedWholeNorms(t *testing.T) {
	m, _ := wholeModel(normChunkDocs + 500)
	_, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	field, _ := findField(d.meta.fields, "whole")
	key := normsKey(Version, uint32(field), 0)
	value := s.values[string(key)]
	for _, n := range []int{0, 1, normChunkDocs, normChunkDocs + 499} {
		s.values[string(key)] = endSealed(append(startSealed(nil), value[1:1+n]...))
		for _, source := range []Source{s, lendingStore{s}} {
			d, err := Open(source)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Norms("whole"); !errors.Is(err, corrupt.Err) {
				t.Errorf("%d codes: %v", n, err)
			}
		}
	}
	s.values[string(key)] = value
	metaKey := string([]byte{byte(kindMeta)})
	sound := s.values[metaKey]
	for _, data := range [][]byte{{3}, {0, 0, 0}, {1}, {0xff}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		s.values[metaKey] = sound
		changeMeta(t, s, func(v *meta) { v.features[slices.IndexFunc(v.features, isWholeNorms)].data = data })
		if _, err := Open(s); !errors.Is(err, corrupt.Err) {
			t.Errorf("fields %x: %v", data, err)
		}
	}
}
