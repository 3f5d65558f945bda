package riffle

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
)

// A Policy says when several cores work on one search. The hits are the same for
// all policies; see Parallel.
type Policy = cpuexec.Policy

const (
	// Adaptive cuts a search into tasks while cores are idle, and else runs it
	// whole: for short times under low load, for throughput under high load.
	Adaptive = cpuexec.Adaptive

	// Inter runs every search whole, on the goroutine that asks.
	Inter = cpuexec.Inter

	// FGQP cuts every search that is long enough into tasks (fine-grained query
	// partitioning, Tatikonda 2011), unless enough of them wait already.
	FGQP = cpuexec.FGQP

	// DOCP gives each core a fixed share of the documents, and all cores to one
	// search at a time: what the others are measured against.
	DOCP = cpuexec.DOCP
)

// ParsePolicy reads "adaptive", "inter", "fgqp" or "docp".
func ParsePolicy(name string) (Policy, error) { return cpuexec.ParsePolicy(name) }

// Parallel configures how searches share the cores. Any number of goroutines may
// search at once, whatever is set here; an Engine adds at most Workers-1 of its own,
// which help with searches and start with the first that wants help.
type Parallel struct {
	// Workers is the number of cores that one search may use, and that searches are
	// thought to have together: a search gets help while fewer goroutines than that
	// are searching. The default is GOMAXPROCS.
	Workers int

	// Policy says when a search gets help. The default is Adaptive.
	Policy Policy

	// Delta is the paper's δ: while more than Delta grains of other searches wait for a
	// core, no further search is cut; its goroutine runs it whole. The default is 150.
	Delta int

	// Grain is the number of postings that are worth the help of another core: of the
	// rarest word for And, and 64 times as many of all words for Or. Searches below a
	// grain run whole. The default is 256, some 5 µs of work.
	Grain int

	// Spin is how long an idle worker looks for the next search before it sleeps. It
	// is faster to help then, by some 10 µs, but uses a core while it looks. The
	// default is 50 µs; a negative one is none.
	Spin time.Duration
}

// withDefaults returns a copy in which zero values are replaced.
func (p Parallel) withDefaults() Parallel {
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	if p.Delta == 0 {
		p.Delta = cpuexec.DefaultDelta
	}
	if p.Grain == 0 {
		p.Grain = cpuexec.DefaultGrain
	}
	if p.Spin == 0 {
		p.Spin = cpuexec.DefaultSpin
	}
	return p
}

// validate reports every field that cannot be carried out.
func (p Parallel) validate() error {
	var errs []error
	if p.Workers < 0 {
		errs = append(errs, fmt.Errorf("workers must not be negative, not %d", p.Workers))
	}
	if p.Policy > DOCP {
		errs = append(errs, fmt.Errorf("there is no %v", p.Policy))
	}
	if p.Delta < 0 {
		errs = append(errs, fmt.Errorf("delta must not be negative, not %d", p.Delta))
	}
	if p.Grain < 0 {
		errs = append(errs, fmt.Errorf("grain must not be negative, not %d", p.Grain))
	}
	return errors.Join(errs...)
}

// executor returns what runs a search.
func (e *Engine) executor(s *searchSettings) cpuexec.Parallel {
	p := e.opts.Parallel
	if s.Parallel != nil {
		p = *s.Parallel
	}
	return cpuexec.Parallel{Algorithm: s.Algorithm, Pool: e.pool, Policy: p.Policy, Delta: p.Delta, Grain: p.Grain}
}

// executorName says what ran a search: x, or its algorithm alone when the search
// ran whole.
func executorName(x cpuexec.Parallel, w Work) string {
	if w.Tasks == 0 {
		x.Pool = nil
	}
	return x.Name()
}
