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

// clientsAt is how many clients ask queries that arrive at a rate: as many as to have one each in 250 ms, within
// limits. With few, their stacks have been enlarged already when they are needed, and are in the caches of the cores.
func clientsAt(rate float64) int { return max(64, min(16_384, int(rate/4))) }

// gathering is the time before queries arrive in which the clients begin.
const gathering = 200 * time.Millisecond

// arrive has a number of clients ask queries that arrive at these times after start. It returns when all have an
// answer.
//
// Of c clients each has every c-th query. It waits until that one arrives, and asks. A query whose client still
// waits for the answer before is asked as soon as that is there, and its time counts from when it arrived, as
// with wrk2. So no goroutines are made by the hundred thousand after a slow moment, for which a machine would have
// to find memory.
func arrive(ctx context.Context, start time.Time, times []time.Duration, clients int, ask func(ctx context.Context, i int, arrival time.Time)) {
	clients = min(clients, len(times))
	rate := float64(len(times)) / times[len(times)-1].Seconds()
	paced := rate < pacedRate*float64(runtime.GOMAXPROCS(0))
	now := make([]chan struct{}, clients)
	var waiting sync.WaitGroup
	for c := range clients {
		now[c] = make(chan struct{}, 1+len(times)/clients)
		waiting.Go(func() {
			ctx, stop := context.WithCancel(ctx) // thousands that wait with one context take turns at its lock
			defer stop()
			for i := c; i < len(times); i += clients {
				arrival := start.Add(times[i])
				if paced {
					<-now[c]
				} else {
					time.Sleep(time.Until(arrival))
				}
				ask(ctx, i, arrival)
			}
		})
	}
	if paced {
		pacemakers := 1 + int(rate/100_000)
		for p := range pacemakers {
			waiting.Go(func() {
				for i := p; i < len(times); i += pacemakers {
					awaitTime(start.Add(times[i]))
					now[i%clients] <- struct{}{}
				}
			})
		}
	}
	waiting.Wait()
}

// pacedRate: a process that has idle cores wakes a goroutine up to a millisecond late. So up to so many queries a
// second for each core, goroutines look at the time again and again, and tell the clients. At higher rates the
// cores that this takes would be the searches', and clients sleep: to be told costs as much as a short search,
// and at 0.9 of what two cores answer, Go's scheduler left some that had been told for a second.
const pacedRate = 12_500

// awaitTime returns at a time, without sleeping for the last of it.
func awaitTime(at time.Time) {
	if early := time.Until(at) - 1200*time.Microsecond; early > 0 {
		time.Sleep(early)
	}
	for time.Now().Before(at) {
		runtime.Gosched()
	}
}
