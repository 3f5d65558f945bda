package main

import (
	"slices"
	"time"
)

// What must hold while only nodes are killed, one at a time.
const (
	// resumes is how long a shard may take no write after its log has lost its leader.
	resumes = 10 * time.Second

	// settled is how long a fault counts after its nodes have recovered.
	settled = 5 * time.Second

	// lookahead is for how long after a fault began its gap is looked for.
	lookahead = 25 * time.Second
)

// count counts operations by what they did, and by the faults at the time, and checks that killing
// one node loses no query and that writes resume.
func (c *checker) count() {
	r := c.report
	r.actions, r.during, r.alone = map[action]*tally{}, map[kind]*tally{}, map[kind]*tally{}
	for i := range c.ops {
		op := &c.ops[i]
		if op.Client == finalClient {
			continue
		}
		tallyOf(r.actions, op.Action).add(op)
		under := r.under(op.Call, op.Return)
		name := kind("read ")
		if op.Action == put || op.Action == remove {
			name = "write "
		}
		if len(under) == 0 {
			tallyOf(r.during, name).add(op)
		}
		var seen []kind
		for _, e := range under {
			if !slices.Contains(seen, e.Kind) {
				seen = append(seen, e.Kind)
				tallyOf(r.during, name+e.Kind).add(op)
			}
		}
		if len(under) == 1 {
			tallyOf(r.alone, op.waits()+under[0].Kind).add(op)
		}
		if op.asks() && op.Outcome == failed && mayNotFail(under) {
			r.fail("lost queries", "%+v", *op)
		}
		if name == "read " && op.Outcome == failed && len(under) == 0 {
			r.fail("failures without a fault", "%+v", *op)
		}
	}
	c.gaps()
}

// asks reports whether an operation reads what a replica has, without waiting for the log: a token may stand for an
// entry that only the replica of a killed node has, until the log has its next leader.
func (op *operation) asks() bool {
	return op.Action == getAny || op.Action == searchAny || op.Action == searchRandom
}

// Prefixes of the keys of report.alone.
const (
	byReplica kind = "replica "
	byToken   kind = "token "
	byBarrier kind = "barrier "
	byWriting kind = "write "
)

// waits says what an operation waits for.
func (op *operation) waits() kind {
	switch {
	case op.asks():
		return byReplica
	case op.Action == getLatest:
		return byBarrier
	case op.Action == getToken || op.Action == searchToken:
		return byToken
	}
	return byWriting
}

func tallyOf[K comparable](all map[K]*tally, k K) *tally {
	t := all[k]
	if t == nil {
		t = &tally{outcomes: map[outcome]int{}}
		all[k] = t
	}
	return t
}

func (t *tally) add(op *operation) {
	t.outcomes[op.Outcome]++
	if op.Partial {
		t.partial++
	}
	if op.Outcome == done {
		t.times = append(t.times, op.Return-op.Call)
	}
}

// under returns the faults that were under way, or not yet recovered from, at some time of a period.
func (r *report) under(from, to time.Duration) (all []*event) {
	for _, e := range r.events {
		if e.began <= to && (e.recovered == 0 || e.recovered+settled >= from) {
			all = append(all, e)
		}
	}
	return all
}

// mayNotFail reports whether each shard has a replica that clients reach during faults: if one node was
// killed, or replicas moved, and nothing else happened.
func mayNotFail(under []*event) bool {
	return len(under) == 1 && (under[0].Kind.operated() || slices.Contains([]kind{kill, killLeader, wipe}, under[0].Kind))
}

// gaps finds for each fault the longest time in which a shard took no write.
func (c *checker) gaps() {
	acknowledged := make([][]time.Duration, c.shards)
	for i := range c.ops {
		op := &c.ops[i]
		if (op.Action == put || op.Action == remove) && op.Outcome == done && op.Shard >= 0 {
			acknowledged[op.Shard] = append(acknowledged[op.Shard], op.Return)
		}
	}
	for i := range acknowledged {
		slices.Sort(acknowledged[i])
	}
	for _, e := range c.report.events {
		for i, times := range acknowledged {
			for n := 1; n < len(times); n++ {
				if times[n] >= e.began && times[n-1] <= max(e.ended, e.began+lookahead) {
					e.gap = max(e.gap, times[n]-times[n-1])
				}
			}
			e.alone = len(c.report.under(e.began, e.recovered+settled)) == 1
			for n := 1; e.alone && n < len(times); n++ {
				if times[n] >= e.began && times[n-1] <= e.recovered+settled {
					e.own = max(e.own, times[n]-times[n-1])
				}
			}
			if alone := len(c.report.under(e.began-lookahead, e.recovered)) == 1; alone && mayNotFail([]*event{e}) && e.gap > resumes {
				c.report.fail("resume", "shard %d took no write for %.1f s: %v", i, e.gap.Seconds(), e.fault)
			}
		}
	}
}
