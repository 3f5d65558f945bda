package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// A sharing is a way in which queries share cores.
type sharing struct {
	cores  int
	policy cpuexec.Policy
	delta  int // of FGQP
}

func (s sharing) String() string {
	if s.policy == cpuexec.FGQP {
		return fmt.Sprintf("%v δ=%d, cores=%d", s.policy, s.delta, s.cores)
	}
	return fmt.Sprintf("%v, cores=%d", s.policy, s.cores)
}

// A sharer measures how queries of one form share cores by the policies of an engine.
type sharer struct {
	*bench
	algorithm cpuexec.Algorithm
	plans     plans
	one, many sharing // every query whole, on one core and on all: the baseline for the others
	warm      bool
}

// sharings measures AND and OR.
func (b *bench) sharings() error {
	algorithm, err := cpuexec.ParseAlgorithm(b.whole)
	if err != nil {
		return err
	}
	cores := min(b.cores, runtime.GOMAXPROCS(0))
	for _, mode := range []blockmax.Mode{blockmax.And, blockmax.Or} {
		m := &sharer{bench: b, algorithm: algorithm, plans: plans{mode, b.typicalK()}}
		m.one, m.many = sharing{1, cpuexec.Inter, 0}, sharing{cores, cpuexec.Inter, 0}
		for _, s := range []sharing{
			m.one, m.many, {cores, cpuexec.FGQP, 150}, {cores, cpuexec.FGQP, 5}, {cores, cpuexec.DOCP, 0}, {cores, cpuexec.Adaptive, 0},
		} {
			for _, load := range []string{"alone", "saturated"} {
				if err := b.measure("cores", m.name(load, s), func() ([]figure, error) { return m.share(load, s) }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *sharer) name(load string, s sharing) string {
	return fmt.Sprintf("%v cpu/%v %s: %v", m.plans, m.algorithm, load, s)
}

// earlier is a recorded figure, or 0.
func (m *sharer) earlier(load string, s sharing, figure string) float64 {
	for _, r := range m.records {
		if r.Part != "cores" || r.Name != m.name(load, s) || r.On != m.c.Name || r.Machine != m.machine {
			continue
		}
		for _, f := range r.Figures {
			if v, ok := f.Value.(float64); ok && f.Name == figure {
				return v
			}
		}
	}
	return 0
}

// share measures with the cores that queries share.
func (m *sharer) share(load string, s sharing) ([]figure, error) {
	r, err := m.reference(m.plans)
	if err != nil {
		return nil, err
	}
	if err := m.warmUp(r); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.cores))
	x := cpuexec.Parallel{Algorithm: m.algorithm, Pool: cpuexec.NewPool(s.cores, 0), Policy: s.policy, Delta: s.delta}
	defer x.Pool.Close()
	if load == "alone" {
		return m.alone(r, x, s)
	}
	return m.saturated(r, x, s)
}

// warmUp lets lists learn from use, once. Otherwise they would learn during the first measurements.
func (m *sharer) warmUp(r *reference) error {
	for n := 0; n < 4 && !m.warm; n++ {
		err := eachPlan(r.plans, func(i int) error {
			_, err := cpuexec.Executor{Algorithm: m.algorithm}.TopK(m.ctx, r.plans[i])
			return err
		})
		if err != nil {
			return err
		}
	}
	m.warm = true
	return nil
}

// alone has one client send all queries, one after another, repeatedly. It returns the average time
// of a query: of all, and of each quarter of them by the postings that decide the time (those of
// the shortest list for AND).
func (m *sharer) alone(r *reference, x cpuexec.Parallel, s sharing) ([]figure, error) {
	spent, tasks, rounds := make([]time.Duration, len(r.plans)), int64(0), 0
	for start := time.Now(); rounds == 0 || time.Since(start) < m.seconds; rounds++ {
		for i, p := range r.plans {
			began := time.Now()
			top, err := x.TopK(m.ctx, p)
			spent[i] += time.Since(began)
			if err == nil {
				err = r.check(i, &top)
			}
			if err != nil {
				return nil, err
			}
			tasks += top.Work.Tasks
		}
	}
	mean := func(queries []int) (ms float64) {
		for _, q := range queries {
			ms += spent[q].Seconds() * 1000
		}
		return ms / float64(rounds*max(1, len(queries)))
	}
	order := m.byWeight()
	fs := []figure{{"ms", mean(order)}, {"tasks", float64(tasks) / float64(rounds*len(order))}}
	for i := range 4 {
		fs = append(fs, figure{fmt.Sprintf("ms, quarter %d", i+1), mean(order[i*len(order)/4 : (i+1)*len(order)/4])})
	}
	if one := m.earlier("alone", m.one, "ms"); one > 0 {
		fs = append(fs, figure{"times shorter", one / mean(order)})
	}
	return fs, nil
}

// byWeight returns the queries in ascending order of weight.
func (m *sharer) byWeight() []int {
	weights, order := make([]int64, len(m.c.Queries)), make([]int, len(m.c.Queries))
	for q, lists := range m.c.Queries {
		order[q], weights[q] = q, m.c.Postings(q)
		if m.plans.mode == blockmax.And {
			for _, l := range lists {
				weights[q] = min(weights[q], int64(m.c.Lists[l].List.Count))
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(weights[a], weights[b]), a-b) })
	return order
}

// saturated has one client per core send queries.
func (m *sharer) saturated(r *reference, x cpuexec.Parallel, s sharing) ([]figure, error) {
	rate, err := load(m.ctx, s.cores, len(r.plans), m.seconds, func(ctx context.Context, i int) error {
		top, err := x.TopK(ctx, r.plans[i])
		if err == nil {
			err = r.check(i, &top)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fs := []figure{{"q/s", rate}}
	if one := m.earlier("saturated", m.one, "q/s"); one > 0 {
		fs = append(fs, figure{"times one core", rate / one})
	}
	if many := m.earlier("saturated", m.many, "q/s"); many > 0 {
		fs = append(fs, figure{"against inter, %", 100*rate/many - 100})
	}
	return fs, nil
}
