// Command serve measures riffle's server beside the engine alone, and other servers, on the same cores and with the same
// queries: how many queries a second clients with open connections get, what CPU time one takes, and how long clients wait
// at a share of that.
//
//	cd bench && go run ./serve -corpus ../../shared/corpora/gutenberg-a.jsonl.zst -queries ../../shared/corpora/queries/gutenberg-dev.tsv
//
// The engine alone and each server are processes of their own, one after the other, kept to the first -cores cores. This one
// has the clients, on the other cores. Clients write requests that were made before, do not ask for compression, and read no
// more of an answer than its length. It runs on Linux only, for the sake of affinity.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

var (
	dir     = flag.String("db", "", "`directory` of the indexes, which are kept; a temporary one by default")
	corpus  = flag.String("corpus", "", "`file` of JSON lines to index, if there is no index yet")
	topics  = flag.String("queries", "", "`file` of queries: a number, a tab and the text")
	servers = flag.String("servers", "riffle,nethttp", "which servers to measure: nethttp, riffle, bleve, tantivy")
	tantivy = flag.String("tantivy", "tantivy", "`program` of tantivy-cli")
	cores   = flag.Int("cores", 1, "cores of the server, and of the engine alone")
	clients = flag.Int("clients", 64, "connections")
	length  = flag.Duration("for", 10*time.Second, "how long each measurement lasts")
	load    = flag.Float64("load", 0.8, "share of the most queries a second at which latencies are measured")
	k       = flag.Int("k", 10, "hits")
	slow    = flag.Int("slow", 0, "measure instead the memory of riffle's server while so many `clients` send and read too slowly")
	profile = flag.String("profile", "", "`file` for a CPU profile of riffle's server while all clients send")
	role    = flag.String("role", "", "for the processes that this one starts: engine, or a server")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("serve: ")
	flag.Parse()
	makePeers()
	run := compare
	if *role != "" {
		run = roles[*role]
	}
	if run == nil {
		log.Fatalf("there is no role %q", *role)
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// readQueries returns the texts of the queries.
func readQueries() ([]string, error) {
	data, err := os.ReadFile(*topics)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no queries", *topics)
	}
	return all, nil
}

func match(text string) riffle.Query { return riffle.Match{Field: "text", Text: text} }

func compare() error {
	queries, err := readQueries()
	if err != nil {
		return err
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "riffle-serve-"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
	}
	if err := prepare("riffle", buildRiffle); err != nil {
		return err
	}
	if *slow > 0 {
		return measureSlow()
	}
	alone, err := measureAlone()
	if err != nil {
		return fmt.Errorf("the engine alone: %w", err)
	}
	fmt.Printf("| | queries/s | of the engine | CPU a query, µs | mean, ms | p50 | p99 | p99 ÷ mean |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	fmt.Printf("| engine alone, %d core(s) | %.0f | 1 | %.0f | | | | |\n", *cores, alone.perSecond, micro(alone.cpu))
	for _, name := range strings.Split(*servers, ",") {
		p, ok := peers[name]
		if !ok {
			return fmt.Errorf("there is no server %q", name)
		}
		if err := p.measure(name, queries, alone); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// prepare builds an index if it is not there.
func prepare(name string, build func(dir string) error) error {
	to := indexDir(name)
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(*dir, 0o777); err != nil {
		return err
	}
	if err := build(to); err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return nil
}

func indexDir(name string) string { return *dir + "/" + name }

// measure measures a server, with all clients at once and at a share of that.
func (p *peer) measure(name string, queries []string, alone *engineTimes) error {
	if p.build != nil {
		if err := prepare(name, p.build); err != nil {
			return err
		}
	}
	s, err := p.start(name)
	if err != nil {
		return err
	}
	defer s.stop()
	l := &loader{addr: s.addr, clients: *clients}
	if p.clients > 0 {
		l.clients = min(l.clients, p.clients)
	}
	if err := l.prepare(p, queries); err != nil {
		return err
	}
	if _, err := l.run(*length/2, 0); err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- l.profile(name) }()
	before := s.cpu()
	most, err := l.run(*length, 0)
	after := s.cpu()
	if err := errors.Join(err, <-profiled); err != nil {
		return err
	}
	before, after = after, after-before // after is what all clients at once have taken
	rate, at := *load*most.perSecond(), fmt.Sprintf("at random at %.0f %%", 100**load)
	if p.hits == nil && alone.served > 0 {
		rate, at = alone.served, "at random as often as riffle"
	} else if name == "riffle" {
		alone.served = most.perSecond()
	}
	steady, err := l.run(*length, rate)
	if err != nil {
		return err
	}
	print := func(what string, m *measured, cpu time.Duration) {
		fmt.Printf("| %s | %.0f | %.2f | %.0f | %s |\n", what, m.perSecond(), m.perSecond()/alone.perSecond, micro(cpu)/float64(len(m.latencies)), m)
	}
	print(fmt.Sprintf("%s, %d clients", p.title, l.clients), most, after)
	print(fmt.Sprintf("%s, %s", p.title, at), steady, s.cpu()-before)
	if name == "riffle" && *cores == 1 {
		extra := max(0, after/time.Duration(len(most.latencies))-alone.cpu)
		print("the same times in an ideal queue", idealQueue(alone.times, extra, *load), 0)
	}
	return nil
}

func ms(d time.Duration) float64    { return float64(d) / 1e6 }
func micro(d time.Duration) float64 { return float64(d) / 1e3 }
