package riffle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/plan"
)

// What an Engine does with an accelerator. One that has none calls nothing here.

// openAccelerator opens the GPUs that Options.GPU asks for. Without Required, no device is no error.
func (e *Engine) openAccelerator() error {
	open, o := e.opts.private.accelerator, e.opts.GPU.accelerator()
	if open == nil {
		open = openAccelerator
	}
	o.Cores = e.opts.SearchWorkers
	o.Failed = func(device int, lost bool, err error) {
		e.opts.Listener.gpuFailed(GPUEvent{Device: device, Lost: lost, Err: err})
	}
	var err error
	if e.accelerator, err = open(o); err != nil {
		e.accelerator, e.noAccelerator = nil, err
		if e.opts.GPU.Required {
			return fmt.Errorf("riffle: Options.GPU: %w", err)
		}
	}
	return nil
}

// closeAccelerator gives the devices back. Without an accelerator it does nothing.
func (e *Engine) closeAccelerator() error {
	if e.accelerator == nil {
		return nil
	}
	return e.accelerator.Close()
}

// noGPU says why there is no accelerator.
func (e *Engine) noGPU() error {
	if e.noAccelerator != nil {
		return e.noAccelerator
	}
	return fmt.Errorf("%w: opened without Options.GPU", ErrNoDevice)
}

// mayAccelerate reports whether a GPU may run a search: not one that asks for the CPU, or for an
// algorithm of the CPU.
func (s *searchSettings) mayAccelerate() bool {
	return s.Processor == ProcessorGPU || s.Processor == ProcessorAuto && s.exec.Algorithm == AlgorithmAuto
}

// An accelerated search has been planned and submitted, or found to be one for the CPU alone.
type accelerated struct {
	v         view
	query     Query
	settings  searchSettings
	p         *preparer
	c         *plan.Compiled
	cpu       cpuexec.Parallel
	ticket    accelerator.Ticket
	submitted bool
}

// submit plans a search and submits it. After an error there is nothing to finish.
func (v view) submit(ctx context.Context, q Query, o *SearchOptions) (r accelerated, err error) {
	if r.settings, err = v.e.settings(o); err != nil {
		return r, err
	}
	r.v, r.query, r.p, r.cpu = v, q, v.e.borrow(), v.e.executor(&r.settings)
	if r.c, err = r.p.prepare(ctx, v, q, &r.settings); err == nil && r.settings.mayAccelerate() {
		r.ticket, err = v.e.accelerator.Submit(accelerator.Query{Plan: &r.c.Plan, CPU: r.cpu, On: r.settings.Processor.side()})
		r.submitted = err == nil
	}
	if err != nil {
		v.giveBack(r.p)
	}
	return r, err
}

// side is where a submitted search may run.
func (p Processor) side() accelerator.Side {
	if p == ProcessorGPU {
		return accelerator.OnGPU
	}
	return accelerator.Anywhere
}

// finish answers the search.
func (r *accelerated) finish(ctx context.Context) (*Result, error) {
	defer r.v.giveBack(r.p)
	if !r.submitted {
		top, err := r.cpu.TopK(ctx, &r.c.Plan)
		return r.v.result(ctx, r.p, r.query, r.c, &r.settings, top, executorName(r.cpu, top.Work), err)
	}
	answer, err := r.ticket.Wait(ctx)
	name := executorName(r.cpu, answer.Work)
	switch answer.By {
	case accelerator.OnGPU:
		name = r.v.e.accelerator.Name()
	case accelerator.OnBoth:
		name = r.v.e.accelerator.Name() + "+" + name
	}
	return r.v.result(ctx, r.p, r.query, r.c, &r.settings, answer.TopK, name, err)
}

// acceleratedBatch is many searches on an accelerator. Each goroutine has several under way, so that
// there are enough for its batches.
type acceleratedBatch struct {
	*batchSearch
	window int // searches that a goroutine has under way
}

// An item is one of them.
type item struct {
	accelerated
	number int
	began  time.Time
}

// work takes searches until none is left.
func (b *acceleratedBatch) work(ctx context.Context) (err error) {
	var open []item
	defer func() {
		for i := range open { // what is under way must come to its end
			_ = b.finish(ctx, &open[i])
		}
	}()
	for {
		i := int(b.next.Add(1)) - 1
		if i < len(b.queries) {
			it := item{number: i, began: time.Now()}
			if it.accelerated, err = b.view.submit(ctx, b.queries[i], b.options); err != nil {
				return b.done(i, nil, err, it.began)
			}
			open = append(open, it)
		}
		if len(open) == 0 {
			return nil
		}
		if len(open) < b.window && i < len(b.queries) {
			continue
		}
		first := open[0]
		open = open[1:]
		if err := b.finish(ctx, &first); err != nil {
			return err
		}
	}
}

func (b *acceleratedBatch) finish(ctx context.Context, it *item) error {
	res, err := it.accelerated.finish(ctx)
	return b.done(it.number, res, err, it.began)
}

// Warm fills the memory of all GPUs with what the queries of a log visit most, whatever was there
// (Wang 2017), and then runs the log there, so that it is copied. It is ErrNoDevice when there is no
// GPU.
//
// What is there stays until searches want other things more, or, with GPUOptions.StaticCache, for
// good; lists of segments that are merged go with them.
func (e *Engine) Warm(ctx context.Context, log []Query, o *SearchOptions) error {
	if e.accelerator == nil {
		return e.noGPU()
	}
	v, err := e.acquire()
	if err != nil {
		return err
	}
	defer v.Release()
	ctx, cancel := e.index.UntilClose(ctx)
	defer cancel()
	err = e.accelerator.Warm(ctx, len(log), func(i int) (accelerator.Query, func(), error) { return v.logged(ctx, log[i], o) })
	return e.index.OrClosed(v.at(err))
}

// logged plans a query of a log, and returns what gives the plan back.
func (v view) logged(ctx context.Context, q Query, o *SearchOptions) (accelerator.Query, func(), error) {
	s, err := v.e.settings(o)
	if err != nil {
		return accelerator.Query{}, nil, err
	}
	p := v.e.borrow()
	c, err := p.prepare(ctx, v, q, &s)
	if err != nil {
		v.giveBack(p)
		return accelerator.Query{}, nil, err
	}
	return accelerator.Query{Plan: &c.Plan, CPU: v.e.executor(&s)}, func() { v.giveBack(p) }, nil
}

// loadPrices begins with what searches cost when the index was last open. Prices that cannot be
// read are as good as none.
func (e *Engine) loadPrices() {
	if e.accelerator == nil {
		return
	}
	if text, err := e.index.Meta(live.MetaPrices); err == nil && text != nil {
		var m accelerator.Model
		if json.Unmarshal(text, &m) == nil {
			_ = json.Unmarshal(text, e.accelerator.Model())
		}
	}
}

// keepPrices keeps what searches cost for the next Open.
func (e *Engine) keepPrices() error {
	if e.accelerator == nil || e.opts.ReadOnly {
		return nil
	}
	text, err := json.Marshal(e.accelerator.Model())
	if err != nil {
		return err
	}
	return e.index.SetMeta(live.MetaPrices, text)
}

// gpuStats returns current figures, or nil without Options.GPU.
func (e *Engine) gpuStats() *GPUStats {
	if e.accelerator == nil {
		if e.noAccelerator == nil {
			return nil
		}
		return &GPUStats{NoGPU: e.noAccelerator.Error()}
	}
	st := e.accelerator.Stats()
	out := &GPUStats{Searches: st.Searches}
	for _, d := range st.Devices {
		dev := GPUDeviceStats{Info: d.Info, Cache: d.Cache}
		if d.Lost != nil {
			dev.Lost = d.Lost.Error()
		}
		out.Devices = append(out.Devices, dev)
	}
	return out
}
