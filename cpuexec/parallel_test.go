package cpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

var policies = []cpuexec.Policy{cpuexec.Adaptive, cpuexec.Inter, cpuexec.FGQP, cpuexec.DOCP}

// newPool returns a pool that the end of the test closes, and that must then be empty.
func newPool(t testing.TB, cores int) *cpuexec.Pool {
	p := cpuexec.NewPool(cores, 0)
	t.Cleanup(p.Close)
	return p
}

// TestParallelConformance cuts queries as finely as possible: a unit for each posting. The default
// policy runs all rounds, the others fewer and different ones.
func TestParallelConformance(t *testing.T) {
	for _, policy := range policies {
		for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
			t.Run(fmt.Sprintf("%v/%v", policy, a), func(t *testing.T) {
				x := cpuexec.Parallel{Algorithm: a, Pool: newPool(t, 3), Policy: policy, Grain: 1}
				if policy == cpuexec.Adaptive {
					exectest.RunPart(t, x, 2)
				} else if err := exectest.Check(x, uint64(100+policy), exectest.Fewer(200)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestParallelTogether runs queries of all policies at once in one pool, with counts in between.
func TestParallelTogether(t *testing.T) {
	pool := newPool(t, 4)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			x := cpuexec.Parallel{Pool: pool, Policy: policies[worker%4], Grain: 1, Delta: 1 + worker*worker}
			for round := range 100 {
				exectest.Plans(4, 8*round+worker, func(ix *exectest.Index, p *exectest.Plan) bool {
					want := exectest.Oracle(ix, p)
					got, err := x.TopK(context.Background(), p)
					if err != nil || !slices.Equal(got.Hits, want.Hits) {
						t.Errorf("%s, round %d: other answers than the oracle's %d; %v", x.Name(), round, len(want.Hits), err)
					}
					if n, err := x.Count(context.Background(), p); err != nil || n != want.Total {
						t.Errorf("%s, round %d: count %d, want %d: %v", x.Name(), round, n, want.Total, err)
					}
					return true
				})
			}
		})
	}
	wg.Wait()
}

// TestParallelWork checks that a query is cut when cores are idle and policy and grain allow it,
// and that its counters add up.
func TestParallelWork(t *testing.T) {
	cores := 4
	for _, test := range []struct {
		x         cpuexec.Parallel
		wantTasks bool
	}{
		{cpuexec.Parallel{Policy: cpuexec.Adaptive, Grain: 1}, true},
		{cpuexec.Parallel{Policy: cpuexec.FGQP, Grain: 1}, true},
		{cpuexec.Parallel{Policy: cpuexec.DOCP}, true},
		{cpuexec.Parallel{Policy: cpuexec.Inter, Grain: 1}, false},
		{cpuexec.Parallel{Policy: cpuexec.FGQP, Grain: 1 << 20}, false},
	} {
		x := test.x
		x.Algorithm, x.Pool = cpuexec.Exhaustive, newPool(t, cores)
		tasks := int64(0)
		for round := range 50 {
			exectest.Plans(5, round, func(ix *exectest.Index, p *exectest.Plan) bool {
				whole, err := cpuexec.Executor{Algorithm: cpuexec.Exhaustive}.TopK(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				got, err := x.TopK(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				if got.Total != whole.Total || !got.Exact || got.Work.DocsScored != whole.Work.DocsScored ||
					p.Tree == nil && p.Mode == blockmax.Or && got.Work.BlocksDecoded < whole.Work.BlocksDecoded {
					t.Fatalf("%s, round %d: total %d, work %+v; whole: total %d, work %+v", x.Name(), round, got.Total, got.Work, whole.Total, whole.Work)
				}
				tasks += got.Work.Tasks
				return true
			})
		}
		if (tasks > 0) != test.wantTasks {
			t.Errorf("%s with grain %d: %d tasks", x.Name(), x.Grain, tasks)
		}
	}
}

func TestParallelLostBlocks(t *testing.T) {
	for _, policy := range policies {
		x := cpuexec.Parallel{Pool: newPool(t, 4), Policy: policy, Grain: 1}
		for range 100 {
			p, _ := unreadable(t)
			_, err := x.TopK(context.Background(), p)
			var l *cpuexec.ListError
			if !errors.As(err, &l) || l.Segment != 0 || l.Term != 0 || !errors.Is(err, corrupt.Err) {
				t.Fatalf("%s: the error is %v", x.Name(), err)
			}
		}
	}
}

func TestParallelCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, policy := range policies {
		x := cpuexec.Parallel{Pool: newPool(t, 4), Policy: policy, Grain: 1}
		p, _ := unreadable(t)
		if _, err := x.TopK(ctx, p); err != context.Canceled {
			t.Errorf("%s: the error is %v", x.Name(), err)
		}
		if _, err := x.Count(ctx, p); err != context.Canceled {
			t.Errorf("%s, Count: the error is %v", x.Name(), err)
		}
	}
}

// TestPoolClose closes a pool during queries. They must complete, later ones must run whole, and no
// goroutine may remain.
func TestPoolClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for round := range 20 {
		pool := cpuexec.NewPool(4, -1)
		var wg sync.WaitGroup
		for _, policy := range policies {
			wg.Go(func() {
				x := cpuexec.Parallel{Pool: pool, Policy: policy, Grain: 1}
				for i := range 5 {
					exectest.Plans(6, 5*round+i, func(ix *exectest.Index, p *exectest.Plan) bool {
						want := exectest.Oracle(ix, p)
						got, err := x.TopK(context.Background(), p)
						if err != nil || !slices.Equal(got.Hits, want.Hits) {
							t.Errorf("%s: other answers than the oracle's; %v", x.Name(), err)
						}
						return true
					})
				}
			})
		}
		pool.Close()
		pool.Close()
		wg.Wait()
	}
	for range 5000 { // a goroutine that has ended may still be counted briefly
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// faulty is a Loader that panics, like a bug in any goroutine.
type faulty struct{ postings.Encoded }

func (f faulty) Directory(part int) ([]byte, error) { return f.Encoded.Directory[part], nil }

func (f faulty) Chunk(int) ([]byte, error) { panic("BUG") }

func TestParallelPanics(t *testing.T) {
	for _, policy := range policies {
		x := cpuexec.Parallel{Pool: newPool(t, 4), Policy: policy, Grain: 1}
		for range 20 {
			p := long(t)
			term := &p.Segments[0].Terms[0]
			e := encoded(100_000)
			var err error
			if term.List, err = postings.Open(e.Entry, faulty{e}); err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s does not panic", x.Name())
					}
				}()
				x.TopK(context.Background(), p)
			}()
		}
		p := long(t)
		if top, err := x.TopK(context.Background(), p); err != nil || len(top.Hits) != p.K {
			t.Errorf("%s after a panic: %d hits, %v", x.Name(), len(top.Hits), err)
		}
	}
}

// halting is a Loader that blocks on its first chunk.
type halting struct {
	postings.Encoded
	reached, resume chan struct{}
}

func (h halting) Directory(part int) ([]byte, error) { return h.Encoded.Directory[part], nil }

func (h halting) Chunk(chunk int) ([]byte, error) {
	h.reached <- struct{}{}
	<-h.resume
	return h.Chunks[chunk], nil
}

// TestParallelDelta blocks a query after it has been cut. While all cores are busy, further ones
// are cut while at most δ grains wait, and otherwise run whole.
func TestParallelDelta(t *testing.T) {
	for _, policy := range []cpuexec.Policy{cpuexec.Adaptive, cpuexec.FGQP} {
		pool := newPool(t, 2)
		pool.Occupy(2)
		x := cpuexec.Parallel{Algorithm: cpuexec.Exhaustive, Pool: pool, Policy: policy, Grain: 1}
		first := long(t)
		h := halting{encoded(100_000), make(chan struct{}, 1000), make(chan struct{})}
		var err error
		if first.Segments[0].Terms[0].List, err = postings.Open(h.Entry, h); err != nil {
			t.Fatal(err)
		}
		tasks := make(chan int64)
		go func() {
			top, err := x.TopK(context.Background(), first)
			if err != nil {
				t.Error(err)
			}
			tasks <- top.Work.Tasks
		}()
		<-h.reached
		const grains = 100_000 / 64
		for _, test := range []struct {
			delta int
			cut   bool
		}{{1, false}, {grains / 2, false}, {grains, true}, {1 << 30, true}} {
			x := x
			x.Delta = test.delta
			top, err := x.TopK(context.Background(), long(t))
			if cut := top.Work.Tasks > 0; err != nil || cut != test.cut {
				t.Errorf("%v, δ=%d: %d tasks, %v", policy, test.delta, top.Work.Tasks, err)
			}
		}
		close(h.resume)
		if n := <-tasks; n == 0 {
			t.Errorf("%v: the first query was not cut", policy)
		}
		pool.Occupy(-2)
		if top, err := x.TopK(context.Background(), long(t)); err != nil || top.Work.Tasks == 0 {
			t.Errorf("%v, nothing waits: %d tasks, %v", policy, top.Work.Tasks, err)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for _, p := range policies {
		if got, err := cpuexec.ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("ParsePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := cpuexec.ParsePolicy("all"); err == nil {
		t.Error("there is a policy named all")
	}
	x := cpuexec.Parallel{Pool: newPool(t, 2), Policy: 9}
	if _, err := x.TopK(context.Background(), long(t)); err == nil {
		t.Error("an unknown policy is carried out")
	}
}

var _ exectest.Executor = cpuexec.Parallel{}

// long is a plan over one list of 100,000 documents.
func long(t *testing.T) *blockmax.Plan {
	return spread(t, blockmax.Or, 1)
}

// encoded is a list of the documents below docs.
func encoded(docs uint32) postings.Encoded {
	var b postings.Builder
	for d := range docs {
		b.Add(d, 1+d*2654435761>>28, 1)
	}
	return b.Encode()
}

// spread is a plan over lists of 100,000 documents. The first list has all of them, each next one a
// third.
func spread(t testing.TB, mode blockmax.Mode, lists int) *blockmax.Plan {
	const docs = 100_000
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs}
	p := &blockmax.Plan{K: 10, Mode: mode}
	step := uint32(1)
	for range lists {
		var b postings.Builder
		for d := uint32(0); d < docs; d += step {
			b.Add(d, 1+d*2654435761>>28, 1)
		}
		l := b.View(docs)
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
		p.Weights = append(p.Weights, 1<<20*step)
		step *= 3
	}
	p.Segments = []blockmax.Segment{seg}
	return p
}
