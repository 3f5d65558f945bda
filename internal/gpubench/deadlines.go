package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// soon and later are by when answers are wanted, of one half of the queries each: as in TestDeadlines
// of package dispatch, which simulates this part.
const soon, later = 5 * time.Millisecond, 50 * time.Millisecond

// dueLoads are shares of what auto answers when 2,048 clients wait.
var dueLoads = []float64{0.5, 0.75, 0.9, 1, 1.1, 1.5}

// A dueWay is a policy, and whether it knows deadlines.
type dueWay struct {
	policy        dispatch.Policy
	told, failing bool
}

func (w dueWay) String() string {
	name := w.policy.String()
	if w.told {
		name += " with deadlines"
	}
	if w.failing {
		name += ", failing"
	}
	return name
}

// deadlines measures the share of queries that are answered in time, by rate of arrival and policy.
func (b *bench) deadlines() error {
	r, err := b.reference(plans{blockmax.Or, b.typicalK()})
	if err != nil {
		return err
	}
	policies := []dispatch.Policy{dispatch.Processors}
	if len(b.gpus) > 0 {
		policies = []dispatch.Policy{dispatch.Auto, dispatch.Devices, dispatch.Processors}
	}
	saturated := fmt.Sprintf("%v saturated", policies[0])
	for _, p := range policies {
		if err := b.duePolicy(r, p, p == policies[0], saturated); err != nil {
			return err
		}
	}
	return nil
}

// duePolicy measures a policy at all loads, with deadlines and without. The first policy tells what a
// load of 1 is.
func (b *bench) duePolicy(r *reference, p dispatch.Policy, first bool, saturated string) (err error) {
	var s *station
	defer func() {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}()
	measure := func(name string, do func() ([]figure, error)) error {
		return b.measure("deadlines", name, func() (_ []figure, err error) {
			if s == nil {
				devices := 1
				if p == dispatch.Processors {
					devices = 0
				}
				if s, err = b.openStation(devices, dispatch.Options{Policy: p, MaxCount: min(1024, b.batch[len(b.batch)-1])}); err == nil {
					_, err = s.loadBy(b, r, min(dueClients, b.clients), b.seconds/2)
				}
			}
			if err != nil {
				return nil, err
			}
			return do()
		})
	}
	if first {
		err := measure(saturated, func() ([]figure, error) {
			rate, err := s.loadBy(b, r, min(dueClients, b.clients), b.seconds)
			return []figure{{"q/s", rate}}, err
		})
		if err != nil {
			return err
		}
	}
	most := b.recorded("deadlines", saturated)
	if most == 0 {
		return nil // there was no time for it
	}
	ways := []dueWay{{p, false, false}}
	if p == dispatch.Auto || first {
		ways = append(ways, dueWay{p, true, false}, dueWay{p, true, true})
	}
	for _, way := range ways {
		for _, load := range dueLoads {
			err := measure(fmt.Sprintf("%v at %g", way, load), func() ([]figure, error) { return b.inTime(s, r, way, load*most) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dueClients is how many clients wait for answers when a policy is saturated, or fewer by -clients.
const dueClients = 2048

// loadBy has a number of clients wait for answers.
func (s *station) loadBy(b *bench, r *reference, clients int, length time.Duration) (float64, error) {
	return load(b.ctx, clients, len(r.plans), length, func(ctx context.Context, i int) error { return s.ask(ctx, r, i) })
}

// A dueQuery is what became of a query.
type dueQuery struct {
	query         int
	within, took  time.Duration
	failed, ended bool // with ErrLate; by the end of the measurement
	err           error
}

func (q *dueQuery) met() bool { return !q.failed && !q.ended && q.took <= q.within }

// inTime sends queries at random times for the time of a measurement. Those that have no answer when
// the last one is due are late, and withdrawn. The first three in ten do not count.
func (b *bench) inTime(s *station, r *reference, way dueWay, rate float64) ([]figure, error) {
	senders := 1 + int(rate/60_000) // as arrivals
	n := max(10, int(rate*b.seconds.Seconds())/senders) * senders
	all := make([]dueQuery, n)
	// Thousands that wait with one context take turns at its lock.
	contexts := make([]context.Context, 256)
	stops := make([]func(), len(contexts))
	for i := range contexts {
		contexts[i], stops[i] = context.WithCancel(b.ctx)
	}
	stop := func() {
		for _, f := range stops {
			f()
		}
	}
	defer stop()
	var ended atomic.Bool
	var sending, group sync.WaitGroup
	start := time.Now()
	for sender := range senders {
		sending.Go(func() {
			rng, due := rand.New(rand.NewPCG(b.seed, uint64(sender))), 0.0
			for i := sender; i < n; i += senders {
				due += rng.ExpFloat64() / rate * float64(senders)
				arrival := start.Add(time.Duration(due * float64(time.Second)))
				awaitTime(arrival, rate)
				q := &all[i]
				if q.query, q.within = rng.IntN(len(r.plans)), soon; rng.IntN(2) == 0 {
					q.within = later
				}
				group.Go(func() { q.ask(contexts[i%len(contexts)], s, r, way, arrival, &ended) })
			}
		})
	}
	sending.Wait()
	timer := time.AfterFunc(later, func() {
		ended.Store(true)
		stop()
	})
	group.Wait()
	timer.Stop()
	var errs []error
	for i := range all {
		errs = append(errs, all[i].err)
	}
	return b.dueFigures(all[3*n/10:], rate), errors.Join(errs...)
}

// ask answers a query and checks it.
func (q *dueQuery) ask(ctx context.Context, s *station, r *reference, way dueWay, arrival time.Time, ended *atomic.Bool) {
	asked := s.query(r, q.query, dispatch.Any)
	if way.told {
		asked.Due, asked.FailLate = arrival.Add(q.within), way.failing
	}
	a, err := s.TopK(ctx, asked)
	q.took = time.Since(arrival)
	switch {
	case err == nil:
		q.err = r.check(q.query, &a.TopK)
	case way.failing && errors.Is(err, dispatch.ErrLate):
		q.failed = true
	case ended.Load() && errors.Is(err, context.Canceled):
		q.ended = true
	default:
		q.err = err
	}
}

// dueFigures are the share in time, and of what failed early: which queries, and when.
func (b *bench) dueFigures(all []dueQuery, rate float64) []figure {
	var queries, met, failed [2]float64 // of those due soon, and of the others
	var after []time.Duration
	postings, ofFailed := 0.0, 0.0
	for i := range all {
		q := &all[i]
		half := 0
		if q.within == later {
			half = 1
		}
		queries[half]++
		length := float64(b.c.Postings(q.query))
		postings += length
		switch {
		case q.failed:
			failed[half]++
			after, ofFailed = append(after, q.took), ofFailed+length
		case q.met():
			met[half]++
		}
	}
	percent := func(part, of float64) float64 { return 100 * part / max(1, of) }
	fs := []figure{
		{"arrivals/s", rate}, {"in time, %", percent(met[0]+met[1], float64(len(all)))},
		{"of 5 ms", percent(met[0], queries[0])}, {"of 50 ms", percent(met[1], queries[1])},
	}
	if len(after) == 0 {
		return fs
	}
	slices.Sort(after)
	mean := postings / float64(len(all))
	return append(fs,
		figure{"ErrLate, %", percent(failed[0]+failed[1], float64(len(all)))},
		figure{"of 5 ms, ErrLate", percent(failed[0], queries[0])}, figure{"of 50 ms, ErrLate", percent(failed[1], queries[1])},
		figure{"after p50, ms", ms(after[len(after)/2])}, figure{"after most, ms", ms(after[len(after)-1])},
		figure{"postings of these, of the mean", ofFailed / float64(len(after)) / mean})
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
