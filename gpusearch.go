package riffle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec/dispatch"
)

// A running is a search whose plan is made. When there are GPUs it may wait for one.
type running struct {
	v        *view
	settings searchSettings
	p        *preparer
	c        *compiled
	cpu      cpuexec.Parallel
	ticket   dispatch.Ticket
	waits    bool // for ticket
}

// start makes the plan of a search and, if a GPU might run it, submits it. After an error there is
// nothing to finish.
func (v *view) start(ctx context.Context, q Query, o *SearchOptions) (r running, err error) {
	if r.settings, err = v.e.settings(o); err != nil {
		return r, err
	}
	r.v, r.p, r.cpu = v, v.e.borrow(), v.e.executor(&r.settings)
	if r.c, err = r.p.prepare(ctx, v, q, &r.settings); err == nil && r.maybeGPU() {
		err = r.submit()
	}
	if err != nil {
		v.e.giveBack(r.p)
	}
	return r, err
}

// maybeGPU reports whether a GPU might run the search: unless it asks for an algorithm of the CPU.
func (r *running) maybeGPU() bool {
	s := &r.settings
	return r.v.e.gpu.there() && (s.Processor == GPU || s.Processor == AnyProcessor && s.Algorithm == Auto)
}

// submit hands the search to the dispatcher, which may find that it is for the CPU.
func (r *running) submit() (err error) {
	on := dispatch.Any
	if r.settings.Processor == GPU {
		on = dispatch.OnGPU
	}
	r.ticket, err = r.v.e.gpu.dispatch.Submit(dispatch.Query{Plan: &r.c.plan, CPU: r.cpu, On: on})
	r.waits = err == nil
	if errors.Is(err, dispatch.ErrNoDevice) {
		err = ErrNoDevice
	}
	return err
}

// finish answers the search.
func (r *running) finish(ctx context.Context) (*Result, error) {
	defer r.v.e.giveBack(r.p)
	top, name, err := r.topK(ctx)
	if err != nil {
		return nil, r.v.at(err)
	}
	res := &Result{Total: top.Total, TotalExact: top.Exact, Work: top.Work, Executor: name}
	if res.Hits, err = r.p.namer.hits(ctx, r.v, top.Hits, r.c.scale, r.settings.Load); err != nil {
		return nil, err
	}
	return res, nil
}

// topK returns the best documents, and says what found them.
func (r *running) topK(ctx context.Context) (blockmax.TopK, string, error) {
	if !r.waits {
		top, err := r.cpu.TopK(ctx, &r.c.plan)
		return top, executorName(r.cpu, top.Work), err
	}
	answer, err := r.ticket.Wait(ctx)
	if errors.Is(err, dispatch.ErrNoDevice) {
		err = ErrNoDevice
	}
	name := executorName(r.cpu, answer.Work)
	switch answer.By {
	case dispatch.OnGPU:
		name = r.v.e.gpu.name
	case dispatch.OnBoth:
		name = r.v.e.gpu.name + "+" + name
	}
	return answer.TopK, name, err
}

// SearchBatch answers many queries, each as Search does, on all cores, and on all GPUs if there are
// any. Results are parallel to queries. All are answered from the index as it is now. The first error
// ends them all; it says which query it is of, counted from 0.
func (e *Engine) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchBatch(ctx, queries, o)
}

// SearchBatch answers many queries, as Engine.SearchBatch does, from the snapshot.
func (s *Snapshot) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.searchBatch(ctx, queries, o)
}

func (v *view) searchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	b := &batchSearch{view: v, queries: queries, options: o, results: make([]*Result, len(queries)), window: 1}
	ctx, open := v.e.untilClose(ctx)
	defer open()
	workers := min(len(queries), v.e.opts.Parallel.Workers)
	if v.e.gpu.there() {
		b.window = 1 + v.e.gpu.dispatch.Appetite()/max(1, workers)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := b.work(ctx); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, v.e.orClosed(err)
	}
	return b.results, nil
}

// A batchSearch is many searches, of which several goroutines take one after another.
type batchSearch struct {
	view    *view
	queries []Query
	options *SearchOptions
	results []*Result
	next    atomic.Int64
	window  int // searches that a goroutine has under way
}

// An item is one of them, under way.
type item struct {
	running
	number int
	began  time.Time
}

// work takes searches until none is left. It starts some before it finishes the first, so that a
// GPU has enough for its batches.
func (b *batchSearch) work(ctx context.Context) (err error) {
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
			if it.running, err = b.view.start(ctx, b.queries[i], b.options); err != nil {
				return b.fail(i, err, it.began)
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

// finish answers a search and tells the listener.
func (b *batchSearch) finish(ctx context.Context, it *item) error {
	res, err := it.running.finish(ctx)
	if err != nil {
		return b.fail(it.number, err, it.began)
	}
	res.Duration = time.Since(it.began)
	b.results[it.number] = res
	b.view.tell(b.queries[it.number], b.options, res, nil, it.began)
	return nil
}

func (b *batchSearch) fail(number int, err error, began time.Time) error {
	b.view.tell(b.queries[number], b.options, nil, err, began)
	return fmt.Errorf("query %d: %w", number, err)
}
