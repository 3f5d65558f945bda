package cpuexec_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// algorithms are all executors.
func algorithms() (all []cpuexec.Executor) {
	for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
		all = append(all, cpuexec.Executor{Algorithm: a})
	}
	return all
}

// lost is a Loader whose chunks are missing.
type lost struct{ postings.Encoded }

var errLost = corrupt.New(7, "chunk lost")

func (l lost) Directory(part int) ([]byte, error) { return l.Encoded.Directory[part], nil }

func (l lost) Chunk(int) ([]byte, error) { return nil, errLost }

// unreadable is a plan over one list of 1,000 documents whose directory can be
// read but whose blocks cannot.
func unreadable(t *testing.T) (*blockmax.Plan, []*postings.List) {
	var b postings.Builder
	for d := range uint32(1000) {
		b.Add(3*d, 1+d%3, 10)
	}
	e := b.Encode()
	l, err := postings.Open(e.Entry, lost{e})
	if err != nil {
		t.Fatal(err)
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	term := blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)}
	seg := blockmax.Segment{Docs: 3000, Terms: []blockmax.Term{term}}
	return &blockmax.Plan{K: 10, Weights: []uint32{1 << 30}, Segments: []blockmax.Segment{seg}}, []*postings.List{l}
}

func TestLostBlocks(t *testing.T) {
	for _, e := range algorithms() {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.AndOr} {
			p, _ := unreadable(t)
			p.Mode = mode
			_, err := e.TopK(context.Background(), p)
			var l *cpuexec.ListError
			if !errors.As(err, &l) || l.Segment != 0 || l.Term != 0 || !errors.Is(err, corrupt.Err) {
				t.Errorf("%s, mode %d: the error is %v", e.Name(), mode, err)
			}
		}
	}
}

// TestListBeyondSegment runs a list with documents beyond the segment: damage that must not become
// an index out of range.
func TestListBeyondSegment(t *testing.T) {
	for _, e := range algorithms() {
		p, _ := unreadable(t)
		p.Segments[0].Docs = 2997
		if _, err := e.TopK(context.Background(), p); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: the error is %v", e.Name(), err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range algorithms() {
		p, _ := unreadable(t)
		if _, err := e.TopK(ctx, p); err != context.Canceled {
			t.Errorf("%s: the error is %v", e.Name(), err)
		}
		if _, err := (cpuexec.Parallel{}).Count(ctx, p); err != context.Canceled {
			t.Errorf("Count: the error is %v", err)
		}
	}
}

func TestImpossiblePlans(t *testing.T) {
	for want, spoil := range map[string]func(*blockmax.Plan){
		"k is 0":                 func(p *blockmax.Plan) { p.K = 0 },
		"k is 10001":             func(p *blockmax.Plan) { p.K = 10001 },
		"could score 2147483648": func(p *blockmax.Plan) { p.RankWeight = 1 << 30 },
		"could score 2147483650": func(p *blockmax.Plan) { // the best alone scores only without a tie
			half := blockmax.Node{All: true, Constant: true, Score: 1<<30 + 1}
			p.Tree = &blockmax.Node{Should: []blockmax.Node{half, half}, Best: true, Tie: 1}
		},
		"unknown mode 3":          func(p *blockmax.Plan) { p.Mode = 3 },
		"1 terms for 2 weights":   func(p *blockmax.Plan) { p.Weights = append(p.Weights, 1) },
		"names term 1 of 1":       func(p *blockmax.Plan) { p.Tree = &blockmax.Node{Leaf: true, Term: 1} },
		"accept has 1 words":      func(p *blockmax.Plan) { p.Segments[0].Accept = make([]uint64, 1) },
		"term 0 has 5 norms":      func(p *blockmax.Plan) { p.Segments[0].Terms[0].Norms = make([]uint8, 5) },
		"0 tail bounds":           func(p *blockmax.Plan) { p.Segments[0].Tail = []uint32{} },
		"begins at document 0":    func(p *blockmax.Plan) { p.Segments = append(p.Segments, p.Segments[0]) },
		"1 ranks and 0 rank tile": func(p *blockmax.Plan) { p.Segments[0].Rank = make([]uint16, 1) },
	} {
		p, _ := unreadable(t)
		spoil(p)
		if _, err := (cpuexec.Executor{}).TopK(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %q, got %v", want, err)
		}
	}
}

func TestParseAlgorithm(t *testing.T) {
	for _, e := range algorithms() {
		if a, err := cpuexec.ParseAlgorithm(e.Algorithm.String()); err != nil || a != e.Algorithm {
			t.Errorf("ParseAlgorithm(%q) = %v, %v", e.Algorithm, a, err)
		}
	}
	if _, err := cpuexec.ParseAlgorithm("fast"); err == nil {
		t.Error("there is an algorithm named fast")
	}
}

// TestConcurrent runs all algorithms at once on the same lists while these load their chunks, and
// checks each answer.
func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for round := range 20 {
		exectest.Plans(3, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			want := exectest.Oracle(ix, p)
			for _, e := range algorithms() {
				wg.Go(func() {
					got, err := e.TopK(context.Background(), p)
					if err != nil || len(got.Hits) != len(want.Hits) {
						t.Errorf("%s: %d hits, %v, want %d", e.Name(), len(got.Hits), err, len(want.Hits))
						return
					}
					for i, h := range got.Hits {
						if h != want.Hits[i] {
							t.Errorf("%s: hit %d is %v, want %v", e.Name(), i, h, want.Hits[i])
						}
					}
				})
			}
			return true
		})
	}
	wg.Wait()
}
