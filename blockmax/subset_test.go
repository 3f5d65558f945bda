package blockmax

import (
	"math/rand/v2"
	"testing"
)

// TestSubset: an excerpt that is made in steps has every posting, for the table it was made with.
func TestSubset(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var docs []uint32
	for d := range uint32(5000) {
		if rng.IntN(3) == 0 {
			docs = append(docs, d)
		}
	}
	s := NewSubset(docs)
	table, other := NewTable(DefaultBM25, 10), NewTable(DefaultBM25, 20)
	bounds := new(Bounds)
	terms := []Term{{Key: 1, Table: table, Bounds: bounds}, {Table: table, Bounds: bounds}, {Key: 2, Table: table}}
	if s.Spend(&terms[0], 3, 5) {
		t.Error("3 of 5 are enough")
	}
	if !s.Spend(&terms[0], 3, 5) {
		t.Error("6 of 5 are not enough")
	}
	impacts := map[uint32]uint16{}
	extend := func(m *ExcerptMaker) (done bool, err error) {
		for step := 0; step < 100 && m.Next < len(docs); step++ {
			if rng.IntN(2) == 0 {
				impact := uint16(rng.IntN(1 << 16))
				impacts[uint32(m.Next)] = impact
				m.Add(m.Next, impact)
			}
			m.Next++
		}
		return m.Next == len(docs), nil
	}
	into := make([]*Excerpt, 3)
	for s.Excerpts(terms, into); into[0] == nil; s.Excerpts(terms, into) {
		if s.HasAll(terms) {
			t.Fatal("an unfinished excerpt counts")
		}
		if err := s.Make(&terms[0], extend); err != nil {
			t.Fatal(err)
		}
	}
	if into[1] != nil || into[2] != nil || !s.HasAll(terms) {
		t.Error("terms without a key, and those that the segment lacks, have excerpts")
	}
	held := 0
	for i := range uint32(len(docs)) {
		impact, in := impacts[i]
		if got := into[0].Held[i/64]>>(i%64)&1 == 1; got != in {
			t.Fatalf("document %d is held: %v", i, got)
		}
		if in {
			held++
			if got := into[0].Impact(i); got != impact {
				t.Fatalf("document %d has impact %d, want %d", i, got, impact)
			}
		}
	}
	if got := len(into[0].Impacts); got != held+ExcerptPadding {
		t.Errorf("%d impacts of %d postings", got, held)
	}
	if n := s.Bytes(); n < int64(2*held) {
		t.Errorf("%d bytes for %d postings", n, held)
	}
	if s.Spend(&terms[0], 100, 1) {
		t.Error("an excerpt is due that is there")
	}
	terms[0].Table = other
	if s.Excerpts(terms, into); into[0] != nil || s.HasAll(terms) {
		t.Error("an excerpt serves two tables")
	}
	s.Drop(true)
	if s.Spend(&terms[0], 100, 1) || s.Bytes() != 0 {
		t.Error("a closed subset makes excerpts")
	}
}
