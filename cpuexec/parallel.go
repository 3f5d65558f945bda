package cpuexec

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
)

// A Policy says when several goroutines share a query. The answer is the same for all policies. The
// names are from Tatikonda, Cambazoglu and Junqueira, Posting List Intersection on Multicore
// Architectures, 2011.
type Policy uint8

const (
	// Adaptive cuts a query into tasks while cores are idle, and otherwise runs it whole. That
	// lowers latency under light load and keeps throughput under full load.
	Adaptive Policy = iota

	// Inter runs every query whole on the calling goroutine: the best throughput.
	Inter

	// FGQP (fine-grained query partitioning) cuts every query that is long enough, unless enough
	// work is already waiting for cores.
	FGQP

	// DOCP (document partitioning) gives each core a fixed share of the documents, and all cores to
	// one query at a time: the reference for FGQP.
	DOCP

	policies // their number
)

var policyNames = [policies]string{"adaptive", "inter", "fgqp", "docp"}

func (p Policy) String() string {
	if p < policies {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q, want one of %v", name, policyNames)
}

const (
	// DefaultDelta is the δ at which the paper measured the best throughput.
	DefaultDelta = 150

	// DefaultGrain is some 5 µs of work, which is about the time until another core starts helping.
	DefaultGrain = 256
)

// Parallel is an Executor in which goroutines of a Pool help with a query.
//
// It cuts a query into tasks, or units: tiles of documents, or ranges between the skip entries of
// its lists (parallel_cuts.go). The calling goroutine and its helpers take units until none is
// left. A shared word has a bit for each unit taken. They also share a collector. They read the key
// of its worst hit without a lock, so the threshold is as tight as that of a query run whole.
type Parallel struct {
	Algorithm Algorithm
	Pool      *Pool // nil means that every query runs whole
	Policy    Policy

	// Delta is the paper's δ: while more than Delta grains of queries wait in the pool, no further
	// query is cut. (The paper counts tasks of 512 postings of the shortest list, which are two
	// grains.) The paper's producer, one thread for all queries, works on waiting tasks until there
	// are fewer. Here each query has a goroutine, which runs the query whole instead: when all
	// cores are busy, helping with another query repeats its setup and ends no query sooner. The
	// default is DefaultDelta.
	Delta int

	// Grain is the number of postings that are worth a helper: of the shortest list for AND; for
	// OR, which skips most postings, 64 times as many of all lists. A query of less than a grain
	// stays whole. The default is DefaultGrain.
	Grain int
}

// Name names the executor: "cpu/bmm/adaptive".
func (x Parallel) Name() string {
	if x.Pool == nil {
		return x.whole().Name()
	}
	return x.whole().Name() + "/" + x.Policy.String()
}

// Prunes reports whether the executor skips blocks that cannot matter.
func (x Parallel) Prunes() bool { return x.whole().Prunes() }

func (x Parallel) whole() Executor { return Executor{x.Algorithm} }

// TopK answers a plan as Executor.TopK does. Work is the sum over all goroutines. A block with
// documents of several tasks may be decoded, and counted, in each.
func (x Parallel) TopK(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	if x.Pool == nil {
		return x.whole().TopK(ctx, p)
	}
	if err := x.begin(); err != nil {
		return blockmax.TopK{}, err
	}
	defer x.end()
	return x.whole().topK(ctx, p, x)
}

// begin fills in the defaults, waits until the policy lets a query start, and counts the caller
// among the goroutines at work.
func (x *Parallel) begin() error {
	if x.Policy >= policies {
		return fmt.Errorf("cpuexec: there is no %v", x.Policy)
	}
	if x.Delta <= 0 {
		x.Delta = DefaultDelta
	}
	if x.Grain <= 0 {
		x.Grain = DefaultGrain
	}
	if x.Policy == DOCP {
		x.Pool.turn.Lock()
	}
	x.Pool.running.Add(1)
	return nil
}

func (x *Parallel) end() {
	x.Pool.running.Add(-1)
	if x.Policy == DOCP {
		x.Pool.turn.Unlock()
	}
	x.Pool.coreIdle()
}

// share runs one algorithm over all segments together with helpers. It returns false, and does
// nothing, when the query should run whole.
func (x *Parallel) share(r *run, visit segmentPass) (shared bool, err error) {
	if x.Policy == Inter || x.Pool.cores == 1 {
		return false, nil
	}
	j := &r.team
	if !x.divide(j, r, visit) {
		return false, nil
	}
	j.owner, j.pool, j.ctx, j.plan, j.tree, j.visit = r, x.Pool, r.query.ctx, r.query.plan, r.query.tree, visit
	j.seed, j.counting, j.top = r.out.seed, r.out.counting, &r.out.top
	if !x.Pool.publish(j) {
		return false, nil
	}
	r.at, r.share, r.out.job = part{}, member{job: j}, j
	defer func() { err = j.dissolve() }() // wait for helpers even when this goroutine panics
	j.takeAll(r, 0)
	if j.fixed.Load() {
		j.awaitShares()
	}
	return true, nil
}

// divide divides a query, and reports whether to share it.
func (x *Parallel) divide(j *job, r *run, visit segmentPass) bool {
	j.fixed.Store(x.Policy == DOCP)
	if x.Policy == DOCP {
		j.divideFixed(x.Pool.cores)
		j.helpers = j.cores - 1
		return true
	}
	j.divide(r, visit, x.Grain)
	units := j.free()
	j.grains.Store(int32(j.units))
	j.all.Store(int32(units))
	j.helpers = max(0, min(j.units, units-1, x.Pool.idle()))
	switch {
	case units <= 1:
		return false
	case x.Policy == Adaptive && j.helpers > 0:
		return true
	case x.Policy == Adaptive && j.units < longQuery:
		return false
	}
	return !x.Pool.full(x.Delta)
}

// longQuery is the number of grains from which a query is published even while all cores are busy:
// one may become idle before it ends.
const longQuery = 16
