package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// A change of the machine, for a time, while queries arrive.
type change struct {
	name     string
	from, to time.Duration
	what     *disturber // nil for none
}

// A disturber is processes that take cores or a GPU. They are stopped until they are to disturb.
type disturber struct{ processes []*exec.Cmd }

// disturb starts processes of a shell command, stopped after a time.
func disturb(n int, command string, after time.Duration) (*disturber, error) {
	d := new(disturber)
	for range n {
		p := exec.Command("sh", "-c", command)
		if err := p.Start(); err != nil {
			return d, errors.Join(err, d.end())
		}
		d.processes = append(d.processes, p)
	}
	time.Sleep(after)
	if err := d.signal("STOP"); err != nil {
		return d, errors.Join(err, d.end())
	}
	return d, nil
}

func (d *disturber) signal(name string) (err error) {
	for _, p := range d.processes {
		err = errors.Join(err, exec.Command("kill", "-"+name, strconv.Itoa(p.Process.Pid)).Run())
	}
	return err
}

func (d *disturber) end() (err error) {
	for _, p := range d.processes {
		err = errors.Join(err, p.Process.Kill())
		_ = p.Wait() // it was killed
	}
	return err
}

// changes measures policies at every step (-change-step), while queries arrive at a quarter of the rate at
// which the device saturates, other processes take three quarters of the cores for a while, and another
// one uses the GPU (-disturb).
func (b *bench) changes() error {
	r, err := b.reference(plans{blockmax.Or, b.typicalK()})
	if err != nil || len(b.gpus) == 0 {
		return err
	}
	cores, err := disturb(b.cores, "while :; do :; done", 0)
	if err != nil {
		return err
	}
	defer cores.end()
	gpu := new(disturber)
	if b.disturb != "" {
		if gpu, err = disturb(1, "exec "+b.disturb, b.disturbAfter); err != nil {
			return err
		}
		defer gpu.end()
	}
	length := 6 * b.changeStep
	all := []change{
		{"as usual", 0, length, nil}, {fmt.Sprintf("%d processes on cores", b.cores), length, 2 * length, cores},
		{"as usual", 2 * length, 3 * length, nil}, {"another process on the GPU", 3 * length, 4 * length, gpu},
		{"as usual", 4 * length, 5 * length, nil},
	}
	for _, p := range []dispatch.Policy{dispatch.Devices, dispatch.Auto} {
		if err := b.throughChanges(r, p, all); err != nil {
			return err
		}
	}
	return nil
}

// An arrival is a query that has been answered.
type arrival struct {
	took time.Duration
	by   dispatch.Side
}

// throughChanges measures a policy.
func (b *bench) throughChanges(r *reference, p dispatch.Policy, all []change) error {
	rows := make([][]arrival, all[len(all)-1].to/b.changeStep)
	names, measured := make([]string, len(rows)), true
	for i := range rows {
		at := time.Duration(i) * b.changeStep
		c := all[slices.IndexFunc(all, func(c change) bool { return at < c.to })]
		names[i] = fmt.Sprintf("%v, %g s, %s", p, at.Seconds(), c.name)
		measured = measured && b.has("change", names[i])
	}
	if measured {
		return nil // without the time that all changes take
	}
	s, err := b.openStation(r, 1, dispatch.Options{Policy: p, MaxCount: b.batch[len(b.batch)-1]})
	if err != nil {
		return err
	}
	defer s.close()
	rate := 0.0
	err = b.measure("change", fmt.Sprintf("%v saturated", p), func() (_ []figure, err error) {
		if rate, err = s.load(b, r, b.seconds); err == nil {
			rate, err = s.load(b, r, b.seconds)
		}
		return []figure{{"q/s", rate}}, err
	})
	rate = b.recorded("change", fmt.Sprintf("%v saturated", dispatch.Devices)) / 4
	if err != nil || rate == 0 {
		return err
	}
	var mu sync.Mutex
	var wrong error
	var group sync.WaitGroup
	arrivals, rng := b.arrivalTimes(rate, int(rate*all[len(all)-1].to.Seconds())), rand.New(rand.NewPCG(b.seed, 0))
	queries := make([]int, len(arrivals))
	for i := range queries {
		queries[i] = rng.IntN(len(r.plans))
	}
	start := time.Now().Add(gathering)
	group.Go(func() {
		arrive(b.ctx, start, arrivals, mostClients, func(ctx context.Context, n int, arrives time.Time) {
			a, err := s.TopK(ctx, dispatch.Query{Plan: r.plans[queries[n]], CPU: s.cpu, Whole: cpuexec.Executor{}})
			took := time.Since(arrives)
			if err == nil {
				err = r.check(queries[n], &a.TopK)
			}
			mu.Lock()
			defer mu.Unlock()
			row := &rows[min(len(rows)-1, int(arrivals[n]/b.changeStep))]
			*row = append(*row, arrival{took, a.By})
			wrong = cmp.Or(wrong, err)
		})
	})
	group.Go(func() {
		for _, c := range all {
			if c.what != nil {
				time.Sleep(time.Until(start.Add(c.from)))
				err = errors.Join(err, c.what.signal("CONT"))
				time.Sleep(time.Until(start.Add(c.to)))
				err = errors.Join(err, c.what.signal("STOP"))
			}
		}
	})
	group.Wait()
	err = errors.Join(err, wrong)
	for i, row := range rows {
		err = errors.Join(err, b.measure("change", names[i], func() ([]figure, error) {
			return figuresOf(row, rate, b.changeStep), nil
		}))
	}
	return err
}

// figuresOf is the figures of the queries of a row, which lasts so long.
func figuresOf(row []arrival, rate float64, lasts time.Duration) []figure {
	slices.SortFunc(row, func(x, y arrival) int { return int(x.took - y.took) })
	at := func(share float64) float64 {
		if len(row) == 0 {
			return 0
		}
		return float64(row[int(share*float64(len(row)-1))].took.Microseconds()) / 1000
	}
	onGPU := 0
	for _, a := range row {
		if a.by != dispatch.OnCPU {
			onGPU++
		}
	}
	return []figure{
		{"arrivals/s", rate}, {"q/s", float64(len(row)) / lasts.Seconds()}, {"p50, ms", at(0.5)}, {"p99, ms", at(0.99)},
		{"on GPU, %", 100 * float64(onGPU) / float64(max(1, len(row)))},
	}
}
