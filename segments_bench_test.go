package riffle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// BenchmarkSegments searches the passages of gutenberg-a in indexes that were filled in different
// ways, with one goroutine a query:
//
//	one      a single segment
//	many     the result of Apply with 1,000 at a time: some segments, and one in memory
//	five     the same with less memory and without merges: some five segments, and one in memory
//	deleted  a single segment of which 20 % are deleted
//	put      a single segment, and a document that is put right before each search
//	calm     a single segment, and 16,000 documents in memory, as put has on average
//	beside   a single segment, and a document that is put into another index right before each
//	         search: the cost of processor caches that hold other data
//
// An operation is all rounds together. A query's time is the best of its rounds, and a figure is
// the mean over the queries; x/one is its ratio to that of the single segment. Rounds alternate
// between the indexes, so that noise affects all. RIFFLE_PASSAGES bounds the passages, and
// RIFFLE_ONLY names the indexes to measure. RIFFLE_KEEP is a folder for the filled indexes, which
// later runs copy.
func BenchmarkSegments(b *testing.B) {
	passages := readPassages(b)
	indexes := []*filledIndex{{name: "one"}, {name: "many"}, {name: "five"}, {name: "deleted"}, {name: "put"}, {name: "calm"}, {name: "beside"}}
	if only := os.Getenv("RIFFLE_ONLY"); only != "" {
		indexes = indexes[:0]
		for name := range strings.SplitSeq(only, ",") {
			indexes = append(indexes, &filledIndex{name: name})
		}
	}
	for _, x := range indexes {
		x.fill(b, passages)
	}
	for _, mode := range []Mode{ModeOr, ModeAnd} {
		for _, file := range []string{"gutenberg-dev", "msmarco-dev"} {
			b.Run(fmt.Sprintf("mode=%v/queries=%s", mode, file), func(b *testing.B) {
				queries := readQueries(b, file, 500)
				for b.Loop() {
					compareIndexes(b, indexes, passages, queries, mode)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// A filledIndex is an index of the benchmark, with the times of its queries.
type filledIndex struct {
	name   string
	engine *Engine
	put    *Engine // receives a document before each search; or nil
	puts   int
	best   []time.Duration // by query
	work   Work            // of one round
}

func compareIndexes(b *testing.B, indexes []*filledIndex, passages []jsonl.Document, queries []string, mode Mode) {
	const warm, rounds = 4, 12
	for _, x := range indexes {
		x.best = x.best[:0]
		for range queries {
			x.best = append(x.best, math.MaxInt64)
		}
	}
	for round := range warm + rounds {
		for _, x := range indexes {
			x.work = Work{}
			for i, q := range queries {
				if x.put != nil {
					x.puts++
					id, doc := putOf(passages, x.puts)
					if err := x.put.Put(ctx, id, doc); err != nil {
						b.Fatal(err)
					}
				}
				res, err := x.engine.Search(ctx, Match{Field: "text", Text: q, Mode: mode}, nil)
				if err != nil {
					b.Fatal(err)
				}
				if round >= warm {
					x.best[i] = min(x.best[i], res.Duration)
				}
				x.work.Add(res.Work)
			}
		}
	}
	var one float64
	for _, x := range indexes {
		sum := time.Duration(0)
		for _, d := range x.best {
			sum += d
		}
		mean := float64(sum.Nanoseconds()) / 1000 / float64(len(queries))
		b.ReportMetric(mean, "µs-"+x.name)
		b.ReportMetric(float64(x.work.DocsScored)/float64(len(queries)), "scored-"+x.name)
		if x.name == "one" {
			one = mean
		} else if one > 0 {
			b.ReportMetric(mean/one, "x/one-"+x.name)
		}
	}
}

// putOf returns the i-th document that is put.
func putOf(passages []jsonl.Document, i int) (id string, doc map[string]any) {
	return fmt.Sprint("put", i), map[string]any{"text": textOf(&passages[i*7919%len(passages)])}
}

// fill makes the index.
func (x *filledIndex) fill(b *testing.B, passages []jsonl.Document) {
	o := &Options{Durability: SyncNone, Schema: &Schema{NoStore: true}, Exec: Exec{Policy: PolicyInter}}
	if x.name == "five" {
		o.MemoryBytes, o.Merge.Disabled = int64(len(passages))*140, true
	}
	dir, filled := keptIndex(b, x.name)
	e, err := Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.engine.Close() })
	x.engine = e
	if !filled {
		x.add(b, passages)
		if err := keepIndex(x.name, e, dir); err != nil {
			b.Fatal(err)
		}
	}
	switch x.name {
	case "put":
		x.put = x.engine
	case "calm":
		var batch Batch
		for i := 1; i <= 16_000; i++ {
			if batch.Put(putOf(passages, i)); batch.Len() == 1000 {
				if err := x.engine.Apply(ctx, &batch); err != nil {
					b.Fatal(err)
				}
				batch.Reset()
			}
		}
	case "beside":
		if x.put, err = Open(b.TempDir(), o); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { x.put.Close() })
	}
	stats, err := x.engine.Stats()
	if err != nil {
		b.Fatal(err)
	}
	var sizes []string
	for _, s := range stats.Segments {
		sizes = append(sizes, fmt.Sprintf("%d (sealed: %v)", s.Docs, s.Sealed))
	}
	b.Logf("%s: %d documents in segments of %s", x.name, stats.Docs, strings.Join(sizes, ", "))
}

// keptIndex returns a folder for an index, and whether it is filled: with what an earlier run has kept
// under a name in RIFFLE_KEEP.
func keptIndex(b *testing.B, name string) (dir string, filled bool) {
	dir = filepath.Join(b.TempDir(), name)
	if kept := os.Getenv("RIFFLE_KEEP"); kept != "" {
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(kept, name))); err == nil {
			return dir, true
		} else if !errors.Is(err, fs.ErrNotExist) {
			b.Fatal(err)
		}
	}
	return dir, false
}

// keepIndex keeps the index of an engine in RIFFLE_KEEP.
func keepIndex(name string, e *Engine, dir string) error {
	kept := os.Getenv("RIFFLE_KEEP")
	if kept == "" {
		return nil
	}
	return e.Checkpoint(ctx, filepath.Join(kept, name))
}

// add adds the passages to the index.
func (x *filledIndex) add(b *testing.B, passages []jsonl.Document) {
	e := x.engine
	var batch Batch
	for i := range passages {
		batch.Put(passages[i].ID, map[string]any{"text": textOf(&passages[i])})
		if batch.Len() == 1000 || i == len(passages)-1 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if x.name == "many" || x.name == "five" {
		settled(b, e)
	} else if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	if x.name == "deleted" {
		for i := 0; i < len(passages); i += 5 {
			batch.Delete(passages[(i+i/5%5)%len(passages)].ID)
		}
		if err := errors.Join(e.Apply(ctx, &batch), e.Flush(ctx)); err != nil {
			b.Fatal(err)
		}
	}
}

// settled waits until the list of segments has not changed for a while.
func settled(b *testing.B, e *Engine) {
	segments, since := -1, time.Now()
	for time.Since(since) < 2*time.Second {
		stats, err := e.Stats()
		if err != nil {
			b.Fatal(err)
		}
		if n := len(stats.Segments); n != segments {
			segments, since = n, time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func readPassages(b *testing.B) (passages []jsonl.Document) {
	limit := math.MaxInt
	if s := os.Getenv("RIFFLE_PASSAGES"); s != "" {
		limit, _ = strconv.Atoi(s)
	}
	r, err := jsonl.Open(corporaFile(b, "gutenberg-a.jsonl.zst"))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for len(passages) < limit {
		var d jsonl.Document
		if err := r.Next(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		passages = append(passages, d)
	}
	return passages
}

// textOf returns the text of a passage.
func textOf(d *jsonl.Document) any {
	for _, f := range d.Fields {
		if f.Name == "text" {
			return f.Value
		}
	}
	return ""
}

// readQueries reads queries from a file of lines "id, tab, text".
func readQueries(b *testing.B, name string, limit int) (queries []string) {
	f, err := os.Open(corporaFile(b, filepath.Join("queries", name+".tsv")))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && len(queries) < limit; {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		queries = append(queries, text)
	}
	return queries
}
