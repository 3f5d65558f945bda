package segment

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRuns compares appendRuns with appendRun, and a runReader with what was written, around all
// values at which a number takes one more byte.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	gaps := []uint32{0, 1, 0x3f, 0x40, 0x1fff, 0x2000, 0xfffff, 0x100000, 0x3ffffff}
	tfs := []uint32{1, 1, 1, 2, 3, 0x81, 0x82, 0x83, 0x4001, 0x4002, 1 << 30, 1<<32 - 1}
	for range 2000 {
		prev := uint32(rng.IntN(100)) - 1 // or noDoc
		var list []docTF
		var want []byte
		for doc := prev; len(list) < rng.IntN(40); {
			gap := gaps[rng.IntN(len(gaps))] >> rng.IntN(3)
			doc += gap + 1
			list = append(list, docTF{doc, tfs[rng.IntN(len(tfs))]})
			want = appendRun(want, gap, list[len(list)-1].tf)
		}
		run := appendRuns([]byte("before"), prev, list)
		if !bytes.Equal(run[6:], want) {
			t.Fatalf("%v behind %d: %x, want %x", list, prev, run[6:], want)
		}
		r := runReader{data: slices.Clip(want), doc: prev}
		var got []docTF
		docs, freqs := make([]uint32, 1+rng.IntN(20)), make([]uint32, 20)
		for n := r.read(docs, freqs); n > 0; n = r.read(docs, freqs) {
			for i, doc := range docs[:n] {
				got = append(got, docTF{doc, freqs[i]})
			}
		}
		if !slices.Equal(got, list) {
			t.Fatalf("%x behind %d: %v, want %v", want, prev, got, list)
		}
	}
}
