package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// A planLine is one measurement of a plan.
type planLine struct {
	name string
	benchCommand
	options *riffle.SearchOptions
}

// commonFlags are those that a plan's lines inherit from the command.
var commonFlags = strings.Fields("db topics field k mode algo k1 b limit threads words seconds rate seed policy cores delta grain spin cache")

// readPlan reads measurements, each a name and flags on a line. Flags of the command itself apply
// to all lines that do not give them. Empty lines and those that begin with # are skipped.
func (b *benchCommand) readPlan(c *cobra.Command) (lines []*planLine, err error) {
	var common []string
	for _, name := range commonFlags {
		if c.Flags().Changed(name) {
			common = append(common, "--"+name+"="+c.Flags().Lookup(name).Value.String())
		}
	}
	f, err := os.Open(b.plan)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for number := 1; s.Scan(); number++ {
		words := strings.Fields(s.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := &planLine{name: words[0]}
		lc := l.command()
		err := lc.ParseFlags(append(common[:len(common):len(common)], words[1:]...))
		if err == nil {
			err = l.check(lc)
		}
		if err == nil && l.load.seconds == 0 {
			err = usagef("a plan is of measurements with --seconds")
		}
		if err == nil {
			l.options, err = l.searchOptions(lc)
		}
		if err != nil {
			return nil, usagef("%s:%d: %w", b.plan, number, err)
		}
		lines = append(lines, l)
	}
	return lines, s.Err()
}

// A warmEngine is an open index on which queries have already run.
type warmEngine struct {
	engine    *riffle.Engine
	settings  string            // with which it was opened
	checksums map[string]string // of the queries that have run
}

// runPlan runs measurements in one process. So an index is opened and its lists are read only once
// for all measurements with the same number of cores.
func (b *benchCommand) runPlan(c *cobra.Command) (err error) {
	lines, err := b.readPlan(c)
	if err != nil {
		return err
	}
	var warm warmEngine
	defer func() { err = errors.Join(err, warm.close()) }()
	for _, l := range lines {
		f, err := warm.measure(c, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		f.Name = l.name
		if err := f.print(c.OutOrStdout(), true); err != nil {
			return err
		}
	}
	return nil
}

func (w *warmEngine) close() error {
	if w.engine == nil {
		return nil
	}
	return w.engine.Close()
}

func (w *warmEngine) measure(c *cobra.Command, l *planLine) (*loadFigures, error) {
	defer l.load.takeCores()()
	if settings := fmt.Sprintf("%v %v %v %v %+v", l.db, l.load.cores, l.load.spin, l.load.cache, l.gpu.options(l.exec.value, l.batch)); settings != w.settings {
		if err := w.close(); err != nil {
			return nil, err
		}
		var err error
		if w.engine, err = l.open(); err != nil {
			return nil, err
		}
		w.settings, w.checksums = settings, map[string]string{}
	}
	checksum, err := w.warm(c, l)
	if err != nil {
		return nil, err
	}
	topics, err := l.queries()
	if err != nil {
		return nil, err
	}
	f, err := l.measureLoad(c.Context(), w.engine, topics, l.options)
	if err != nil {
		return nil, err
	}
	f.Checksum = checksum
	return f, nil
}

// warm runs all queries of a line's topics, whatever their number of words, twice, when they are
// first needed. It returns the checksum of their answers.
func (w *warmEngine) warm(c *cobra.Command, l *planLine) (checksum string, err error) {
	all := l.benchCommand
	all.words, all.reps, all.threads = 0, 2, all.load.cores
	key := fmt.Sprint(all.topics, all.field, all.mode.text, all.algo.text, all.k, all.limit)
	if checksum, ok := w.checksums[key]; ok {
		return checksum, nil
	}
	topics, err := all.queries()
	if err != nil {
		return "", err
	}
	f, err := all.measure(c.Context(), w.engine, topics, l.options)
	if err != nil {
		return "", err
	}
	w.checksums[key] = f.Checksum
	return f.Checksum, nil
}
