package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// A mix draws queries for policies to compete for.
type mix struct {
	name string
	draw func(rng *rand.Rand) (query int, on dispatch.Side)
}

// mixes are all queries of the collection, and a mix: a third are short (they have as many postings
// as the lowest tenth), and a tenth are for the CPU alone.
func (b *bench) mixes() []mix {
	n := len(b.c.Queries)
	order := make([]int, n)
	for q := range order {
		order[q] = q
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(b.c.Postings(x), b.c.Postings(y)) })
	return []mix{
		{"all", func(rng *rand.Rand) (int, dispatch.Side) { return rng.IntN(n), dispatch.Any }},
		{"mix", func(rng *rand.Rand) (int, dispatch.Side) {
			switch i := rng.IntN(30); {
			case i < 10:
				return order[rng.IntN(max(1, n/10))], dispatch.Any
			case i < 13:
				return order[rng.IntN(max(1, n/3))], dispatch.OnCPU
			}
			return rng.IntN(n), dispatch.Any
		}},
	}
}

// lone is how many queries a second arrive one at a time.
const lone = 100

// autos compares policies at the same loads, which saturation tells.
func (b *bench) autos() error {
	r, err := b.reference(plans{blockmax.Or, b.typicalK()})
	if err != nil {
		return err
	}
	policies := []dispatch.Policy{dispatch.Processors}
	if len(b.gpus) > 0 {
		policies = append(policies, dispatch.Devices, dispatch.Auto)
	}
	for _, m := range b.mixes() {
		if !slices.Contains(b.mixNames, m.name) {
			continue
		}
		for _, saturated := range []bool{true, false} {
			for _, p := range policies {
				if err := b.competitor(r, m, p, saturated); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// competitor measures a policy, saturated or at all loads that it can bear.
func (b *bench) competitor(r *reference, m mix, p dispatch.Policy, saturated bool) error {
	var s *station
	defer func() {
		if s != nil {
			s.close()
		}
	}()
	devices := 1
	if p == dispatch.Processors {
		devices = 0
	}
	saturate := func(length time.Duration) (float64, error) {
		return load(b.ctx, b.clients, len(r.plans), length, func(ctx context.Context, i int) error {
			q, on := m.draw(rand.New(rand.NewPCG(b.seed, uint64(i))))
			return s.askOn(ctx, r, q, on)
		})
	}
	measure := func(name string, do func() ([]figure, error)) error {
		return b.measure("auto", name, func() (_ []figure, err error) {
			if s == nil {
				if s, err = b.openStation(r, devices, dispatch.Options{Policy: p, MaxCount: b.batch[len(b.batch)-1]}); err == nil {
					_, err = saturate(b.seconds / 2)
				}
			}
			if err != nil {
				return nil, err
			}
			return do()
		})
	}
	if saturated {
		return measure(fmt.Sprintf("%s, %v saturated", m.name, p), func() ([]figure, error) {
			before := s.Stats()
			rate, err := saturate(b.seconds)
			after := s.Stats()
			onCPU := float64(after.OnCPU - before.OnCPU)
			all := onCPU + float64(after.OnGPU-before.OnGPU) + float64(after.OnBoth-before.OnBoth)
			return []figure{{"q/s", rate}, {"on CPU, %", 100 * onCPU / max(1, all)}, {"queries a batch", perBatch(before, after)}}, err
		})
	}
	own := b.recorded("auto", fmt.Sprintf("%s, %v saturated", m.name, p))
	best := max(b.recorded("auto", fmt.Sprintf("%s, %v saturated", m.name, dispatch.Processors)),
		b.recorded("auto", fmt.Sprintf("%s, %v saturated", m.name, dispatch.Devices)))
	for _, share := range b.loads {
		rate := max(lone, share*best)
		if rate > 0.95*own && p != dispatch.Auto {
			continue
		}
		err := measure(fmt.Sprintf("%s, %v at %g", m.name, p, share), func() ([]figure, error) {
			return b.arrivals(s, r, rate, m.draw)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded is the first figure of a measurement, or 0.
func (b *bench) recorded(part, name string) float64 {
	for _, r := range b.records {
		if r.Part == part && r.Name == name && r.On == b.c.Name && r.Machine == b.machine {
			return r.Figures[0].Value.(float64)
		}
	}
	return 0
}
