package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var small = cluster{seed: 1, nodes: 8, cores: 4, shards: 16, replicas: 2, queries: 200, documents: 400e6}

// TestDeterministic: the same seed gives the same times, another one others.
func TestDeterministic(t *testing.T) {
	p := policy{choice: twoNode, hedge: true}
	a, b := simulate(&small, p, 0.5, slowness{}), simulate(&small, p, 0.5, slowness{})
	other := small
	other.seed = 2
	c := simulate(&other, p, 0.5, slowness{})
	if !slices.Equal(a.times, b.times) || slices.Equal(a.times, c.times) || len(a.times) != small.queries {
		t.Errorf("%d times, equal: %v; with another seed: %v", len(a.times), slices.Equal(a.times, b.times), slices.Equal(a.times, c.times))
	}
}

// TestOrder: more load and slow nodes take longer; hedging helps against those.
func TestOrder(t *testing.T) {
	p := policy{choice: random}
	at := func(p policy, share float64, s slowness) time.Duration { return simulate(&small, p, share, s).at(0.99) }
	calm, busy, slow := at(p, 0.2, slowness{}), at(p, 0.8, slowness{}), at(p, 0.5, slowness{nodes: 1, factor: 3})
	hedged := at(policy{choice: random, hedge: true}, 0.5, slowness{nodes: 1, factor: 3})
	if calm >= busy || busy >= slow || hedged >= slow {
		t.Errorf("p99 at 20 %%: %v, at 80 %%: %v; with a slow node %v, hedged %v", calm, busy, slow, hedged)
	}
}

// TestMachine: a machine with two cores does four tasks of a second in two, in their order.
func TestMachine(t *testing.T) {
	s := &sim{}
	m := &machine{sim: s, free: 2, slow: 1}
	var ended []time.Duration
	for range 4 {
		m.work(time.Second, func() { ended = append(ended, s.now) })
	}
	s.run(func() bool { return false })
	if want := []time.Duration{1e9, 1e9, 2e9, 2e9}; !slices.Equal(ended, want) || m.busy != 4*time.Second || m.free != 2 {
		t.Errorf("ended at %v, busy for %v, %d cores free", ended, m.busy, m.free)
	}
}

// TestDifficulty: the distribution has the mean and the 99th percentile that were measured.
func TestDifficulty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 200_000)
	mean := 0.0
	for i := range x {
		x[i] = difficulty(rng)
		mean += x[i] / float64(len(x))
	}
	slices.Sort(x)
	p99 := x[len(x)*99/100]
	if math.Abs(mean-1) > 0.03 || math.Abs(p99/(searchP99/searchMean)-1) > 0.05 {
		t.Errorf("mean %.3f, p99 %.2f; want 1, %.2f", mean, p99, searchP99/searchMean)
	}
}
