//go:build linux

package bulk

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
)

// noSink discards keys.
type noSink struct{}

func (noSink) Set(_, _ []byte) error { return nil }

// corporaFile returns a file of the corpora, or skips.
func corporaFile(b *testing.B, name string) string {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	return path
}

// threadTime returns the CPU time of this thread, which is the cost of a stage even if other work
// runs meanwhile.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// BenchmarkBuildStages measures what each stage of a build costs on its own, in one
// goroutine, in ns a byte of JSON (so that they add up), on a quarter of gutenberg-a.
func BenchmarkBuildStages(b *testing.B) {
	path := corporaFile(b, "gutenberg-a.jsonl.zst")
	most, size := 50, BlockBytes
	if v, err := strconv.Atoi(os.Getenv("BB")); err == nil {
		most, size = 50<<20/v, v
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	schema := &document.Schema{Fields: map[string]document.Field{"text": {NoStore: true}}, Dynamic: document.DynamicIgnore, NoStore: true}
	var total, decode, split, parse, group, add, write time.Duration
	bytes := 0
	for b.Loop() {
		r, err := jsonl.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		var blocks []*docBlock
		for len(blocks) < most {
			start := threadTime(b)
			lines, first, err := r.Block(nil, size)
			decode += threadTime(b) - start
			if err == io.EOF {
				break
			}
			blocks = append(blocks, &docBlock{input: blockInput{lines: lines, first: first}})
			bytes += len(lines)
		}
		r.Close()
		w := newWorker(schema, &live.Options{Analyzer: analysis.Lookup})
		var chunk segment.Chunk
		var parts *segment.Partitions
		var bulk *segment.Bulk
		for _, block := range blocks {
			start := threadTime(b)
			jsonl.Lines(block.input.lines, 1, func(_ int, line []byte) bool { return w.parser.Parse(line, &w.doc) == nil })
			at := threadTime(b)
			split += at - start
			block.chunk = chunk
			w.parse(context.Background(), block)
			if parts == nil {
				parts = block.chunk.Sample()
				bulk = segment.NewBulk(parts, 1)
			}
			start = threadTime(b)
			parse += start - at
			block.chunk.Group(parts)
			at = threadTime(b)
			group += at - start
			bulk.Add(&block.chunk)
			add += threadTime(b) - at
			chunk = block.chunk
			chunk.Reset()
		}
		start := threadTime(b)
		if _, err := bulk.Write(context.Background(), noSink{}, segment.BulkOptions{Workers: 1}); err != nil {
			b.Fatal(err)
		}
		write += threadTime(b) - start
	}
	total = decode + parse + group + add + write
	for _, s := range []struct {
		name string
		d    time.Duration
	}{{"decode", decode}, {"json", split}, {"json+invert", parse}, {"group", group}, {"index", add}, {"encode", write}, {"all", total}} {
		b.ReportMetric(float64(s.d.Nanoseconds())/float64(bytes), s.name+"-ns/B")
	}
	b.ReportMetric(float64(bytes)/1e6/total.Seconds(), "MB/s")
}
