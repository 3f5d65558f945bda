package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/internal/gov2"
)

// Lists of 100 million documents and more take as much memory as a machine has, up to three times
// over: the collection, garbage, and what the executor pins of them. So there is a bound on garbage:
// this many per cent of the heap while lists are made, later this many bytes.
const (
	garbagePercent = 25
	garbageBytes   = 6 << 30
)

// generate makes gov2's collection, and reports how far it is.
func (b *bench) generate() *collection.Collection {
	debug.SetGCPercent(garbagePercent)
	var lists, postings atomic.Int64
	stop := b.every(10*time.Second, func() {
		b.say("making lists: %d with %.2f billion postings, %s", lists.Load(), float64(postings.Load())/1e9, memory())
	})
	defer stop()
	return gov2.Generate(gov2.Options{
		Docs: uint32(b.docs), Queries: b.queries, Postings: b.postings, Seed: b.seed,
		Progress: func(n int) {
			lists.Add(1)
			postings.Add(int64(n))
		},
	})
}

// every calls do again and again, until it is stopped.
func (b *bench) every(d time.Duration, do func()) (stop func()) {
	ticker, done := time.NewTicker(d), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				do()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// boundGarbage is called when the collection is there.
func boundGarbage() {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(max(10, min(100, 100*garbageBytes/max(1, m.HeapAlloc)))))
}

// memory is what the heap takes, and what the process has of the system for it.
func memory() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%.1f GB in use, %.1f GB of the system", float64(m.HeapAlloc)/1e9, float64(m.Sys-m.HeapReleased)/1e9)
}
