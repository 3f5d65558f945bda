package gpuexec

import (
	"context"
	"errors"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// runOnce answers plans, none of which is answered in two turns (turns.go): of one with Else, it
// answers the tree.
func (x *Executor) runOnce(ctx context.Context, plans []*Plan) ([]Answer, error) {
	answers := make([]Answer, len(plans))
	var taken []int
	for i, p := range plans {
		if err := x.check(p); err != nil {
			answers[i] = refused(p, err)
		} else {
			taken = append(taken, i)
		}
	}
	if err := x.run(ctx, plans, taken, answers); err != nil {
		return nil, err
	}
	return answers, nil
}

// run answers the plans that taken names.
func (x *Executor) run(ctx context.Context, plans []*Plan, taken []int, answers []Answer) error {
	if len(taken) == 0 {
		return nil
	}
	var s *slot
	select {
	case s = <-x.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	byWindows := x.options.Stream
	s.batch.byWindows = byWindows
	if byWindows {
		x.windows.columns.renew(&x.windows.records.using)
		x.windows.records.begin()
	}
	became, err := x.start(s, plans, taken, answers)
	if err == nil {
		if err = x.dev.Wait(s.done, spinFor(len(taken))); err != nil {
			x.giveUp()
		}
	}
	if err == nil && became == started {
		began := time.Now()
		if err = x.finish(s, answers); err != nil {
			x.giveUp()
		}
		x.note(Times{Answers: time.Since(began)})
	}
	if err == nil && became == started && x.options.Timed {
		err = x.timeKernels(s)
	}
	if byWindows {
		x.windows.records.end()
	}
	why, again := errBadList, false
	if became == tooBig {
		why, again = s.batch.refusal, s.batch.placed.crowded
	}
	s.batch.forget()
	x.free <- s
	switch {
	case err != nil || became == started || became == nothing:
		return err
	case len(taken) > 1:
		half := len(taken) / 2
		if err := x.run(ctx, plans, taken[:half], answers); err != nil {
			return err
		}
		return x.run(ctx, plans, taken[half:], answers)
	case again: // the columns of other batches are gone by then
		return x.run(ctx, plans, taken, answers)
	}
	answers[taken[0]] = refused(plans[taken[0]], why)
	return nil
}

// spinFor is how long to look for the end of a batch without sleep. Few queries are a sign of a machine
// with little to do: a core can be spared, and the wake-up of a thread would take a tenth of their time.
func spinFor(plans int) time.Duration {
	if plans > spinPlans {
		return 0
	}
	return mostSpin
}

const (
	spinPlans = 4
	mostSpin  = 600 * time.Microsecond
)

// An outcome is the result of starting a batch.
type outcome uint8

const (
	started outcome = iota // slot.done signals its answers
	nothing                // no plan can be answered
	tooBig                 // it needs more memory than a batch has
	badList                // a list is damaged, or does not fit
)

// Why a batch of one plan has not started.
var (
	errBatchFull  = errors.New("gpuexec: more memory than a batch has (Options.BatchBytes)")
	errWindowFull = errors.New("gpuexec: a window needs more memory than there is (Options.WindowBytes)")
	errBadList    = errors.New("gpuexec: a list that is damaged or does not fit")
)

// start makes a batch and puts all its work on the streams. It takes the lock only for the work
// that batches share and must do in order.
func (x *Executor) start(s *slot, plans []*Plan, taken []int, answers []Answer) (_ outcome, err error) {
	b := &s.batch
	began := time.Now()
	x.gather(b, plans, taken, answers)
	gathered := time.Since(began)
	if len(b.queries) == 0 {
		return nothing, nil // the event of the last batch stands for this one
	}
	if b.byWindows && !x.windows.records.keep(b) {
		return badList, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	began = time.Now()
	defer func() {
		host := gathered + time.Since(began) // the wait for other batches is none of this one's
		x.note(Times{Batches: 1, Host: host})
		x.lead.note(host, len(taken))
	}()
	if b.byWindows {
		x.windows.residents.visit(b, &x.known)
		if !b.fillWindows() {
			return tooBig, nil
		}
	} else if !b.fill() {
		return tooBig, nil // nothing has been placed
	}
	became := started
	if !b.byWindows && !b.place(x.cache, x.options.Leave) {
		became = badList // what the cache admitted must still be copied
	}
	handed := time.Now()
	err = x.dev.Do(func(q *device.Queue) { x.put(q, s, became == started) })
	x.note(Times{Driver: time.Since(handed)})
	if err != nil {
		x.forgetAll() // admitted pieces may not have been copied
	}
	return became, err
}

// gather finds out what a batch of plans needs. It refuses plans that the device cannot answer.
func (x *Executor) gather(b *batch, plans []*Plan, taken []int, answers []Answer) {
	b.begin()
	x.known.mu.RLock()
	b.lookup.find(&x.known, plans, taken, b.algorithm.prunes(), b.smallDocs)
	x.known.mu.RUnlock()
	for i := range b.lookup.plans {
		if p := &b.lookup.plans[i]; !b.add(p) {
			answers[p.answer] = refused(p.plan, errDamagedList)
		}
	}
	if !b.byWindows {
		b.findWanted()
	}
}

// finish reads the answers of a finished batch.
func (x *Executor) finish(s *slot, answers []Answer) error {
	b := &s.batch
	read := s.results.Bytes()[:b.results.bytes]
	counts := view[[2]uint64](read[b.results.unresolvedCount-b.results.states:])
	count := int(uint32(counts[0]))
	if b.byWindows {
		b.windowed.fetched += int64(counts[1]) * rowBytes
		x.note(Times{WantedBytes: b.windowed.wanted, FetchedBytes: b.windowed.fetched, ColumnBytes: b.windowed.columns})
	}
	var ranges []devRange
	if n := min(count, b.results.unresolvedRoom); n > 0 {
		var err error
		if ranges, err = x.readRanges(s, n); err != nil {
			return err
		}
	}
	b.answers(read, ranges, count, answers)
	return nil
}

// readRanges copies the unresolved ranges to the host.
func (x *Executor) readRanges(s *slot, n int) ([]devRange, error) {
	b := &s.batch
	bytes := int64(n * rangeBytes)
	at := int64(b.results.unresolved - s.memory.Address)
	err := x.dev.Do(func(q *device.Queue) {
		q.ToHost(x.out, s.staging.Slice(0, bytes), s.memory.Slice(at, at+bytes))
		q.Record(s.done, x.out)
	})
	if err == nil {
		err = x.dev.Wait(s.done, 0)
	}
	return device.View[devRange](s.staging.Slice(0, bytes)), err
}
