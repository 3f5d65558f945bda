package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// soon and later are by when answers are wanted, of one half of the queries each: as in TestDeadlines
// of package dispatch, which simulates this part.
const soon, later = 5 * time.Millisecond, 50 * time.Millisecond

// A dueWay is a policy, and whether it knows deadlines.
type dueWay struct {
	policy        dispatch.Policy
	told, failing bool
}

// parseDue parses an element of -due.
func parseDue(text string) (w dueWay, err error) {
	name, failing := strings.CutSuffix(text, "-fail")
	name, told := strings.CutSuffix(name, "-due")
	w.told, w.failing = told || failing, failing
	if w.policy, err = dispatch.ParsePolicy(name); err != nil {
		err = fmt.Errorf("-due: %w", err)
	}
	return w, err
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
	var ways []dueWay
	due := b.due
	switch {
	case len(due) > 0:
	case len(b.gpus) > 0:
		due = words{"auto", "auto-due", "auto-fail", "gpu", "gpu-due"}
	default:
		due = words{"cpu", "cpu-due", "cpu-fail"}
	}
	for _, text := range due {
		w, err := parseDue(text)
		if err != nil {
			return err
		}
		if w.policy == dispatch.Processors || len(b.gpus) > 0 {
			ways = append(ways, w)
		}
	}
	for i, w := range ways {
		if err := b.dueWay(r, w, ways[0].policy, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// dueWay measures a way at all loads. The first tells what a load of 1 is.
func (b *bench) dueWay(r *reference, w dueWay, one dispatch.Policy, first bool) (err error) {
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
				if w.policy == dispatch.Processors {
					devices = 0
				}
				if s, err = b.openStation(r, devices, dispatch.Options{Policy: w.policy, MaxCount: min(1024, b.batch[len(b.batch)-1])}); err == nil {
					_, err = s.loadBy(b, r, min(dueClients, b.clients), b.seconds/2)
				}
			}
			if err != nil {
				return nil, err
			}
			return do()
		})
	}
	saturated := fmt.Sprintf("%v saturated", one)
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
	for _, percent := range b.dueLoads {
		share := float64(percent) / 100
		if err := measure(fmt.Sprintf("%v at %g", w, share), func() ([]figure, error) { return b.inTime(s, r, w, share*most) }); err != nil {
			return err
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
	by            dispatch.Side
	why           dispatch.Decision
	err           error
}

func (q *dueQuery) met() bool { return !q.failed && !q.ended && q.took <= q.within }

// inTime sends queries at random times for the time of a measurement. Those that have no answer when
// the last one is due are late, and withdrawn. The first three in ten do not count.
func (b *bench) inTime(s *station, r *reference, way dueWay, rate float64) ([]figure, error) {
	n := max(10, int(rate*b.seconds.Seconds()))
	all := make([]dueQuery, n)
	var ended atomic.Bool
	before := s.feeding()
	arrivals, rng := b.arrivalTimes(rate, n), rand.New(rand.NewPCG(b.seed, 0))
	for i := range all {
		q := &all[i]
		if q.query, q.within = rng.IntN(len(r.plans)), soon; rng.IntN(2) == 0 {
			q.within = later
		}
	}
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	start := time.Now().Add(gathering)
	timer := time.AfterFunc(time.Until(start)+arrivals[n-1]+later, func() {
		ended.Store(true)
		stop()
	})
	arrive(ctx, start, arrivals, 0, func(ctx context.Context, i int, arrival time.Time) {
		all[i].ask(ctx, s, r, way, arrival, &ended, b.reasons)
	})
	timer.Stop()
	var errs []error
	for i := range all {
		errs = append(errs, all[i].err)
	}
	all = all[3*n/10:]
	if b.reasons {
		sayReasons(all)
		s.sayFeeding(r, before)
	}
	after := s.Stats()
	fs := b.dueFigures(all, rate)
	return append(fs, figure{"on CPU, %", 100 * float64(after.OnCPU-before.OnCPU) / float64(n)}, figure{"queries a batch", perBatch(before.Stats, after)}), errors.Join(errs...)
}

// ask answers a query and checks it.
func (q *dueQuery) ask(ctx context.Context, s *station, r *reference, way dueWay, arrival time.Time, ended *atomic.Bool, reasons bool) {
	asked := s.query(r, q.query, dispatch.Any)
	if way.told {
		asked.Due, asked.FailLate = arrival.Add(q.within), way.failing
	}
	if reasons {
		asked.Decision = &q.why
	}
	a, err := s.TopK(ctx, asked)
	q.took, q.by = time.Since(arrival), a.By
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

// sayReasons prints how many queries went where, why, and how they ended, with mean times.
func sayReasons(all []dueQuery) {
	type of struct {
		n                      int
		took, waited, gpu, cpu time.Duration
		guess                  time.Duration
	}
	sums := map[string]*of{}
	for i := range all {
		q := &all[i]
		state := "late"
		switch {
		case q.failed:
			state = "failed"
		case q.ended:
			state = "withdrawn"
		case q.met():
			state = "in time"
		}
		key := fmt.Sprintf("%v %-9s by %d: %s", q.within, state, q.by, q.why.Why)
		if sums[key] == nil {
			sums[key] = &of{}
		}
		o := sums[key]
		o.n++
		o.took, o.waited, o.gpu, o.cpu, o.guess = o.took+q.took, o.waited+q.why.Waited, o.gpu+q.why.OnGPU, o.cpu+q.why.OnCPU, o.guess+q.why.GPU
	}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		o := sums[key]
		mean := func(d time.Duration) float64 { return ms(d / time.Duration(o.n)) }
		fmt.Fprintf(os.Stderr, "%8d  %s; ms: took %.2f, waited %.2f, on GPU %.2f, on CPU %.2f, GPU estimated %.2f\n",
			o.n, key, mean(o.took), mean(o.waited), mean(o.gpu), mean(o.cpu), mean(o.guess))
	}
}
