package postings

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestViewWhileAdding takes views of every prefix, with every kind of limit, and checks them only
// after more postings were added.
func TestViewWhileAdding(t *testing.T) {
	for size := 1; size <= 8; size++ {
		rng := rand.New(rand.NewPCG(9, uint64(size)))
		ps := random(rng, size*ExtentBlocks*3+size/2)
		type taken struct {
			l    *List
			want []posting
			cut  bool
		}
		var views []taken
		b := &Builder{BlockSize: uint8(size)}
		for i, p := range ps {
			b.Add(p.doc, p.tf, p.length)
			n := rng.IntN(i + 2)
			limit := uint32(MaxDoc)
			if n <= i {
				limit = ps[n].doc
			}
			cut := n < i+1-(i+1)%size // a full block is cut, or may be
			views = append(views, taken{b.View(limit), ps[:n], cut})
		}
		for _, v := range views {
			checkList(t, v.l, v.want, v.cut)
		}
	}
}

// TestViewsAreIndependent reads views in other goroutines while the builder grows, under the race
// detector.
func TestViewsAreIndependent(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(11, 12)), 10_000)
	b := new(Builder)
	var readers sync.WaitGroup
	defer readers.Wait()
	for i, p := range ps {
		b.Add(p.doc, p.tf, p.length)
		if i%501 != 0 {
			continue
		}
		l, want := b.View(p.doc+1), ps[:i+1]
		readers.Go(func() {
			got, err := read(l)
			if err != nil {
				t.Error(err)
			}
			if !slices.EqualFunc(got, want, func(a, b posting) bool { return a.doc == b.doc && a.tf == b.tf }) {
				t.Errorf("a view of %d postings changed", len(want))
			}
		})
	}
}

// TestReset uses one builder for many lists, with and without views that outlive them.
func TestReset(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	b := &Builder{BlockSize: 4}
	type kept struct {
		l    *List
		want []posting
	}
	var all []kept
	for range 200 {
		b.reset()
		ps := random(rng, 1+rng.IntN(1000))
		for _, p := range ps {
			b.Add(p.doc, p.tf, p.length)
		}
		if b.Len() != len(ps) {
			t.Fatalf("Len is %d, want %d", b.Len(), len(ps))
		}
		if rng.IntN(2) == 0 {
			all = append(all, kept{b.View(MaxDoc), ps})
		}
		all = append(all, kept{reopen(t, b), ps})
	}
	for _, k := range all {
		checkList(t, k.l, k.want, false)
	}
}

func TestEmpty(t *testing.T) {
	b := new(Builder)
	for _, l := range []*List{b.View(MaxDoc), build(0, []posting{{5, 1, 1}}).View(5)} {
		if l.Blocks() != 0 || l.Count != 0 || l.Seek(0, 0) != 0 || len(l.ListImpacts) != 0 {
			t.Errorf("an empty view is %+v", l)
		}
		var c Cursor
		c.Reset(l)
		if d := c.Next(); d != End || c.SeekGE(3) != End || c.TF() != 0 || c.Err() != nil {
			t.Errorf("a cursor over nothing stands on %d, %v", d, c.Err())
		}
	}
}

// TestAddRefuses checks that misuse, which only a bug can cause, panics.
func TestAddRefuses(t *testing.T) {
	for name, add := range map[string]func(b *Builder){
		"the same document twice": func(b *Builder) { b.Add(7, 1, 1) },
		"an earlier document":     func(b *Builder) { b.Add(6, 1, 1) },
		"no frequency":            func(b *Builder) { b.Add(8, 0, 1) },
		"a document too high":     func(b *Builder) { b.Add(MaxDoc, 1, 1) },
		"block size 129":          func(b *Builder) { b.BlockSize = 129; b.Add(8, 1, 1) },
		"an empty list stored":    func(b *Builder) { b.reset(); b.Encode() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("was accepted")
				}
			}()
			add(build(0, []posting{{7, 1, 1}}))
		})
	}
}

// TestBuilderBytes checks that most terms take little memory.
func TestBuilderBytes(t *testing.T) {
	if n := build(0, []posting{{1_000_000, 2, 40}}).Bytes(); n > 64 {
		t.Errorf("a builder of one posting takes %d bytes", n)
	}
	long := build(0, random(rand.New(rand.NewPCG(1, 1)), 100_000))
	enc := long.Encode()
	payload := 0
	for _, c := range enc.Chunks {
		payload += len(c)
	}
	if n := long.Bytes(); n < payload || n > 4*payload {
		t.Errorf("a builder of %d payload bytes says it takes %d", payload, n)
	}
}
