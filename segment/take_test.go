package segment

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// requireSame fails the test unless two stores have the same keys and values. Length codes may
// differ between 0 and 1 for documents without the field.
func requireSame(t *testing.T, got, want *mapStore) {
	t.Helper()
	got.sort()
	want.sort()
	if !slices.Equal(got.keys, want.keys) {
		t.Fatalf("%d keys, want %d", len(got.keys), len(want.keys))
	}
	for _, k := range want.keys {
		if Kind(k[0]) != kindNorms && !bytes.Equal(got.values[k], want.values[k]) {
			t.Fatalf("%s: %x, want %x", KeyString([]byte(k)), got.values[k], want.values[k])
		}
	}
}

var allCodecs = []postings.Kind{postings.Packed, postings.PFor, postings.Rice, postings.Interpolative}

// TestMergeTakesBlocks checks that a merge that copies blocks writes the same segment, byte for
// byte, as sealing the same documents from memory. Inputs have the codec of the merge or others, or
// are in memory, with and without deletions.
func TestMergeTakesBlocks(t *testing.T) {
	var blocks, taken [6]uint64
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(41, seed))
		codec := allCodecs[seed%4]
		var inputs []Input
		var want model
		for i := range 1 + rng.IntN(3) {
			m := randomModel(rng, 200+rng.IntN(1500), string(rune('a'+i)))
			in := Input{Reader: m.memory().View()}
			if rng.IntN(4) > 0 {
				by := codec
				if rng.IntN(4) == 0 {
					by = allCodecs[rng.IntN(4)]
				}
				in.Reader, _, _ = merge(t, []Input{in}, MergeOptions{Codec: by})
			}
			switch rng.IntN(3) {
			case 0: // few, so that lists lose their alignment
				in.Deleted = roaring.BitmapOf(rng.Uint32N(uint32(len(m))), rng.Uint32N(uint32(len(m))))
			case 1:
				in.Deleted = randomDeletions(rng, len(m))
			}
			if in.Deleted != nil {
				m = m.without(in.Deleted.Contains)
			}
			inputs = append(inputs, in)
			want = append(want, m...)
		}
		_, res, got := merge(t, inputs, MergeOptions{Codec: codec, Workers: 1 + rng.IntN(3)})
		rebuilt, _, from := merge(t, []Input{{Reader: want.memory().View()}}, MergeOptions{Codec: codec})
		requireSame(t, got, from)
		requireRebuilt(t, rebuilt, from, want, codec)
		blocks[codec] += res.blocks
		taken[codec] += res.taken
	}
	for _, codec := range allCodecs {
		if taken[codec] < blocks[codec]/20 || taken[codec] == blocks[codec] {
			t.Errorf("%v: %d of %d blocks were taken; the test needs some and others", codec, taken[codec], blocks[codec])
		}
	}
}

// requireRebuilt compares every list of a segment with one made posting by posting.
func requireRebuilt(t *testing.T, d *Disk, s *mapStore, m model, codec postings.Kind) {
	t.Helper()
	for i, f := range d.Fields() {
		_, codes, lists := m.field(f.Name)
		for term, ps := range lists {
			w := postings.Writer{Codec: codec}
			for _, p := range ps {
				w.AddAll([]uint32{p.doc}, []uint32{p.tf}, []uint8{codeIn(codes, p.doc)})
			}
			enc := w.Finish()
			entry, list, err := splitEntry(s.values[string(appendTermKey(nil, Version, uint32(i), []byte(term)))])
			if err != nil || !bytes.Equal(entry, enc.Entry) {
				t.Fatalf("field %q, term %q: entry %x, %v, want %x", f.Name, term, entry, err, enc.Entry)
			}
			for part, value := range enc.Directory {
				if !bytes.Equal(s.values[string(listKey(list, uint32(part)))], value) {
					t.Fatalf("field %q, term %q: another directory", f.Name, term)
				}
			}
			for chunk, value := range enc.Chunks {
				if !bytes.Equal(s.values[string(listKey(list, chunkPart|uint32(chunk)))], value) {
					t.Fatalf("field %q, term %q: another chunk %d", f.Name, term, chunk)
				}
			}
		}
	}
}

// TestWhatMergesTake counts copied blocks. Of a single whole segment, every block is copied. Of a
// second one, none is copied of lists that the first one has and that are not aligned. None at all
// is copied after a deleted first document.
func TestWhatMergesTake(t *testing.T) {
	everywhere := func(n int, prefix string) *Disk {
		m := randomModel(rand.New(rand.NewPCG(43, 44)), n, prefix)
		for i := range m {
			m[i].fields = map[string]modelField{"f": {norms: true, length: uint32(i), terms: map[string]uint32{"every": uint32(1 + i%5)}}}
		}
		d, _, _ := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{Codec: postings.Interpolative})
		return d
	}
	a, b := everywhere(10*128+40, "a"), everywhere(5*128, "b")
	for _, c := range []struct {
		inputs        []Input
		codec         postings.Kind
		blocks, taken uint64
	}{
		{[]Input{{Reader: a}}, postings.Interpolative, 10, 10},
		{[]Input{{Reader: a}}, postings.Packed, 10, 0},
		{[]Input{{Reader: a}, {Reader: b}}, postings.Interpolative, 15, 10},
		// After 5 blocks the next list begins with a block, which follows the preceding document at
		// the same distance as it followed -1 in its input.
		{[]Input{{Reader: b}, {Reader: a}}, postings.Interpolative, 15, 15},
		{[]Input{{Reader: a, Deleted: roaring.BitmapOf(0)}}, postings.Interpolative, 10, 0},
		{[]Input{{Reader: a, Deleted: roaring.BitmapOf(3 * 128)}}, postings.Interpolative, 10, 3},
	} {
		_, res, _ := merge(t, c.inputs, MergeOptions{Codec: c.codec})
		if res.blocks != c.blocks || res.taken != c.taken {
			t.Errorf("%d inputs by %v: %d of %d blocks taken, want %d of %d", len(c.inputs), c.codec, res.taken, res.blocks, c.taken, c.blocks)
		}
	}
}

// TestMergeTakesNoDamage flips bits of every chunk, directory part and entry of an input. The merge
// must end in corrupt.Err, which names the term.
func TestMergeTakesNoDamage(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(45, 46)), 1500, "d")
	rng := rand.New(rand.NewPCG(47, 48))
	perList, among, least := 2, 16, 50
	if testing.Short() {
		perList, among, least = 1, 40, 20
	}
	for _, codec := range allCodecs {
		_, _, s := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{Codec: codec})
		flipped, entries := 0, 0
		for _, key := range s.keys {
			flips := 0
			switch Kind(key[0]) {
			case kindList:
				flips = perList
			case kindTerm: // there are many similar ones
				if entries++; entries%among == 0 {
					flips = 1
				}
			}
			value := s.values[key]
			for range flips {
				bit := rng.IntN(8 * len(value))
				value[bit/8] ^= 1 << (bit % 8)
				flipped++
				d, err := Open(s)
				if err != nil {
					t.Fatal(err)
				}
				_, err = Merge(context.Background(), newMapStore(t), []Input{{Reader: d}}, MergeOptions{Codec: codec})
				var c *corrupt.Error
				if !errors.As(err, &c) || c.Key == "" {
					t.Fatalf("%v, %s: bit %d flipped: %v", codec, KeyString([]byte(key)), bit, err)
				}
				value[bit/8] ^= 1 << (bit % 8)
			}
		}
		if flipped < least {
			t.Fatalf("only %d bits flipped", flipped)
		}
	}
}
