package postings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// oldForm stores a list as segments up to version 6 do.
func oldForm(t testing.TB, enc Encoded) Encoded {
	t.Helper()
	if len(enc.Directory) == 0 {
		return enc
	}
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		t.Fatal(err)
	}
	impacts, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	old := Encoded{Chunks: enc.Chunks}
	for from := 0; from < l.Blocks(); from += partBlocks {
		to := min(from+partBlocks, l.Blocks())
		sum := uint64(0)
		for b := from; b < to; b++ {
			sum += l.gap(b)
		}
		low := bits.Len64(sum / uint64(to-from))
		var w bitWriter
		w.put(uint32(low), 5)
		var before Encoding
		for b := from; b < to; b++ {
			w.gamma(l.gap(b), low)
			w.near(uint8(l.Enc[b]), uint8(before))
			w.near(uint8(l.Enc[b]>>8), uint8(before>>8))
			w.pairs(impacts.Of(b))
			before = l.Enc[b]
		}
		old.Directory = append(old.Directory, sealPart(w.flush()))
	}
	entry := binary.AppendUvarint(nil, uint64(l.Count-1)<<1|1)
	shape := byte(l.BlockSize - 1)
	if l.bits {
		shape |= interpolativeShape
	}
	entry = appendImpacts(append(entry, shape), l.ListImpacts)
	old.Entry = sealEntry(binary.AppendUvarint(entry, uint64(len(enc.Chunks))))
	return old
}

// inlineForm stores a list as segments before the feature that puts best pairs apart.
func inlineForm(t testing.TB, enc Encoded) Encoded {
	t.Helper()
	if len(enc.Directory) == 0 {
		return enc
	}
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err == nil {
		err = l.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	impacts, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	w := Writer{size: l.BlockSize, count: l.Count, last: l.Last, enc: l.Enc, imp: *impacts}
	for b := range l.Blocks() {
		if l.coded != nil {
			w.codeBits = append(w.codeBits, l.coded.endOf(b)-l.coded.at[b])
		}
	}
	inline := Encoded{Chunks: enc.Chunks, Directory: w.directory(pairsInline)}
	body, err := unsealEntry(enc.Entry)
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.LastIndex(body, []byte{0, 0})
	inline.Entry = sealEntry(slices.Delete(slices.Clone(body), zeros, zeros+1))
	return inline
}

// TestOldDirectory opens lists whose directory has an earlier form, and takes their blocks.
func TestOldDirectory(t *testing.T) {
	t.Run("without levels", func(t *testing.T) { testOldDirectory(t, oldForm) })
	t.Run("pairs inline", func(t *testing.T) { testOldDirectory(t, inlineForm) })
}

func testOldDirectory(t *testing.T, form func(testing.TB, Encoded) Encoded) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, codec := range codecs {
		for _, n := range []int{129, 5000, 2400 * BlockSize} {
			ps := random(rng, n)
			enc := buildBy(codec, 0, ps).Encode()
			old := form(t, enc)
			l, err := Open(old.Entry, &stored{Encoded: old})
			if err != nil {
				t.Fatalf("%v, %d postings: %v", codec, n, err)
			}
			checkScan(t, l)
			got, err := read(l)
			if err != nil {
				t.Fatalf("%v, %d postings: %v", codec, n, err)
			}
			checkPromises(t, l, got)
			for i := range ps {
				ps[i].length = 0
			}
			if !slices.Equal(got, ps) {
				t.Fatalf("%v, %d postings: they differ", codec, n)
			}
			w, s := Writer{Codec: codec}, new(Scan)
			s.Reset(l)
			for s.Next() {
				if !w.Take(s) {
					w.AddAll(s.Docs[:s.N], s.TFs[:s.N], make([]uint8, s.N))
				}
			}
			if n%BlockSize != 0 {
				continue // the last block has lost its length codes
			}
			if again := w.Finish(); !slices.EqualFunc(again.Directory, enc.Directory, slices.Equal) {
				t.Errorf("%v, %d postings: another directory after a merge", codec, n)
			}
		}
	}
}

// TestOldDirectoryDamage flips every bit of an old directory.
func TestOldDirectoryDamage(t *testing.T) {
	testOldDirectoryDamage(t, oldForm)
	testOldDirectoryDamage(t, inlineForm)
}

func testOldDirectoryDamage(t *testing.T, form func(testing.TB, Encoded) Encoded) {
	for _, codec := range []Kind{Packed, Interpolative} {
		enc := form(t, buildBy(codec, 0, random(rand.New(rand.NewPCG(53, 54)), 700)).Encode())
		body := enc.Directory[0][:len(enc.Directory[0])-4]
		for bit := range 8 * len(body) {
			damaged := slices.Clone(body)
			damaged[bit/8] ^= 1 << (bit % 8)
			enc.Directory[0] = sealPart(damaged)
			if l, err := Open(enc.Entry, &stored{Encoded: enc}); err == nil {
				if _, err := read(l); err != nil && !errors.Is(err, corrupt.Err) {
					t.Fatalf("%v, bit %d: %v", codec, bit, err)
				}
			} else if !errors.Is(err, corrupt.Err) {
				t.Fatalf("%v, bit %d: %v", codec, bit, err)
			}
		}
	}
}
