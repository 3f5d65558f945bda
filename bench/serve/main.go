// Command serve measures riffle's server beside the engine alone, on the same cores and with the same queries: how many
// queries a second clients with open connections get, and how long they wait at a share of that.
//
//	cd bench && go run ./serve -corpus ../../shared/corpora/gutenberg-a.jsonl.zst -queries ../../shared/corpora/queries/gutenberg-dev.tsv
//
// Three processes take part: the engine alone, then the server, both kept to the first -cores cores, and this one with the
// clients on the others. Clients write requests that were made before, and read no more of an answer than its length.
// It runs on Linux only, for the sake of affinity.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/server"
)

var (
	dir     = flag.String("db", "", "`directory` of the index, which is kept; a temporary one by default")
	corpus  = flag.String("corpus", "", "`file` of JSON lines to index, if there is no index yet")
	topics  = flag.String("queries", "", "`file` of queries: a number, a tab and the text")
	cores   = flag.Int("cores", 1, "cores of the server, and of the engine alone")
	clients = flag.Int("clients", 64, "connections")
	length  = flag.Duration("for", 10*time.Second, "how long each measurement lasts")
	load    = flag.Float64("load", 0.8, "share of the most queries a second at which latencies are measured")
	k       = flag.Int("k", 10, "hits")
	role    = flag.String("role", "", "for the processes that this one starts: engine or server")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("serve: ")
	flag.Parse()
	var err error
	switch *role {
	case "engine":
		err = engineAlone()
	case "server":
		err = serve()
	default:
		err = compare()
	}
	if err != nil {
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

// engineAlone prints how many queries a second the engine answers with a goroutine for each core.
func engineAlone() error {
	queries, err := readQueries()
	if err != nil {
		return err
	}
	e, err := riffle.Open(*dir, &riffle.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer e.Close()
	run := func(d time.Duration) (int64, error) {
		var n atomic.Int64
		var failed atomic.Pointer[error]
		var wg sync.WaitGroup
		end := time.Now().Add(d)
		for range *cores {
			wg.Go(func() {
				for time.Now().Before(end) {
					i := n.Add(1)
					if _, err := e.Search(context.Background(), match(queries[int(i)%len(queries)]), &riffle.SearchOptions{K: *k}); err != nil {
						failed.Store(&err)
						return
					}
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return n.Load(), nil
	}
	if _, err := run(*length / 2); err != nil { // lists are loaded
		return err
	}
	n, err := run(*length)
	if err == nil {
		fmt.Println(float64(n) / length.Seconds())
	}
	return err
}

// serve serves the index, prints the address, and ends with its standard input.
func serve() error {
	e, err := riffle.Open(*dir, &riffle.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := server.New(nil)
	if err != nil {
		return err
	}
	if err := s.Mount("bench", e); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, s)
}

// onCores starts this program in a role on the first cores, and keeps this process to the others.
func onCores(role string) (*exec.Cmd, io.WriteCloser, *bufio.Reader, error) {
	args := append([]string{"-role", role}, os.Args[1:]...)
	args = append(args, "-db", *dir)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", *cores))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	var first, others unix.CPUSet
	for i := range runtime.NumCPU() {
		if i < *cores {
			first.Set(i)
		} else {
			others.Set(i)
		}
	}
	if others.Count() == 0 {
		return nil, nil, nil, errors.New("no core is left for the clients: choose fewer -cores")
	}
	runtime.LockOSThread() // the child has the affinity of the thread that starts it
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return nil, nil, nil, err
	}
	err = cmd.Start()
	threads, errDir := os.ReadDir("/proc/self/task")
	err = errors.Join(err, errDir)
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		unix.SchedSetaffinity(id, &others) // a thread may have ended
	}
	return cmd, in, bufio.NewReader(out), err
}

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
		*dir += "/index"
	}
	if _, err := os.Stat(*dir); errors.Is(err, os.ErrNotExist) {
		if err := build(); err != nil {
			return err
		}
	}
	cmd, _, out, err := onCores("engine")
	if err != nil {
		return err
	}
	line, err := out.ReadString('\n')
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("the engine alone: %w", err)
	}
	alone, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		return err
	}
	cmd, in, out, err := onCores("server")
	if err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	if line, err = out.ReadString('\n'); err != nil {
		return err
	}
	l := &loader{addr: strings.TrimSpace(line)}
	if err := l.prepare(queries); err != nil {
		return err
	}
	if _, err := l.run(*length/2, 0); err != nil {
		return err
	}
	most, err := l.run(*length, 0)
	if err != nil {
		return err
	}
	rate := *load * most.perSecond()
	steady, err := l.run(*length, rate)
	if err != nil {
		return err
	}
	fmt.Printf("| | queries/s | of the engine | mean, ms | p50 | p99 | p99 ÷ mean |\n|---|---:|---:|---:|---:|---:|---:|\n")
	fmt.Printf("| engine alone, %d core(s) | %.0f | 1 | | | | |\n", *cores, alone)
	print := func(name string, m *measured) {
		mean, p50, p99 := m.mean(), m.percentile(0.5), m.percentile(0.99)
		fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.1f |\n", name, m.perSecond(), m.perSecond()/alone, ms(mean), ms(p50), ms(p99), float64(p99)/float64(mean))
	}
	print(fmt.Sprintf("%d clients", *clients), most)
	print(fmt.Sprintf("%d clients, arrivals at random at %.0f %%", *clients, 100**load), steady)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// build indexes the corpus.
func build() error {
	f, err := riffle.Build(context.Background(), *dir, riffle.JSONLines{Files: []string{*corpus}}, &riffle.BuildOptions{OneSegment: true, Index: riffle.Options{
		Schema: &riffle.Schema{Fields: map[string]riffle.Field{"text": {Type: riffle.FieldText, Analyzer: "english", NoStore: true}}, Dynamic: riffle.DynamicIgnore},
	}})
	if err == nil {
		log.Printf("indexed %d documents", f.Docs)
	}
	return err
}

// A loader sends requests.
type loader struct {
	addr     string
	requests [][]byte
}

// prepare writes all requests, and makes sure that the server answers one.
func (l *loader) prepare(queries []string) error {
	for _, text := range queries {
		body, err := json.Marshal(client.SearchRequest{Query: match(text), K: *k})
		if err != nil {
			return err
		}
		l.requests = append(l.requests, fmt.Appendf(nil, "POST /v1/indexes/bench/search HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", l.addr, len(body), body))
	}
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(l.requests[0]); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer client.SearchAnswer
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK || len(answer.Hits) == 0 {
		return fmt.Errorf("the first query has the answer %s with %d hits: %v", res.Status, len(answer.Hits), err)
	}
	return nil
}

// A measured is what clients have seen.
type measured struct {
	took      time.Duration
	latencies []time.Duration // in order
}

func (m *measured) perSecond() float64 { return float64(len(m.latencies)) / m.took.Seconds() }

func (m *measured) mean() time.Duration {
	var sum time.Duration
	for _, d := range m.latencies {
		sum += d
	}
	return sum / time.Duration(max(1, len(m.latencies)))
}

func (m *measured) percentile(p float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	return m.latencies[min(int(p*float64(len(m.latencies))), len(m.latencies)-1)]
}

// run sends requests from all clients. With a rate, they arrive at random times, and a latency counts from then on;
// otherwise each client sends the next one as soon as it has an answer.
func (l *loader) run(d time.Duration, rate float64) (*measured, error) {
	var arrivals chan time.Time
	if rate > 0 {
		arrivals = make(chan time.Time, 1<<16)
		go func() {
			defer close(arrivals)
			for at, end := time.Now(), time.Now().Add(d); at.Before(end); at = at.Add(time.Duration(rand.ExpFloat64() / rate * 1e9)) {
				if wait := time.Until(at); wait > 0 {
					time.Sleep(wait)
				}
				arrivals <- at
			}
		}()
	}
	start, next := time.Now(), atomic.Int64{}
	end := start.Add(d)
	var mu sync.Mutex
	m, errs := new(measured), []error{}
	var wg sync.WaitGroup
	for range *clients {
		wg.Go(func() {
			mine, err := l.client(func() (time.Time, bool) {
				if arrivals != nil {
					at, ok := <-arrivals
					return at, ok
				}
				now := time.Now()
				return now, now.Before(end)
			}, &next)
			mu.Lock()
			defer mu.Unlock()
			m.latencies = append(m.latencies, mine...)
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	m.took = time.Since(start)
	slices.Sort(m.latencies)
	return m, errors.Join(errs...)
}

// client sends requests over one connection, at the times that begin returns.
func (l *loader) client(begin func() (time.Time, bool), next *atomic.Int64) (latencies []time.Duration, err error) {
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		at, ok := begin()
		if !ok {
			return latencies, nil
		}
		if _, err := conn.Write(l.requests[int(next.Add(1))%len(l.requests)]); err != nil {
			return latencies, err
		}
		if err := skipAnswer(in); err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(at))
	}
}

// skipAnswer reads an answer, which must be a success, without looking at its body.
func skipAnswer(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(status), "HTTP/1.1 200 ") {
		return fmt.Errorf("the server answers %q", status)
	}
	length, chunked := -1, false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(text, ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "transfer-encoding":
			chunked = true
		}
	}
	if !chunked {
		if length < 0 {
			return errors.New("an answer without a length")
		}
		_, err := in.Discard(length)
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}
