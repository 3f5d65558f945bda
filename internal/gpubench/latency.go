package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// shares of the rate at which a station saturates.
var shares = []float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9}

// latency measures the time from arrival to answer by rate of arrival.
func (b *bench) latency() error {
	r, err := b.reference(plans{blockmax.Or, b.typicalK()})
	if err != nil {
		return err
	}
	for _, p := range []dispatch.Policy{dispatch.Processors, dispatch.Devices, dispatch.Auto} {
		for _, ms := range b.delays {
			devices := 1
			if p == dispatch.Processors {
				devices = 0
			}
			if devices > len(b.gpus) || devices == 0 && ms != b.delays[0] {
				continue // the CPU forms no batches
			}
			name := fmt.Sprintf("%v, %d ms", p, ms)
			if devices == 0 {
				name = p.String()
			}
			if err := b.latencies(r, name, devices, dispatch.Options{Policy: p, Delay: time.Duration(ms) * time.Millisecond}); err != nil {
				return err
			}
		}
	}
	return nil
}

// latencies measures one station: at its full rate, and at shares of that.
func (b *bench) latencies(r *reference, name string, devices int, o dispatch.Options) error {
	o.MaxCount = b.batch[len(b.batch)-1]
	var s *station
	defer func() {
		if s != nil {
			s.close()
		}
	}()
	opened := func() (err error) {
		if s == nil {
			if s, err = b.openStation(r, devices, o); err == nil {
				_, err = s.load(b, r, b.seconds/2)
			}
		}
		return err
	}
	err := b.measure("latency", name+" saturated", func() ([]figure, error) {
		if err := opened(); err != nil {
			return nil, err
		}
		rate, err := s.load(b, r, b.seconds)
		return []figure{{"q/s", rate}}, err
	})
	if err != nil {
		return err
	}
	for _, share := range shares {
		err := b.measure("latency", fmt.Sprintf("%s, %g of its most", name, share), func() ([]figure, error) {
			if err := opened(); err != nil {
				return nil, err
			}
			return b.arrivals(s, r, share*b.recorded("latency", name+" saturated"), func(rng *rand.Rand) (int, dispatch.Side) {
				return rng.IntN(len(r.plans)), dispatch.Any
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// arrivals sends queries at random times, and measures how long each takes and where it runs. The first
// three in ten do not count: a policy may learn from them. The others arrive for the time of a measurement.
// draw draws the next query.
//
// Every second or two all queries of a rented machine take some 20 ms longer, with any policy, and p99 says
// whether that happened. So there is a second one: the median of the p99s of seven parts of the measurement.
func (b *bench) arrivals(s *station, r *reference, rate float64, draw func(*rand.Rand) (query int, on dispatch.Side)) ([]figure, error) {
	n := max(10, int(rate*b.seconds.Seconds()*10/7))
	times := make([]time.Duration, n)
	asked := make([]time.Duration, n) // how long after their arrival
	errs := make([]error, n)
	var why []dueQuery // if asked
	if b.reasons {
		why = make([]dueQuery, n)
	}
	arrivals, rng := b.arrivalTimes(rate, n), rand.New(rand.NewPCG(b.seed, 0))
	queries, sides := make([]int, n), make([]dispatch.Side, n)
	for i := range n {
		queries[i], sides[i] = draw(rng)
	}
	before := s.feeding()
	start := time.Now().Add(gathering)
	arrive(b.ctx, start, arrivals, mostClients, func(ctx context.Context, i int, arrival time.Time) {
		asked[i] = time.Since(arrival)
		if why == nil {
			errs[i] = s.askOn(ctx, r, queries[i], sides[i])
		} else {
			why[i].by, errs[i] = s.askWhy(ctx, r, queries[i], sides[i], &why[i].why)
		}
		times[i] = time.Since(arrival)
	})
	took := time.Since(start)
	if b.reasons {
		s.sayFeeding(r, before)
		sayTenths("answered", times)
		sayTenths("asked", asked)
	}
	for i := range why {
		why[i].took = times[i]
	}
	times = times[3*n/10:]
	parts := make([]float64, 7)
	for i := range parts {
		parts[i] = percentile(slices.Clone(times[i*len(times)/7:(i+1)*len(times)/7]), 99)
	}
	slices.Sort(parts)
	at := func(percent int) float64 { return percentile(times, percent) }
	if why = why[3*len(why)/10:]; why != nil {
		most := time.Duration(at(99) * float64(time.Millisecond))
		for i := range why {
			why[i].within = most
		}
		sayReasons(why) // of the slowest in a hundred, which are "late", and of the others
	}
	return []figure{
		{"arrivals/s", rate}, {"q/s", float64(n) / took.Seconds()}, {"p50, ms", at(50)}, {"p95, ms", at(95)}, {"p99, ms", at(99)}, {"median p99, ms", parts[len(parts)/2]},
		{"on CPU, %", 100 * float64(s.Stats().OnCPU-before.OnCPU) / float64(n)}, {"queries a batch", perBatch(before.Stats, s.Stats())},
	}, errors.Join(errs...)
}

// percentile is what that share of some times, which it sorts, does not exceed, in ms.
func percentile(times []time.Duration, percent int) float64 {
	slices.Sort(times)
	return float64(times[(len(times)*percent+99)/100-1].Microseconds()) / 1000
}

// sayTenths prints what each tenth of the queries took: whether all are slow, or some moments are.
func sayTenths(what string, times []time.Duration) {
	fmt.Fprintf(os.Stderr, "          %s after p50 / p99 of each tenth, ms:", what)
	for i := range 10 {
		tenth := slices.Clone(times[i*len(times)/10 : (i+1)*len(times)/10])
		fmt.Fprintf(os.Stderr, " %.2f / %.2f", percentile(tenth, 50), percentile(tenth, 99))
	}
	fmt.Fprintln(os.Stderr)
}

// perBatch is how many queries batches had on average.
func perBatch(before, after dispatch.Stats) float64 {
	return float64(after.Queries-before.Queries) / float64(max(1, after.Batches-before.Batches))
}
