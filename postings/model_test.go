package postings

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A posting is an element of the tests' models.
type posting struct {
	doc, tf uint32
	length  uint8
}

// stored serves the parts of an encoded list.
type stored struct {
	Encoded
	chunksRead int
}

func (s *stored) Directory(part int) ([]byte, error) {
	if part >= len(s.Encoded.Directory) {
		return nil, errMissing
	}
	return s.Encoded.Directory[part], nil
}

func (s *stored) Chunk(chunk int) ([]byte, error) {
	s.chunksRead++
	if chunk >= len(s.Chunks) {
		return nil, errMissing
	}
	return s.Chunks[chunk], nil
}

var errMissing = errors.New("no such part")

// build adds all postings to a builder of the given block size.
func build(size int, ps []posting) *Builder {
	b := &Builder{BlockSize: uint8(size)}
	for _, p := range ps {
		b.Add(p.doc, p.tf, p.length)
	}
	return b
}

// reopen encodes a builder and opens the result.
func reopen(t testing.TB, b *Builder) *List {
	t.Helper()
	enc := b.Encode()
	l, err := Open(enc.Entry, &stored{Encoded: enc})
	if err != nil {
		t.Fatalf("opening what was encoded: %v", err)
	}
	return l
}

// read returns all postings of a list, block by block, without length codes.
func read(l *List) ([]posting, error) {
	var docs, tfs [BlockSize]uint32
	var ps []posting
	for b := range l.Blocks() {
		n, err := l.Docs(b, &docs)
		if err != nil {
			return nil, err
		}
		if _, err := l.Freqs(b, &tfs); err != nil {
			return nil, err
		}
		for i := range n {
			ps = append(ps, posting{doc: docs[i], tf: tfs[i]})
		}
	}
	return ps, nil
}

// best is the slow twin of pareto: the pairs that no other pair of ps beats.
func best(ps []posting) []Impact {
	var out []Impact
	for _, p := range ps {
		beaten := slices.ContainsFunc(ps, func(q posting) bool {
			return q.tf >= p.tf && q.length <= p.length && (q.tf > p.tf || q.length < p.length)
		})
		if m := (Impact{p.tf, p.length}); !beaten && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Impact) int { return int(a.TF) - int(b.TF) })
	return out
}

// checkList compares a list and its directory with its model. With cut set, impacts need only be
// bounds.
func checkList(t testing.TB, l *List, want []posting, cut bool) {
	t.Helper()
	got, err := read(l)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b posting) bool { return a.doc == b.doc && a.tf == b.tf }
	if !slices.EqualFunc(got, want, same) || l.Count != len(want) {
		t.Fatalf("read %d postings %v, want %d %v", l.Count, got, len(want), want)
	}
	size := l.BlockSize
	if l.Blocks() != (len(want)+size-1)/size {
		t.Fatalf("%d blocks of %d for %d postings", l.Blocks(), size, len(want))
	}
	check := func(what string, i int, pairs []Impact, ps []posting) {
		t.Helper()
		if exact := best(ps); !cut && !slices.Equal(pairs, exact) {
			t.Fatalf("impacts of %s %d are %v, want %v", what, i, pairs, exact)
		}
		for _, p := range ps {
			if !slices.ContainsFunc(pairs, func(m Impact) bool { return m.TF >= p.tf && m.Len <= p.length }) {
				t.Fatalf("impacts of %s %d, %v, do not bound %v", what, i, pairs, p)
			}
		}
	}
	blocks, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	for b := range l.Blocks() {
		ps := want[b*size : min((b+1)*size, len(want))]
		if l.BlockLen(b) != len(ps) || l.Last[b] != ps[len(ps)-1].doc {
			t.Fatalf("block %d has %d postings to %d, want %d to %d", b, l.BlockLen(b), l.Last[b], len(ps), ps[len(ps)-1].doc)
		}
		check("block", b, blocks.Of(b), ps)
	}
	rows := 0
	for e := range l.ExtLast {
		rows += int(l.ExtentRows(e))
	}
	payload := 0
	for b := range l.Blocks() {
		payload += l.Enc[b].Rows(l.BlockLen(b))
	}
	if rows != payload || l.PayloadRows() != payload {
		t.Fatalf("%d rows of payload, %d of extents, want %d", l.PayloadRows(), rows, payload)
	}
	for e := range l.ExtLast {
		ps := want[e*size*ExtentBlocks : min((e+1)*size*ExtentBlocks, len(want))]
		if l.ExtLast[e] != ps[len(ps)-1].doc {
			t.Fatalf("extent %d ends at %d, want %d", e, l.ExtLast[e], ps[len(ps)-1].doc)
		}
		check("extent", e, l.ExtImpacts.Of(e), ps)
	}
	check("list", 0, l.ListImpacts, want)
}

// random returns n postings: stretches of sparse, dense and consecutive documents, with frequencies
// that are all 1, small or large.
func random(rng *rand.Rand, n int) []posting {
	var ps []posting
	next := uint32(rng.IntN(1000))
	for len(ps) < n {
		gap := []uint32{1, 1, 3, 20, 5000}[rng.IntN(5)]
		tf := []uint32{1, 1, 4, 300}[rng.IntN(4)]
		for range min(n-len(ps), 1+rng.IntN(300)) {
			ps = append(ps, posting{next, 1 + rng.Uint32N(tf), uint8(rng.IntN(60))})
			next += 1 + rng.Uint32N(gap)
		}
	}
	return ps
}

// TestAddAll checks that postings added together make the same list as postings added one by one.
func TestAddAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 50 {
		n := rng.IntN(3000)
		docs, tfs, lengths := make([]uint32, n), make([]uint32, n), make([]uint8, n)
		doc := uint32(rng.IntN(3))
		for i := range docs {
			docs[i], tfs[i], lengths[i] = doc, 1+uint32(rng.ExpFloat64()), uint8(rng.IntN(60))
			doc += 1 + uint32(rng.ExpFloat64()*20)
		}
		var one, all Builder
		for i := range docs {
			one.Add(docs[i], tfs[i], lengths[i])
		}
		for from := 0; from < n; {
			to := min(n, from+rng.IntN(600))
			all.AddAll(docs[from:to], tfs[from:to], lengths[from:to])
			from = to
		}
		if one.Len() != all.Len() || n > 0 && !reflect.DeepEqual(one.Encode(), all.Encode()) {
			t.Fatalf("%d postings: AddAll and Add differ", n)
		}
	}
}
