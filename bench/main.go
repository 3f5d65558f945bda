// Command bench compares riffle with the engines that a user might pick instead:
// over the same documents, tokens and queries, with one query thread, in one run.
//
//	go run . -docs 20000 -limit 100                # a first look, a few minutes
//	go run . > table.md                            # everything
//
// README.md says what is measured and which choices were made to be fair. Each
// engine is a process; package protocol is how they talk.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settings are the command line.
type settings struct {
	measure           string
	engines, rebuild  string
	corpora           string
	sources, queries  string
	docs, copies      int
	limit             int
	builds            int
	words             int
	modes, wants      string
	filters           string
	cache, java, json string
	other             string
	timing
}

func parse(args []string) (s settings, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "flags:")
		f.PrintDefaults()
		listMeasurements(f.Output())
		listLists(f.Output())
		listShapes(f.Output())
	}
	f.StringVar(&s.measure, "measure", "warm", "what is measured: a name for a set of flags; those on the command line win")
	f.StringVar(&s.engines, "engines", "riffle,riffle-bp,lucene,lucene-bp,lucene-1000,tantivy,bleve,bluge,sqlite,pisa", "engines, in the order of the table; the others are compared with the first")
	f.StringVar(&s.corpora, "corpora", corporaFolder(), "folder of documents and queries (or RIFFLE_CORPORA)")
	f.StringVar(&s.sources, "sources", "gutenberg-a.jsonl.zst,gutenberg-b.jsonl.zst", "files of documents, JSON lines with a field text; or, behind @, rows with columns that are made from a seed")
	f.StringVar(&s.queries, "queries", "gutenberg-dev.tsv,terabyte05.tsv,msmarco-dev.tsv", "files of queries, in the folder queries; or, behind =, queries with ; between; or, behind @, a list that is drawn from the documents")
	f.IntVar(&s.docs, "docs", 0, "most documents of a copy (0: all)")
	f.IntVar(&s.copies, "copies", 1, "times the documents are indexed, each time with new ids")
	f.IntVar(&s.limit, "limit", 300, "most queries of each file (0: all)")
	f.StringVar(&s.modes, "modes", "or,and", "what a query asks: "+strings.Join(modes, ", "))
	f.StringVar(&s.filters, "filters", "none", "tags that documents must have: none, or those of 0.1%, 1%, 10%, 50% of the documents")
	f.IntVar(&s.words, "words", 1, "fewest words of a query")
	f.StringVar(&s.wants, "tasks", "top-10,top-100,top-1000,top-10+count,count", "what is asked of a query; none only builds")
	f.Float64Var(&s.prime, "prime", 20, "seconds of warm-up of each engine before the first figure")
	f.Float64Var(&s.warm, "warm", 2, "seconds of warm-up before each figure")
	f.IntVar(&s.passes, "passes", 0, "new processes in each of which a query is timed once, behind other queries; the best counts (0: warm times only)")
	f.StringVar(&s.before, "before", beforeNothing, "what goes before each query, outside its time: reopen, put")
	f.IntVar(&s.reps, "reps", 10, "times each query is timed; the best counts")
	f.Float64Var(&s.budget, "budget", 20, "seconds after which a figure's queries are not timed once more")
	f.StringVar(&s.clock, "clock", "wall", "wall, or cpu for the CPU time of the searching thread, on a machine with other work")
	f.StringVar(&s.cache, "cache", filepath.Join(os.TempDir(), "riffle-bench"), "folder for programs and indexes, kept for the next run")
	f.StringVar(&s.rebuild, "rebuild", "", "engines whose indexes are built anew, or all")
	f.IntVar(&s.builds, "builds", 1, "times each index is built, by turns, all anew if it is more than 1; the least of each figure counts")
	f.StringVar(&s.java, "java", "", "home of a JDK, 21 or newer (default: look for the newest)")
	f.StringVar(&s.other, "other", "", "program of the engine riffle-other: go build ./riffle at another commit")
	f.StringVar(&s.json, "json", "", "also write everything to this file, as JSON")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if err := setMeasurement(s.measure, f.Set); err != nil {
		return s, err
	}
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.before != beforeNothing && s.before != beforeReopen && s.before != beforePut {
		return s, fmt.Errorf("-before %q is neither reopen nor put", s.before)
	}
	if s.clock != "wall" && s.clock != "cpu" {
		return s, fmt.Errorf("-clock %q is neither wall nor cpu", s.clock)
	}
	return s, nil
}

func corporaFolder() string {
	if dir := os.Getenv("RIFFLE_CORPORA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared", "corpora")
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err == nil {
		err = run(ctx, s, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out, log io.Writer) error {
	r := &report{Measure: s.measure, Clock: s.clock, Date: time.Now(), Machine: machine(), Load: load(), Command: "go run . " + strings.Join(os.Args[1:], " ")}
	tasks, err := parseTasks(s.modes, s.wants, s.filters)
	if err != nil {
		return err
	}
	c, err := s.corpus(log)
	if err != nil {
		return err
	}
	sets, err := s.querySets(c)
	if err != nil {
		return err
	}
	r.Corpus, r.Copies, r.Docs, r.TextBytes = s.sources, s.copies, c.docs, c.bytes
	if s.before == beforePut {
		most := slices.MaxFunc(sets, func(a, b querySet) int { return len(a.queries) - len(b.queries) })
		if s.puts, err = someLines(c, len(most.queries)); err != nil {
			return err
		}
	}
	field, err := enter(ctx, s, c, log)
	defer func() {
		for _, e := range field {
			if e.proc != nil {
				e.proc.stop()
			}
		}
	}()
	if err != nil {
		return err
	}
	if r.Cells, err = s.times()(ctx, field, sets, tasks, s.timing, log); err != nil {
		return err
	}
	for _, e := range field {
		bytes, err := folderBytes(e.dir) // now, when files that were merged away are gone
		if err != nil {
			return err
		}
		r.Engines = append(r.Engines, engineReport{e.name, e.about.Version, e.about.Terms, e.about.Segments, bytes, e.about.ColumnBytes, e.built})
	}
	r.Agreements = agreements(field, sets, r.Cells)
	if s.json != "" {
		if err := r.writeJSON(s.json); err != nil {
			return err
		}
	}
	r.writeMarkdown(out)
	return nil
}

// times returns the function that fills the table.
func (s *settings) times() func(context.Context, []contestant, []querySet, []task, timing, io.Writer) ([]cell, error) {
	switch {
	case s.passes > 0:
		return measurePasses
	case s.before != beforeNothing:
		return measureBefore
	}
	return measure
}

func (s *settings) querySets(c corpus) (sets []querySet, err error) {
	if shape, ok, err := s.rowsOf(); err != nil || ok {
		if err != nil {
			return nil, err
		}
		return rowSets(c, shape, s.limit)
	}
	var d *drawing
	for name := range strings.SplitSeq(s.queries, ",") {
		if list, ok := strings.CutPrefix(name, "@"); ok {
			if d == nil {
				if d, err = newDrawing(c.path, s.corpora); err != nil {
					return nil, err
				}
			}
			set, err := d.set(list, s.limit)
			if err != nil {
				return nil, err
			}
			sets = append(sets, set)
			continue
		}
		set, err := s.querySet(name)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (s *settings) querySet(name string) (querySet, error) {
	text, ok := strings.CutPrefix(name, "=")
	if !ok {
		return readQueries(filepath.Join(s.corpora, "queries", name), s.limit, s.words)
	}
	set := querySet{name: text}
	for q := range strings.SplitSeq(text, ";") {
		if q := appendTokens(nil, q); len(q) > 0 {
			set.queries = append(set.queries, string(q))
		}
	}
	if len(set.queries) == 0 {
		return set, fmt.Errorf("-queries %s: no query", name)
	}
	return set, nil
}

// corpus tokenises the documents anew each time: it takes seconds, and so the
// tokens are never an older analyzer's.
func (s *settings) corpus(log io.Writer) (corpus, error) {
	if err := os.MkdirAll(s.cache, 0o755); err != nil {
		return corpus{}, err
	}
	if shape, ok, err := s.rowsOf(); err != nil || ok {
		if err != nil {
			return corpus{}, err
		}
		return writeRows(filepath.Join(s.cache, "rows.txt"), shape, s.docs)
	}
	var sources []string
	for name := range strings.SplitSeq(s.sources, ",") {
		sources = append(sources, filepath.Join(s.corpora, name))
	}
	began := time.Now()
	c, err := writeCorpus(filepath.Join(s.cache, "documents.txt"), sources, s.docs, s.copies)
	fmt.Fprintf(log, "%d documents tokenised in %.1f s\n", c.docs, time.Since(began).Seconds())
	return c, err
}

// enter makes each engine's program, has it build its index, and opens it. An
// engine whose compiler is not installed is left out, and it says so. On error it
// returns what has been opened so far.
func enter(ctx context.Context, s settings, c corpus, log io.Writer) (field []contestant, err error) {
	source, err := moduleFolder(ctx)
	if err != nil {
		return nil, err
	}
	t := &tools{source: source, cache: s.cache, java: s.java, other: s.other, log: log}
	for name := range strings.SplitSeq(s.engines, ",") {
		e, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("no engine is named %q", name)
		}
		if e, err = e.over(c); err != nil {
			return nil, err
		}
		p, err := e.prepare(ctx, t)
		if errors.Is(err, errToolMissing) {
			fmt.Fprintf(log, "%-15s left out: %v\n", name, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		field = append(field, contestant{engine: e, program: p})
	}
	if len(field) == 0 {
		return nil, errors.New("no engine to run")
	}
	if err := s.buildAll(field, c, log); err != nil {
		return nil, err
	}
	for i := range field {
		if err := field[i].start(); err != nil {
			return field, err
		}
	}
	return field, sameDictionary(field)
}

// buildAll builds the indexes that are not there, or all of them several times, by turns: then
// what the machine does meanwhile happens to all, and of each figure of an engine the least counts.
func (s *settings) buildAll(field []contestant, c corpus, log io.Writer) error {
	rebuild := strings.Split(s.rebuild, ",")
	for round := range max(1, s.builds) {
		for i := range field {
			e := &field[i]
			again := s.builds > 1 || slices.Contains(rebuild, e.name) || slices.Contains(rebuild, "all")
			dir, b, err := buildIndex(e.engine, e.program, c, s.cache, again)
			if err != nil {
				return err
			}
			fmt.Fprintf(log, "%-15s built in %.1f s (%.1f s of processors), %.1f MB\n", e.name, b.Seconds, b.CPUSeconds, float64(b.Bytes)/1e6)
			if round > 0 {
				b = b.best(e.built)
			}
			e.dir, e.built = dir, b
		}
	}
	return nil
}

// sameDictionary makes sure that all engines index the same.
func sameDictionary(field []contestant) error {
	for _, c := range field {
		ref := reference(field, c.engine)
		a, b := c.about, ref.about
		if a.Docs == b.Docs && (c.parts || c.many()) {
			continue // a term counts in each segment that has it
		}
		if a.Docs != b.Docs || a.Terms != b.Terms || a.Segments != 1 {
			return fmt.Errorf("%s has %d documents, %d terms and %d segments; %s has %d and %d, and 1 segment is wanted",
				c.name, a.Docs, a.Terms, a.Segments, ref.name, b.Docs, b.Terms)
		}
	}
	return nil
}

// reference returns whose answers an engine's are compared with: the first whose index has the same
// documents.
func reference(field []contestant, e engine) contestant {
	at := slices.IndexFunc(field, func(c contestant) bool { return c.build["delete"] == e.build["delete"] })
	return field[at]
}

// moduleFolder returns where the sources of this module lie.
func moduleFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w; run this in the folder bench", err)
	}
	return strings.TrimSpace(string(out)), nil
}
