package postings

import (
	"math/rand/v2"
	"sort"
	"testing"
)

// TestSeek compares Seek with a scan, from every block to every interesting document.
func TestSeek(t *testing.T) { eachVariant(t, testSeek) }

func testSeek(t *testing.T) {
	for size := 1; size <= 3; size++ {
		ps := random(rand.New(rand.NewPCG(15, uint64(size))), size*ExtentBlocks*5+1)
		l := build(size, ps).View(MaxDoc)
		for from := range l.Blocks() + 1 {
			for i := 0; i <= len(ps); i += 1 + i%5 {
				doc := uint32(MaxDoc - 1)
				if i < len(ps) {
					doc = ps[i].doc
				}
				for _, doc := range []uint32{doc, doc + 1} {
					want := from
					for want < l.Blocks() && l.Last[want] < doc {
						want++
					}
					if got := l.Seek(from, doc); got != want {
						t.Fatalf("Seek(%d, %d) is %d, want %d", from, doc, got, want)
					}
				}
			}
		}
	}
}

// TestCursor walks by random steps and compares with an index into the model.
func TestCursor(t *testing.T) { eachVariant(t, testCursor) }

func testCursor(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	var c Cursor
	for range 300 {
		ps := random(rng, 1+rng.IntN(2000))
		l := build(1+rng.IntN(10), ps).View(MaxDoc)
		c.Reset(l)
		at := -1
		for at < len(ps) {
			var got uint32
			if rng.IntN(3) > 0 {
				got = c.Next()
				at++
			} else {
				to := ps[max(at, 0)].doc + rng.Uint32N(1<<rng.IntN(14))
				got = c.SeekGE(to)
				from := max(at, 0)
				at = from + sort.Search(len(ps)-from, func(i int) bool { return ps[from+i].doc >= to })
			}
			want := End
			if at < len(ps) {
				want = ps[at].doc
			}
			if got != want || c.doc != want {
				t.Fatalf("at posting %d the cursor says %d and stands on %d, want %d", at, got, c.doc, want)
			}
			if at < len(ps) && rng.IntN(2) == 0 && c.TF() != ps[at].tf {
				t.Fatalf("posting %d has frequency %d, want %d", at, c.TF(), ps[at].tf)
			}
		}
		if c.Next() != End || c.SeekGE(0) != End || c.Err() != nil {
			t.Fatalf("behind the end: %d, %v", c.doc, c.Err())
		}
	}
}
