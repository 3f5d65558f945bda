package cpuexec

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/riffle-search/riffle/postings"
)

// TestAlign compares the variants of align with what comparing each position with each other one gives.
func TestAlign(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(12, 12))
		matched := 0
		for round := range 3000 {
			var b batch
			docs := make([]uint32, 1+rng.IntN(batchDocs))
			b.begin(docs)
			kept := 0
			for _, slot := range b.live[:b.n] { // some have been dropped before
				b.live[kept] = slot
				if rng.IntN(4) > 0 || slot == 0 {
					kept++
				}
			}
			b.n = kept
			most := []int{20, 200, 1 << 15, 1 << 16}[rng.IntN(4)]
			before, after := randomOccurrences(rng, &b, most), randomOccurrences(rng, &b, most)
			distance := rng.IntN(9) - 4
			switch rng.IntN(20) {
			case 0:
				distance = rng.IntN(1<<18) - 1<<17
			case 1:
				distance = most - rng.IntN(10)
			}
			positions := round%2 == 0
			live := slices.Clone(b.live[:b.n])
			var to occurrences
			align(&b, before, after, distance, &to, positions)
			n := 0
			for _, slot := range live {
				var want []uint16
				for _, x := range after.of(slot) {
					if slices.ContainsFunc(before.of(slot), func(y uint16) bool { return int(x)-int(y) == distance }) {
						want = append(want, x)
					}
				}
				want = slices.Compact(want)
				if int(to.count[slot]) != len(want) || positions && !slices.Equal(to.of(slot), want) {
					t.Fatalf("%v and %v at %d: %d places, want %v", before.of(slot), after.of(slot), distance, to.count[slot], want)
				}
				if len(want) == 0 {
					continue
				}
				if n >= b.n || b.live[n] != slot {
					t.Fatalf("candidate %d is not kept: %v", slot, b.live[:b.n])
				}
				n++
			}
			if n != b.n {
				t.Fatalf("%d candidates are kept, want %d", b.n, n)
			}
			if positions && (len(to.all) > 0 && to.from[live[0]] == 0 || cap(to.all) < len(to.all)+postings.NarrowPad) {
				t.Fatal("no room around the positions")
			}
			matched += n
		}
		if matched < 10_000 {
			t.Errorf("only %d candidates matched", matched)
		}
	})
}

// randomOccurrences are of all candidates of a batch, with equal positions among them.
func randomOccurrences(rng *rand.Rand, b *batch, most int) *occurrences {
	o := &occurrences{all: []uint16{uint16(rng.Uint32())}, width: 15}
	if most > 1<<15 {
		o.width = 16
	}
	for _, slot := range b.live[:b.n] {
		n := 1 + rng.IntN(1+rng.IntN(12))
		if rng.IntN(20) == 0 {
			n = 1 + rng.IntN(60)
		}
		own := make([]uint16, n)
		for i := range own {
			if own[i] = uint16(rng.IntN(most)); i > 0 && rng.IntN(8) == 0 {
				own[i] = own[i-1]
			}
		}
		slices.Sort(own)
		for range rng.IntN(3) { // those of others
			o.all = append(o.all, own[0])
		}
		o.from[slot], o.count[slot] = uint32(len(o.all)), uint32(n)
		o.all = append(o.all, own...)
	}
	for range postings.NarrowPad { // what may be read means nothing
		o.all = append(o.all, uint16(rng.IntN(most)))
	}
	o.all = o.all[:len(o.all)-postings.NarrowPad]
	return o
}

// TestAlignLayout compares struct alignment with the offsets in _asm.
func TestAlignLayout(t *testing.T) {
	var a alignment
	if got := unsafe.Sizeof(a); got != 28*8 {
		t.Errorf("the struct has %d bytes", got)
	}
	for i, offset := range []uintptr{
		unsafe.Offsetof(a.live), unsafe.Offsetof(a.n), unsafe.Offsetof(a.beforeFrom), unsafe.Offsetof(a.beforeCount), unsafe.Offsetof(a.before),
		unsafe.Offsetof(a.afterFrom), unsafe.Offsetof(a.afterCount), unsafe.Offsetof(a.after), unsafe.Offsetof(a.toFrom), unsafe.Offsetof(a.toCount),
		unsafe.Offsetof(a.to), unsafe.Offsetof(a.kept), unsafe.Offsetof(a.shift),
	} {
		if offset != uintptr(8*i) {
			t.Errorf("field %d is at %d", i, offset)
		}
	}
	if unsafe.Offsetof(a.add) != 12*8+64 {
		t.Errorf("add is at %d", unsafe.Offsetof(a.add))
	}
}
