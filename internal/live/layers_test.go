package live

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// TestLayers folds updates of a segment again and again, keeps what the folds store as a store would, and
// reads it back: it has the last value of each document, and was written in few bytes.
func TestLayers(t *testing.T) {
	const docs, folds = 20_000, 300
	for _, least := range []int64{1, 1 << 40} {
		rng := rand.New(rand.NewPCG(27, uint64(least)))
		s := &liveSegment{number: 7}
		stored, want := map[string][]byte{}, map[uint32][]columns.Value{}
		written, most := 0, 0
		for n := range folds {
			next := s.updates.clone()
			for range 1 + rng.IntN(100) {
				doc := rng.Uint32N(docs)
				change := document.FieldUpdate{Field: segment.VersionColumn} // which is no UTF-8
				for range rng.IntN(3) {
					change.Values = append(change.Values, columns.OfInt(int64(rng.IntN(1000))))
				}
				next.add(s.updates, docs, doc, []document.FieldUpdate{change})
				want[doc] = change.Values
			}
			s.updates = next
			folds := s.beginFolds(nil)
			if len(folds) != 1 {
				t.Fatalf("%d folds, want 1", len(folds))
			}
			f := folds[0]
			edit := map[store.UpdatesOf][]byte{}
			if err := errors.Join(f.make(), f.store(edit, least)); err != nil {
				t.Fatal(err)
			}
			for of, value := range edit {
				if written += len(value); of.Segment != 7 {
					t.Fatalf("updates of segment %d", of.Segment)
				}
				if stored[of.Field] = value; value == nil {
					delete(stored, of.Field)
				}
			}
			s.updates = s.updates.with(f.field, s.updates.fields[f.field].withFold(f))
			most = max(most, len(stored))
			if n%100 == 99 {
				checkLayers(t, stored, want, docs)
				reread, err := new(Index).openLayers(stored, 7, docs)
				if err != nil {
					t.Fatal(err)
				}
				if n%200 == 199 { // goes on from what it has read
					s.updates = &updates{fields: reread}
				}
			}
		}
		whole := len(stored[segment.VersionColumn])
		t.Logf("least %d: %d bytes written, %d in the first of %d layers", least, written, whole, most)
		if least == 1 && (most < 3 || most > 12 || written > 20*whole) || least > 1 && most != 1 {
			t.Errorf("least %d: up to %d layers, %d bytes written, %d in the first", least, most, written, whole)
		}
	}
}

// checkLayers compares stored updates with the last values of each document.
func checkLayers(t *testing.T, stored map[string][]byte, want map[uint32][]columns.Value, docs uint32) {
	t.Helper()
	fields, err := new(Index).openLayers(stored, 7, docs)
	if err != nil {
		t.Fatal(err)
	}
	u := &updates{fields: fields}
	for doc := range docs {
		got, err := u.changesOf(doc, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		values, updated := want[doc]
		if updated != (len(got) == 1) {
			t.Fatalf("document %d: %v, want %v", doc, got, values)
		}
		if updated {
			values = slices.Clone(values)
			slices.SortFunc(values, func(a, b columns.Value) int { return int(a.Any().(int64) - b.Any().(int64)) })
			if fmt.Sprint(got[0].Values) != fmt.Sprint(values) {
				t.Fatalf("document %d: %v, want %v", doc, got[0].Values, values)
			}
		}
	}
}

// TestLayerFaults damages the names and versions of layers.
func TestLayerFaults(t *testing.T) {
	first, err := marshalUpdates(examplePatch(t), updatesVersion)
	if err != nil {
		t.Fatal(err)
	}
	higher, err := marshalUpdates(examplePatch(t), layerVersion)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string][]byte{"tag": first, layerName("tag", 1): higher, layerName("tag", 2): higher}
	if fields, err := new(Index).openLayers(good, 7, 4); err != nil || len(fields["tag"].layers) != 3 {
		t.Fatalf("%v, %v", fields, err)
	}
	for what, change := range map[string]func(map[string][]byte){
		"no first layer":      func(m map[string][]byte) { delete(m, "tag") },
		"none in the middle":  func(m map[string][]byte) { delete(m, layerName("tag", 1)) },
		"a first one higher":  func(m map[string][]byte) { m[layerName("tag", 2)] = first },
		"a higher one first":  func(m map[string][]byte) { m["tag"] = higher },
		"number 0":            func(m map[string][]byte) { m["tag"+layerMark+"\x00"] = higher },
		"too large a number":  func(m map[string][]byte) { m["tag"+layerMark+"\xf0"] = higher },
		"another field's":     func(m map[string][]byte) { m[layerName("gat", 1)] = higher },
		"a value that is cut": func(m map[string][]byte) { m[layerName("tag", 2)] = higher[:9] },
	} {
		bad := maps.Clone(good)
		change(bad)
		if _, err := new(Index).openLayers(bad, 7, 4); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
	}
}
