package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// A station is devices and a CPU behind a dispatcher, as in an engine.
type station struct {
	*dispatch.Dispatcher
	gpus []*gpu
	cpu  dispatch.CPU // of pool
	pool *cpuexec.Pool
}

func newStation() *station {
	pool := cpuexec.NewPool(0, 0)
	return &station{cpu: cpuexec.Parallel{Pool: pool}, pool: pool}
}

// openStation opens the given number of devices, and has them answer the queries of a reference first.
func (b *bench) openStation(r *reference, devices int, o dispatch.Options) (*station, error) {
	s := newStation()
	var all []dispatch.Device
	for n := range devices {
		g, err := b.openGPU(n, gpuexec.Options{}, -1)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.gpus, all = append(s.gpus, g), append(all, g)
	}
	o.Depth, o.Cores, o.MaxBytes = underWay, runtime.GOMAXPROCS(0), b.batchBytes/2
	s.Dispatcher = dispatch.New(all, o)
	if err := s.warm(b, r); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *station) close() (err error) {
	if s.Dispatcher != nil {
		s.Dispatcher.Close()
	}
	s.pool.Close()
	for _, g := range s.gpus {
		err = errors.Join(err, g.dev.Close())
	}
	return err
}

// warm has the devices answer all queries some times, so that they have what they keep of the lists. It
// does nothing without devices.
func (s *station) warm(b *bench, r *reference) error {
	if len(s.gpus) == 0 {
		return nil
	}
	var left atomic.Int64
	left.Store(int64(warmings * len(r.plans)))
	errs := make([]error, s.Appetite())
	var group sync.WaitGroup
	for client := range errs {
		group.Go(func() {
			for errs[client] == nil {
				i := int(left.Add(-1))
				if i < 0 {
					return
				}
				errs[client] = s.askOn(b.ctx, r, i%len(r.plans), dispatch.OnGPU)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// warmings is how often: lists are kept in a second form when they have been wanted before.
const warmings = 4

// ask answers query i and checks it.
func (s *station) ask(ctx context.Context, r *reference, i int) error {
	return s.askOn(ctx, r, i, dispatch.Any)
}

// askOn does so on one side.
func (s *station) askOn(ctx context.Context, r *reference, i int, on dispatch.Side) error {
	_, err := s.askWhy(ctx, r, i, on, nil)
	return err
}

// askWhy does so, says where, and fills in why, unless that is nil.
func (s *station) askWhy(ctx context.Context, r *reference, i int, on dispatch.Side, why *dispatch.Decision) (dispatch.Side, error) {
	q := s.query(r, i, on)
	q.Decision = why
	a, err := s.TopK(ctx, q)
	if err != nil {
		return a.By, err
	}
	return a.By, r.check(i, &a.TopK)
}

// query is query i of a reference.
func (s *station) query(r *reference, i int, on dispatch.Side) dispatch.Query {
	return dispatch.Query{Plan: r.plans[i], CPU: s.cpu, Whole: cpuexec.Executor{}, On: on}
}

// load has clients wait for answers, for a time. It returns queries a second.
func (s *station) load(b *bench, r *reference, length time.Duration) (float64, error) {
	return load(b.ctx, b.clients, len(r.plans), length, func(ctx context.Context, i int) error { return s.ask(ctx, r, i) })
}

// loadAll does so with enough clients for all devices to have full batches.
func (s *station) loadAll(b *bench, r *reference, length time.Duration) (float64, error) {
	return load(b.ctx, max(b.clients, s.Appetite()), len(r.plans), length, func(ctx context.Context, i int) error { return s.ask(ctx, r, i) })
}

// load has clients send queries from 0 on, each client one after another, cyclically, for a time.
// It returns queries a second. Each client has a context of its own, as the requests of a server do:
// all that wait with the same one lock its channel, and thousands of them take turns at that lock.
func load(ctx context.Context, clients, queries int, length time.Duration, ask func(ctx context.Context, i int) error) (float64, error) {
	var next atomic.Int64
	var group sync.WaitGroup
	var once sync.Once
	var first error
	start := time.Now()
	for range clients {
		group.Go(func() {
			own, stop := context.WithCancel(ctx)
			defer stop()
			for time.Since(start) < length {
				if err := ask(own, int(next.Add(1)-1)%queries); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	group.Wait()
	return float64(next.Load()) / time.Since(start).Seconds(), first
}

// loaded warms a station up, measures it by run (load or loadAll), and reports where queries ran.
func (b *bench) loaded(devices int, o dispatch.Options, run func(*station, *bench, *reference, time.Duration) (float64, error)) ([]figure, error) {
	r, err := b.reference(plans{blockmax.Or, b.typicalK()})
	if err != nil {
		return nil, err
	}
	s, err := b.openStation(r, devices, o)
	if err != nil {
		return nil, err
	}
	_, err = run(s, b, r, b.seconds/2)
	before := s.Stats()
	rate := 0.0
	if err == nil {
		rate, err = run(s, b, r, b.seconds)
	}
	after := s.Stats()
	if err = errors.Join(err, s.close()); err != nil {
		return nil, err
	}
	onGPU, onBoth, onCPU := after.OnGPU-before.OnGPU, after.OnBoth-before.OnBoth, after.OnCPU-before.OnCPU
	all := float64(max(1, onGPU+onBoth+onCPU))
	return []figure{
		{"q/s", rate}, {"devices", int64(devices)}, {"on GPU, %", 100 * float64(onGPU) / all}, {"on CPU, %", 100 * float64(onCPU) / all},
		{"queries a batch", float64(after.Queries-before.Queries) / float64(max(1, after.Batches-before.Batches))},
	}, nil
}

// policies measures which processor answers queries under each policy.
func (b *bench) policies() error {
	if len(b.gpus) == 0 {
		return nil
	}
	for _, p := range []dispatch.Policy{
		dispatch.Devices, dispatch.Processors, dispatch.Halves, dispatch.LBD, dispatch.Long, dispatch.Groups, dispatch.Auto,
	} {
		err := b.measure("policies", p.String(), func() ([]figure, error) {
			return b.loaded(1, dispatch.Options{Policy: p, MaxCount: b.batch[len(b.batch)-1]}, (*station).load)
		})
		if err != nil {
			return err
		}
	}
	// Thresholds of LBD: Huang's figure of 30,000 blocks is for other lists and kernels.
	for _, blocks := range []int{100, 1000, 10_000, 100_000} {
		err := b.measure("policies", fmt.Sprintf("%v, S=%d blocks", dispatch.LBD, blocks), func() ([]figure, error) {
			return b.loaded(1, dispatch.Options{Policy: dispatch.LBD, Threshold: blocks, MaxCount: b.batch[len(b.batch)-1]}, (*station).load)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// devices measures several devices.
func (b *bench) devices() error {
	for _, n := range []int{1, 2, 4, 8} {
		if n > len(b.gpus) {
			break
		}
		err := b.measure("devices", fmt.Sprintf("%d GPUs", n), func() ([]figure, error) {
			return b.loaded(n, dispatch.Options{Policy: dispatch.Devices, MaxCount: cmp.Or(b.batch[len(b.batch)-1], 1)}, (*station).loadAll)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
