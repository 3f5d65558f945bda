package riffle

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/cpuexec"
)

// An Exec steers how the CPU runs searches, never what they return. The zero Exec lets the engine
// choose, and is the fastest by measurement. The other values are for comparisons and tests.
type Exec struct {
	// Algorithm for OR. A search with another than AlgorithmAuto runs on the CPU, unless
	// SearchOptions.Processor requires a GPU, which has an algorithm of its own.
	Algorithm Algorithm

	// Policy says when several cores work on one search. The default is PolicyAdaptive.
	Policy Policy

	// Grain is the number of postings that justify the help of another core: of the rarest word for
	// ModeAnd, and 64 times as many of all words for ModeOr. Searches below a grain are not
	// divided. The default is 256, some 5 µs of work.
	Grain int

	// Delta bounds the work that waits for a core: while more than Delta grains of other searches
	// wait, no further search is divided; its own goroutine runs all of it. The default is 150.
	Delta int

	baseline Policy // unless 0, a policy from a paper, for comparison: see hook.SetPolicy
}

// An Algorithm is a way to rank the documents of an OR. All give the same answer; they differ in
// how much of the index they can skip.
type Algorithm = cpuexec.Algorithm

const (
	AlgorithmAuto       = cpuexec.Auto       // the fastest by measurement
	AlgorithmExhaustive = cpuexec.Exhaustive // scores every document that matches
	AlgorithmWAND       = cpuexec.WAND       // Broder 2003
	AlgorithmBMW        = cpuexec.BMW        // block-max WAND, Ding and Suel 2011
	AlgorithmMaxScore   = cpuexec.MaxScore   // Turtle and Flood 1995
	AlgorithmBMM        = cpuexec.BMM        // block-max MaxScore, over windows of documents
)

// ParseAlgorithm reads "auto", "exhaustive", "wand", "bmw", "maxscore" or "bmm".
func ParseAlgorithm(name string) (Algorithm, error) { return cpuexec.ParseAlgorithm(name) }

// A Policy says when several cores work on one search.
type Policy = cpuexec.Policy

const (
	// PolicyAdaptive divides a search into tasks while cores are idle, and otherwise runs it whole:
	// for low latency under low load, and throughput under high load.
	PolicyAdaptive = cpuexec.Adaptive

	// PolicyInter runs every search whole, on the caller's goroutine.
	PolicyInter = cpuexec.Inter
)

// ParsePolicy reads "adaptive" or "inter".
func ParsePolicy(name string) (Policy, error) {
	for p := range PolicyInter + 1 {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf(`unknown policy %q (want "adaptive" or "inter")`, name)
}

// validate reports every invalid field.
func (x Exec) validate() error {
	var errs []error
	fault := func(part, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{part}, args...)...))
	}
	if x.Algorithm > AlgorithmBMM {
		fault("Algorithm", "there is no %v", x.Algorithm)
	}
	if x.Policy > PolicyInter {
		fault("Policy", "must be PolicyAdaptive or PolicyInter, not %v", x.Policy)
	}
	if x.Delta < 0 {
		fault("Delta", "must not be negative, not %d", x.Delta)
	}
	if x.Grain < 0 {
		fault("Grain", "must not be negative, not %d", x.Grain)
	}
	return errors.Join(errs...)
}

// parallel returns the CPU executor of a search, without the helping cores.
func (x Exec) parallel() cpuexec.Parallel {
	if x.baseline != 0 {
		x.Policy = x.baseline
	}
	return cpuexec.Parallel{Algorithm: x.Algorithm, Policy: x.Policy, Delta: x.Delta, Grain: x.Grain}
}
