package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A world is one simulation.
type world struct {
	*sim
	c        *cluster
	p        policy
	rng      *rand.Rand
	machines []*machine
	places   [][]int   // nodes of each shard
	clients  []*client // one on each node
	mean     float64   // of a search of a shard, ns
	times    []time.Duration
}

// A client is what searches on a node know of others.
type client struct {
	of     *machine
	shards [][]int // requests under way, by shard and replica
	nodes  []int   // by node
	pace   [2]pace // of the two phases
}

// simulate returns the times of searches that keep a share of all cores busy.
func simulate(c *cluster, p policy, share float64, slow slowness) *result {
	w := &world{sim: &sim{}, c: c, p: p, rng: rand.New(rand.NewPCG(c.seed, 1)), mean: c.searchTime()}
	for i := range c.nodes {
		m := &machine{sim: w.sim, free: c.cores, slow: 1}
		if i < slow.nodes {
			m.slow = slow.factor
		}
		w.machines = append(w.machines, m)
		w.clients = append(w.clients, &client{of: m, nodes: make([]int, c.nodes)})
	}
	load := make([]int, c.nodes)
	for range c.shards { // each shard on those with fewest, at random
		order := w.rng.Perm(c.nodes)
		slices.SortStableFunc(order, func(a, b int) int { return load[a] - load[b] })
		place := order[:c.replicas:c.replicas]
		for _, n := range place {
			load[n]++
		}
		w.places = append(w.places, place)
	}
	for _, cl := range w.clients {
		for range c.shards {
			cl.shards = append(cl.shards, make([]int, c.replicas))
		}
	}
	// The load is that of the least work: one search of each shard, and the requests for it.
	phases := 2.0
	if p.once {
		phases = 1
	}
	work := float64(c.shards)*w.mean + w.requestsOfSearch()*phases*float64(requestNode+requestClient)
	rate := share * float64(c.nodes*c.cores) / work * 1e9
	before := c.queries / 5
	total := before + c.queries
	arrivals := rand.New(rand.NewPCG(c.seed, 2))
	ended, begun := 0, 0
	var busyBefore, from time.Duration
	var arrive func()
	arrive = func() {
		n := begun
		begun++
		w.search(difficulty(arrivals), w.clients[arrivals.IntN(c.nodes)], func(took time.Duration) {
			if ended++; ended == before {
				busyBefore, from = w.busy(), w.now
			}
			if n >= before && n < total {
				w.times = append(w.times, took)
			}
		})
		w.after(time.Duration(arrivals.ExpFloat64()/rate*1e9), arrive)
	}
	arrive()
	w.run(func() bool { return len(w.times) == c.queries })
	seconds := (w.now - from).Seconds()
	done := (w.busy() - busyBefore).Seconds()
	return &result{rate: rate, work: done / (seconds * rate * work / 1e9), times: w.times}
}

// requestsOfSearch is how many requests a phase has at least.
func (w *world) requestsOfSearch() float64 {
	if w.p.grouped {
		return float64(min(w.c.shards, w.c.nodes))
	}
	return float64(w.c.shards)
}

func (w *world) busy() (total time.Duration) {
	for _, m := range w.machines {
		total += m.busy
	}
	return total
}

// search simulates a search by a client, and calls done with how long it took.
func (w *world) search(difficulty float64, c *client, done func(time.Duration)) {
	began := w.now
	takes := make([]time.Duration, w.c.shards)
	for i := range takes {
		takes[i] = time.Duration(w.mean * difficulty * ofShard(w.rng))
	}
	parts := w.parts(c)
	second := func() {
		w.phase(c, parts, 1, w.p.both || w.p.once && w.p.hedge, func(shard int) time.Duration { return takes[shard] }, func() {
			c.of.work(time.Duration(w.c.shards)*mergeShard, func() { done(w.now - began) })
		})
	}
	if w.p.once {
		second()
		return
	}
	w.phase(c, parts, 0, w.p.hedge, func(int) time.Duration { return statistics }, second)
}

// A part is what one request asks.
type part struct {
	shards []int
	at     int // which replica, by its place in places of the first shard
}

// parts chooses replicas, and what is asked of each in one request.
func (w *world) parts(c *client) (parts []*part) {
	byNode := map[int]*part{}
	for i := range w.c.shards {
		p := &part{shards: []int{i}, at: w.choose(c, i)}
		if w.p.grouped {
			node := w.places[i][p.at]
			if q := byNode[node]; q != nil {
				q.shards = append(q.shards, i)
				continue
			}
			byNode[node] = p
		}
		parts = append(parts, p)
	}
	return parts
}

// choose returns a replica of a shard.
func (w *world) choose(c *client, shard int) int {
	place := w.places[shard]
	a := w.rng.IntN(len(place))
	if len(place) == 1 || w.p.choice == random {
		return a
	}
	b := (a + 1 + w.rng.IntN(len(place)-1)) % len(place)
	under := func(i int) int {
		switch w.p.choice {
		case twoOwn:
			return c.shards[shard][i]
		case twoNode:
			return c.nodes[place[i]]
		}
		return w.machines[place[i]].under
	}
	if under(b) < under(a) {
		return b
	}
	return a
}

// phase asks all parts and calls then when all have been answered.
func (w *world) phase(c *client, parts []*part, number int, hedge bool, takes func(shard int) time.Duration, then func()) {
	open := len(parts)
	for _, p := range parts {
		w.ask(c, p, number, hedge, takes, func() {
			if open--; open == 0 {
				then()
			}
		})
	}
}

// ask sends a request for a part, and a second one to another replica if it takes long. The part stays with the
// replica that answers first.
func (w *world) ask(c *client, p *part, number int, hedge bool, takes func(shard int) time.Duration, then func()) {
	answered := false
	began := w.now
	answer := func(at int) {
		c.pace[number].add(w.now - began)
		if !answered {
			answered, p.at = true, at
			then()
		}
	}
	first := p.at
	w.send(c, p, first, takes, func() { answer(first) })
	if !hedge || w.c.replicas < 2 {
		return
	}
	w.after(c.pace[number].p95(), func() {
		if other := (first + 1) % w.c.replicas; !answered {
			w.send(c, p, other, takes, func() { answer(other) })
		}
	})
}

// send simulates a request: the client's CPU, a hop, the node's CPU, a hop back, the client's CPU. Grouped
// requests are not hedged, so that the replica at counts for all shards of the part.
func (w *world) send(c *client, p *part, at int, takes func(shard int) time.Duration, then func()) {
	node := w.places[p.shards[0]][at]
	m := w.machines[node]
	c.nodes[node]++
	c.shards[p.shards[0]][at]++
	m.under++
	c.of.work(requestClient/2, func() {
		w.after(hop/2, func() {
			open := len(p.shards)
			for n, shard := range p.shards { // each on a core of its own
				own := takes(shard)
				if n == 0 {
					own += requestNode
				}
				m.work(own, func() {
					if open--; open > 0 {
						return
					}
					m.under--
					w.after(hop/2, func() {
						c.of.work(requestClient/2, func() {
							c.nodes[node]--
							c.shards[p.shards[0]][at]--
							then()
						})
					})
				})
			}
		})
	})
}

// A pace is how long the last requests of a client took.
type pace struct {
	times  [128]time.Duration
	n      int
	last   time.Duration // p95 when it was last computed
	lastAt int
}

func (p *pace) add(d time.Duration) {
	p.times[p.n%len(p.times)] = d
	p.n++
}

// p95 is as package remote has it: 50 ms until 20 requests are known. It is computed anew after every 16.
func (p *pace) p95() time.Duration {
	n := min(p.n, len(p.times))
	if n < 20 {
		return 50 * time.Millisecond
	}
	if p.last == 0 || p.n-p.lastAt >= 16 {
		sorted := p.times
		slices.Sort(sorted[:n])
		p.last, p.lastAt = max(time.Millisecond, sorted[n*95/100]), p.n
	}
	return p.last
}
