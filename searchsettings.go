package riffle

import (
	"errors"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// settings validates the options of a search and fills in defaults.
func (e *Engine) settings(o *SearchOptions) (s search.Settings, err error) {
	if o == nil {
		o = &defaultSearch
	}
	exec := &e.opts.Exec
	s = search.Settings{
		Settings: plan.Settings{
			CountAll: o.ExactTotal, MaxTerms: e.opts.MaxTerms, Partial: o.Partial, Sim: *e.opts.Similarity, Alpha: e.opts.Rank.Alpha, Outside: o.Statistics,
			AllowUnknown: e.opts.AllowUnknownFields || o.Statistics != nil && o.Statistics.Traits == nil, // another index may have the field
		},
		From: o.From, Cursor: o.After.at,
	}
	k := o.K
	if k == 0 {
		k = DefaultK
	}
	var errs []error // allocated only on a fault, to save time
	fault := func(part, format string, args ...any) {
		errs = append(errs, plan.Errorf("SearchOptions."+part, format, args...))
	}
	if part := o.ofHits(); o.NoHits && part != "" {
		fault("NoHits", "goes without %s, which is for hits", part)
	}
	if k < 1 || k > MaxK {
		fault("K", "must lie in 1 to %d, not %d", MaxK, k)
	}
	switch {
	case s.From < 0:
		fault("From", "must not be negative, as %d is", s.From)
	case s.From > MaxK-k && k <= MaxK:
		fault("From", "From and K must be at most %d together, not %d + %d; After goes on behind any hit", MaxK, s.From, k)
	case s.From > 0 && !o.After.IsZero():
		fault("From", "goes without After: the page behind a hit is found at once")
	}
	s.K = k + s.From
	if s.Now = o.Now; s.Now.IsZero() {
		s.Now = time.Now()
	}
	if o.Similarity != nil {
		s.Sim = o.Similarity.OrDefault()
		if err := s.Sim.Validate(); err != nil {
			fault("Similarity", "%w", err)
		}
	}
	if o.Alpha != nil {
		s.Alpha = *o.Alpha
		if !(s.Alpha >= 0 && s.Alpha <= 1) {
			fault("Alpha", "must lie in [0, 1], not %v", s.Alpha)
		}
		if s.Alpha > 0 && e.opts.Rank.Field == "" {
			fault("Alpha", "the index was opened without Options.Rank.Field")
		}
	}
	if o.Exec != nil {
		exec = o.Exec
		if err := exec.validate(); err != nil {
			fault("Exec", "%w", err)
		}
	}
	s.CPU = exec.parallel()
	if c := o.Collapse; c != nil || len(o.Sort) > 0 && !byScoreAlone(o.Sort) {
		keys := o.Sort
		if len(keys) == 0 {
			keys = bestFirst
		}
		var err error
		if s.Sort, err = sortKeys("SearchOptions.Sort", keys); err != nil {
			errs = append(errs, err)
		}
		if c != nil {
			if s.Collapse, s.CollapseBytes, s.AllGroups = c.Field, e.opts.CollapseBytes, c.Count; c.Field == "" {
				fault("Collapse.Field", "is missing")
			}
		}
	}
	if err := o.Highlight.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.Profile.validate(); err != nil {
		errs = append(errs, err)
	}
	switch {
	case o.Deadline < 0:
		fault("Deadline", "must not be negative, as %v is", o.Deadline)
	case o.FailLate && o.Deadline == 0:
		fault("FailLate", "goes with a Deadline")
	}
	switch {
	case o.Processor > ProcessorGPU:
		fault("Processor", "must be ProcessorAuto, ProcessorCPU or ProcessorGPU, not %d", o.Processor)
	case o.Processor == ProcessorGPU && len(s.Sort) > 0:
		fault("Processor", "a search with Sort or Collapse runs on the CPU")
	case o.Processor == ProcessorGPU && e.accelerator == nil:
		errs = append(errs, e.noGPU())
	case o.Processor == ProcessorGPU:
		s.On = accelerator.OnGPU
	case o.Processor == ProcessorCPU || len(s.Sort) > 0 || exec.Algorithm != AlgorithmAuto:
		s.On = accelerator.OnCPU
	}
	s.Device, s.Forced = e.accelerator != nil && s.On != accelerator.OnCPU, s.On == accelerator.OnGPU
	return s, errors.Join(errs...)
}

// settings is Engine.settings for a search of the scope.
func (v scope) settings(o *SearchOptions) (search.Settings, error) {
	s, err := v.e.settings(o)
	if v.m == nil || err != nil {
		return s, err
	}
	if s.On == accelerator.OnGPU {
		return s, plan.Errorf("SearchOptions.Processor", "a Multi searches on the CPU")
	}
	s.On, s.Names = accelerator.OnCPU, v.m.names
	return s, nil
}
