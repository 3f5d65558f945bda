package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// TestGate lets queries arrive at a gate of one core that is taken, and lists those that get it in
// turn. Each is "name cost due", in milliseconds from now; none is due without a number.
func TestGate(t *testing.T) {
	for _, test := range []struct {
		name, arrive string
		estimate     int // of the query that has the core, ms
		busy         int // until when it has it
		want         string
	}{
		{"by deadline", "a 1 30, b 1 10, c 1 20", 0, 0, "b c a"},
		{"without a deadline due in half a second", "a 1, b 1 600, c 1 400", 0, 0, "c a b"},
		{"ties in order of arrival", "a 1 9, b 1 9, c 1 9", 0, 0, "a b c"},
		{"the longest of those that make one late goes last", "a 2 10, b 7 11, c 3 11", 0, 0, "a c b"},
		{"late ones, the shortest first", "a 9 5, b 3 1, c 1 50", 0, 0, "c b a"},
		{"late when its turn comes", "a 2 10, b 2 40", 0, 20, "b a"},
		{"the longest are in time after all", "a 8 20, b 2 1", 40, 0, "a b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gate
				g.open(1, 0)
				now := time.Now()
				first := &job{ready: make(chan struct{}, 1), cpu: time.Duration(test.estimate) * time.Millisecond}
				g.enter(first, false, now)
				var all []*job
				names := map[*job]string{}
				for _, text := range strings.Split(test.arrive, ", ") {
					j := &job{ready: make(chan struct{}, 1), due: now.Add(500 * time.Millisecond)}
					var name string
					var cost, due int
					if n, _ := fmt.Sscan(text, &name, &cost, &due); n == 3 {
						j.query.Due = now.Add(time.Duration(due) * time.Millisecond)
						j.due = j.query.Due
					}
					j.cpu = time.Duration(cost) * time.Millisecond
					j.helped, names[j] = j.cpu, name
					all = append(all, j)
					g.enter(j, false, now)
				}
				time.Sleep(time.Duration(test.busy) * time.Millisecond)
				var got []string
				for has := first; has != nil; {
					if has != first {
						time.Sleep(has.cpu)
					}
					g.leave(has, time.Now())
					i := slices.IndexFunc(all, func(j *job) bool { return j.state == admitted })
					if has = nil; i >= 0 {
						has = all[i]
						all = slices.Delete(all, i, i+1)
						got = append(got, names[has])
					}
				}
				if order := strings.Join(got, " "); order != test.want {
					t.Errorf("%s get the core, want %s", order, test.want)
				}
				if g.free != 1 || g.load != 0 || g.tardy != 0 {
					t.Errorf("%d cores free, load %v, %d late ones", g.free, g.load, g.tardy)
				}
			})
		})
	}
}

// TestGateCounts: late queries that wait until nobody else does do not count as work of the cores.
func TestGateCounts(t *testing.T) {
	g := gate{counts: new(gauges)}
	g.open(1, 0)
	now := time.Now()
	enter := func(cpu, due time.Duration) *job {
		j := &job{ready: make(chan struct{}, 1), cpu: cpu, helped: cpu, query: Query{Due: now.Add(due)}, due: now.Add(due)}
		g.counts.count(j, 1)
		g.enter(j, false, now)
		return j
	}
	want := func(running int64, load time.Duration) {
		t.Helper()
		if n, l := g.counts.running.Load(), time.Duration(g.counts.load.Load()); n != running || l != load {
			t.Errorf("%d queries of %v count, want %d of %v", n, l, running, load)
		}
	}
	first := enter(1, time.Hour)
	late := enter(10, 1)
	gone := enter(20, 1)
	want(1, 1)
	if n := g.counts.apart.Load(); n != 2 {
		t.Errorf("%d queries are apart, want 2", n)
	}
	if !g.withdraw(gone) {
		t.Error("a late query cannot be withdrawn")
	}
	want(2, 21) // its caller counts it no longer
	g.counts.count(gone, -1)
	g.leave(first, now)
	g.counts.count(first, -1)
	if want(1, 10); late.state != admitted {
		t.Error("the late query does not get the idle core")
	}
}

// TestWait compares estimates of when a query gets a core with a line that cores empty, whose queries
// are each a different part of the way through.
func TestWait(t *testing.T) {
	const cores, length, each = 16, 10_000, 100 // of those that compute, and of those in line
	g := gate{always: cores, load: cores * length}
	var free [cores]int
	for i := range free {
		free[i] = length * (2*i + 1) / (2 * cores)
	}
	for n := range 4000 {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		if got := int(g.wait(time.Duration(n * each))); n%100 == 0 && (got < free[first]*4/5-each || got > free[first]*5/4+length/cores) {
			t.Errorf("behind %d others a core is free after %d, estimated %d", n, free[first], got)
		}
		free[first] += each
	}
}

// TestLateOrder: late queries that wait are in order of cost, however they come and go.
func TestLateOrder(t *testing.T) {
	g := gate{counts: new(gauges)}
	g.open(1, 0)
	rng, now := simRng(), time.Now()
	g.enter(&job{ready: make(chan struct{}, 1)}, false, now)
	var all []*job
	for range 500 {
		j := &job{ready: make(chan struct{}, 1), cpu: 1 + time.Duration(rng.IntN(50)), query: Query{Due: now.Add(-1)}, due: now.Add(-1)}
		g.enter(j, false, now)
		if all = append(all, j); rng.IntN(3) == 0 {
			i := rng.IntN(len(all))
			if !g.withdraw(all[i]) || g.withdraw(all[i]) {
				t.Fatal("a late query cannot be withdrawn, or twice")
			}
			all = slices.Delete(all, i, i+1)
		}
		if len(g.late) != len(all) || !slices.IsSortedFunc(g.late, func(a, b *job) int { return int(a.cpu - b.cpu) }) {
			t.Fatalf("%d of %d late queries, or out of order", len(g.late), len(all))
		}
	}
}

func simRng() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// TestGateForgets: a query whose caller no longer waits gets no core, and no other waits for it.
func TestGateForgets(t *testing.T) {
	inBubble(t, Processors, func(m *machine, _ *Dispatcher) {
		d := New(nil, Options{Policy: Processors})
		defer d.Close()
		ask := func(ctx context.Context, took time.Duration) chan error {
			q, done := m.ask(simRng(), 1000), make(chan error, 1)
			m.asked[q.Plan].cpu = took
			q.Due = time.Now().Add(time.Second)
			go func() {
				_, err := d.TopK(ctx, q)
				done <- err
			}()
			synctest.Wait()
			return done
		}
		first := ask(context.Background(), 10*time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		second := ask(ctx, time.Hour)
		third := ask(context.Background(), time.Millisecond)
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		start := time.Now()
		if err := errors.Join(<-first, <-third); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 12*time.Millisecond {
			t.Errorf("the others took %v", took)
		}
		if s := d.Stats(); s.Running != 0 {
			t.Errorf("%d still run", s.Running)
		}
	})
}

// TestFailLate: a query fails at once if it cannot be in time, and says by how much.
func TestFailLate(t *testing.T) {
	for _, policy := range []Policy{Processors, Devices, Auto} {
		inBubble(t, policy, func(m *machine, d *Dispatcher) {
			for _, due := range []time.Duration{-time.Millisecond, time.Microsecond} {
				q := m.ask(simRng(), 1e9)
				start := time.Now()
				q.Due, q.FailLate = start.Add(due), true
				_, err := d.TopK(context.Background(), q)
				if !errors.Is(err, ErrLate) || time.Since(start) > 0 {
					t.Errorf("%v, due in %v: %v after %v", policy, due, err, time.Since(start))
				}
				q.FailLate = false
				if _, err := d.TopK(context.Background(), q); err != nil {
					t.Errorf("%v, due in %v, late: %v", policy, due, err)
				}
			}
			if s := d.Stats(); s.Queued != 0 || s.Running != 0 {
				t.Errorf("%v: %d still wait, %d run", policy, s.Queued, s.Running)
			}
		})
	}
}

// TestDueOnDevice: queries that wait for a device share a batch with those that are due when they
// are, and the others follow.
func TestDueOnDevice(t *testing.T) {
	dev := newFake()
	dev.hold, dev.began = make(chan struct{}), make(chan struct{})
	d := start(t, Options{Policy: Devices, MaxCount: 2, Depth: 1}, dev)
	var plans [5]*Plan
	var tickets []Ticket
	now := time.Now()
	for i, due := range []time.Duration{0, 40 * time.Minute, 10 * time.Minute, 30 * time.Minute, 20 * time.Minute} {
		plans[i] = &Plan{K: 1, Segments: []blockmax.Segment{{}}}
		q := Query{Plan: plans[i], CPU: newMachine()}
		if due > 0 {
			q.Due = now.Add(due)
		}
		ticket, err := d.Submit(q)
		if err != nil {
			t.Fatal(err)
		}
		if tickets = append(tickets, ticket); i == 0 {
			<-dev.began
		}
	}
	dev.hold <- struct{}{}
	for range 2 {
		<-dev.began
		dev.hold <- struct{}{}
	}
	for _, ticket := range tickets {
		if _, err := ticket.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if want := [][]*Plan{{plans[0]}, {plans[2], plans[4]}, {plans[3], plans[1]}}; !slices.EqualFunc(dev.batches, want, slices.Equal) {
		t.Errorf("batches of %v queries in another order", dev.sizes())
	}
}

// BenchmarkGateBacklog measures a search that gets a core and leaves it, with so many in line.
func BenchmarkGateBacklog(b *testing.B) {
	for _, waiting := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			var g gate
			g.open(1, 0)
			now := time.Now()
			arrive := func() *job {
				now = now.Add(time.Microsecond)
				j := &job{ready: make(chan struct{}, 1), cpu: time.Microsecond, due: now.Add(time.Hour)}
				g.enter(j, false, now)
				return j
			}
			computing := arrive()
			for range waiting {
				arrive()
			}
			for b.Loop() {
				last := arrive()
				next := last
				if waiting > 0 {
					next = g.line[0]
				}
				g.leave(computing, now)
				computing = next
			}
		})
	}
}
