package search

import (
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/accelerator"
)

// A Profile is what is known of how a search ran. It refers to the lists of the plan, so it is valid
// until the run ends.
type Profile struct {
	Blocks   *blockmax.Profile
	Decision accelerator.Decision // Why is empty if nothing else than the CPU was asked

	Analyse, Plan, Execute time.Duration
}

// A profiling is a Profile in the making.
type profiling struct {
	Profile
	began, analysed, planned time.Time
}

// beginProfile begins the profile of a search, if its settings ask for one.
func (x *Run) beginProfile() {
	x.profiling = nil
	if x.settings.Profile {
		now := time.Now()
		x.profiling = &profiling{began: x.settings.Began, analysed: now, planned: now}
		x.settings.Analysed = &x.profiling.analysed
	}
}

// ProfilePlan begins the profile of the planned search, if its settings ask for one.
func (x *Run) ProfilePlan() {
	if p := x.profiling; p != nil {
		p.planned = time.Now()
		p.Analyse, p.Plan = p.analysed.Sub(p.began), p.planned.Sub(p.analysed)
		p.Blocks = blockmax.NewProfile(&x.compiled.Plan)
		x.compiled.Plan.Profile = p.Blocks
	}
}

// decision returns what a dispatcher is to fill in, or nil.
func (x *Run) decision() *accelerator.Decision {
	if x.profiling == nil {
		return nil
	}
	return &x.profiling.Decision
}

// Profiled ends the profile, if there is one, after the search has been answered.
func (x *Run) Profiled() *Profile {
	p := x.profiling
	if p == nil {
		return nil
	}
	x.compiled.Plan.Profile = nil // what follows is not of the search
	p.Execute = time.Since(p.planned)
	if p.Decision.Why == "" {
		p.Decision.OnCPU = p.Execute
	}
	return &p.Profile
}
