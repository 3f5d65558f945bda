package cpuexec

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/impl"
	"github.com/riffle-search/riffle/postings"
)

// eachVariant runs a test once for every variant of the kernels.
func eachVariant(t *testing.T, test func(t *testing.T)) {
	for name := range impl.Each("cpuexec") {
		t.Run(name, test)
	}
}

func TestAddBounds(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 500 {
			var sum, got, want sums
			var bounds coarse
			unit := rng.Uint32N(1 << rng.IntN(24))
			for i := range sum {
				sum[i] = rng.Uint32N(1 << 31)
				bounds[i] = uint8(rng.Uint32N(256)) * uint8(rng.Uint32N(2))
			}
			need := rng.Uint32N(1<<31) + 1<<rng.Uint32N(31)
			reach, present := addBounds(&got, &sum, &bounds, unit, need)
			wantReach, wantPresent := addBoundsPortable(&want, &sum, &bounds, unit, need)
			if got != want || reach != wantReach || present != wantPresent {
				t.Fatalf("sums %v + %d*%v, need %d:\n got %v, %x, %x\nwant %v, %x, %x", sum, unit, bounds, need, got, reach, present, want, wantReach, wantPresent)
			}
		}
	})
}

func TestMarks(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		var m marks
		for range 500 {
			var got, want bitset
			for i := range got {
				got[i] = rng.Uint64() & rng.Uint64()
			}
			want = got
			for range rng.IntN(4) {
				docs := make([]uint32, rng.IntN(140))
				for i := range docs {
					docs[i] = rng.Uint32()
					want[docs[i]/64%64] |= 1 << (docs[i] % 64)
				}
				m.mark(docs)
			}
			if m.flush(&got); got != want {
				t.Fatalf("got %x\nwant %x", got, want)
			}
		}
	})
}

func TestAddPostings(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 8))
		table := blockmax.NewTable(blockmax.DefaultBM25, 12)
		norms := make([]uint8, 2*tileDocs)
		for i := range norms {
			norms[i] = uint8(rng.Uint32())
		}
		for round := range 500 {
			var got, want scores
			var docs, freqs []uint32
			for d := tileDocs + rng.Uint32N(1000); d < 2*tileDocs && len(docs) < 128; d += 1 + rng.Uint32N(50) {
				docs = append(docs, d)
				freqs = append(freqs, 1+rng.Uint32()>>rng.IntN(32))
				got[d%tileDocs] = rng.Uint32N(1 << 30)
			}
			want = got
			weight, codes := rng.Uint32N(1<<30), norms
			if round%4 == 0 {
				codes = nil
			}
			addPostings(&got, docs, freqs, codes, table, weight)
			for i, d := range docs {
				code := uint8(1)
				if codes != nil {
					code = codes[d]
				}
				want[d%tileDocs] += blockmax.Contribution(weight, table.Impact(freqs[i], code))
			}
			if got != want {
				t.Fatalf("documents %v, frequencies %v: wrong scores", docs, freqs)
			}
		}
	})
}

func TestSift(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(2, 2))
		var got, want candidates
		for range 500 {
			var from, from2 scores
			var rest sums
			words := rng.Uint64() & rng.Uint64() & rng.Uint64()
			need := 1 + rng.Uint32N(1<<rng.IntN(32))
			for i := range rest {
				rest[i] = rng.Uint32N(need)
			}
			fill := 1 + rng.IntN(8)
			for i := range from {
				if words>>(i/wordDocs)&1 == 1 && rng.IntN(fill) == 0 {
					from[i] = rng.Uint32N(2*need + 1)
				}
			}
			base := rng.Uint32N(1<<19) * tileDocs
			from2 = from
			scored := sift(&got, &from, base, words, &rest, need)
			wantScored := siftPortable(&want, &from2, base, words, &rest, need)
			if scored != wantScored || got.n != want.n || from != from2 {
				t.Fatalf("words %x, need %d: %d candidates of %d documents, want %d of %d", words, need, got.n, scored, want.n, wantScored)
			}
			for i := range want.n {
				if got.docs[i] != want.docs[i] || got.score[i] != want.score[i] {
					t.Fatalf("candidate %d is %d with %d, want %d with %d", i, got.docs[i], got.score[i], want.docs[i], want.score[i])
				}
			}
		}
	})
}

func TestDropHopeless(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(12, 12))
		var got, want candidates
		for range 1000 {
			checkDropHopeless(t, rng, &got, &want)
		}
	})
}

func FuzzDropHopeless(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for range impl.Each("cpuexec") {
			checkDropHopeless(t, rand.New(rand.NewPCG(seed, 0)), new(candidates), new(candidates))
		}
	})
}

func checkDropHopeless(t *testing.T, rng *rand.Rand, got, want *candidates) {
	t.Helper()
	hopes := make([]hope, rng.IntN(5))
	for i := range hopes {
		h := hope{bounds: new(coarse), asked: rng.Uint64() | rng.Uint64(), unit: uint64(rng.Uint32N(1 << rng.IntN(20)))}
		for w := range h.bounds {
			h.bounds[w] = uint8(rng.Uint32())
		}
		if rng.IntN(3) > 0 {
			h.held = new(bitset)
			for w := range h.held {
				h.held[w] = rng.Uint64() & rng.Uint64()
			}
		}
		hopes[i] = h
	}
	base, every := rng.Uint32N(1<<19)*tileDocs, 1+rng.Uint32N(200)
	need := rng.Uint32N(1 << 28)
	got.n = 0
	for d := rng.Uint32N(every); d < tileDocs; d += 1 + rng.Uint32N(every) {
		got.docs[got.n], got.score[got.n] = base+d, rng.Uint32N(need+1)
		got.n++
	}
	want.n, want.docs, want.score = got.n, got.docs, got.score
	dropHopeless(got, hopes, need)
	dropHopelessPortable(want, hopes, need)
	if got.n != want.n || !slices.Equal(got.docs[:got.n], want.docs[:want.n]) || !slices.Equal(got.score[:got.n], want.score[:want.n]) {
		t.Fatalf("%d lists, need %d: %d candidates are left, %v\nwant %d, %v", len(hopes), need, got.n, got.docs[:got.n], want.n, want.docs[:want.n])
	}
}

// TestHopeLayout compares struct hope with the offsets in _asm.
func TestHopeLayout(t *testing.T) {
	var h hope
	if got := unsafe.Sizeof(h); got != 4*8 {
		t.Errorf("the struct has %d bytes", got)
	}
	for i, offset := range []uintptr{unsafe.Offsetof(h.bounds), unsafe.Offsetof(h.held), unsafe.Offsetof(h.asked), unsafe.Offsetof(h.unit)} {
		if offset != uintptr(8*i) {
			t.Errorf("field %d is at %d", i, offset)
		}
	}
}

// TestBitmapKernels uses bitmaps of every length up to more than a step, and various numbers of
// them.
func TestBitmapKernels(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(10, 10))
		for round := range 500 {
			checkBitmapKernels(t, rng, 1+rng.IntN(6), round%150)
		}
	})
}

func FuzzBitmapKernels(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint16(70))
	f.Fuzz(func(t *testing.T, seed uint64, maps uint8, words uint16) {
		for range impl.Each("cpuexec") {
			checkBitmapKernels(t, rand.New(rand.NewPCG(seed, 0)), 1+int(maps), int(words%1000))
		}
	})
}

func checkBitmapKernels(t *testing.T, rng *rand.Rand, count, words int) {
	t.Helper()
	var maps [][]uint64
	for range count {
		m := make([]uint64, words+rng.IntN(3))
		for i := range m {
			m[i] = rng.Uint64() | rng.Uint64() | rng.Uint64()
		}
		maps = append(maps, m)
	}
	maps[0] = maps[0][:words]
	got, want := make([]uint64, words+1), make([]uint64, words+1)
	unite(got[:words], maps)
	unitePortable(want[:words], maps)
	if !slices.Equal(got, want) {
		t.Fatalf("the union of %d maps of %d words is\n     %x\nwant %x", count, words, got, want)
	}
	if got, want := countCommon(maps), countCommonPortable(maps); got != want {
		t.Fatalf("%d maps of %d words have %d bits in common, want %d", count, words, got, want)
	}
}

// BenchmarkBitmapKernels takes 4 bitmaps of 400,000 documents each, 200 KB in all.
//
// Microseconds with AVX-512, with AVX2 and in Go, on a core of an EPYC (Zen 5): unite 2.3, 2.6 and
// 5.3, countCommon 1.9, 2.5 and 12.
func BenchmarkBitmapKernels(b *testing.B) {
	maps := make([][]uint64, 4)
	for i := range maps {
		maps[i] = make([]uint64, 6272)
	}
	dst := make([]uint64, 6272)
	for name := range impl.Each("cpuexec") {
		b.Run("unite/"+name, func(b *testing.B) {
			for b.Loop() {
				unite(dst, maps)
			}
		})
		b.Run("countCommon/"+name, func(b *testing.B) {
			for b.Loop() {
				countCommon(maps)
			}
		})
	}
}

// TestProbeLayout compares struct probe with the offsets in _asm.
func TestProbeLayout(t *testing.T) {
	var p probe
	if got := unsafe.Sizeof(p); got != 21*8 {
		t.Errorf("the struct has %d bytes", got)
	}
	for i, offset := range []uintptr{
		unsafe.Offsetof(p.docs), unsafe.Offsetof(p.scores), unsafe.Offsetof(p.at), unsafe.Offsetof(p.end), unsafe.Offsetof(p.kept),
		unsafe.Offsetof(p.words), unsafe.Offsetof(p.rest), unsafe.Offsetof(p.need), unsafe.Offsetof(p.optional), unsafe.Offsetof(p.first), unsafe.Offsetof(p.last),
		unsafe.Offsetof(p.bits), unsafe.Offsetof(p.sorted), unsafe.Offsetof(p.postings), unsafe.Offsetof(p.freqs), unsafe.Offsetof(p.width),
		unsafe.Offsetof(p.norms), unsafe.Offsetof(p.impacts), unsafe.Offsetof(p.k), unsafe.Offsetof(p.weight), unsafe.Offsetof(p.before),
	} {
		if offset != uintptr(8*i) {
			t.Errorf("field %d is at %d", i, offset)
		}
	}
}

// randomBlock returns n rising documents below limit, and frequencies, few of them high.
func randomBlock(rng *rand.Rand, n int, limit uint32) (docs, freqs [postings.BlockSize]uint32) {
	for i := range docs {
		docs[i], freqs[i] = rng.Uint32(), rng.Uint32() // elements after the block may be anything
	}
	all := rng.Perm(int(limit))[:n]
	slices.Sort(all)
	for i, d := range all {
		docs[i], freqs[i] = uint32(d), 1+rng.Uint32()>>rng.IntN(32)
	}
	return docs, freqs
}

func TestImpacts(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 9))
		similarities := []blockmax.BM25{blockmax.DefaultBM25, {K1: 0, B: 0.5}, {K1: 1000, B: 1}, {K1: 0.9, B: 0.4}}
		for range 2000 {
			table := blockmax.NewTable(similarities[rng.IntN(len(similarities))], 0.1+rng.Float64()*500)
			norms := make([]uint8, 128+rng.IntN(600))
			for i := range norms {
				norms[i] = uint8(rng.Uint32())
			}
			n := rng.IntN(postings.BlockSize + 1)
			docs, freqs := randomBlock(rng, n, uint32(len(norms)))
			if rng.IntN(4) == 0 {
				norms = nil
			}
			var got, want [postings.BlockSize]uint16
			impacts(&got, &docs, &freqs, n, norms, table)
			impactsPortable(&want, docs[:n], &freqs, norms, table)
			if !slices.Equal(got[:n], want[:n]) {
				t.Fatalf("%+v, frequencies %v:\n got %v\nwant %v", table.Key(), freqs[:n], got[:n], want[:n])
			}
		}
	})
}

func TestLeadBlock(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(10, 10))
		var got, want candidates
		for range 2000 {
			n := rng.IntN(postings.BlockSize + 1)
			docs, _ := randomBlock(rng, n, 1000)
			var imps [postings.BlockSize]uint16
			for i := range imps {
				imps[i] = uint16(rng.Uint32())
			}
			weight := rng.Uint32N(1 << 31)
			floor := blockmax.Contribution(weight, uint16(rng.Uint32()>>rng.IntN(32)))
			from := rng.Uint32N(500) * rng.Uint32N(2)
			to := from + rng.Uint32N(1000)
			leadBlock(&got, &docs, &imps, n, weight, floor, from, to)
			leadBlockPortable(&want, docs[:n], &imps, weight, floor, from, to)
			sameCandidates(t, &got, &want)
		}
	})
}

func TestFilter(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 11))
		var got, want candidates
		for range 2000 {
			lists := make([]wordFilter, rng.IntN(4))
			for j := range lists {
				f := &lists[j]
				if rng.IntN(4) > 0 {
					f.words, f.unit = make([]uint8, 64*(1+rng.IntN(5))), uint64(rng.Uint32N(1<<20))
					for i := range f.words {
						f.words[i] = uint8(rng.Uint32()) * uint8(min(1, rng.IntN(4)))
					}
				}
				if rng.IntN(3) == 0 {
					f.bitmap = make([]uint64, 5*64)
					for i := range f.bitmap {
						f.bitmap[i] = rng.Uint64() | rng.Uint64()
					}
				}
			}
			n := rng.IntN(200)
			for i := range n {
				got.docs[i], got.score[i] = rng.Uint32N(5*tileDocs), rng.Uint32N(1<<30)
			}
			slices.Sort(got.docs[:n])
			got.n = n
			want = got
			rest, need := rng.Uint32N(1<<20), rng.Uint32N(1<<31)*rng.Uint32N(2)
			filter(&got, lists, rest, need)
			filterPortable(&want, lists, rest, need)
			sameCandidates(t, &got, &want)
		}
	})
}

// TestFilterLayout compares struct wordFilter with the offsets in _asm.
func TestFilterLayout(t *testing.T) {
	var f wordFilter
	if w, b, u, size := unsafe.Offsetof(f.words), unsafe.Offsetof(f.bitmap), unsafe.Offsetof(f.unit), unsafe.Sizeof(f); w != 0 || b != 24 || u != 48 || size != 56 {
		t.Errorf("words at %d, bitmap at %d, unit at %d of %d bytes", w, b, u, size)
	}
}

func sameCandidates(t *testing.T, got, want *candidates) {
	t.Helper()
	if got.n != want.n || !slices.Equal(got.docs[:got.n], want.docs[:want.n]) || !slices.Equal(got.score[:got.n], want.score[:want.n]) {
		t.Fatalf("got %d candidates, %v %v\nwant %d, %v %v", got.n, got.docs[:got.n], got.score[:got.n], want.n, want.docs[:want.n], want.score[:want.n])
	}
}
