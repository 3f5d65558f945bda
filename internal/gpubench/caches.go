package main

import (
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// caches measures caches of several sizes. The first half of the queries fills static caches; the
// second half is measured. Batches are the smallest, since what they bring must fit into the memory
// of a batch. What is missing is left to the CPU (leave), as in Wang 2017, or copied for the batch.
func (b *bench) caches() error {
	if len(b.gpus) == 0 {
		return nil
	}
	for _, rest := range b.rests {
		if rest != "copied" && rest != "left" {
			return fmt.Errorf("-rests: there are copied and left, not %q", rest)
		}
	}
	for _, share := range b.cache {
		for _, leave := range []bool{false, true} {
			if !slices.Contains(b.rests, map[bool]string{false: "copied", true: "left"}[leave]) {
				continue
			}
			for _, policy := range []listcache.Policy{listcache.VFB, listcache.Qtf, listcache.QtfDf} {
				c := cacheSetting{share: share, leave: leave, config: listcache.Config{Policy: policy, Static: true}}
				if err := b.cached(c); err != nil {
					return err
				}
			}
			if leave {
				continue
			}
			if err := b.cached(cacheSetting{share: share, config: listcache.Config{Policy: listcache.VFB}}); err != nil {
				return err
			}
		}
	}
	if !slices.Contains(b.rests, "left") {
		return nil
	}
	for _, share := range b.cache {
		for _, percent := range b.lambdas {
			if share == 0 || share == 100 {
				continue
			}
			c := cacheSetting{share: share, leave: true}
			c.config = listcache.Config{Policy: listcache.VFB, Static: true, Lambda: float64(percent) / 100}
			if err := b.cached(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// A cacheSetting is one cache to measure.
type cacheSetting struct {
	share  int // per cent of all lists
	config listcache.Config
	leave  bool
}

func (s cacheSetting) String() string {
	way, rest := "dynamic", "copied"
	if s.config.Static {
		way = "static"
	}
	if s.leave {
		rest = "left"
	}
	lambda := ""
	if s.config.Lambda != 0 {
		lambda = fmt.Sprintf(" λ=%.2f", s.config.Lambda)
	}
	return fmt.Sprintf("%d %% %v%s %s, rest %s", s.share, s.config.Policy, lambda, way, rest)
}

func (b *bench) cached(s cacheSetting) error {
	p := plans{blockmax.Or, b.typicalK()}
	return b.measure("cache", fmt.Sprintf("%v %v", p, s), func() ([]figure, error) {
		half := len(b.c.Queries) / 2
		fill := func(g *gpu, r *reference) {
			if !s.config.Static {
				return
			}
			var f demand.Finder
			for q, plan := range r.plans[:half] {
				worst := uint32(0)
				if hits := r.tops[q].Hits; len(hits) == plan.K {
					worst = hits[plan.K-1].Score
				}
				g.Count(&f, plan, plan.Mode, worst)
			}
			g.Cache().Admit()
		}
		o := gpuexec.Options{Cache: s.config, Leave: s.leave}
		return b.onGPU(p, o, b.bytes*int64(s.share)/100, half, b.batch[0], fill)
	})
}
