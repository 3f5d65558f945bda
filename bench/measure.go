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
	mode   string // one of modes
	filter string // a tag that documents must have; "" for none
	want   string // top, topcount, count
	k      int    // 0 for count
}

func (t task) String() string {
	mode, filter := t.mode, ""
	if t.mode == "or" || t.mode == "and" {
		mode = strings.ToUpper(t.mode)
	}
	if t.filter != "" {
		filter = ", filter " + t.filter
	}
	if t.columns() && !slices.Contains(columnTops, t.mode) {
		return mode
	}
	switch t.want {
	case "count":
		return mode + " count" + filter
	case "topcount":
		return fmt.Sprintf("%s top-%d with count%s", mode, t.k, filter)
	}
	return fmt.Sprintf("%s top-%d%s", mode, t.k, filter)
}

// flat says whether every engine can answer it.
func (t task) flat() bool { return (t.mode == "or" || t.mode == "and") && t.filter == "" }

// fields says whether it searches several fields.
func (t task) fields() bool { return slices.Contains(fieldModes, t.mode) }

// places says whether it needs positions.
func (t task) places() bool { return slices.Contains(placeModes, t.mode) }

// columns says whether it is asked of rows.
func (t task) columns() bool { return slices.Contains(columnModes, t.mode) }

// What a query may ask, see package protocol: of its words, of their places, of terms that are like
// it, of several fields, of rows.
var (
	wordModes  = []string{"or", "and", "nested"}
	placeModes = []string{"phrase", "slop", "near"}
	termModes  = []string{"prefix", "infix", "regexp", "fuzzy1", "fuzzy2"}
	fieldModes = []string{"best", "cross", "bm25f"}
	modes      = slices.Concat(wordModes, placeModes, termModes, fieldModes, columnModes)

	columnModes = []string{"range", "filtered", "sort", "terms", "histogram", "stats", "percentiles", "cardinality",
		"within", "inside", "nearest", "score"}
	columnCounts = []string{"range", "within"}                                // of these, those that are counted,
	columnTops   = []string{"filtered", "sort", "inside", "nearest", "score"} // and those that list documents
)

// parseTasks reads names of modes, "top-10,top-10+count,count" and "none,0.1%"; no task if wants is "none".
func parseTasks(names, wants, filters string) (tasks []task, err error) {
	if wants == "none" {
		return nil, nil
	}
	for filter := range strings.SplitSeq(filters, ",") {
		if filter != "none" && !slices.Contains(protocol.TagNames, filter) {
			return nil, fmt.Errorf("filter %q is neither none nor one of %s", filter, strings.Join(protocol.TagNames, ", "))
		}
	}
	for mode := range strings.SplitSeq(names, ",") {
		if !slices.Contains(modes, mode) {
			return nil, fmt.Errorf("mode %q is none of %s", mode, strings.Join(modes, ", "))
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
			if t.columns() && slices.Contains(columnCounts, mode) != (want == "count") {
				continue // ranges and shapes are counted, everything else lists something
			}
			for filter := range strings.SplitSeq(filters, ",") {
				if t.filter = filter; filter == "none" {
					t.filter = ""
				}
				if !t.flat() && t.want == "topcount" {
					return nil, fmt.Errorf("%s: only top-K and count are asked of queries that are not flat", t)
				}
				tasks = append(tasks, t)
			}
		}
	}
	return tasks, nil
}

// Timing says how a cell is timed; see package protocol.
type timing struct {
	prime  float64 // seconds of warm-up of an engine before the first cell
	warm   float64 // seconds of warm-up of a cell
	passes int     // new processes in which each query is timed once; 0 for warm times only
	reps   int
	budget float64 // seconds
	clock  string  // wall, cpu
	before string  // what goes before each query, see before.go
	puts   []string
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

	Before    float64 // mean of what went before each query
	PeakBytes int64   // the most memory the process has had resident, where the system tells

	ns     []int64 // of each query
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
		c.proc = nil
	}
	if c.proc, err = start(c.name, c.program, c.program.env); err == nil {
		c.about, err = c.proc.call(protocol.Request{Op: "open", Dir: c.dir, Options: c.open})
	}
	return err
}

// end ends the process.
func (c *contestant) end() error {
	p := c.proc
	c.proc = nil
	if p == nil {
		return nil
	}
	return p.stop()
}

func (e engine) can(t task) bool {
	if e.parts || (e.columns != "") != t.columns() || e.fields != t.fields() || e.topOnly && t.want != "top" || slices.Contains(e.lacks, t.mode) {
		return false
	}
	if t.places() && e.build["positions"] == "" {
		return false
	}
	return t.flat() || t.fields() || t.columns() || e.trees
}

// measure fills the table: for each file and task all engines in turn, so that
// what happens on the machine meanwhile happens to all of them.
func measure(ctx context.Context, field []contestant, sets []querySet, tasks []task, tm timing, log io.Writer) ([]cell, error) {
	for i := range field {
		c := &field[i]
		if len(tasks) == 0 || c.parts {
			continue
		}
		fmt.Fprintf(log, "%-12s warming up for %.0f s\n", c.name, tm.prime)
		if err := prime(c, sets, tasks, tm); err != nil {
			return nil, err
		}
	}
	var cells []cell
	for _, set := range sets {
		for _, t := range tasks {
			for i := range field {
				c := &field[i]
				if !set.takes(t) || !c.can(t) {
					continue
				}
				got, err := measureCell(c, set, t, tm)
				if err != nil && ctx.Err() == nil { // once more: a long run should survive one death
					fmt.Fprintf(log, "%v; started anew\n", err)
					if err = c.start(); err == nil {
						err = prime(c, sets, tasks, tm)
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
func prime(c *contestant, sets []querySet, tasks []task, tm timing) error {
	for range 4 {
		for _, t := range tasks {
			var queries []string
			for _, set := range sets {
				if set.takes(t) {
					queries = append(queries, set.queries...)
				}
			}
			if len(queries) == 0 || !c.can(t) {
				continue
			}
			request := t.request(queries)
			request.Warm, request.Clock = tm.prime/float64(4*len(tasks)), tm.clock
			if _, err := c.proc.call(request); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureCell(c *contestant, set querySet, t task, tm timing) (cell, error) {
	request := t.request(set.queries)
	request.Warm, request.Reps, request.Budget, request.Hits = tm.warm, tm.reps, tm.budget, t.want == "top" && t.k <= agreeK
	request.Clock = tm.clock
	if request.Reopen = tm.before == beforeReopen; tm.before == beforePut {
		request.Puts = tm.puts[:len(set.queries)]
	}
	reply, err := c.proc.call(request)
	if err != nil {
		return cell{}, err
	}
	if len(reply.NS) != len(set.queries) {
		return cell{}, fmt.Errorf("%s timed %d queries of %d", c.name, len(reply.NS), len(set.queries))
	}
	got := cell{Engine: c.name, Queries: set.name, Task: t.String(), Reps: reply.Reps,
		PeakBytes: peak(c.proc.cmd.Process.Pid), ns: reply.NS, task: t, counts: reply.Counts, hits: reply.Hits}
	got.Mean, got.P50, got.P95, got.P99 = figures(reply.NS)
	if len(reply.Before) > 0 {
		got.Before, _, _, _ = figures(reply.Before)
	}
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
