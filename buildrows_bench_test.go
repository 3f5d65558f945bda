package riffle

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// BenchmarkBuildRows measures the rows of Wei 2011, tables IV and VI: builds by the CPU alone, and
// with a GPU that does half or all of the indexing, by sorting or by the paper's trees, on half of
// the cores and on all. Besides text MB/s it reports the seconds that the goroutine waited for
// parsers, indexed, waited for the GPU, and wrote (BuildTimes), and the index's MB.
//
//	go test -tags cuda -run xxx -bench BuildRows -benchtime 3x .
//
// RIFFLE_BUILD_CORPUS is a file of JSON lines, gutenberg-a by default. RIFFLE_BUILD_REPEAT (1) is
// how often it is read, each time under other ids: the copies add no words, so the dictionary stays
// that of one. They are read uncompressed, four at a time. RIFFLE_BUILD_STORE=1 stores text, too.
// RIFFLE_BUILD_POSITIONS=none leaves positions out.
func BenchmarkBuildRows(b *testing.B) {
	path := os.Getenv("RIFFLE_BUILD_CORPUS")
	if path == "" {
		path = corporaFile(b, "gutenberg-a.jsonl.zst")
	}
	times, _ := strconv.Atoi(os.Getenv("RIFFLE_BUILD_REPEAT"))
	dir := b.TempDir()
	files := repeatedFiles(b, path, dir, max(times, 1))
	cores := runtime.GOMAXPROCS(0)
	dir = filepath.Join(dir, "index")
	for _, workers := range slices.Compact([]int{max(1, cores/2), cores}) {
		for _, share := range []float64{0, 0.5, 1} {
			b.Run(fmt.Sprintf("workers=%d/gpu=%v", workers, share), func(b *testing.B) {
				buildRow(b, files, dir, workers, share, false)
			})
		}
		b.Run(fmt.Sprintf("workers=%d/gpu=1/trees", workers), func(b *testing.B) {
			buildRow(b, files, dir, workers, 1, true)
		})
	}
}

func buildRow(b *testing.B, files []string, dir string, workers int, share float64, trees bool) {
	o := &BuildOptions{private: privateBuild{trees: trees}, Workers: workers, Index: Options{Schema: &Schema{
		Fields: map[string]Field{"text": {}}, Dynamic: DynamicIgnore, NoStore: os.Getenv("RIFFLE_BUILD_STORE") == "",
	}}}
	if os.Getenv("RIFFLE_BUILD_POSITIONS") == "none" {
		o.Index.Schema.Positions = PositionsNone
	}
	if share > 0 {
		if _, err := GPUs(); err != nil {
			b.Skip(err)
		}
		o.GPU = &BuildGPUOptions{Required: true, Share: share}
	}
	var all BuildTimes
	var res *BuildResult
	var text int64
	for b.Loop() {
		var err error
		if res, err = Build(b.Context(), dir, JSONLines{Files: files, Readers: 4}, o); err != nil || res.NoGPU != "" {
			b.Fatal(err, res)
		}
		b.StopTimer()
		text += res.TextBytes
		all.Wait, all.Index, all.GPU, all.Write = all.Wait+res.Times.Wait, all.Index+res.Times.Index, all.GPU+res.Times.GPU, all.Write+res.Times.Write
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(text)/1e6/b.Elapsed().Seconds(), "MB/s")
	for name, t := range map[string]time.Duration{"wait-s": all.Wait, "index-s": all.Index, "gpu-s": all.GPU, "write-s": all.Write} {
		b.ReportMetric(t.Seconds()/float64(b.N), name)
	}
	b.ReportMetric(float64(res.WrittenBytes)/1e6, "index-MB")
	b.ReportMetric(float64(res.Segments), "segments")
}

// repeatedFiles writes the documents of a file several times, each time under other ids, and
// returns the files.
func repeatedFiles(b *testing.B, path, dir string, times int) []string {
	r, err := jsonl.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var files []string
	var writers []*bufio.Writer
	for i := range times {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i, ".jsonl")))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		files, writers = append(files, f.Name()), append(writers, bufio.NewWriterSize(f, 1<<20))
	}
	id := regexp.MustCompile(`^\{"id": *"`)
	for {
		line, err := r.Line()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		at := len(id.Find(line))
		if at == 0 {
			b.Fatalf("%s: a line does not begin with an id that is a string: %.60s", path, line)
		}
		for i, w := range writers {
			fmt.Fprintf(w, "%s%d-%s\n", line[:at], i, line[at:])
		}
	}
	for _, w := range writers {
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	return files
}
