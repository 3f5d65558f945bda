// Command faults runs a cluster of riffle on this machine, lets writers and readers use it while its
// nodes are killed, paused, cut off from each other and run out of disk, and then checks everything
// that was acknowledged and answered. It needs root, iproute2, nftables and strace.
//
//	go build -o /tmp/faults ./faults
//	/tmp/faults -seed 7 -time 2m           # one run
//	/tmp/faults -seed 7 -time 2m -plan     # prints its schedule and ends
//	/tmp/faults -seed 7 -only kill,pause   # with these faults only
//	/tmp/faults -seed 7 -plant stale-get   # must fail: a fault in riffle, planted
//
// README.md says what it does and what it checks.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are what a run is like. Together with the seed they decide its schedule.
type settings struct {
	seed     uint64
	time     time.Duration // of the load
	nodes    int
	shards   int
	replicas int
	writes   float64 // a second, by all writers
	reads    float64 // a second, by all readers
	only     []kind
	plant    plant
	dir      string
	verbose  bool
}

// A plant is an error that the harness puts into its own use of riffle, to show that the checks find
// it.
type plant string

// Plants. Each names the checks that must fail.
const (
	plantNone        plant = ""
	plantStaleGet    plant = "stale-get"    // linearizable gets have no barrier: linearizable
	plantDone        plant = "done"         // writers report unknown changes as done: log, linearizable
	plantSkip        plant = "skip"         // a replica lacks a change: documents, answers
	plantForget      plant = "forget"       // readers with a token read without it: sessions
	plantOtherDigest plant = "other-digest" // a replica's digest differs: digests
)

var plants = []plant{plantNone, plantStaleGet, plantDone, plantSkip, plantForget, plantOtherDigest}

const (
	writers = 4
	readers = 8

	nodeFlag = "-node" // makes the program a node: see nodeMain
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == nodeFlag {
		if err := nodeMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "node:", err)
			os.Exit(2)
		}
		return
	}
	ok, err := command(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) (ok bool, err error) {
	s := settings{}
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.Uint64Var(&s.seed, "seed", 1, "decides the schedule, the documents and the queries")
	f.DurationVar(&s.time, "time", 2*time.Minute, "how long writers and readers run")
	f.IntVar(&s.nodes, "nodes", 3, "nodes: 3 to 5")
	f.IntVar(&s.shards, "shards", 3, "shards of the index")
	f.IntVar(&s.replicas, "replicas", 0, "replicas of each shard; 0 is 2 or 3, by the seed")
	f.Float64Var(&s.writes, "writes", 30, "writes a second, each of 1 to 3 documents")
	f.Float64Var(&s.reads, "reads", 40, "reads a second")
	only := f.String("only", "", "`kinds` of faults, separated by commas; all if empty: "+strings.Join(kindNames(), ", "))
	planted := f.String("plant", "", "an `error` that the checks must find: "+strings.Trim(fmt.Sprint(plants), "[]"))
	f.StringVar(&s.dir, "dir", "", "`folder` for the logs of nodes, the history and what was found; /tmp/riffle-faults/SEED if empty")
	plan := f.Bool("plan", false, "print the schedule and end")
	f.BoolVar(&s.verbose, "v", false, "print faults as they happen")
	if err := f.Parse(args); err != nil {
		return false, err
	}
	s.plant = plant(*planted)
	if *only != "" {
		for name := range strings.SplitSeq(*only, ",") {
			s.only = append(s.only, kind(name))
		}
	}
	if s.replicas == 0 {
		s.replicas = 2 + int(s.seed%2)
	}
	if s.dir == "" {
		s.dir = filepath.Join(os.TempDir(), "riffle-faults", fmt.Sprint(s.seed))
	}
	if err := s.check(); err != nil {
		return false, err
	}
	faults := schedule(&s)
	if *plan {
		for _, x := range faults {
			fmt.Fprintln(out, x)
		}
		return true, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := run(ctx, &s, faults)
	if err != nil {
		return false, err
	}
	return r.print(out), nil
}

func (s *settings) check() error {
	switch {
	case s.nodes < 3 || s.nodes > 5:
		return fmt.Errorf("%d nodes; 3 to 5 are allowed", s.nodes)
	case s.replicas < 1 || s.replicas > s.nodes:
		return fmt.Errorf("%d replicas on %d nodes", s.replicas, s.nodes)
	case s.shards < 1:
		return fmt.Errorf("%d shards", s.shards)
	case s.writes <= 0 || s.reads <= 0:
		return fmt.Errorf("%v writes and %v reads a second; both must be more than 0", s.writes, s.reads)
	case !slices.Contains(plants, s.plant):
		return fmt.Errorf("there is no plant %q", s.plant)
	}
	for _, k := range s.only {
		if !slices.Contains(kinds, k) {
			return fmt.Errorf("there is no fault %q", k)
		}
	}
	return nil
}
