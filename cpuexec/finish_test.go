package cpuexec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A finisher answers every plan in two parts: first without the documents of some tiles, then with
// these documents, beginning where the first part ended.
type finisher struct {
	cpuexec.Executor
	rng  *rand.Rand
	open float64 // share of tiles for the second part
}

func (f finisher) TopK(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	part := blockmax.Partial{Pass: blockmax.And}
	part.Top.Exact = true
	for s := range p.Segments {
		part.Open = append(part.Open, f.spans(s, p.Segments[s].Docs)...)
	}
	if f.open == 1 {
		return f.Finish(ctx, p, &part)
	}
	first := without(p, part.Open)
	if p.Else != nil || p.Mode == blockmax.AndOr && p.Tree == nil {
		all := *p
		all.Else, all.Mode = nil, blockmax.And
		n, err := cpuexec.Parallel{}.Count(ctx, &all)
		first.Else, first.Mode = nil, blockmax.And
		if err == nil && n < p.K && f.rng.IntN(2) == 0 {
			first.Tree, first.Mode, part.Pass = p.Else, blockmax.Or, blockmax.Or
		}
	}
	var err error
	if part.Top, err = f.Executor.TopK(ctx, first); err != nil {
		return blockmax.TopK{}, err
	}
	return f.Finish(ctx, p, &part)
}

// spans chooses tiles of a segment, and joins some adjacent ones to one span.
func (f finisher) spans(segment int, docs uint32) (spans []blockmax.Span) {
	for from := uint32(0); from < docs; from += blockmax.TileDocs {
		to := min(from+blockmax.TileDocs, docs)
		if f.rng.Float64() >= f.open {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].To == from && f.rng.IntN(2) == 0 {
			spans[n-1].To = to
			continue
		}
		spans = append(spans, blockmax.Span{Segment: segment, From: from, To: to})
	}
	return spans
}

// without is the plan for all documents outside the spans.
func without(p *blockmax.Plan, spans []blockmax.Span) *blockmax.Plan {
	q := *p
	q.Segments = append([]blockmax.Segment(nil), p.Segments...)
	for i := range q.Segments {
		s := &q.Segments[i]
		accept := make([]uint64, (s.Docs+63)/64)
		for d := range s.Docs {
			if s.Accept == nil || s.Accept[d/64]>>(d%64)&1 == 1 {
				accept[d/64] |= 1 << (d % 64)
			}
		}
		for _, span := range spans {
			for d := span.From; span.Segment == i && d < span.To; d++ {
				accept[d/64] &^= 1 << (d % 64)
			}
		}
		s.Accept, s.Few = accept, nil
	}
	return &q
}

// TestFinish compares answers in two parts with the oracle, leaving nothing, some tiles, most, or
// all to the second part.
func TestFinish(t *testing.T) {
	shares := []float64{0, 0.1, 0.5, 0.9, 1}
	if testing.Short() {
		shares = []float64{0.5}
	}
	for _, open := range shares {
		for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
			t.Run(fmt.Sprintf("%v/%v", open, a), func(t *testing.T) {
				e := finisher{cpuexec.Executor{Algorithm: a}, rand.New(rand.NewPCG(7, uint64(a))), open}
				if err := exectest.Check(e, 50+uint64(100*open), 200); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestFinishStartsFromThreshold finishes a plan whose best documents are known. No other document
// can enter, so no block is decoded.
func TestFinishStartsFromThreshold(t *testing.T) {
	tried := 0
	for round := range 400 {
		exectest.Plans(3, round, func(ix *exectest.Index, p *blockmax.Plan) bool {
			want := exectest.Oracle(ix, p)
			if p.Tree != nil || p.Mode != blockmax.Or || p.CountAll || len(want.Hits) < p.K || len(p.Segments) < 2 {
				return true
			}
			last := len(p.Segments) - 1
			if want.Hits[0].Doc >= p.Segments[last].Base {
				return true
			}
			part := blockmax.Partial{Open: []blockmax.Span{{Segment: last, To: p.Segments[last].Docs}}}
			for range p.K { // no document scores as much
				part.Top.Hits = append(part.Top.Hits, blockmax.Hit{Doc: uint32(len(part.Top.Hits)), Score: 1<<31 - 1})
			}
			p.After = nil
			got, err := cpuexec.Executor{}.Finish(context.Background(), p, &part)
			if err != nil || got.Work.BlocksDecoded > 0 || len(got.Hits) != p.K {
				t.Fatalf("round %d: %d hits, decoded %d blocks, want 0: %v", round, len(got.Hits), got.Work.BlocksDecoded, err)
			}
			tried++
			return true
		})
	}
	if tried < 10 {
		t.Fatalf("only %d plans were tried", tried)
	}
}

// TestFinishElse finishes trees with Else that have found enough, and others whose answer is from
// Else. Only the open documents are searched: as no others can enter, no block is decoded.
func TestFinishElse(t *testing.T) {
	tried := 0
	for round := range 2000 {
		exectest.Plans(4, round, func(ix *exectest.Index, p *blockmax.Plan) bool {
			if p.Else == nil || p.CountAll || len(p.Segments) < 2 {
				return true
			}
			last := len(p.Segments) - 1
			part := blockmax.Partial{Pass: blockmax.Mode(tried % 2), Open: []blockmax.Span{{Segment: last, To: p.Segments[last].Docs}}}
			if part.Open[0].To == 0 {
				return true
			}
			for range p.K { // no document scores as much
				part.Top.Hits = append(part.Top.Hits, blockmax.Hit{Doc: uint32(len(part.Top.Hits)), Score: 1<<31 - 1})
			}
			part.Top.Total = p.K * (tried % 2) // Else may find any number
			p.After = nil
			got, err := cpuexec.Executor{}.Finish(context.Background(), p, &part)
			if err != nil || !slices.Equal(got.Hits, part.Top.Hits) || got.Work.BlocksDecoded > 0 {
				t.Fatalf("round %d, pass %v: %d hits, decoded %d blocks, want %d and none: %v", round, part.Pass, len(got.Hits), got.Work.BlocksDecoded, len(part.Top.Hits), err)
			}
			tried++
			return true
		})
	}
	if tried < 10 {
		t.Fatalf("only %d plans were tried", tried)
	}
}

// TestFinishRefuses checks that invalid spans are refused.
func TestFinishRefuses(t *testing.T) {
	const tile = blockmax.TileDocs
	p := &blockmax.Plan{K: 1, Segments: []blockmax.Segment{{Docs: 3 * tile}, {Base: 3 * tile, Docs: 10}}}
	for _, test := range []struct {
		spans []blockmax.Span
		want  string
	}{
		{[]blockmax.Span{{Segment: 2, To: 1}}, "segment 2 of 2"},
		{[]blockmax.Span{{Segment: -1, To: 1}}, "segment -1 of 2"},
		{[]blockmax.Span{{Segment: 1, To: 11}}, "documents 0 to 11 of 10"},
		{[]blockmax.Span{{From: tile, To: tile}}, "documents 4096 to 4096"},
		{[]blockmax.Span{{From: 1, To: tile}}, "begin and end at tiles"},
		{[]blockmax.Span{{To: tile - 1}}, "begin and end at tiles"},
		{[]blockmax.Span{{To: 2 * tile}, {From: tile, To: 3 * tile}}, "span 1 begins before"},
		{[]blockmax.Span{{Segment: 1, To: 10}, {To: tile}}, "span 1 begins before"},
	} {
		_, err := cpuexec.Executor{}.Finish(context.Background(), p, &blockmax.Partial{Open: test.spans})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("spans %v: error %v, want %q", test.spans, err, test.want)
		}
	}
}
