package main

import (
	"context"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/gov2"
)

func keepingBench(t *testing.T) (*bench, *windowing) {
	t.Helper()
	b := &bench{settings: &settings{k: numbers{3}}, ctx: context.Background(), answers: map[plans]*reference{}}
	b.c = gov2.Generate(gov2.Options{Docs: 30_000, Queries: 40, Postings: 0.3})
	w, err := newWindowing(b.c, 8, 5)
	if err != nil {
		t.Fatal(err)
	}
	return b, w
}

// TestRecords: each block is in the records of all windows that it touches, in pieces of the block's
// bytes, and a record is not larger than what it was made of.
func TestRecords(t *testing.T) {
	b, w := keepingBench(t)
	piece := 0
	for i := range w.lists {
		l := b.c.Lists[i].List
		for window, r := range w.lists[i].records {
			lo, hi := uint32(window*w.tiles)<<w.tileShift, uint32((window+1)*w.tiles)<<w.tileShift
			bytes := int64(0)
			for block := range l.Blocks() {
				first := uint32(0)
				if block > 0 {
					first = l.Last[block-1] + 1
				}
				if touches := first < hi && l.Last[block] >= lo; touches != (block >= r.from && block < r.to) {
					t.Errorf("list %d, window %d: block %d has documents from %d to %d, the record blocks from %d to %d", i, window, block, first, l.Last[block], r.from, r.to)
				} else if touches {
					bytes += int64(rowOf * l.Enc[block].Rows(l.BlockLen(block)))
				}
			}
			if r.from == r.to {
				continue
			}
			sum := int64(0)
			if r.piece != piece {
				t.Errorf("list %d, window %d: piece %d is the first, want %d", i, window, r.piece, piece)
			}
			for range r.pieces() {
				sum += int64(w.pieceBytes[piece][pieceBlocks])
				if w.listOf[piece] != int32(i) || w.windowOf[piece] != uint8(window) {
					t.Errorf("piece %d is of list %d, window %d", piece, w.listOf[piece], w.windowOf[piece])
				}
				piece++
			}
			if sum != bytes || r.bytes != bytes || r.head <= 0 {
				t.Errorf("list %d, window %d: pieces of %d bytes, a record of %d, want %d; first parts %d", i, window, sum, r.bytes, bytes, r.head)
			}
		}
	}
	if piece != len(w.pieceBytes) {
		t.Errorf("%d pieces, %d of records", len(w.pieceBytes), piece)
	}
}

// TestReach: thresholds rise to the key of the CPU's last hit, and the blocks of every hit are
// touched, whenever they were chosen.
func TestReach(t *testing.T) {
	b, w := keepingBench(t)
	v := w.visitor()
	saved := 0
	for q, query := range b.c.Queries {
		for i, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			r, err := b.reference(plans{mode, 3})
			if err != nil {
				t.Fatal(err)
			}
			p, hits := r.plans[q], r.tops[q].Hits
			if err := v.score(p); err != nil {
				t.Fatal(err)
			}
			v.bound(p, query)
			least := uint8(1)
			if mode == blockmax.And {
				least = uint8(len(query))
			}
			seeds := v.seedsOf(v.sums[i], 2)
			got := v.reach(3, 0, least, seeds)
			want := uint64(0)
			if len(hits) == 3 {
				want = keyOf(hits[2])
			}
			if last := got.after[len(got.after)-1]; last != want || !slices.IsSorted(got.after) || got.seeds > got.after[0] {
				t.Errorf("query %d, %v: thresholds %x, then %x; want %x at last", q, mode, got.seeds, got.after, want)
			}
			for _, most := range []int{1, 3} {
				touches := v.touches(query, v.sums[i], &got, stepEnds(w.windows, most), mode == blockmax.Or)
				saved += checkTouches(t, w, query, hits, touches)
			}
		}
	}
	if saved == 0 {
		t.Error("bounds spare no block")
	}
}

// checkTouches checks that all blocks with hits are touched. It returns how many blocks are not.
func checkTouches(t *testing.T, w *windowing, query []int, hits []blockmax.Hit, touches []touch) (saved int) {
	t.Helper()
	marks := map[uint32]uint8{}
	for _, of := range touches {
		marks[of.piece] |= of.marks
	}
	for _, list := range query {
		l := w.c.Lists[list].List
		for window, r := range w.lists[list].records {
			for block := r.from; block < r.to; block++ {
				at := block - r.from
				if marks[uint32(r.piece+at/pieceBlocks)]>>(at%pieceBlocks)&1 == 0 {
					saved++
				}
			}
			for _, hit := range hits {
				if int(hit.Doc>>w.tileShift)/w.tiles != window {
					continue
				}
				block := l.Seek(0, hit.Doc)
				if at := block - r.from; block < r.to && marks[uint32(r.piece+at/pieceBlocks)]>>(at%pieceBlocks)&1 == 0 {
					t.Errorf("block %d of list %d has the hit %v, and no query looks at it", block, list, hit)
				}
			}
		}
	}
	return saved
}

// TestKept: no policy keeps more than the memory or a share lambda of a list, and none saves more
// than the memory in each batch. With all that the log visits nothing is lacking.
func TestKept(t *testing.T) {
	b, w := keepingBench(t)
	logs, err := b.visitLogs(w)
	if err != nil {
		t.Fatal(err)
	}
	const size = 8
	for kind, log := range logs {
		fetched := func(k *kept) int64 { return log.fetched(w, k, size, 20, 40) }
		none := items(nil).choose(w, 0, 1)
		for _, p := range policies {
			for _, memory := range []int64{0, w.bytes() / 5, 1 << 40} {
				k := p.items(log.learn(w, 0, 40, size)).choose(w, memory, p.lambda)
				bytes := int64(0)
				for i := range w.lists {
					of := k.bytes(w, i)
					if float64(of) > p.lambda*float64(w.lists[i].bytes) {
						t.Errorf("%v, %s: %d bytes of list %d stay, of %d", kind, p.name, of, i, w.lists[i].bytes)
					}
					bytes += of
				}
				const batches = 3
				lacks, least := fetched(k), max(0, fetched(none)-batches*memory)
				if bytes > memory || lacks < least || memory == 0 && lacks != fetched(none) || memory == 1<<40 && p.lambda == 1 && lacks != 0 {
					t.Errorf("%v, %s: %d bytes stay in %d; %d are read, of %d", kind, p.name, bytes, memory, lacks, fetched(none))
				}
			}
		}
	}
}

// bytes are those of a list that stay.
func (k *kept) bytes(w *windowing, list int) (bytes int64) {
	for window, r := range w.lists[list].records {
		if k.heads[list*w.windows+window] {
			bytes += r.head
		}
		for piece := r.piece; piece < r.piece+r.pieces(); piece++ {
			if k.pieces[piece] {
				bytes += int64(w.pieceBytes[piece][pieceBlocks])
			}
		}
	}
	return bytes
}
