package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// A bulkMode says whether index builds the index in bulk.
type bulkMode uint8

const (
	bulkAuto bulkMode = iota // for a new index
	bulkOn
	bulkOff
)

var bulkNames = []string{"auto", "on", "off"}

func declareBulk(c *cobra.Command, v *choice[bulkMode]) {
	*v = choice[bulkMode]{text: "auto", names: bulkNames, parse: func(s string) (bulkMode, error) {
		i := slices.Index(bulkNames, s)
		if i < 0 {
			return 0, fmt.Errorf("want one of %v", bulkNames)
		}
		return bulkMode(i), nil
	}}
	v.declare(c, "bulk", "make the index as a whole, several times as fast, nothing before everything: on, off, or auto, which is on for a new index unless batches were asked for (--batch, --no-sync)")
}

// wantsBulk decides whether the index is built in bulk.
func (ix *indexCommand) wantsBulk(c *cobra.Command) (bool, error) {
	switch ix.bulk.value {
	case bulkOn:
		return true, nil
	case bulkOff:
		return false, nil
	}
	if c.Flags().Changed("batch") || c.Flags().Changed("no-sync") {
		return false, nil
	}
	entries, err := os.ReadDir(ix.db)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return true, nil
	}
	e, err := riffle.Open(ix.db, &riffle.Options{ReadOnly: true})
	if err == nil {
		return false, e.Close()
	}
	return errors.Is(err, riffle.ErrUnfinished), nil // any other error will occur again
}

// buildFlags say how an index is built in bulk.
type buildFlags struct {
	workers, readers int
	one, stages      bool

	gpu       bool
	gpuNumber int
	gpuMemory byteSize
	gpuShare  float64
}

func (b *buildFlags) declare(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.workers, "workers", 0, "with --bulk: goroutines that analyse and index; 0 is one for each core")
	f.IntVar(&b.readers, "readers", 1, "with --bulk: files to read at a time; with more than one their documents lie by turns in the index")
	f.BoolVar(&b.one, "one-segment", false, "merge into one segment at the end")
	f.BoolVar(&b.stages, "stages", false, "with --bulk: tell in the last line how many seconds went where")
	f.BoolVar(&b.gpu, "gpu", false, "with --bulk: have a GPU index, or fail when there is none")
	f.IntVar(&b.gpuNumber, "gpu-number", 0, "with --gpu: number of the GPU")
	f.Var(&b.gpuMemory, "gpu-memory", "with --gpu: most memory to take of it; 0 is what --memory can need")
	f.Float64Var(&b.gpuShare, "gpu-share", 1, "with --gpu: how much of the indexing it gets, up to 1")
}

// check refuses flags that the way of indexing would ignore.
func (b *buildFlags) check(c *cobra.Command, bulk bool) error {
	if b.workers < 0 || b.readers < 1 {
		return usagef("--workers must not be negative and --readers at least 1, not %d and %d", b.workers, b.readers)
	}
	ignored, reason := []string{"gpu", "gpu-number", "gpu-memory", "gpu-share", "stages", "workers", "readers"}, "is for an index that is made as a whole (--bulk on)"
	if bulk {
		ignored, reason = []string{"batch", "no-sync"}, "is for an index that grows by batches (--bulk off)"
	}
	for _, name := range ignored {
		if c.Flags().Changed(name) {
			return usagef("--%s %s", name, reason)
		}
	}
	return nil
}

func (b *buildFlags) options() *riffle.BuildGPUOptions {
	if !b.gpu {
		return nil
	}
	return &riffle.BuildGPUOptions{Device: b.gpuNumber, Required: true, MemoryBytes: int64(b.gpuMemory), Share: b.gpuShare}
}

// stageSeconds are riffle.BuildTimes in the last line of output.
type stageSeconds struct {
	Wait  float64 `json:"wait"`
	Index float64 `json:"index"`
	GPU   float64 `json:"gpu"`
	Write float64 `json:"write"`
}

func newStageSeconds(t riffle.BuildTimes) *stageSeconds {
	return &stageSeconds{t.Wait.Seconds(), t.Index.Seconds(), t.GPU.Seconds(), t.Write.Seconds()}
}

// build builds the index in bulk.
func (ix *indexCommand) build(ctx context.Context, in io.Reader, files []string, w *indexWriter) (s summary, err error) {
	defer w.progress.finish()
	o := &riffle.BuildOptions{Index: *w.options, Workers: ix.workers, MemoryBytes: int64(ix.memory), OneSegment: ix.one, GPU: ix.options()}
	o.Bad = func(err error) error { return w.bad(err) }
	o.Progress = func(p riffle.BuildProgress) { w.progress.update(p.Docs, p.TextBytes, p.InputBytes) }
	source := riffle.JSONLines{Files: files, Stdin: in, IDPrefix: ix.prefix, Readers: ix.readers}
	res, err := riffle.Build(ctx, ix.db, source, o)
	if err != nil {
		return s, err
	}
	w.total.Docs, w.total.TextBytes = res.Docs, res.TextBytes
	if ix.stages {
		w.total.Stages = newStageSeconds(res.Times)
	}
	if res.NoGPU != "" {
		w.progress.interrupt()
		fmt.Fprintf(w.errw, "riffle: the GPU failed, the CPU went on: %s\n", res.NoGPU)
	}
	e, err := riffle.Open(ix.db, &riffle.Options{ReadOnly: true})
	if err != nil {
		return s, err
	}
	defer closing(e, &err)
	_, err = w.sizes(e)
	w.total.Written = res.WrittenBytes
	return w.total, err
}
