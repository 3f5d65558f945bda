package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// gpuFlags say how a command uses GPUs.
type gpuFlags struct {
	devices    []int
	memory     byteSize
	policy     choice[riffle.GPUPolicy]
	layout     choice[riffle.GPULayout]
	static     bool
	flatBytes  byteSize
	noFlat     bool
	stream     bool
	hostBytes  byteSize
	batchBytes byteSize
	delay      time.Duration
	log        string // of queries, to warm the GPUs with
}

func (g *gpuFlags) declare(c *cobra.Command) {
	f := c.Flags()
	f.IntSliceVar(&g.devices, "gpus", nil, "numbers of the GPUs to use, such as 0,1 (default all)")
	f.Var(&g.memory, "gpu-memory", "memory to take of each GPU; 0 is seven eighths of what is free")
	g.policy = choice[riffle.GPUPolicy]{text: "auto", parse: riffle.ParseGPUPolicy,
		names: []string{"auto", "gpu", "cpu"}}
	g.policy.declare(c, "gpu-policy", "which searches go to a GPU")
	g.layout = choice[riffle.GPULayout]{text: "auto", parse: riffle.ParseGPULayout,
		names: []string{"auto", "copies", "ranges"}}
	g.layout.declare(c, "gpu-layout", "how several GPUs hold the index")
	f.BoolVar(&g.static, "gpu-static", false, "keep what a log has put there, and nothing else")
	f.Var(&g.flatBytes, "gpu-flat-bytes", "memory for lists as flat postings, which are scored fastest; 0 is a quarter of all")
	f.BoolVar(&g.noFlat, "gpu-no-flat", false, "keep no flat postings, and leave that memory to blocks")
	f.BoolVar(&g.stream, "gpu-stream", false, "leave lists in main memory, whence the GPU reads what can matter: for indexes larger than its memory")
	f.Var(&g.hostBytes, "gpu-host-bytes", "with --gpu-stream: most main memory to pin for lists, for each GPU; 0 is 32 GiB")
	f.Var(&g.batchBytes, "gpu-batch-bytes", "memory for a batch; 0 is a sixteenth of all")
	f.DurationVar(&g.delay, "gpu-delay", 0, "longest wait for others while a GPU works; 0 is until it is nearly done")
}

// declareLog declares the flag for a log of queries.
func (g *gpuFlags) declareLog(c *cobra.Command, name, usage string) {
	c.Flags().StringVar(&g.log, name, "", usage)
	c.MarkFlagFilename(name, "tsv", "txt")
}

// options returns GPU options for the chosen processor. If it is the GPU, GPUs are required; if it
// is the CPU, none is used. batch is the number of searches that run together, 0 if that is open.
func (g *gpuFlags) options(on riffle.Processor, batch int) *riffle.GPUOptions {
	if on == riffle.ProcessorCPU {
		return nil
	}
	return &riffle.GPUOptions{
		Devices: g.devices, Required: on == riffle.ProcessorGPU, MemoryBytes: int64(g.memory), Policy: g.policy.value, Layout: g.layout.value, StaticCache: g.static,
		FlatBytes: int64(g.flatBytes), NoFlat: g.noFlat, Stream: g.stream, HostBytes: int64(g.hostBytes),
		BatchQueries: min(batch, mostTogether), BatchBytes: int64(g.batchBytes), BatchDelay: g.delay,
	}
}

// mostTogether is the largest useful batch: more searches at once make several batches.
const mostTogether = 4096

// warm fills the GPUs from the log, if there is one.
func (g *gpuFlags) warm(ctx context.Context, e *riffle.Engine, q *queryFlags, o *riffle.SearchOptions) error {
	if g.log == "" {
		return nil
	}
	topics, err := readTopics(g.log)
	if err != nil {
		return err
	}
	queries := make([]riffle.Query, len(topics))
	for i, t := range topics {
		queries[i] = q.match(t.Text)
	}
	if err := e.Warm(ctx, queries, o); err != nil {
		return fmt.Errorf("%s: %w", g.log, err)
	}
	return nil
}
