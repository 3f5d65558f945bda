package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/internal/freeport"
)

// passages returns the first passages of gutenberg-a.
func passages(b *testing.B, n int) (ids []string, docs []map[string]any) {
	b.Helper()
	f, err := os.Open(filepath.Join(corpora(b), "gutenberg-a.jsonl.zst"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for len(ids) < n && lines.Scan() {
		var p struct{ ID, Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			b.Fatal(err)
		}
		ids, docs = append(ids, p.ID), append(docs, map[string]any{"title": p.Title, "text": p.Text})
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return ids, docs
}

func corpora(b *testing.B) string {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		b.Skip("no corpora (set RIFFLE_CORPORA)")
	}
	return dir
}

// small returns a cluster of nodes of this process, with an index whose logs have a number of copies, each on a
// server of its own.
func small(b *testing.B, copies, shards, replicas int, nodes ...string) *cluster.Index {
	b.Helper()
	dir := b.TempDir()
	servers := serve(b, dir, copies)
	for i, name := range nodes {
		conn, err := servers[i%copies].Connect()
		if err != nil {
			b.Fatal(err)
		}
		n, err := node.Start(b.Context(), node.Options{
			Name: name, Dir: filepath.Join(dir, name), Conn: conn, MapCopies: copies, Engine: riffle.Options{Durability: riffle.SyncNone},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { n.Close(); conn.Close() })
	}
	conn, err := servers[0].Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	c, err := cluster.Connect(b.Context(), conn, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if err := c.Create(b.Context(), cluster.IndexOptions{Name: "bench", Shards: shards, Replicas: replicas, Nodes: nodes, LogCopies: copies, LogBytes: 4 << 30}); err != nil {
		b.Fatal(err)
	}
	x, err := c.Index(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// serve starts servers of this process that form a cluster, and waits until they have.
func serve(b *testing.B, dir string, n int) (servers []*embedded.Server) {
	b.Helper()
	var addresses []string
	if n > 1 {
		for range n { // every server must know all from the beginning
			address, err := freeport.Address()
			if err != nil {
				b.Fatal(err)
			}
			addresses = append(addresses, address)
		}
	}
	for i := range n {
		name := fmt.Sprint("s", i)
		o := embedded.Options{Name: name, Dir: filepath.Join(dir, "nats", name), MaxBytes: 64 << 30}
		if n > 1 {
			o.Cluster, o.Listen, o.Routes = "bench", addresses[i], addresses
		}
		s, err := embedded.Start(o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(s.Close)
		servers = append(servers, s)
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for _, s := range servers {
		if err := s.WaitReady(ctx); err != nil {
			b.Fatal(err)
		}
	}
	return servers
}

const perBatch = 200

// write writes passages in batches from four goroutines, and returns the sum of the tokens.
func write(b *testing.B, x *cluster.Index, ids []string, docs []map[string]any) cluster.Token {
	b.Helper()
	batches := make(chan int)
	go func() {
		defer close(batches)
		for at := 0; at < len(ids); at += perBatch {
			batches <- at
		}
	}()
	var mu sync.Mutex
	var token cluster.Token
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for at := range batches {
				var batch riffle.Batch
				for i := at; i < min(at+perBatch, len(ids)); i++ {
					batch.Put(ids[i], docs[i])
				}
				w, err := x.Write(b.Context(), &batch)
				if err == nil {
					err = w.Err()
				}
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				token = token.And(w.Token)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return token
}

// BenchmarkWrite puts 20,000 passages into one index by Apply, and into clusters until all replicas can search
// them: with logs of one copy, and of three. All run in this process, whose CPU time is reported.
func BenchmarkWrite(b *testing.B) {
	ids, docs := passages(b, 20_000)
	run := func(b *testing.B, write func()) {
		began, cpu := time.Now(), cpuTime()
		write()
		b.ReportMetric(float64(len(ids))/time.Since(began).Seconds(), "docs/s")
		b.ReportMetric((cpuTime()-cpu).Seconds()*1e6/float64(len(ids)), "cpu-us/doc")
	}
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			e, err := riffle.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			run(b, func() {
				for at := 0; at < len(ids); at += perBatch {
					var batch riffle.Batch
					for i := at; i < min(at+perBatch, len(ids)); i++ {
						batch.Put(ids[i], docs[i])
					}
					if err := e.Apply(b.Context(), &batch); err != nil {
						b.Fatal(err)
					}
				}
			})
			e.Close()
		}
	})
	for _, c := range []struct{ copies, shards, replicas int }{{1, 1, 1}, {1, 4, 1}, {1, 4, 2}, {3, 1, 1}, {3, 4, 1}, {3, 1, 3}} {
		b.Run(fmt.Sprintf("copies=%d/shards=%d/replicas=%d", c.copies, c.shards, c.replicas), func(b *testing.B) {
			for b.Loop() {
				x := small(b, c.copies, c.shards, c.replicas, []string{"a", "b", "c"}[:c.replicas]...)
				run(b, func() {
					token := write(b, x, ids, docs)
					if _, err := x.Search(b.Context(), riffle.All{}, &cluster.SearchOptions{Token: token}); err != nil {
						b.Fatal(err)
					}
				})
			}
		})
	}
}

// BenchmarkSearch searches 20,000 passages in one index and in one to four shards, top-10, without and
// with the stored title.
func BenchmarkSearch(b *testing.B) {
	ids, docs := passages(b, 20_000)
	data, err := os.ReadFile(filepath.Join(corpora(b), "queries/gutenberg-dev.tsv"))
	if err != nil {
		b.Fatal(err)
	}
	var queries []riffle.Query
	for line := range strings.Lines(string(data)) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		queries = append(queries, riffle.Match{Field: "text", Text: text})
	}
	// search returns how long the slowest shard took, and whether statistics were cached.
	run := func(b *testing.B, search func(q riffle.Query, load []string) (time.Duration, bool, error)) {
		for _, load := range [][]string{nil, {"title"}} {
			b.Run(fmt.Sprintf("load=%d", len(load)), func(b *testing.B) {
				var times, scattering []time.Duration
				cached, n := 0, 0
				for b.Loop() {
					began := time.Now()
					slowest, hit, err := search(queries[n%len(queries)], load)
					if err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(began))
					if scattering = append(scattering, time.Since(began)-slowest); hit {
						cached++
					}
					n++
				}
				slices.Sort(times)
				slices.Sort(scattering)
				b.ReportMetric(times[len(times)/2].Seconds()*1e3, "p50-ms")
				b.ReportMetric(times[len(times)*99/100].Seconds()*1e3, "p99-ms")
				b.ReportMetric(scattering[len(scattering)/2].Seconds()*1e3, "scattering-p50-ms")
				b.ReportMetric(float64(cached)/float64(n), "cached")
			})
		}
	}
	b.Run("one", func(b *testing.B) {
		e, err := riffle.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		var batch riffle.Batch
		for i := range ids {
			batch.Put(ids[i], docs[i])
		}
		if err := e.Apply(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
		run(b, func(q riffle.Query, load []string) (time.Duration, bool, error) {
			r, err := e.Search(b.Context(), q, &riffle.SearchOptions{Load: load})
			if err != nil {
				return 0, false, err
			}
			return r.Duration, false, nil
		})
	})
	for _, shards := range []int{1, 4} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			x := small(b, 1, shards, 1, "a")
			token := write(b, x, ids, docs)
			run(b, func(q riffle.Query, load []string) (time.Duration, bool, error) {
				r, err := x.Search(b.Context(), q, &cluster.SearchOptions{Token: token, Options: scatter.Options{SearchOptions: riffle.SearchOptions{Load: load}}})
				if err != nil {
					return 0, false, err
				}
				return r.Slowest, r.Cached, nil
			})
		})
	}
}
