package riffle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/gpuexec/dispatch"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/store"
)

// Warm fills the memory of all GPUs with what the queries of a log visit most, whatever was there
// (Wang 2017), and then runs the log there, so that it is copied. It is ErrNoDevice when there is no
// GPU.
//
// What is there stays until searches want other things more, or, with GPUOptions.StaticCache, for
// good; lists of segments that are merged go with them.
func (e *Engine) Warm(ctx context.Context, log []Query, o *SearchOptions) error {
	if !e.gpu.there() {
		return e.gpu.reason()
	}
	v, err := e.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	ctx, cancel := e.untilClose(ctx)
	defer cancel()
	return e.orClosed(v.warm(ctx, log, o))
}

func (v *view) warm(ctx context.Context, log []Query, o *SearchOptions) error {
	for i, q := range log {
		if err := v.countVisits(ctx, q, o); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	for _, x := range v.e.gpu.executors {
		x.Admit()
	}
	for chunk := range slices.Chunk(log, warmBatch) {
		if err := v.runOnAll(ctx, chunk, o); err != nil {
			return err
		}
	}
	return nil
}

// warmBatch is how many queries of a log run together.
const warmBatch = 256

// runOnAll runs queries on every GPU, for what that copies there. Answers are not wanted.
func (v *view) runOnAll(ctx context.Context, queries []Query, o *SearchOptions) error {
	s, err := v.e.settings(o)
	if err != nil {
		return err
	}
	var plans []*plan
	for _, q := range queries {
		p := v.e.borrow()
		defer v.e.giveBack(p)
		c, err := p.prepare(ctx, v, q, &s)
		if err != nil {
			return err
		}
		plans = append(plans, &c.plan)
	}
	for _, x := range v.e.gpu.executors {
		if _, err := x.Partials(ctx, plans); err != nil {
			return err
		}
	}
	return nil
}

// countVisits has the caches of all GPUs count what a query visits. When the CPU completes answers
// that is what its threshold leaves in the end, else whatever must be there before it begins.
func (v *view) countVisits(ctx context.Context, q Query, o *SearchOptions) error {
	s, err := v.e.settings(o)
	if err != nil {
		return err
	}
	p := v.e.borrow()
	defer v.e.giveBack(p)
	c, err := p.prepare(ctx, v, q, &s)
	if err != nil || c.plan.Tree != nil {
		return err // trees are not for GPUs
	}
	mode, need := c.plan.Mode, uint32(0)
	switch {
	case v.e.opts.GPU.Prune:
		if mode, need, err = v.finalNeed(ctx, &s, &c.plan); err != nil {
			return err
		}
	case mode == blockmax.Or:
		need = c.plan.Seed()
	}
	var f demand.Finder
	for _, x := range v.e.gpu.executors {
		x.Count(&f, &c.plan, mode, need)
	}
	return nil
}

// finalNeed runs a plan on the CPU. It returns how its answer was found, and the score of the last hit, 0
// when there are fewer than wanted.
func (v *view) finalNeed(ctx context.Context, s *searchSettings, p *plan) (mode Mode, need uint32, err error) {
	top, err := v.e.executor(s).TopK(ctx, p)
	if err != nil {
		return 0, 0, v.at(err)
	}
	mode = p.Mode
	if len(top.Hits) == p.K {
		need = top.Hits[p.K-1].Score
	} else if mode == blockmax.AndOr {
		mode = blockmax.Or
	}
	return mode, need, nil
}

// loadPrices begins with what searches cost when the index was last open. Prices that cannot be
// read are as good as none.
func (e *Engine) loadPrices() {
	if !e.gpu.there() {
		return
	}
	if text, err := e.store.Meta(metaPrices); err == nil && text != nil {
		var m dispatch.Model
		if json.Unmarshal(text, &m) == nil {
			_ = json.Unmarshal(text, e.gpu.dispatch.Model())
		}
	}
}

// keepPrices keeps what searches cost for the next Open.
func (e *Engine) keepPrices() error {
	if !e.gpu.there() || e.opts.ReadOnly {
		return nil
	}
	text, err := json.Marshal(e.gpu.dispatch.Model())
	if err != nil {
		return err
	}
	return e.store.Commit(context.Background(), store.Edit{Meta: map[string][]byte{metaPrices: text}})
}

// GPUStats are figures about the GPUs of an Engine since it was opened.
type GPUStats struct {
	Devices []GPUDeviceStats
	NoGPU   string // why there are none; empty when there are

	// Searches, by who answered them, and batches; see package gpuexec/dispatch.
	Searches dispatch.Stats
}

// GPUDeviceStats are figures about one GPU.
type GPUDeviceStats struct {
	Info  GPUInfo
	Lost  string          // why it cannot be used any more; empty when it can
	Cache listcache.Stats // of the lists in its memory
}

// stats returns current figures. It accepts nil.
func (g *gpus) stats() *GPUStats {
	if g == nil {
		return nil
	}
	s := new(GPUStats)
	if g.why != nil {
		s.NoGPU = g.why.Error()
	}
	for i, dev := range g.devices {
		d := GPUDeviceStats{Info: dev.Info(), Cache: g.executors[i].Cache().Stats()}
		if err := dev.Lost(); err != nil {
			d.Lost = err.Error()
		}
		s.Devices = append(s.Devices, d)
	}
	if g.dispatch != nil {
		s.Searches = g.dispatch.Stats()
	}
	return s
}
