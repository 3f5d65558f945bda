// Command gpubench compares riffle's executors on the CPU and on GPUs. It measures the figures of
// the papers on GPUs, and those of docs/BENCHMARKS.md. bench/gpu/run.sh builds it and knows the
// flags.
//
//	gpubench [flags] PART ...
//
//	or and andor   queries of that mode: CPU (best and exhaustive, all cores) and GPU by algorithm,
//	               k and batch
//	tree           the same of trees: an AND of half of the words, or any of the others
//	cache          static and dynamic caches by share of the lists, policy and λ (Wang 2017,
//	               figures 6 to 9)
//	stream         memory smaller than the lists: windows that stream from the host's memory, by
//	               share of the lists and batch (OR and AND)
//	traced         the first measurement of stream, each kernel by itself
//	huang          threads a query, P, of the ranges of Huang 2017 (tables 1 and 2)
//	policies       LBD against simple distribution and the others, clients that wait (Huang 2017)
//	devices        1, 2 and 4 GPUs (Huang 2017, table 3)
//	ranges         the same memory of all GPUs of the machine, two at least: an index that fits into
//	               one, on one, as copies and as ranges, and one as many times as large as ranges and
//	               copies, OR and AND
//	latency        time of queries by rate of arrival (Poisson) and delay of batches; GPU, CPU, and
//	               auto
//	auto           the policies cpu, gpu and auto at the same loads, from one query at a time to
//	               saturation: all queries, and a mix with short ones and ones for the CPU alone
//	deadlines      the share of queries that are answered in time, half of them due in 5 ms and half
//	               in 50, by rate of arrival: gpu and auto that know when answers are due, or not
//	change         the policies gpu and auto while other processes take -cores of the cores for three
//	               seconds, and later use the GPU (-disturb), every half second (-change-step)
//	cores          how queries share cores by the policies of an engine, AND and OR: time of one
//	               alone, throughput of as many clients as cores (Tatikonda 2011, figure 4); no GPU
//	counts         how many documents match, and no more, of OR, AND and trees: CPU, and GPU by scores
//	               and by bits, by batch
//	strips         what bounds leave of flat lists: tiles, strips and cells alive, and their
//	               postings, OR and AND by k; no GPU
//	keeping        bytes that a query lacks, by what stays on a device whose memory is smaller than
//	               the lists: policy, whole lists or pieces, share of the lists, batch; no GPU
//	codecs         bits a posting and integers a second on the CPU, by codec and length of list
//	               (Ding 2009, figures 3 and 4); BenchmarkDecode of package gpuexec has the GPU's
//	               side
//
// Every answer of every executor is compared with the CPU's, hit by hit and score by score. If one
// differs, the command names the query and fails. Every measurement is a line of JSON in
// OUT/runs.jsonl, with machine and command. Recorded measurements are not repeated, so an
// interrupted command continues where it stopped. OUT/tables.md is made of all lines.
//
// Without a GPU, or built without the tag cuda, the command skips the parts that need one, and says
// so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
)

// settings are the flags.
type settings struct {
	collection, text, topics, write string
	docs, queries, limit            int
	postings                        float64
	seed                            uint64

	out, profiles                string
	seconds, budget              time.Duration
	k, batch, cache              numbers
	threads, delays              numbers
	stepWindows, readers, tracks numbers
	windowTiles                  numbers
	stripTiles, appendHits       signed
	wholeStrips, appendRoom      numbers
	algorithms                   string
	cpu                          bool
	whole                        string
	clients, cores               int

	memory, batchBytes, columnBytes, flatBytes int64
	hostBytes                                  int64
	windowBytes                                numbers
	policyNames, ways, forms, sets             words
	trace, orOnly                              bool
	rests                                      words
	lambdas, dueLoads                          numbers
	reasons                                    bool
	due                                        words
	shape                                      gpuexec.Shape
	tileShift                                  int
	limits                                     limits
	loads                                      fractions
	mixNames                                   words
	disturb                                    string
	disturbAfter, changeStep                   time.Duration
}

// numbers is a comma-separated list of numbers.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*n), " ", ","), "[]")
}

func (n *numbers) Set(text string) error { return n.set(text, 0) }

func (n *numbers) set(text string, least int) error {
	*n = nil
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.Atoi(word)
		if err != nil || v < least {
			return fmt.Errorf("%q is not a list of numbers from %d on", text, least)
		}
		*n = append(*n, v)
	}
	return nil
}

// words is a comma-separated list of words.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(text string) error {
	*w = strings.Split(text, ",")
	return nil
}

// fractions is a comma-separated list of shares.
type fractions []float64

func (l *fractions) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*l), " ", ","), "[]")
}

func (l *fractions) Set(text string) error {
	*l = nil
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || v < 0 || v > 1 {
			return fmt.Errorf("%q is not a list of shares from 0 to 1", text)
		}
		*l = append(*l, v)
	}
	return nil
}

// signed is a list of numbers, of which -1 has a meaning of its own.
type signed struct{ numbers }

func (s *signed) Set(text string) error { return s.set(text, -1) }

func (s *settings) declare(f *flag.FlagSet) {
	f.StringVar(&s.collection, "collection", "gov2", "gov2, or a `file` that -write has written")
	f.IntVar(&s.docs, "docs", 25_000_000, "documents of gov2")
	f.IntVar(&s.queries, "queries", 1000, "queries of gov2")
	f.Float64Var(&s.postings, "postings", 0, "postings of a query of gov2, as a share of the documents; 0 is GOV2's 0.148")
	f.Uint64Var(&s.seed, "seed", 1, "of gov2, of arrivals and of the order of queries")
	f.StringVar(&s.text, "text", "", "make a collection of JSON lines, field text; files with commas between them")
	f.StringVar(&s.topics, "topics", "", "and of the queries of this `file`")
	f.IntVar(&s.limit, "limit", 0, "take just the first so many documents of -text; 0 is all")
	f.StringVar(&s.write, "write", "", "write the collection to a `file`")

	f.StringVar(&s.out, "out", "gpu-bench", "`folder` for runs.jsonl and tables.md")
	f.StringVar(&s.profiles, "profile", "", "write a CPU profile of each measurement to this `folder`")
	f.DurationVar(&s.seconds, "time", 2*time.Second, "time of one measurement, about")
	f.DurationVar(&s.budget, "budget", 9*time.Minute, "begin no measurement after so long")
	s.k, s.batch, s.cache = numbers{1, 10, 100, 1000}, numbers{256, 1024, 4096}, numbers{0, 5, 10, 20, 40, 60, 80, 100}
	s.threads, s.delays = numbers{32, 64, 128, 256, 512}, numbers{1, 5, 20}
	f.Var(&s.k, "k", "hits of a query")
	f.Var(&s.batch, "batch", "queries of a batch; where that is not varied the last of these, and for cache the first")
	f.Var(&s.cache, "cache", "sizes of caches, in per cent of the lists")
	f.Var(&s.threads, "threads", "threads a query for huang")
	f.Var(&s.delays, "delays", "ms that a query waits for a batch, for latency")
	f.StringVar(&s.algorithms, "algorithms", "", "only these algorithms of the GPU, with commas between them")
	f.IntVar(&s.clients, "clients", 4096, "clients that wait for answers, for policies and devices")

	s.loads, s.mixNames = fractions{0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95}, words{"all", "mix"}
	f.Var(&s.loads, "loads", "shares of the rate at which the better of cpu and gpu saturates, for auto; 0 is 100 queries a second")
	f.Var(&s.mixNames, "mixes", "all queries of the collection, or a mix, for auto")

	f.StringVar(&s.disturb, "disturb", "", "shell `command` that uses the GPU, for change")
	f.DurationVar(&s.changeStep, "change-step", 500*time.Millisecond, "time of a row, for change")
	f.DurationVar(&s.disturbAfter, "disturb-after", 15*time.Second, "time from its start until it does")
	f.IntVar(&s.cores, "cores", 8, "cores that queries share, for cores (those of the machine if it has fewer); processes that take cores, for change")
	f.StringVar(&s.whole, "cpu-algorithm", "auto", "algorithm of the CPU, for cores; exhaustive is nearest to the paper's")

	f.Int64Var(&s.memory, "memory", 0, "bytes for lists on each GPU; 0 is enough for all")
	f.Int64Var(&s.batchBytes, "batch-bytes", 1<<30, "bytes of a batch, of which there are three")
	f.Int64Var(&s.columnBytes, "column-bytes", 256<<20, "bytes for length codes")
	f.Int64Var(&s.flatBytes, "flat-bytes", 16<<30, "bytes for flat lists, when all blocks have room, too; -1 for none")
	s.windowTiles, s.windowBytes, s.stepWindows, s.readers, s.tracks = numbers{0}, numbers{0}, numbers{0}, numbers{0}, numbers{0}
	f.Var(&s.windowTiles, "window-tiles", "tiles of a window, with stream; 0 is the default")
	f.Var(&s.windowBytes, "window-bytes", "bytes for windows, with stream; 0 is 1,650 MiB")
	f.Int64Var(&s.hostBytes, "host-bytes", 0, "bytes of main memory to pin for the lists of a GPU, with stream; 0 is 32 GiB")
	f.Var(&s.stepWindows, "step-windows", "most windows of a step, with stream; 0 is the default, as for those below")
	f.Var(&s.readers, "readers", "multiprocessors that read the host's memory, per cent")
	f.Var(&s.tracks, "tracks", "batches that run at a time")
	s.policyNames, s.ways = words{"qtf"}, words{"static"}
	f.Var(&s.sets, "sets", "SHARE:WINDOW_BYTES:WINDOW_TILES:BATCH_BYTES with commas between them, with stream: instead of all combinations of these flags; OR, or with :and behind it AND")
	f.Var(&s.policyNames, "policies", "what lists stay by, with stream: qtf, qtfdf")
	f.Var(&s.ways, "ways", "how they are chosen: static, by a log, and learning, which goes on choosing")
	s.rests, s.lambdas = words{"copied", "left"}, numbers{75, 80, 85, 90, 95}
	f.Var(&s.rests, "rests", "what becomes of what a static cache lacks, with cache: copied, for one batch, or left to the CPU")
	f.Var(&s.lambdas, "lambdas", "λ of VFB whose rest is left, in per cent, with cache")
	s.forms = words{"or", "and"}
	f.Var(&s.forms, "forms", "forms of queries, with stream and ranges: or, and, andor, tree")
	s.dueLoads = numbers{50, 75, 90, 100, 110, 150}
	f.Var(&s.due, "due", "with deadlines, policies in this order; with -due added they know when answers are due, with -fail they fail late queries; "+
		"without, gpu and auto, or cpu where there is no GPU")
	f.Var(&s.dueLoads, "due-loads", "with deadlines, per cent of what the first of these policies answers when 2,048 clients wait")
	f.BoolVar(&s.reasons, "reasons", false, "with deadlines, say why queries went where they did, and what became of them; there, with auto and with latency, what batches took; with these the same of the slowest in a hundred, which count as late, and how long each tenth of the queries took")
	f.BoolVar(&s.orOnly, "or-only", false, "measure OR alone, with stream")
	f.BoolVar(&s.trace, "trace", false, "measure each kernel by itself, with or, and, andor and stream")
	f.BoolVar(&s.cpu, "cpu", true, "with or, and, andor, tree and counts, measure the CPU, too")
	f.IntVar(&s.tileShift, "tile-shift", 0, "log2 of the documents of a tile")
	s.stripTiles, s.appendHits = signed{numbers{0}}, signed{numbers{0}}
	s.wholeStrips, s.appendRoom = numbers{0}, numbers{0}
	f.Var(&s.stripTiles, "strip-tiles", "tiles for each multiprocessor from which on the queries of a batch over flat lists go by strips; 0 is the default, -1 for all; "+
		"or, and and andor measure all combinations of this and the next three, other parts the first")
	f.Var(&s.appendHits, "append-hits", "hits from which on a query over flat lists appends what it finds, and all of its batch go by strips; -1 for none")
	f.Var(&s.appendRoom, "append-room", "keys that it has room for, for each hit")
	f.Var(&s.wholeStrips, "whole-strips", "strips from which on a tile goes as a whole")
	f.IntVar(&s.shape.UnboundedPostings, "unbounded-postings", 0, "postings of a query, on average, up to which ANDs by blocks go without bounds; 0 is the default, -1 for none")
	f.IntVar(&s.shape.SharedDepth, "shared-depth", 0, "blocks that a block of the shortest list leads to from which on warps share it; 0 is the default, -1 for none")
	f.IntVar(&s.shape.TileThreads, "tile-threads", 0, "threads of a block that works on a tile")
	f.IntVar(&s.shape.LeadThreads, "lead-threads", 0, "threads of a block that works on the shortest list")
	f.IntVar(&s.shape.RangeThreads, "range-threads", 0, "threads of a query that goes by ranges")
	s.limits.declare(f)
}

func main() {
	if err := run(); errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "gpubench:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return command(ctx, os.Args[1:])
}

// command runs the command with its arguments.
func command(ctx context.Context, args []string) error {
	var s settings
	f := flag.NewFlagSet("gpubench", flag.ContinueOnError)
	s.declare(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	for _, part := range f.Args() {
		if parts[part] == nil {
			return fmt.Errorf("there is no part %q", part)
		}
	}
	s.shape.TileShift = uint32(s.tileShift)
	s.shape = s.stripShapes()[0].of(s.shape)
	b := &bench{settings: &s, args: args, start: time.Now(), ctx: ctx}
	if err := b.open(); err != nil {
		return err
	}
	var failed []error
	for _, part := range f.Args() {
		if err := parts[part](b); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", part, err))
			if ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(append(failed, b.close())...)
}

var parts = map[string]func(*bench) error{
	"or":    func(b *bench) error { return b.mode(blockmax.Or) },
	"and":   func(b *bench) error { return b.mode(blockmax.And) },
	"andor": func(b *bench) error { return b.mode(blockmax.AndOr) },
	"tree":  func(b *bench) error { return b.mode(asTree) },
	"cache": (*bench).caches, "huang": (*bench).huang, "policies": (*bench).policies, "devices": (*bench).devices, "ranges": (*bench).ranges,
	"latency": (*bench).latency, "auto": (*bench).autos, "deadlines": (*bench).deadlines, "codecs": (*bench).codecs, "cores": (*bench).sharings,
	"change": (*bench).changes, "strips": (*bench).strips, "stream": (*bench).streams, "traced": (*bench).tracedStreams, "keeping": (*bench).keeping, "counts": (*bench).counts,
}

// wants reports whether -algorithms includes an algorithm.
func (s *settings) wants(a gpuexec.Algorithm) bool {
	return s.algorithms == "" || slices.Contains(strings.Split(s.algorithms, ","), a.String())
}
