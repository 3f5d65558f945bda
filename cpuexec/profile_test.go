package cpuexec_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A profiled executor answers with a profile, and compares it with the work of the answer.
type profiled struct {
	exectest.Executor
	bounded *atomic.Int64 // blocks, of all profiles
}

func (e profiled) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	p.Profile = blockmax.NewProfile(p)
	defer func() { p.Profile = nil }()
	top, err := e.Executor.TopK(ctx, p)
	if err == nil {
		err = e.check(p, top)
	}
	return top, err
}

// check returns an error unless the profile of a plan is as complete as an answer says.
func (e profiled) check(p *exectest.Plan, top blockmax.TopK) error {
	x, decoding := p.Profile, int64(0)
	if x.Decoding() != top.Work.BlocksDecoded {
		return fmt.Errorf("the profile has %d decoded blocks, the work %d", x.Decoding(), top.Work.BlocksDecoded)
	}
	for s := range p.Segments {
		for t := range p.Segments[s].Terms {
			l := x.Of(s, t)
			if l.List == nil {
				continue
			}
			decoded, bounded := l.Count()
			if int64(decoded) > l.Decoding() || (decoded == 0) != (l.Decoding() == 0) {
				return fmt.Errorf("list %d of segment %d has %d decoded blocks, decoded %d times", t, s, decoded, l.Decoding())
			}
			decoding += l.Decoding()
			e.bounded.Add(int64(bounded))
			for _, most := range []int{1, 2, 5, 1 << 30} {
				if err := checkRuns(l, most, decoded, bounded); err != nil {
					return fmt.Errorf("list %d of segment %d, at most %d runs: %w", t, s, most, err)
				}
			}
		}
	}
	if decoding != x.Decoding() {
		return fmt.Errorf("the lists have %d decoded blocks, the profile %d", decoding, x.Decoding())
	}
	if len(x.Passes()) == 0 {
		return fmt.Errorf("the profile has no pass")
	}
	last := uint32(0)
	for i, r := range x.Rises() {
		if r.Score <= last || r.Decoding > x.Decoding() || i > 0 && r.Decoding <= x.Rises()[i-1].Decoding {
			return fmt.Errorf("the threshold rises %v", x.Rises())
		}
		last = r.Score
	}
	if n := len(top.Hits); p.After == nil && n == p.K && top.Hits[n-1].Score < last {
		return fmt.Errorf("the threshold rises to %d, above the last hit's score %d", last, top.Hits[n-1].Score)
	}
	return nil
}

// checkRuns returns an error unless the runs of a list have all of its blocks.
func checkRuns(l *blockmax.ListProfile, most, decoded, bounded int) error {
	runs := l.Runs(most)
	if len(runs) > most {
		return fmt.Errorf("there are %d runs", len(runs))
	}
	at, sum := 0, blockmax.BlockRun{}
	for i, r := range runs {
		if r.First != l.List.First(at) || r.Last != l.List.Last[at+r.Blocks-1] {
			return fmt.Errorf("run %d is of documents %d to %d, its %d blocks from %d to %d", i, r.First, r.Last, r.Blocks, l.List.First(at), l.List.Last[at+r.Blocks-1])
		}
		if most == 1<<30 {
			want := l.State(at)
			if (r.Decoded == r.Blocks) != (want == blockmax.Decoded) || (r.Bounded == r.Blocks) != (want == blockmax.Bounded) ||
				(r.Decoded+r.Bounded == 0) != (want == blockmax.Skipped) {
				return fmt.Errorf("run %d is %+v, its first block in state %d", i, r, want)
			}
			if i > 0 && l.State(at-1) == want {
				return fmt.Errorf("run %d goes on with the state of the one before", i)
			}
		}
		at += r.Blocks
		sum.Decoded, sum.Bounded = sum.Decoded+r.Decoded, sum.Bounded+r.Bounded
	}
	if at != l.List.Blocks() || sum.Decoded != decoded || sum.Bounded != bounded {
		return fmt.Errorf("the runs have %d blocks of %d, %d decoded and %d bounded, not %d and %d", at, l.List.Blocks(), sum.Decoded, sum.Bounded, decoded, bounded)
	}
	return nil
}

// TestProfile: with a profile each algorithm answers as the oracle does, and the profile has the blocks
// that the answer counts as decoded. Those with bounds of blocks note where they compare these.
func TestProfile(t *testing.T) {
	for a := cpuexec.Auto; a <= cpuexec.BMM; a++ {
		t.Run(a.String(), func(t *testing.T) {
			e := profiled{cpuexec.Executor{Algorithm: a}, new(atomic.Int64)}
			exectest.RunPart(t, e, 8)
			byBlocks := a == cpuexec.Auto || a == cpuexec.BMW || a == cpuexec.BMM
			if byBlocks && e.bounded.Load() == 0 {
				t.Error("no block was bounded")
			}
		})
	}
	t.Run("combined", func(t *testing.T) {
		if err := exectest.CheckCombined(profiled{cpuexec.Executor{}, new(atomic.Int64)}, 21, exectest.Fewer(60)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("proximities", func(t *testing.T) {
		if err := exectest.CheckProximities(profiled{cpuexec.Executor{}, new(atomic.Int64)}, 22, exectest.Fewer(200)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestProfileShared: so does a search that goroutines share.
func TestProfileShared(t *testing.T) {
	pool := cpuexec.NewPool(4, 0)
	defer pool.Close()
	for _, policy := range []cpuexec.Policy{cpuexec.FGQP, cpuexec.DOCP} {
		t.Run(policy.String(), func(t *testing.T) {
			exectest.RunPart(t, profiled{cpuexec.Parallel{Pool: pool, Policy: policy, Grain: 1}, new(atomic.Int64)}, 8)
		})
	}
}
