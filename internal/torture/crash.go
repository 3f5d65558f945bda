package main

import (
	"fmt"
	"sync"
)

// keptPercents are the shares of unsynced data that a crash leaves.
var keptPercents = []int{0, 50, 100}

// A wreck is what a crash just before one operation leaves, and what must be found in it.
type wreck struct {
	number   int // of the case
	name     string
	disk     *disk
	promised promises
}

// crashPart stops the world before each write operation of a life. What opens then is the state
// after some batch, at least the last acknowledged one and at most the last one begun.
func crashPart(r *round) {
	l := wholeLife(r.seed)
	wrecks, lived := l.wrecks(r, newDisk(), func(v *living) error { return v.lead() })
	for w := range wrecks {
		r.do(w.number, w.name, func() error {
			r.count("crashes", 1)
			return l.inspectWreck(w)
		})
	}
	if err := lived(); err != nil && r.only < 0 {
		r.fail(r.next, "a life in which nothing fails", err, nil)
	}
}

// inspectWreck opens a wreck, as a reader and as a writer, and then once more what that has
// repaired.
func (l *life) inspectWreck(w wreck) error {
	for _, writing := range []bool{false, true, false} {
		if err := l.inspect(w.disk, w.promised, writing); err != nil {
			return when(err, "opened for writing %v", writing)
		}
	}
	return nil
}

// wrecks starts a life and sends what a crash before each of its write operations would leave, as
// far as the round wants it. The life waits meanwhile. The returned function waits for the end of
// the life.
func (l *life) wrecks(r *round, d *disk, lead func(*living) error) (<-chan wreck, func() error) {
	v := l.begin(d)
	wrecks, over := make(chan wreck), make(chan error, 1)
	n := 0
	d.setRule(func(o op) verdict {
		if !o.kind.writes() {
			return verdict{}
		}
		for i, percent := range keptPercents {
			number := n*len(keptPercents) + i
			if !r.wants(number) {
				continue
			}
			p := v.promises() // acknowledged before the clone is made; begun is corrected later
			w := wreck{number, fmt.Sprintf("crash before write %d (%v) at step %d, %d %% of unsynced data kept", n, o, v.at.Load(), percent),
				d.crash(percent, newRandom(r.seed, number).Rand), p}
			w.promised.most = v.promises().most
			wrecks <- w
		}
		n++
		return verdict{}
	})
	go func() {
		over <- lead(v)
		d.setRule(nil)
		close(wrecks)
	}()
	return wrecks, func() error { return <-over }
}

// caseSpan is the range of case numbers of each life in a round, so that a case can be found
// without running those before it.
const caseSpan = 10_000

// recoverPart crashes lives, and then crashes their recovery at each of its writes.
func recoverPart(r *round) {
	l := shortLife(r.seed)
	for i, w := range l.sample(r.seed, 40) {
		first := i * caseSpan
		if r.only >= 0 && r.only/caseSpan != i || r.from >= first+caseSpan {
			continue
		}
		if r.over() {
			return
		}
		sub := &round{seed: r.seed + uint64(i), from: max(r.from-first, 0), only: -1}
		if r.only >= 0 {
			sub.only = r.only - first
		}
		again := l.again(r, sub, w)
		for s := range again {
			r.do(first+s.number, s.name, func() error {
				r.count("crashes in recovery", 1)
				return l.inspectWreck(s)
			})
		}
	}
}

// again crashes the recovery of a wreck.
func (l *life) again(r, sub *round, w wreck) <-chan wreck {
	sub.until = r.until
	wrecks := make(chan wreck)
	d := w.disk
	n := 0
	d.setRule(func(o op) verdict {
		if !o.kind.writes() {
			return verdict{}
		}
		for i, percent := range keptPercents {
			number := n*len(keptPercents) + i
			if number < caseSpan && sub.wants(number) {
				wrecks <- wreck{number, fmt.Sprintf("%s; then, in recovery, before write %d (%v), %d %% kept", w.name, n, o, percent),
					d.crash(percent, newRandom(sub.seed, number).Rand), w.promised}
			}
		}
		n++
		return verdict{}
	})
	go func() {
		defer close(wrecks)
		defer d.setRule(nil)
		_ = l.inspect(d, w.promised, true) // crashPart reports errors of this
	}()
	return wrecks
}

// sample leads a life and returns a number of crashes of it, spread evenly.
func (l *life) sample(seed uint64, n int) []wreck {
	var mu sync.Mutex
	var all []wreck
	d := newDisk()
	v := l.begin(d)
	count := 0
	count = l.writes()
	stride, at := max(1, count/n), 0
	d.setRule(func(o op) verdict {
		if !o.kind.writes() {
			return verdict{}
		}
		mu.Lock()
		defer mu.Unlock()
		if at++; at%stride == int(seed)%stride {
			percent := keptPercents[len(all)%len(keptPercents)]
			p := v.promises()
			w := wreck{0, fmt.Sprintf("crash before write %d (%v) at step %d, %d %% kept", at, o, v.at.Load(), percent), d.crash(percent, newRandom(seed, at).Rand), p}
			w.promised.most = v.promises().most
			all = append(all, w)
		}
		return verdict{}
	})
	_ = v.lead() // crashPart reports errors of this
	d.setRule(nil)
	return all
}

// writes counts the write operations of a life.
func (l *life) writes() int {
	d, n := newDisk(), 0
	d.setRule(func(o op) verdict {
		if o.kind.writes() {
			n++
		}
		return verdict{}
	})
	_ = l.begin(d).lead()
	return n
}
