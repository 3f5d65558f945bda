package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The fuzz targets begin after the seal, because the fuzzer would seldom get it right. A decoded
// value must survive being encoded again.

// requireCorrupt fails the test unless err reports corruption.
func requireCorrupt(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, corrupt.Err) {
		t.Fatalf("not reported as corruption: %v", err)
	}
}

// addPayloads seeds a fuzz target with the payloads of one kind.
func addPayloads(f *testing.F, kind Kind, add func(payload []byte)) {
	rng := rand.New(rand.NewPCG(12, 12))
	m := randomModel(rng, 300, "d")
	m[0].stored, m[1].rank = "x", 7
	order := Order{Kind: ByGlobalScore, Alpha: 0.5}
	for _, opts := range []MergeOptions{{}, {Order: order}, {Order: Order{Kind: ByGraph}}} {
		_, _, s := merge(f, []Input{{Reader: m.memory().View()}}, opts)
		for _, key := range s.keys {
			if Kind(key[0]) != kind {
				continue
			}
			payload, err := unseal(s.values[key], Version)
			if err != nil {
				f.Fatal(err)
			}
			add(payload)
		}
	}
}

func FuzzMeta(f *testing.F) {
	addPayloads(f, kindMeta, func(p []byte) { f.Add(p, byte(Version)) })
	for v := byte(versions.Oldest); v < Version; v++ {
		value := readSegment(f, fmt.Sprintf("testdata/v%d/segment", v)).values[string([]byte{byte(kindMeta)})]
		f.Add(value[1:len(value)-4], v)
	}
	strange := meta{writer: "7.1", features: []feature{{name: "a", kinds: []Kind{6, 7}, data: []byte("data")}, {name: "b"}}}
	f.Add(strange.appendTo(nil), byte(Version))
	strange.features[1].required = true
	f.Add(strange.appendTo(nil), byte(Version))
	f.Fuzz(func(t *testing.T, payload []byte, version byte) {
		if versions.Check(uint64(version)) != nil {
			return
		}
		m, err := decodeMeta(payload, version)
		if errors.Is(err, ErrFormat) && !errors.Is(err, corrupt.Err) {
			return
		}
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		m.version = Version
		again, err := decodeMeta(m.appendTo(nil), Version)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, m)
		}
	})
}

func FuzzIDs(f *testing.F) {
	addPayloads(f, kindID, func(p []byte) { f.Add(p, 256) })
	addPayloads(f, kindID, func(p []byte) { f.Add(p, 44) })
	f.Fuzz(func(t *testing.T, payload []byte, n int) {
		if n < 0 || n > idHeadPages {
			return
		}
		p, err := decodeIDPage(payload, n)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		var w idWriter
		var docs idDocs
		docs.reset(p, maxDocs)
		var numbers []uint32
		for i := range p.ids.len() {
			doc, err := docs.next()
			if err != nil {
				requireCorrupt(t, err)
				return
			}
			if id := string(p.ids.at(i)); p.ids.below(id) > i || p.ids.upTo(id) <= i {
				t.Fatalf("id %d is found at %d to %d", i, p.ids.below(id), p.ids.upTo(id))
			}
			w.addDoc(p.ids.at(i), doc)
			numbers = append(numbers, doc)
		}
		again, err := decodeIDPage(w.appendTo(nil), n)
		if err != nil || !reflect.DeepEqual(again.ids, p.ids) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, p)
		}
		for i, want := range numbers {
			if doc, err := again.doc(i, maxDocs); err != nil || doc != want {
				t.Fatalf("round trip: document %d, %v, want %d", doc, err, want)
			}
		}
	})
}

func FuzzHeads(f *testing.F) {
	addPayloads(f, kindHead, func(p []byte) { f.Add(p, 2) })
	f.Fuzz(func(t *testing.T, payload []byte, n int) {
		if n < 0 || n > idHeadPages {
			return
		}
		l, err := decodeHeads(payload, n)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		var w idWriter
		for i := range l.len() {
			w.add(l.at(i))
		}
		if again, err := decodeHeads(w.appendTo(nil), n); err != nil || !reflect.DeepEqual(again, l) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, l)
		}
	})
}

func FuzzPlaces(f *testing.F) {
	addPayloads(f, kindPlace, func(p []byte) { f.Add(p, uint16(300)) })
	f.Fuzz(func(t *testing.T, payload []byte, n uint16) {
		c, err := openPlaces(payload, int(n), maxDocs)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		places := make([]uint32, n)
		for i := range places {
			if places[i] = c.of(uint32(i)); places[i] >= maxDocs {
				t.Fatalf("document %d has place %d", i, places[i])
			}
		}
		again, err := openPlaces(appendPlaces(nil, places), int(n), maxDocs)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range places {
			if got := again.of(uint32(i)); got != want {
				t.Fatalf("round trip: document %d has place %d, want %d", i, got, want)
			}
		}
	})
}

func FuzzStored(f *testing.F) {
	addPayloads(f, kindStored, func(p []byte) { f.Add(p, uint32(299)) })
	f.Fuzz(func(t *testing.T, payload []byte, last uint32) {
		b, err := decodeStored(payload, last)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		var w storedWriter
		for i := range b.ends {
			doc, ok := b.doc(b.first + uint32(i))
			if !ok {
				t.Fatalf("the block lacks document %d", b.first+uint32(i))
			}
			w.add(doc)
		}
		again, err := decodeStored(w.appendTo(nil), last)
		if err != nil || !reflect.DeepEqual(again, b) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, b)
		}
	})
}

func FuzzTiles(f *testing.F) {
	addPayloads(f, kindTiles, func(p []byte) { f.Add(p, uint32(300)) })
	f.Fuzz(func(t *testing.T, payload []byte, docs uint32) {
		tiles, err := decodeTiles(payload, docs, Version)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		again, err := decodeTiles(appendTiles(nil, tiles), docs, Version)
		if err != nil || !reflect.DeepEqual(again, tiles) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, tiles)
		}
	})
}

func FuzzTermValue(f *testing.F) {
	f.Add([]byte{0x02, 0, 0, 1, 1}, uint32(7))
	f.Add([]byte{0x01, 0x7f, 9}, uint32(1<<32-1))
	f.Fuzz(func(t *testing.T, value []byte, list uint32) {
		if _, _, err := splitEntry(value); err != nil {
			requireCorrupt(t, err)
		}
		if len(value) == 0 || value[0]&longEntry == 0 {
			return
		}
		entry, got, err := splitEntry(appendList(slices.Clone(value), list))
		if err != nil || got != list || !slices.Equal(entry, value) {
			t.Fatalf("round trip: %x, list %d, %v, want %x, list %d", entry, got, err, value, list)
		}
	})
}

func FuzzKeyString(f *testing.F) {
	for kind := range 256 {
		f.Add([]byte{byte(kind), 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if KeyString(key) == "" {
			t.Errorf("key %x has no name", key)
		}
	})
}
