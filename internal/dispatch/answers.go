package dispatch

import (
	"math"
	"time"
)

// answers is how long queries take from their arrival to their answers, compared with what they cost:
// threads wake each other, the machine does other things too, and estimates err. A device ends a batch
// about when it was estimated to; a query with bounds seldom takes its estimate on a core. So a side
// is not judged by its mean alone.
type answers struct {
	// How many times as long as estimated one query in sixty takes at least, on one core and with the
	// help of others.
	alone, helped tails

	// Of devices that have little to do, and of others. What a busy machine teaches does not hold
	// for a quiet one, and a policy that believed it would never see the quiet one again.
	quiet, busy punctuality

	// How many times as long as expected queries take on the CPU, from arrival to answer, on average.
	cpuLate float64
}

// tails are of queries that are estimated to take less than brief, and of others. To be interrupted for some
// 50 µs is several times what a brief query takes, and a part of what a long one takes: with one tail for both,
// the long ones of many brief queries seemed to be late on a core, and went to devices, where they took longer.
type tails [2]float64

const brief = 50 * time.Microsecond

// of is the tail of a query that is estimated to take so many nanoseconds.
func (t *tails) of(estimate float64) *float64 {
	if estimate < float64(brief) {
		return &t[0]
	}
	return &t[1]
}

// punctuality is how many times as long as expected queries take on devices, from arrival to answer: on
// average, and one in sixty at least.
type punctuality struct{ late, latest float64 }

var usualAnswers = answers{alone: tails{3, 3}, helped: tails{3, 3}, quiet: punctuality{1, 2}, busy: punctuality{1, 1.5}, cpuLate: 1}

// of is how long a query takes that is expected to take some time, and one in sixty at least.
func (p *punctuality) of(expected time.Duration) (mean, latest time.Duration) {
	return time.Duration(float64(expected) * p.late), time.Duration(float64(expected) * p.latest)
}

// onDevice is how punctual devices are that have little to do, or more.
func (a *answers) onDevice(quiet bool) *punctuality {
	if quiet {
		return &a.quiet
	}
	return &a.busy
}

const (
	mostTail = 16
	mostLate = 4
	tailStep = 1.0 / 16
	beyond   = 0.015 // share of the queries
	calming  = 200 * time.Millisecond
)

// response is what a query takes on an idle core, or with the help of others, and how long one in sixty
// takes at least.
func (m *Model) response(f *Features, helped bool) (took, latest time.Duration) {
	if f.empty() {
		return nothing, nothing
	}
	k := m.known.Load()
	cost, withHelp := k.onCore(f)
	times := &k.alone
	if helped {
		cost, times = withHelp, &k.answers.helped
	}
	return nanoseconds(cost), nanoseconds(cost * *times.of(cost))
}

// learnCPU learns from a query that ran on the CPU and was estimated to cost so many nanoseconds.
func (a *answers) learnCPU(r *run, estimate float64) {
	tail := &a.alone
	if r.helped {
		tail = &a.helped
	}
	raise(tail.of(estimate), float64(r.took)/max(1, estimate))
	if r.expected > 0 {
		a.cpuLate += (min(mostTail, float64(r.response)/float64(r.expected)) - a.cpuLate) / 64
		a.cpuLate = max(1, a.cpuLate)
	}
}

// learnDevice learns from the queries of a batch that was done at a time.
func (a *answers) learnDevice(jobs []*job, done time.Time) {
	for _, quiet := range []bool{false, true} {
		var expected, response time.Duration
		for _, j := range jobs {
			if j.expected > 0 && j.quiet == quiet {
				expected, response = expected+j.expected, response+done.Sub(j.arrived)
			}
		}
		if p := a.onDevice(quiet); expected > 0 {
			p.late += (min(mostLate, float64(response)/float64(expected)) - p.late) / 32
			raise(&p.latest, float64(response)/float64(expected))
		}
	}
}

// raise moves a tail towards what one in sixty exceeds.
func raise(tail *float64, seen float64) {
	if seen > *tail {
		*tail = min(mostTail, *tail*(1+tailStep*(1-beyond)))
	} else {
		*tail = max(1, *tail*(1-tailStep*beyond))
	}
}

// calm lowers tails to the usual ones as time passes, because what they learned of a busy machine does
// not hold for a quiet one.
func (m *Model) calm(passed time.Duration) {
	if !m.mu.TryLock() {
		return
	}
	defer m.mu.Unlock()
	share := min(1, float64(passed)/float64(calming))
	a, usual := &m.answers, &usualAnswers
	for _, tail := range []struct{ now, usual *float64 }{
		{&a.alone[0], &usual.alone[0]}, {&a.alone[1], &usual.alone[1]}, {&a.helped[0], &usual.helped[0]}, {&a.helped[1], &usual.helped[1]},
		{&a.quiet.latest, &usual.quiet.latest}, {&a.busy.latest, &usual.busy.latest}, {&a.cpuLate, &usual.cpuLate},
	} {
		*tail.now -= max(0, *tail.now-*tail.usual) * share
	}
	m.publishAnswers()
}

// differ reports whether estimates change noticeably.
func (a *answers) differ(b *answers) bool {
	far := func(a, b float64) bool { return math.Abs(a-b) > b/64 }
	return a.alone.differs(&b.alone, far) || a.helped.differs(&b.helped, far) || far(a.cpuLate, b.cpuLate) || a.quiet.differs(&b.quiet, far) || a.busy.differs(&b.busy, far)
}

func (t *tails) differs(u *tails, far func(a, b float64) bool) bool {
	return far(t[0], u[0]) || far(t[1], u[1])
}

func (p *punctuality) differs(q *punctuality, far func(a, b float64) bool) bool {
	return far(p.late, q.late) || far(p.latest, q.latest)
}
