package segment

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// A countingSource counts the blocks of stored documents that are read.
type countingSource struct {
	*mapStore
	blocks int
}

func (s *countingSource) Ceil(key, upper []byte) (first, value []byte, err error) {
	if Kind(key[0]) == kindStored {
		s.blocks++
	}
	return s.mapStore.Ceil(key, upper)
}

// byScore shuffles documents well: their scores are unrelated to arrival.
var byScore = Order{Kind: ByGlobalScore, Alpha: 1, BM25: blockmax.DefaultBM25}

// shuffledModel makes documents of random ranks, with stored bytes of the length that size returns.
func shuffledModel(rng *rand.Rand, n int, size func(i int) int) model {
	m := make(model, n)
	for i, rank := range rng.Perm(n) {
		id := strings.Repeat("x", i%5) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
		m[i] = modelDoc{id: id, rank: uint16(rank), stored: strings.Repeat(string(rune('a'+i%26)), size(i)), fields: map[string]modelField{}}
	}
	return m
}

// TestStoredBlocksAreReadOncePerWindow checks that a merge that shuffles documents reads a block
// once in each window. With memory for the documents there are few windows. It must also work with
// very little memory.
func TestStoredBlocksAreReadOncePerWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 26))
	m := shuffledModel(rng, 4000, func(i int) int { return 100 + i%300 })
	_, _, s := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	blocks := 0
	for _, key := range s.keys {
		if Kind(key[0]) == kindStored {
			blocks++
		}
	}
	for _, c := range []struct {
		memory  int64
		windows int // at most: the first one is small
	}{
		{64 << 20, 2},
		{1 << 20, 3},
		{256 << 10, 9},
		{1, len(m)},
	} {
		src := &countingSource{mapStore: s}
		d, err := Open(src)
		if err != nil {
			t.Fatal(err)
		}
		got, res, _ := merge(t, []Input{{Reader: d}}, MergeOptions{Order: byScore, MemoryBytes: c.memory})
		requireEqual(t, m.permuted(res.Maps[0], res.Docs), got)
		t.Logf("%d bytes of memory: %d blocks of %d are read", c.memory, src.blocks, blocks)
		if src.blocks > c.windows*blocks {
			t.Errorf("%d bytes of memory: %d blocks are read, want at most %d times %d", c.memory, src.blocks, c.windows, blocks)
		}
	}
}

// TestWindowsOfUnlikeDocuments checks that a window with suddenly large documents is begun again
// with half as many.
func TestWindowsOfUnlikeDocuments(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 27))
	m := shuffledModel(rng, 3000, func(i int) int {
		if i%100 == 0 {
			return 20_000
		}
		return i % 3
	})
	small := shuffledModel(rng, 500, func(int) int { return 0 })
	for i := range small {
		small[i].id += "-small"
		small[i].rank = 65535 // sort before all others, so that the first windows do not reveal the sizes
	}
	inputs := []Input{{Reader: m.memory().View()}, {Reader: small.memory().View()}}
	want := append(slices.Clone(m), small...)
	for _, memory := range []int64{1, 10_000, 100_000, 1 << 20} {
		d, res, _ := merge(t, inputs, MergeOptions{Order: byScore, MemoryBytes: memory})
		numbers := append(slices.Clone(res.Maps[0]), res.Maps[1]...)
		requireEqual(t, want.permuted(numbers, res.Docs), d)
	}
}

// TestWindowStaysWithinMemory checks the memory of a window.
func TestWindowStaysWithinMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 28))
	m := shuffledModel(rng, 2000, func(i int) int { return rng.IntN(1 + i) })
	const memory = 100_000
	mg := &merger{ctx: t.Context(), inputs: []Input{{Reader: m.memory().View()}}, order: byScore, opts: MergeOptions{MemoryBytes: memory}}
	if err := mg.number(); err != nil {
		t.Fatal(err)
	}
	w := storedWindow{m: mg}
	n := firstWindowDocs
	for first := 0; first < len(mg.from); first += len(w.spans) {
		if err := w.read(first, min(n, len(mg.from)-first)); err != nil {
			t.Fatal(err)
		}
		for i, s := range w.spans {
			if want := m[mg.from[first+i].doc].stored; !bytes.Equal(w.data[s.start:s.end], []byte(want)) {
				t.Fatalf("document %d of a window from %d has %d bytes, want %d", i, first, s.end-s.start, len(want))
			}
		}
		if held := len(w.data) + spanBytes*len(w.spans); held > memory {
			t.Errorf("a window of %d documents holds %d bytes", len(w.spans), held)
		}
		n = w.next(len(mg.from) - first - len(w.spans))
		if cap(w.data) > 2*memory {
			t.Errorf("the next window has room for %d bytes", cap(w.data))
		}
	}
}
