package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/bench/protocol"
)

// A task is what is asked of a query.
type task struct {
	mode string // or, and
	want string // top, topcount, count
	k    int    // 0 for count
}

func (t task) String() string {
	switch t.want {
	case "count":
		return strings.ToUpper(t.mode) + " count"
	case "topcount":
		return fmt.Sprintf("%s top-%d with count", strings.ToUpper(t.mode), t.k)
	}
	return fmt.Sprintf("%s top-%d", strings.ToUpper(t.mode), t.k)
}

// parseTasks reads "or,and" and "top-10,top-10+count,count"; "none" is no task.
func parseTasks(modes, wants string) (tasks []task, err error) {
	if wants == "none" {
		return nil, nil
	}
	for mode := range strings.SplitSeq(modes, ",") {
		if mode != "or" && mode != "and" {
			return nil, fmt.Errorf("mode %q is neither or nor and", mode)
		}
		for want := range strings.SplitSeq(wants, ",") {
			t := task{mode: mode, want: "count"}
			if want != "count" {
				number, counted := strings.CutSuffix(strings.TrimPrefix(want, "top-"), "+count")
				if t.want = "top"; counted {
					t.want = "topcount"
				}
				if t.k, err = strconv.Atoi(number); err != nil || t.k < 1 || !strings.HasPrefix(want, "top-") {
					return nil, fmt.Errorf("task %q is neither top-K nor top-K+count nor count", want)
				}
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// Timing says how a cell is timed; see package protocol.
type timing struct {
	prime  float64 // seconds of warm-up of an engine before the first cell
	warm   float64 // seconds of warm-up of a cell
	reps   int
	budget float64 // seconds
}

// A cell is what one engine measured for one task over one file of queries.
type cell struct {
	Engine  string
	Queries string
	Task    string
	Reps    int
	Mean    float64 // microseconds, as all times
	P50     float64
	P95     float64
	P99     float64

	task   task
	counts []int
	hits   [][]protocol.Hit
}

// A contestant is an engine with its index open.
type contestant struct {
	engine
	program program
	dir     string // of the index
	built   built

	proc  *process
	about protocol.Reply
}

// start starts the process, in place of one that may be there, and opens the index.
func (c *contestant) start() (err error) {
	if c.proc != nil {
		c.proc.cmd.Process.Kill()
		c.proc.cmd.Wait()
	}
	if c.proc, err = start(c.name, c.program, c.program.env); err == nil {
		c.about, err = c.proc.call(protocol.Request{Op: "open", Dir: c.dir, Options: c.open})
	}
	return err
}

func (e engine) can(t task) bool { return !e.parts && (t.want == "top" || !e.topOnly) }

// measure fills the table: for each file and task all engines in turn, so that
// what happens on the machine meanwhile happens to all of them.
func measure(ctx context.Context, field []contestant, sets []querySet, tasks []task, tm timing, log io.Writer) ([]cell, error) {
	for i := range field {
		c := &field[i]
		if len(tasks) == 0 || c.parts {
			continue
		}
		fmt.Fprintf(log, "%-12s warming up for %.0f s\n", c.name, tm.prime)
		if err := prime(c, sets, tasks, tm.prime); err != nil {
			return nil, err
		}
	}
	var cells []cell
	for _, set := range sets {
		for _, t := range tasks {
			for i := range field {
				c := &field[i]
				if !c.can(t) {
					continue
				}
				got, err := measureCell(c, set, t, tm)
				if err != nil && ctx.Err() == nil { // once more: a long run should survive one death
					fmt.Fprintf(log, "%v; started anew\n", err)
					if err = c.start(); err == nil {
						err = prime(c, sets, tasks, tm.prime)
					}
					if err == nil {
						got, err = measureCell(c, set, t, tm)
					}
				}
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(log, "%-14s %-18s %-12s mean %9.1f µs  p99 %10.1f µs  best of %d\n",
					set.name, got.Task, c.name, got.Mean, got.P99, got.Reps)
				cells = append(cells, got)
			}
		}
	}
	return cells, nil
}

// prime runs all tasks for some seconds in all, four times round, because a
// just-in-time compiler may compile again when the kind of work changes.
func prime(c *contestant, sets []querySet, tasks []task, seconds float64) error {
	var queries []string
	for _, set := range sets {
		queries = append(queries, set.queries...)
	}
	for range 4 {
		for _, t := range tasks {
			if !c.can(t) {
				continue
			}
			_, err := c.proc.call(protocol.Request{
				Op: "run", Mode: t.mode, Want: t.want, K: t.k, Queries: queries,
				Warm: seconds / float64(4*len(tasks)),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func measureCell(c *contestant, set querySet, t task, tm timing) (cell, error) {
	reply, err := c.proc.call(protocol.Request{
		Op: "run", Mode: t.mode, Want: t.want, K: t.k, Queries: set.queries,
		Warm: tm.warm, Reps: tm.reps, Budget: tm.budget, Hits: t.want == "top" && t.k == agreeK,
	})
	if err != nil {
		return cell{}, err
	}
	if len(reply.NS) != len(set.queries) {
		return cell{}, fmt.Errorf("%s timed %d queries of %d", c.name, len(reply.NS), len(set.queries))
	}
	got := cell{Engine: c.name, Queries: set.name, Task: t.String(), Reps: reply.Reps,
		task: t, counts: reply.Counts, hits: reply.Hits}
	got.Mean, got.P50, got.P95, got.P99 = figures(reply.NS)
	return got, nil
}

// figures returns the mean and the nearest-rank percentiles in microseconds.
func figures(ns []int64) (mean, p50, p95, p99 float64) {
	sorted := slices.Sorted(slices.Values(ns))
	sum := 0.0
	for _, v := range sorted {
		sum += float64(v)
	}
	at := func(q float64) float64 {
		return float64(sorted[int(math.Ceil(q*float64(len(sorted))))-1]) / 1e3
	}
	return sum / float64(len(sorted)) / 1e3, at(0.50), at(0.95), at(0.99)
}
