//go:build linux

package bulk

import (
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A timedSink adds up the time of the goroutines that write tables.
type timedSink struct {
	*store.SegmentWriter
	b     *testing.B
	mu    sync.Mutex
	spent []time.Duration // by table
}

type timedTable struct {
	s *timedSink
	t *store.TableWriter
	n int
}

func (s *timedSink) Table(kind segment.Kind) segment.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = append(s.spent, 0)
	return timedTable{s, s.SegmentWriter.Table(byte(kind)), len(s.spent) - 1}
}

func (t timedTable) timed(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime(t.s.b)
	err := f()
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.spent[t.n] += threadTime(t.s.b) - start
	return err
}

func (t timedTable) Set(key, value []byte) error {
	return t.timed(func() error { return t.t.Set(key, value) })
}

func (t timedTable) Finish() error { return t.timed(t.t.Finish) }

// BenchmarkBuildStored measures what stored documents cost a build, in ns of thread time a byte of
// JSON, on a quarter of gutenberg-a. It reports the goroutine that takes blocks in order, all
// tables (which compress), and the slowest table.
func BenchmarkBuildStored(b *testing.B) {
	path := corporaFile(b, "gutenberg-a.jsonl.zst")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ordered, all, longest time.Duration
	bytes, tables := 0, 0
	for b.Loop() {
		blocks, size := storedBlocks(b, path, 50)
		bytes += size
		e, err := store.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		w, err := e.NewSegment()
		if err != nil {
			b.Fatal(err)
		}
		s := &timedSink{SegmentWriter: w, b: b}
		stored := segment.NewStoredWriter(context.Background(), s, segment.StoredOptions{})
		for _, block := range blocks {
			start := threadTime(b)
			if err := stored.Write(&block.chunk); err != nil {
				b.Fatal(err)
			}
			ordered += threadTime(b) - start
		}
		if err := stored.Close(); err != nil {
			b.Fatal(err)
		}
		for _, d := range s.spent {
			all += d
		}
		longest += slices.Max(s.spent)
		tables += len(s.spent)
		if err := w.Abort(); err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for name, d := range map[string]time.Duration{"ordered": ordered, "tables": all, "longest": longest} {
		b.ReportMetric(float64(d.Nanoseconds())/float64(bytes), name+"-ns/B")
	}
	b.ReportMetric(float64(tables)/float64(b.N), "tables")
}

// storedBlocks returns the first blocks of a file, inverted, with all fields stored, and their size.
func storedBlocks(b *testing.B, path string, most int) (blocks []*docBlock, size int) {
	r, err := jsonl.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	w := newWorker(new(document.Schema), &live.Options{Analyzer: analysis.Lookup})
	var parts *segment.Partitions
	for len(blocks) < most {
		lines, first, err := r.Block(nil, BlockBytes)
		if err == io.EOF {
			return blocks, size
		}
		if err != nil {
			b.Fatal(err)
		}
		block := &docBlock{input: blockInput{lines: lines, first: first}}
		w.parse(context.Background(), block)
		if parts == nil {
			parts = block.chunk.Sample()
		}
		block.chunk.Group(parts)
		blocks, size = append(blocks, block), size+len(lines)
	}
	return blocks, size
}
