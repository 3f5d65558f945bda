package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// arrivalTimes are when n queries arrive at random (a Poisson process), at so many a second.
func (b *bench) arrivalTimes(rate float64, n int) []time.Duration {
	rng, at := rand.New(rand.NewPCG(b.seed, 1)), 0.0
	times := make([]time.Duration, n)
	for i := range times {
		at += rng.ExpFloat64() / rate
		times[i] = time.Duration(at * float64(time.Second))
	}
	return times
}

const (
	gathering = 200 * time.Millisecond // before queries arrive, in which clients begin

	// mostClients is how many ask at a time. A query beyond those is asked when one of them has its answer, and
	// its time counts from when it arrived, as with wrk2. Without a limit half a million goroutines waited
	// after a slow moment, and the machine had to find memory for their stacks: for two seconds nothing was answered.
	mostClients = 16_384

	// pacedRate is how many queries a second for each core are told to clients when they arrive. A process with
	// idle cores wakes a goroutine up to a millisecond late, so whoever tells them looks at the time again and
	// again. At higher rates that would take cores from the searches, and to be told costs as much as
	// a short search: there clients sleep until their queries arrive.
	pacedRate = 12_500

	pacemakerRate = 100_000 // of one that tells them

	contextCount = 256 // thousands that wait with one context take turns at its lock
)

// arrive has clients ask queries that arrive at these times after start. It returns when all have an answer. most is how many
// clients there may be; 0 is any number, and then they are told at any rate.
func arrive(ctx context.Context, start time.Time, times []time.Duration, most int, ask func(ctx context.Context, i int, arrival time.Time)) {
	contexts := make([]context.Context, contextCount)
	for i := range contexts {
		own, stop := context.WithCancel(ctx)
		defer stop()
		contexts[i] = own
	}
	rate := float64(len(times)) / times[len(times)-1].Seconds()
	var waiting sync.WaitGroup
	if paced := rate < pacedRate*float64(runtime.GOMAXPROCS(0)); paced || most == 0 {
		crew := newCrew(contexts, most)
		pacemakers := 1 + int(rate/pacemakerRate)
		for p := range pacemakers {
			waiting.Go(func() {
				for i := p; i < len(times); i += pacemakers {
					arrival := start.Add(times[i])
					awaitTime(arrival)
					crew.ask(i, func(ctx context.Context) { ask(ctx, i, arrival) })
				}
			})
		}
		waiting.Wait()
		crew.end()
		return
	}
	most = min(most, len(times))
	for c := range most { // each has every most-th query
		waiting.Go(func() {
			for i := c; i < len(times); i += most {
				arrival := start.Add(times[i])
				time.Sleep(time.Until(arrival))
				ask(contexts[c%contextCount], i, arrival)
			}
		})
	}
	waiting.Wait()
}

// awaitTime returns at a time, without sleeping for the last of it.
func awaitTime(at time.Time) {
	if early := time.Until(at) - 1200*time.Microsecond; early > 0 {
		time.Sleep(early)
	}
	for time.Now().Before(at) {
		runtime.Gosched()
	}
}
