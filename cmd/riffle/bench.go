package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/internal/trec"
)

const benchLong = `Runs the queries of a topics file again and again and prints how long they took.

Times are those of one search from text to document ids, in microseconds; of each
query the best of --reps counts, so the first, cold repetition does not. qps is
queries per second over all threads in the fastest repetition. The counters say
what the queries did, added up over one repetition: posting blocks decoded and
skipped, documents scored. They do not depend on the machine.

The checksum covers every (query, rank, document id). Whatever --algo, it is the
same for one index; with other figures than exhaustive's, pruning is broken. With
--count nothing is ranked: it covers every (query, number of matches).

With --json the figures are one object: queries, mean_us, p50_us, p95_us, p99_us,
qps, checksum, blocks_decoded, blocks_skipped, docs_scored.

With --cache the process stays within some 64 MiB of that, unless GOMEMLIMIT is set,
and the figures say how often a list was at hand (cache: hit_rate, by bytes byte_rate),
read_bytes from the store, what is in memory at the end (resident) and the most memory
that the process had (peak_bytes).

--cores and --policy say how searches share the cores: inter runs each whole on one,
fgqp cuts it into tasks for all of them, docp gives each core a fixed share of the
documents, and adaptive cuts a search while cores are idle.

With --batch, so many queries are asked for in one call; their times overlap. With --exec
gpu they must run on a GPU, with auto on whatever is faster if there is a GPU, and what GPUs did
is printed, too.

With --seconds, queries are drawn at random for so long, after one repetition in
order, and all their times count. --threads clients ask one query after another; or
--rate queries a second arrive at random times (a Poisson process), and --threads
servers, as many as cores by default, take them in order. Times are then those from
the arrival of a query to its end. The order of the queries and the times of arrival
depend on --seed alone. The figures, also by number of words, are then: searches,
qps, mean_us, p50_us, p95_us, p99_us, service_us (from start to end, mean), shared
(the share of searches that several cores worked on), tasks (of a shared search),
checksum, by_words.`

type benchCommand struct {
	queryFlags
	db, topics           string
	limit, threads, reps int
	words                int
	json, count          bool
	plan                 string
	load                 load
	batch                int
	gpu                  gpuFlags
}

func newBench() *cobra.Command {
	var b benchCommand
	c := b.command()
	c.RunE = func(c *cobra.Command, _ []string) error { return b.run(c) }
	return c
}

// command returns the command with its flags, without a function to run.
func (b *benchCommand) command() *cobra.Command {
	c := &cobra.Command{
		Use:     "bench --db DIR --topics FILE",
		Short:   "Measure how fast queries are answered",
		Long:    benchLong,
		Example: "  riffle bench --db books --topics queries.tsv --algo exhaustive\n  riffle bench --db books --topics queries.tsv --threads 8 --json",
		Args:    cobra.NoArgs,
	}
	dbFlag(c, &b.db)
	topicsFlag(c, &b.topics)
	b.declare(c, 10)
	f := c.Flags()
	f.IntVar(&b.limit, "limit", 0, "use just the first so many queries; 0 is all")
	f.IntVar(&b.threads, "threads", 1, "queries to run at the same time")
	f.IntVar(&b.reps, "reps", 3, "repetitions")
	f.IntVar(&b.words, "words", 0, "use just the queries of so many words; 0 is all")
	f.BoolVar(&b.count, "count", false, "count what matches, exactly, instead of ranking it")
	f.BoolVar(&b.json, "json", false, "print a JSON object on one line")
	f.StringVar(&b.plan, "plan", "", "run the measurements of a file, one a line: a name, then flags")
	b.load.declare(c)
	f.IntVar(&b.batch, "batch", 0, "ask for so many queries in one call; 0 is one by one")
	b.gpu.declare(c)
	b.gpu.declareLog(c, "warm", "file of queries to fill the GPUs' memory by first")
	return c
}

// figures are the results of a benchmark.
type figures struct {
	Queries       int     `json:"queries"`
	MeanUS        float64 `json:"mean_us"`
	P50US         float64 `json:"p50_us"`
	P95US         float64 `json:"p95_us"`
	P99US         float64 `json:"p99_us"`
	QPS           float64 `json:"qps"`
	Checksum      string  `json:"checksum"`
	BlocksDecoded int64   `json:"blocks_decoded"`
	BlocksSkipped int64   `json:"blocks_skipped"`
	DocsScored    int64   `json:"docs_scored"`

	Cache *cacheFigures `json:"cache,omitempty"` // with --cache
	GPU   *gpuFigures   `json:"gpu,omitempty"`   // over all repetitions
}

func (b *benchCommand) run(c *cobra.Command) (err error) {
	if b.plan != "" {
		return b.runPlan(c)
	}
	if err := b.check(c); err != nil {
		return err
	}
	o, err := b.searchOptions(c)
	if err != nil {
		return err
	}
	topics, err := b.queries()
	if err != nil {
		return err
	}
	defer b.load.takeCores()()
	defer limitMemory(int64(b.load.cache)).undo()
	e, err := b.open()
	if err != nil {
		return err
	}
	defer closing(e, &err)
	if err := b.gpu.warm(c.Context(), e, &b.queryFlags, o); err != nil {
		return err
	}
	if b.load.seconds == 0 {
		f, err := b.measure(c.Context(), e, topics, o)
		if err != nil {
			return err
		}
		return f.print(c.OutOrStdout(), b.json)
	}
	b.reps = 1
	cold, err := b.measure(c.Context(), e, topics, o)
	if err != nil {
		return err
	}
	f, err := b.measureLoad(c.Context(), e, topics, o)
	if err != nil {
		return err
	}
	f.Checksum = cold.Checksum
	return f.print(c.OutOrStdout(), b.json)
}

// check refuses what cannot be measured, and fills in values that depend on other flags.
func (b *benchCommand) check(c *cobra.Command) error {
	if b.threads < 1 || b.reps < 1 || b.limit < 0 || b.words < 0 {
		return usagef("--threads and --reps must be at least 1, --limit and --words at least 0")
	}
	if b.batch < 0 || b.batch > 0 && (b.count || b.load.seconds > 0) {
		return usagef("--batch must be at least 0, and goes with neither --count nor --seconds")
	}
	if b.count && b.load.seconds > 0 {
		return usagef("--count does not go with --seconds")
	}
	if err := b.load.check(); err != nil {
		return err
	}
	if b.load.rate > 0 && !c.Flags().Changed("threads") {
		b.threads = b.load.cores
	}
	return nil
}

// searchOptions returns the search options of the flags, including those of the load.
func (b *benchCommand) searchOptions(c *cobra.Command) (*riffle.SearchOptions, error) {
	o, err := b.options(c)
	if err != nil {
		return nil, err
	}
	x := b.load.exec()
	x.Algorithm = b.algo.value
	o.Exec = &x
	return o, nil
}

// open opens the index as the flags say.
func (b *benchCommand) open() (*riffle.Engine, error) {
	o := &riffle.Options{
		SearchWorkers: b.load.cores, Exec: b.load.exec(), CacheBytes: int64(b.load.cache), GPU: b.gpu.options(b.exec.value, b.batch),
	}
	hook.Set(o, hook.Knobs{Spin: b.load.spin})
	e, err := openWith(b.db, o)
	if err != nil {
		return nil, err
	}
	if err := checkFields(e, b.fieldNames()); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// queries reads the topics that the flags select.
func (b *benchCommand) queries() ([]trec.Topic, error) {
	topics, err := readTopics(b.topics)
	if err != nil {
		return nil, err
	}
	if b.words > 0 {
		topics = slices.DeleteFunc(topics, func(t trec.Topic) bool { return len(strings.Fields(t.Text)) != b.words })
	}
	if b.limit > 0 {
		topics = topics[:min(b.limit, len(topics))]
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("%s has no such queries", b.topics)
	}
	return topics, nil
}

// A measurement is the result for one query.
type measurement struct {
	best time.Duration
	hash uint64 // of its ranks and ids
	work riffle.Work
	err  error
}

// measure runs all repetitions.
func (b *benchCommand) measure(ctx context.Context, e *riffle.Engine, topics []trec.Topic, o *riffle.SearchOptions) (*figures, error) {
	all := make([]measurement, len(topics))
	fastest := time.Duration(math.MaxInt64)
	for rep := range b.reps {
		start := time.Now()
		b.repeat(ctx, e, topics, o, rep, all)
		fastest = min(fastest, time.Since(start))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	f := &figures{Queries: len(topics), QPS: round2(float64(len(topics)) / fastest.Seconds())}
	var err error
	if f.GPU, err = gpuFiguresOf(e); err != nil {
		return nil, err
	}
	if b.load.cache > 0 {
		if f.Cache, err = cacheFiguresOf(e); err != nil {
			return nil, err
		}
	}
	return f, f.sum(topics, all)
}

func (b *benchCommand) once(ctx context.Context, e *riffle.Engine, t trec.Topic, o *riffle.SearchOptions) measurement {
	start := time.Now()
	if b.count {
		n, err := e.Count(ctx, b.match(t.Text))
		return measurement{best: time.Since(start), hash: hashCount(t.ID, n), err: err}
	}
	res, err := e.Search(ctx, b.match(t.Text), o)
	took := time.Since(start)
	if err != nil {
		return measurement{err: err}
	}
	return measurement{best: took, hash: hashAnswer(t.ID, res.Hits), work: res.Work}
}

// take adds one more repetition to a measurement.
func (m *measurement) take(again measurement, rep int) {
	switch {
	case rep == 0:
		*m = again
	case m.err != nil:
	case again.err != nil:
		m.err = again.err
	case again.hash != m.hash:
		m.err = errors.New("another answer than in the repetition before: this is a bug")
	default:
		m.best = min(m.best, again.best)
	}
}

// hashAnswer hashes (query, rank, id) of all hits.
func hashAnswer(query string, hits []riffle.Hit) uint64 {
	h := fnv.New64a()
	var line []byte
	for rank, hit := range hits {
		line = append(append(line[:0], query...), '\t')
		line = append(strconv.AppendInt(line, int64(rank+1), 10), '\t')
		h.Write(append(append(line, hit.ID...), '\n'))
	}
	return h.Sum64()
}

// hashCount hashes (query, matches).
func hashCount(query string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\t%d\n", query, n)
	return h.Sum64()
}

// sum computes the figures from the measurements.
func (f *figures) sum(topics []trec.Topic, all []measurement) error {
	times := make([]float64, len(all))
	h := fnv.New64a()
	var total float64
	var work riffle.Work
	for i, m := range all {
		if m.err != nil {
			return fmt.Errorf("query %s: %w", topics[i].ID, m.err)
		}
		times[i] = float64(m.best.Nanoseconds()) / 1000
		total += times[i]
		work.Add(m.work)
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], m.hash)
		h.Write(b[:])
	}
	slices.Sort(times)
	f.MeanUS = round2(total / float64(len(times)))
	f.P50US, f.P95US, f.P99US = round2(percentile(times, 50)), round2(percentile(times, 95)), round2(percentile(times, 99))
	f.Checksum = fmt.Sprintf("%016x", h.Sum64())
	f.BlocksDecoded, f.BlocksSkipped, f.DocsScored = work.BlocksDecoded, work.BlocksSkipped, work.DocsScored
	return nil
}

// percentile returns the smallest of the sorted values that at least p percent of them do not
// exceed.
func percentile(sorted []float64, p int) float64 {
	return sorted[(len(sorted)*p+99)/100-1]
}

func round2(x float64) float64 { return math.Round(x*100) / 100 }

func (f *figures) print(w io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", line)
		return err
	}
	_, err := fmt.Fprintf(w, "queries         %d\n"+
		"mean            %.1f µs\np50             %.1f µs\np95             %.1f µs\np99             %.1f µs\n"+
		"queries/s       %.1f\n"+
		"blocks decoded  %d\nblocks skipped  %d\ndocs scored     %d\nchecksum        %s\n",
		f.Queries, f.MeanUS, f.P50US, f.P95US, f.P99US, f.QPS, f.BlocksDecoded, f.BlocksSkipped, f.DocsScored, f.Checksum)
	if err == nil && f.Cache != nil {
		err = f.Cache.print(w)
	}
	if err != nil || f.GPU == nil {
		return err
	}
	return f.GPU.print(w)
}
