package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// idealQueue returns the latencies of a server that takes nothing but the given times, in turn and at random times, on one
// core at a share of the most that it could do: what the best of schedulers that do not know the times could reach. Extra is
// added to each time.
func idealQueue(times []time.Duration, extra time.Duration, load float64) *measured {
	sum := time.Duration(0)
	for _, d := range times {
		sum += d + extra
	}
	const rounds = 200
	rng := rand.New(rand.NewPCG(1, 2))
	mean := float64(sum) / float64(len(times))
	m, arrived, free := new(measured), 0.0, 0.0
	for range rounds {
		for _, d := range times {
			arrived += rng.ExpFloat64() * mean / load
			free = max(free, arrived) + float64(d+extra)
			m.latencies = append(m.latencies, time.Duration(free-arrived))
		}
	}
	m.took = time.Duration(arrived)
	slices.Sort(m.latencies)
	return m
}
