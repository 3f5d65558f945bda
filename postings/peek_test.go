package postings

import (
	"math/rand/v2"
	"testing"
)

// TestPeek looks in every block of lists of all kinds for every document it could hold, and reads
// every frequency.
func TestPeek(t *testing.T) { eachVariant(t, testPeek) }

func testPeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	kinds := make(map[Kind]int)
	for i := range 60 {
		size, sample := 1+rng.IntN(BlockSize), random
		if i%3 == 0 {
			size, sample = BlockSize, skewed
		}
		l := reopen(t, buildBy(codecs[rng.IntN(3)], size, sample(rng, 1+rng.IntN(3000))))
		var docs, tfs [BlockSize]uint32
		var p Peek
		for b := range l.Blocks() {
			n, err := l.Docs(b, &docs)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Freqs(b, &tfs); err != nil {
				t.Fatal(err)
			}
			if err := l.Peek(b, &p); err != nil {
				t.Fatal(err)
			}
			kinds[l.Enc[b].Kind()]++
			for i := range n {
				if got := p.TF(i); got != tfs[i] {
					t.Fatalf("block %d, %v: frequency %d is %d, want %d", b, l.Enc[b], i, got, tfs[i])
				}
			}
			if p.TF(n) != 0 || p.TF(-1) != 0 {
				t.Fatalf("block %d has frequencies of postings -1 and %d", b, n)
			}
			if p.Searchable() {
				checkRanks(t, l, b, &p, docs[:n])
			}
		}
	}
	for k := Packed; k <= Rice; k++ {
		if kinds[k] < 10 {
			t.Errorf("only %d blocks were %v", kinds[k], k)
		}
	}
}

// checkRanks looks for the documents of a block and all in between.
func checkRanks(t *testing.T, l *List, b int, p *Peek, docs []uint32) {
	t.Helper()
	i := 0
	for doc := l.before(b); doc != l.Last[b]+2; doc++ {
		want := -1
		if i < len(docs) && docs[i] == doc {
			want, i = i, i+1
		}
		if got := p.Find(doc); got != want {
			t.Fatalf("block %d, %v: document %d has rank %d, want %d", b, l.Enc[b], doc, got, want)
		}
	}
}

// TestPeekNoise looks into blocks whose rows hold noise, like damage that the checksums missed.
// Whatever it finds, it must not panic.
func TestPeekNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	for range 200 {
		size, sample := 1+rng.IntN(BlockSize), random
		if rng.IntN(3) == 0 {
			size, sample = BlockSize, skewed
		}
		l := reopen(t, buildBy(codecs[rng.IntN(3)], size, sample(rng, 1+rng.IntN(1000))))
		var p Peek
		for b := range l.Blocks() {
			if err := l.Peek(b, &p); err != nil {
				t.Fatal(err)
			}
			for i := range p.Docs {
				p.Docs[i] = byte(rng.Uint32())
			}
			for i := range p.Freqs {
				p.Freqs[i] = byte(rng.Uint32())
			}
			for i := range p.Len {
				p.TF(i)
			}
			for range 20 {
				if i := p.Find(p.First + rng.Uint32N(p.Last-p.First+1)); p.Searchable() && i >= p.Len && p.TF(i) != 0 {
					t.Fatalf("posting %d of %d has a frequency", i, p.Len)
				}
			}
		}
	}
}
