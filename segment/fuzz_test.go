package segment

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The fuzz targets begin behind the seal: with it on, the fuzzer seldom reaches
// the decoders. What a decoder takes it must be able to write again.

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
			payload, err := unseal(s.values[key])
			if err != nil {
				f.Fatal(err)
			}
			add(payload)
		}
	}
}

func FuzzMeta(f *testing.F) {
	addPayloads(f, KindMeta, func(p []byte) { f.Add(p) })
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, err := decodeMeta(payload)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		again, err := decodeMeta(m.appendTo(nil))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, m)
		}
	})
}

func FuzzIDs(f *testing.F) {
	addPayloads(f, KindID, func(p []byte) { f.Add(p, 300) })
	f.Fuzz(func(t *testing.T, payload []byte, n int) {
		c, err := decodeIDChunk(payload, n)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		var w idChunkWriter
		var ids []string
		for i := range c.n {
			id, err := c.appendID(nil, i)
			if err != nil {
				requireCorrupt(t, err)
				return
			}
			w.add(id)
			ids = append(ids, string(id))
		}
		again, err := decodeIDChunk(w.appendTo(nil), n)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range ids {
			if id, err := again.appendID(nil, i); err != nil || string(id) != want {
				t.Fatalf("round trip: id %d is %q, %v, want %q", i, id, err, want)
			}
		}
	})
}

func FuzzStored(f *testing.F) {
	addPayloads(f, KindStored, func(p []byte) { f.Add(p, uint32(299)) })
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
	addPayloads(f, KindTiles, func(p []byte) { f.Add(p, uint32(300)) })
	f.Fuzz(func(t *testing.T, payload []byte, docs uint32) {
		tiles, err := decodeTiles(payload, docs)
		if err != nil {
			requireCorrupt(t, err)
			return
		}
		again, err := decodeTiles(appendTiles(nil, tiles), docs)
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
