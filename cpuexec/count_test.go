package cpuexec_test

import (
	"context"
	"math/bits"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestCount compares with the oracle, for every mode and for trees.
func TestCount(t *testing.T) {
	for round := range 500 {
		exectest.Plans(1, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			got, err := cpuexec.Count(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if want := exectest.Oracle(ix, p).Total; got != want {
				t.Fatalf("round %d: counted %d documents, want %d", round, got, want)
			}
			return true
		})
	}
}

// TestMatches compares the bitmaps with what the oracle finds when all documents
// are accepted.
func TestMatches(t *testing.T) {
	for round := range 500 {
		exectest.Plans(2, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if p.Tree == nil {
				return true
			}
			all := *p
			all.K, all.After, all.Segments = blockmax.MaxK, nil, slices.Clone(p.Segments)
			sets, found := make([][]uint64, len(all.Segments)), 0
			for i := range all.Segments {
				all.Segments[i].Accept = nil
				var err error
				if sets[i], err = cpuexec.Matches(context.Background(), p, i, p.Tree); err != nil {
					t.Fatal(err)
				}
				for _, word := range sets[i] {
					found += bits.OnesCount64(word)
				}
			}
			want := exectest.Oracle(ix, &all)
			if found != want.Total {
				t.Fatalf("round %d: %d documents in the bitmaps, want %d", round, found, want.Total)
			}
			for _, h := range want.Hits {
				i := len(all.Segments) - 1
				for all.Segments[i].Base > h.Doc {
					i--
				}
				if d := h.Doc - all.Segments[i].Base; sets[i][d/64]>>(d%64)&1 == 0 {
					t.Fatalf("round %d: document %d of segment %d is missing", round, d, i)
				}
			}
			return true
		})
	}
}

// TestCountReadsNoBlock counts a term by its directory.
func TestCountReadsNoBlock(t *testing.T) {
	p, lists := unreadable(t)
	got, err := cpuexec.Count(context.Background(), p)
	if err != nil || got != lists[0].Count {
		t.Errorf("counted %d, %v, want %d", got, err, lists[0].Count)
	}
}
