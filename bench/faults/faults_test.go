package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// TestSchedule: a schedule follows from the settings, and has every kind of fault.
func TestSchedule(t *testing.T) {
	s := &settings{seed: 7, time: 20 * time.Minute, nodes: 3, shards: 3, replicas: 2}
	faults := schedule(s)
	if !reflect.DeepEqual(faults, schedule(s)) {
		t.Error("the same seed gives another schedule")
	}
	other := *s
	other.seed = 8
	if reflect.DeepEqual(faults, schedule(&other)) {
		t.Error("another seed gives the same schedule")
	}
	seen := map[kind]bool{}
	for i, f := range faults {
		seen[f.Kind] = true
		if f.At+f.For > s.time-calm || f.Node == f.Other || i > 0 && f.At < faults[i-1].At {
			t.Errorf("%v after %v", f, faults[max(i-1, 0)])
		}
	}
	for _, k := range kinds {
		if !seen[k] {
			t.Errorf("no %s in 20 minutes", k)
		}
	}
}

// shardID is an id of shard 0 of 2, and other one of shard 1.
var shardID, other = idsOfShards()

func idsOfShards() (a, b string) {
	for n := range 100 {
		if topology.ShardOf(idOf(n), 2) == 0 {
			a = idOf(n)
		} else {
			b = idOf(n)
		}
	}
	return a, b
}

// A past makes logs and histories.
type past struct {
	t    *testing.T
	logs [][]oplog.Entry
	ops  []operation
	now  time.Duration
}

func newPast(t *testing.T) *past {
	return &past{t: t, logs: make([][]oplog.Entry, 2)}
}

// write adds a write to the history and, if in, to the log.
func (p *past) write(id, value string, o outcome, in bool) *operation {
	p.t.Helper()
	shard := topology.ShardOf(id, 2)
	op := operation{Action: put, ID: id, Value: value, Shard: shard, Outcome: o, Call: p.now, Return: p.now + 1}
	if value == "" {
		op.Action = remove
	}
	p.now += 2
	if in {
		data, err := encode(change{id, value})
		if err != nil {
			p.t.Fatal(err)
		}
		m, err := (&oplog.Record{Kind: oplog.Changes, Body: oplog.AppendChange(nil, data)}).Append(nil)
		if err != nil {
			p.t.Fatal(err)
		}
		n := uint64(len(p.logs[shard]) + 1)
		p.logs[shard] = append(p.logs[shard], oplog.Entry{Sequence: n, Message: oplog.Message{Data: m}})
		if o == done {
			op.Sequence = n
		}
	}
	p.ops = append(p.ops, op)
	return &p.ops[len(p.ops)-1]
}

func (p *past) read(op operation) {
	op.Call, op.Return, op.Outcome = p.now, p.now+1, done
	p.now += 2
	p.ops = append(p.ops, op)
}

// check runs the checks of the history, and returns the names of those that failed.
func (p *past) check() string {
	p.t.Helper()
	r := &report{settings: &settings{}}
	c := &checker{report: r, shards: 2, ops: p.ops}
	if err := c.readLogs(p.logs); err != nil {
		p.t.Fatal(err)
	}
	c.checkWrites()
	c.checkSessions()
	c.checkLinearizable(p.t.TempDir())
	names := ""
	for _, f := range r.failed {
		if !strings.Contains(names, f.check) {
			names = strings.TrimSpace(names + " " + f.check)
		}
	}
	return names
}

// TestChecks: each check finds the histories that it is for, and no others.
func TestChecks(t *testing.T) {
	latest := func(id, value string) operation { return operation{Action: getLatest, ID: id, Value: value} }
	token := func(value string, at uint64) operation {
		return operation{Action: getToken, ID: shardID, Value: value, Shard: 0, AtLeast: []uint64{at, 0}}
	}
	tagged := func(value string) string {
		tag, _ := document(value)["tag"].(string)
		return tag
	}
	withTag, without := "", ""
	for n := 0; withTag == "" || without == ""; n++ {
		value := fmt.Sprint("v", n)
		switch tagged(value) {
		case "t1":
			withTag = value
		case "":
			without = value
		}
	}
	search := func(at uint64, hits ...found) operation {
		return operation{Action: searchToken, Shard: -1, Tag: "t1", AtLeast: []uint64{at, 0}, Found: hits}
	}
	for _, test := range []struct {
		name string
		make func(p *past)
		want string
	}{
		{"all is well", func(p *past) {
			p.write(shardID, "a", done, true)
			p.write(shardID, "b", unknown, true)
			p.write(shardID, "c", unknown, false)
			p.write(shardID, "d", refused, false)
			p.read(latest(shardID, "b"))
			p.read(token("a", 1))
			p.read(token("b", 1))
			p.write(other, "e", done, true)
			p.write(other, "", done, true)
			p.read(latest(other, ""))
		}, ""},
		{"done, and not in the log", func(p *past) { p.write(shardID, "a", done, false).Sequence = 1 }, "log"},
		{"done, in another entry", func(p *past) {
			p.write(shardID, "a", done, true).Sequence = 2
			p.write(shardID, "b", done, true)
		}, "log"},
		{"refused, and in the log", func(p *past) { p.write(shardID, "a", refused, true) }, "log"},
		{"twice in the log", func(p *past) {
			p.write(shardID, "a", unknown, true)
			p.logs[0] = append(p.logs[0], oplog.Entry{Sequence: 2, Message: p.logs[0][0].Message})
		}, "log"},
		{"nobody wrote it", func(p *past) {
			p.write(shardID, "a", done, true)
			p.ops = nil
		}, "log"},
		{"an old value", func(p *past) {
			p.write(shardID, "a", done, true)
			p.write(shardID, "b", done, true)
			p.read(latest(shardID, "a"))
		}, "linearizable"},
		{"lost", func(p *past) {
			p.write(shardID, "a", done, true)
			p.read(latest(shardID, ""))
		}, "linearizable"},
		{"unknown, seen, and gone", func(p *past) {
			p.write(shardID, "a", done, true)
			p.write(shardID, "b", unknown, true)
			p.read(latest(shardID, "b"))
			p.read(latest(shardID, "a"))
		}, "linearizable"},
		{"older than the token", func(p *past) {
			p.write(shardID, "a", done, true)
			p.write(shardID, "b", done, true)
			p.read(token("a", 2))
		}, "sessions"},
		{"older than the token: nothing", func(p *past) {
			p.write(shardID, "a", done, true)
			p.read(token("", 1))
		}, "sessions"},
		{"found", func(p *past) {
			p.write(shardID, withTag, done, true)
			p.read(search(1, found{shardID, withTag, 0}))
			p.write(shardID, without, done, true)
			p.read(search(1))
		}, ""},
		{"not found", func(p *past) {
			p.write(shardID, withTag, done, true)
			p.read(search(1))
		}, "sessions"},
		{"found after it was deleted", func(p *past) {
			p.write(shardID, withTag, done, true)
			p.write(shardID, "", done, true)
			p.read(search(2, found{shardID, withTag, 0}))
		}, "sessions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPast(t)
			test.make(p)
			if got := p.check(); got != test.want {
				t.Errorf("checks that failed: %q, want %q", got, test.want)
			}
		})
	}
}

// TestGaps: a shard that takes no writes after its leader was killed is found, if it is for too long.
func TestGaps(t *testing.T) {
	for _, test := range []struct {
		gap  time.Duration
		kind kind
		want bool
	}{{9 * time.Second, killLeader, false}, {11 * time.Second, killLeader, true}, {11 * time.Second, isolate, false}} {
		r := &report{settings: &settings{}}
		e := &event{fault: fault{Kind: test.kind}, began: 100 * time.Second, ended: 105 * time.Second, recovered: 106 * time.Second}
		r.begin(e)
		c := &checker{report: r, shards: 1}
		for _, at := range []time.Duration{99 * time.Second, 99*time.Second + test.gap, 100*time.Second + test.gap} {
			c.ops = append(c.ops, operation{Action: put, Outcome: done, Return: at})
		}
		c.gaps()
		if e.gap != test.gap || r.found("resume") != test.want {
			t.Errorf("%s: the gap is %v, want %v; found: %v", test.kind, e.gap, test.gap, r.failed)
		}
	}
}

// TestRules: the rules of a node's namespace drop what its cut links carry.
func TestRules(t *testing.T) {
	n := &network{subnet: "10.0.0", nodes: 3, cut: map[link]int{}}
	for _, l := range n.links(&fault{Kind: isolate, Node: 1}) {
		n.cut[l]++
	}
	if got := n.rules(1); strings.Count(got, "saddr") != 3 || !strings.Contains(got, "ip daddr 10.0.0.254 drop") {
		t.Error(got)
	}
	if got := n.rules(0); strings.Count(got, "drop") != 1 || !strings.Contains(got, "ip saddr 10.0.0.2 drop") {
		t.Error(got)
	}
	if got := len(n.links(&fault{Kind: oneWay, Node: 0, Other: 2})); got != 1 {
		t.Errorf("one way cuts %d links", got)
	}
}
