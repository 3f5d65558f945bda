package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/riffle-search/riffle/bench/protocol"
)

// What may go before each query, outside its time.
const (
	beforeNothing = ""
	beforeReopen  = "reopen" // the index is opened anew: nothing that the engine keeps is there
	beforePut     = "put"    // a document is added
)

// measureBefore times queries with and without what goes before them: file by file and task by
// task, in a new process for each engine. What is put goes into a copy of the index.
func measureBefore(ctx context.Context, field []contestant, sets []querySet, tasks []task, tm timing, log io.Writer) ([]cell, error) {
	var cells []cell
	for _, set := range sets {
		for _, t := range tasks {
			if !set.takes(t) {
				continue
			}
			var without, with []cell
			for i := range field {
				// One process at a time has an index open for writing.
				if err := errors.Join(ctx.Err(), field[i].end()); err != nil {
					return nil, err
				}
				c := field[i]
				if !c.can(t) {
					continue
				}
				a, b, err := timeBefore(&c, set, t, tm)
				if err != nil {
					return nil, err
				}
				without, with = append(without, a), append(with, b)
				fmt.Fprintf(log, "%-14s %-18s %-12s mean %9.1f µs  after %s %9.1f µs (%s: %.1f µs)\n",
					set.name, t, c.name, a.Mean, tm.before, b.Mean, tm.before, b.Before)
			}
			cells = append(append(cells, without...), with...)
		}
	}
	return cells, nil
}

// timeBefore measures one engine.
func timeBefore(c *contestant, set querySet, t task, tm timing) (without, with cell, err error) {
	if tm.before == beforePut {
		dir := c.dir + ".puts"
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(c.dir))); err != nil {
			return without, with, err
		}
		c.dir, c.open = dir, map[string]string{"puts": "yes"}
	}
	if err := c.start(); err != nil {
		return without, with, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	request := t.request(set.queries)
	request.Warm, request.Clock = tm.prime, tm.clock
	if _, err := c.proc.call(request); err != nil {
		return without, with, err
	}
	if without, err = measureCell(c, set, t, timing{reps: tm.reps, budget: tm.budget, clock: tm.clock}); err != nil {
		return without, with, err
	}
	with, err = measureCell(c, set, t, timing{reps: tm.reps, budget: tm.budget, clock: tm.clock, before: tm.before, puts: tm.puts})
	with.Task += ", after " + tm.before
	return without, with, err
}

// someLines returns n lines of a file of documents, evenly spread.
func someLines(c corpus, n int) (lines []string, err error) {
	step := max(1, c.docs/max(1, n))
	_, err = protocol.ReadLines(c.path, func(i int, line []byte) error {
		if i%step == 0 && len(lines) < n {
			lines = append(lines, string(line))
		}
		return nil
	})
	for i := 0; len(lines) < n && err == nil; i++ {
		lines = append(lines, lines[i])
	}
	return lines, err
}
