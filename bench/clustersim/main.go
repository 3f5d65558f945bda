// Command clustersim simulates searches of a large cluster of riffle: how long they take, by the load, by how
// replicas are chosen, and with nodes that are slow. What a shard's search, a request and a merge cost was
// measured (inputs.go); queues, networks and choices are simulated, one event after the other. The same seed gives
// the same figures.
//
//	cd bench
//	go run ./clustersim                          # the tables of results/2026-11-26-cluster-simulation.md
//	go run ./clustersim -queries 500 -loads 0.5  # a first look
//	go run ./clustersim -measure CORPUS          # how the times of shards differ for one query
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "clustersim:", err)
		os.Exit(2)
	}
}

func command(args []string, out io.Writer) error {
	c := cluster{documents: 10e9}
	f := flag.NewFlagSet("clustersim", flag.ContinueOnError)
	f.Uint64Var(&c.seed, "seed", 1, "of all random numbers")
	f.IntVar(&c.nodes, "nodes", 100, "nodes")
	f.IntVar(&c.cores, "cores", 16, "cores of a node")
	f.IntVar(&c.shards, "shards", 400, "shards, each of 1/400 of 10 billion documents or so")
	f.IntVar(&c.replicas, "replicas", 2, "replicas of each shard")
	f.IntVar(&c.queries, "queries", 2000, "searches that are simulated for each figure, and a fifth more before them")
	f.Float64Var(&c.documents, "documents", c.documents, "documents of the index")
	loads := f.String("loads", "0.3,0.6,0.8", "shares of the cores that searches keep busy")
	corpus := f.String("measure", "", "measure how the times of shards differ, over passages of a `file`, and end")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *corpus != "" {
		return measure(*corpus, out)
	}
	if err := c.check(); err != nil {
		return err
	}
	var shares []float64
	for text := range strings.SplitSeq(*loads, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x <= 0 || x >= 1 {
			return fmt.Errorf("a load of %q; more than 0 and less than 1 is allowed", text)
		}
		shares = append(shares, x)
	}
	paper(&c, out)
	for _, slow := range []slowness{{}, {nodes: 2, factor: 2}} {
		fmt.Fprintf(out, "\n%v\n\n", slow)
		w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
		fmt.Fprintln(w, "| requests\t| replica\t| load\t| searches a second\t| p50, ms\t| p99\t| p99.9\t| work\t|")
		fmt.Fprintln(w, "|---\t|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
		for _, p := range policies {
			for _, share := range shares {
				r := simulate(&c, p, share, slow)
				fmt.Fprintf(w, "| %s\t| %s\t| %.0f %%\t| %.0f\t| %.1f\t| %.1f\t| %.1f\t| %.2f\t|\n",
					p.requests(), p.choice, share*100, r.rate, ms(r.at(0.5)), ms(r.at(0.99)), ms(r.at(0.999)), r.work)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// A cluster is what is simulated.
type cluster struct {
	seed                                    uint64
	nodes, cores, shards, replicas, queries int
	documents                               float64
}

func (c *cluster) check() error {
	if c.replicas < 1 || c.replicas > c.nodes || c.nodes < 2 || c.cores < 1 || c.shards < 1 || c.queries < 100 {
		return errors.New("a cluster has two nodes or more, cores, shards, no more replicas than nodes, and 100 queries at least")
	}
	return nil
}

// A slowness is nodes whose CPU takes longer for everything.
type slowness struct {
	nodes  int
	factor float64
}

func (s slowness) String() string {
	if s.nodes == 0 {
		return "All nodes are as fast:"
	}
	return fmt.Sprintf("%d nodes take %v times as long:", s.nodes, s.factor)
}

// A choice is how the replica of a shard is chosen.
type choice string

const (
	random  choice = "random"                  // one at random
	twoOwn  choice = "better of two"           // that with fewer requests of the same client for the same shard: as built before
	twoNode choice = "better of two, by node"  // that whose node has fewer requests of the same client for any shard
	twoAll  choice = "better of two, all know" // that whose node has fewer requests of all clients: as if heartbeats had no delay
)

// A policy is how a search asks.
type policy struct {
	choice  choice
	hedge   bool // a second replica is asked after p95, in the first phase
	both    bool // and in the second, as if the second replica had the same snapshot
	once    bool // statistics are known, so that there is one phase
	grouped bool // one request for all shards that a node answers for
}

func (p policy) requests() string {
	var is []string
	if p.grouped {
		is = append(is, "by node")
	} else {
		is = append(is, "by shard")
	}
	if p.once {
		is = append(is, "one phase")
	} else {
		is = append(is, "two phases")
	}
	if p.both {
		is = append(is, "both hedged")
	} else if p.hedge && !p.once {
		is = append(is, "first hedged")
	} else if p.hedge {
		is = append(is, "hedged")
	}
	return strings.Join(is, ", ")
}

var policies = []policy{
	{choice: random},
	{choice: random, hedge: true},
	{choice: twoOwn},
	{choice: twoOwn, hedge: true},
	{choice: twoNode, hedge: true},
	{choice: twoAll, hedge: true},
	{choice: twoNode, hedge: true, both: true},
	{choice: twoNode, hedge: true, once: true},
	{choice: twoNode, grouped: true},
	{choice: twoNode, grouped: true, once: true},
}

// A result is what a simulation has found.
type result struct {
	rate  float64 // searches a second
	work  float64 // of what all shards' searches take, how much was done
	times []time.Duration
}

// at returns the time within which a share of the searches ended.
func (r *result) at(share float64) time.Duration {
	slices.Sort(r.times)
	return r.times[min(len(r.times)-1, int(share*float64(len(r.times))))]
}
