package postings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// readCodes is read without making rows. Of every third block it reads the documents alone.
func readCodes(l *List) ([]posting, error) {
	var docs, tfs [BlockSize]uint32
	var ps []posting
	for b := range l.Blocks() {
		n, rest, err := l.ReadDocs(b, &docs)
		if err != nil {
			return nil, err
		}
		tfs = [BlockSize]uint32{}
		if b%3 != 2 {
			if _, err := l.ReadFreqs(b, rest, &tfs); err != nil {
				return nil, err
			}
		}
		for i := range n {
			ps = append(ps, posting{doc: docs[i], tf: tfs[i]})
		}
	}
	return ps, nil
}

// checkCodes compares what readCodes returns with the postings that read returns.
func checkCodes(t *testing.T, l *List, got, want []posting) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d postings from codes, %d from rows", len(got), len(want))
	}
	for i, p := range want {
		if b := i / l.BlockSize; b%3 == 2 {
			p.tf = 0
		}
		if got[i].doc != p.doc || got[i].tf != p.tf {
			t.Fatalf("posting %d is %v from codes, %v from rows", i, got[i], want[i])
		}
	}
}

// TestReadCodes reads lists of every shape without making rows.
func TestReadCodes(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 82))
		lists := map[string][]posting{"skewed": skewed(rng, 5000)}
		for _, n := range []int{129, 1000, 30_000} {
			lists["random"] = append(lists["random"][:0], random(rng, n)...)
			for name, ps := range lists {
				for _, size := range []int{0, 5} {
					enc := buildBy(Interpolative, size, ps).Encode()
					l, err := Open(enc.Entry, &stored{Encoded: enc})
					if err != nil {
						t.Fatal(err)
					}
					got, err := readCodes(l)
					if err != nil {
						t.Fatalf("%s, %d postings: %v", name, len(ps), err)
					}
					for e := range l.chunks {
						if l.chunks[e].Load() != nil {
							t.Fatalf("%s: extent %d has rows", name, e)
						}
					}
					want, err := read(l)
					if err != nil {
						t.Fatal(err)
					}
					checkCodes(t, l, got, want)
					if got, err = readCodes(l); err != nil {
						t.Fatal(err)
					}
					checkCodes(t, l, got, want) // from the rows
				}
			}
		}
	})
}

// TestOnce checks that only the first use of a block without rows counts.
func TestOnce(t *testing.T) {
	_, enc := longCoded(t)
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		t.Fatal(err)
	}
	var docs [BlockSize]uint32
	if _, err := l.Docs(40, &docs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		block int
		want  bool
	}{{40, false}, {41, true}, {41, false}, {70, true}, {38, true}, {70, false}} {
		if got := l.Once(c.block); got != c.want {
			t.Errorf("block %d: %v, want %v", c.block, got, c.want)
		}
	}
	rows := buildBy(Packed, 0, random(rand.New(rand.NewPCG(83, 84)), 1000)).View(MaxDoc)
	if rows.Once(3) {
		t.Error("a list of rows has a first use")
	}
}

// TestReadDamage gives a directory wrong places of blocks. Both ways of reading a block find that,
// unless only its documents are read.
func TestReadDamage(t *testing.T) {
	enc := buildBy(Interpolative, 0, random(rand.New(rand.NewPCG(58, 59)), 1000)).Encode()
	first, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		t.Fatal(err)
	}
	blocks := first.Blocks()
	for b := 1; b < blocks; b++ {
		for _, by := range []int{1, -1, 100, 1 << 20} {
			l, err := Open(enc.Entry, &stored{Encoded: enc})
			if err != nil {
				t.Fatal(err)
			}
			if at := int(l.coded.at[b]) + by; at < 0 || at > int(l.coded.ends[0]) {
				continue
			} else {
				l.coded.at[b] = uint32(at)
			}
			var docs, tfs [BlockSize]uint32
			found := false
			for _, b := range []int{b - 1, b} {
				_, rest, err := l.ReadDocs(b, &docs)
				if err == nil {
					_, err = l.ReadFreqs(b, rest, &tfs)
				}
				if err != nil {
					mustBeCorrupt(t, err)
					found = true
				} else if !slices.IsSorted(docs[:l.BlockLen(b)]) {
					t.Fatalf("block %d, moved by %d bits, has documents %v", b, by, docs)
				}
			}
			if !found {
				t.Fatalf("block %d begins %d bits late, and nothing is wrong", b, by)
			}
		}
	}
}
