package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

const gpuLong = `Tells of the GPUs of the machine, and of what an index does with them. A program
that was built without the tag cuda has none; docs/GPU.md tells how to build one.`

func newGPU() *cobra.Command {
	c := &cobra.Command{
		Use:   "gpu",
		Short: "Tell of GPUs and what they do",
		Long:  gpuLong,
		Args:  cobra.NoArgs,
	}
	for _, sub := range []*cobra.Command{newGPUInfo(), newGPUWarm(), newGPUStat()} {
		markFailures(sub)
		c.AddCommand(sub)
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

func newGPUInfo() *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "List the GPUs of the machine",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := riffle.GPUs()
			for _, info := range all {
				fmt.Fprintln(c.OutOrStdout(), info)
			}
			return err
		},
	}
}

const gpuWarmLong = `Fills the memory of the GPUs with the lists that the queries of a log visit most, and
prints what fits: a trial of --gpu-memory and --gpu-flat-bytes. The memory
belongs to the process; programs call Engine.Warm, and bench has --warm.`

func newGPUWarm() *cobra.Command {
	var t gpuTrial
	c := t.command("warm", "Try what the lists of a log take of the GPUs' memory", gpuWarmLong)
	t.declareLog(c, "log", "file of queries: id, tab, text (required)")
	c.MarkFlagRequired("log")
	return c
}

const gpuStatLong = `Searches for the queries of a file, in batches, and prints who answered them, what was
copied, and what was in the memory of the GPUs.`

func newGPUStat() *cobra.Command {
	var t gpuTrial
	c := t.command("stat", "Run queries and print what the GPUs did", gpuStatLong)
	topicsFlag(c, &t.topics)
	t.declareLog(c, "warm", "file of queries to fill the GPUs' memory by first")
	return c
}

// A gpuTrial warms GPUs, runs queries, or both, and prints figures.
type gpuTrial struct {
	queryFlags
	gpuFlags
	db, topics string
	json       bool
}

func (t *gpuTrial) command(use, short, long string) *cobra.Command {
	c := &cobra.Command{Use: use + " --db DIR", Short: short, Long: long, Args: cobra.NoArgs}
	dbFlag(c, &t.db)
	t.queryFlags.declare(c, riffle.DefaultK)
	t.gpuFlags.declare(c)
	c.Flags().BoolVar(&t.json, "json", false, "print a JSON object on one line")
	c.RunE = func(c *cobra.Command, _ []string) error { return t.run(c) }
	return c
}

func (t *gpuTrial) run(c *cobra.Command) (err error) {
	o, err := t.queryFlags.options(c)
	if err != nil {
		return err
	}
	g := t.gpuFlags.options(o.Processor, 0)
	if g == nil {
		return usagef("--exec cpu leaves nothing to tell")
	}
	g.Required = true
	e, err := openWith(t.db, &riffle.Options{GPU: g})
	if err != nil {
		return err
	}
	defer closing(e, &err)
	if err := checkFields(e, t.fieldNames()); err != nil {
		return err
	}
	if err := t.warm(c.Context(), e, &t.queryFlags, o); err != nil {
		return err
	}
	if err := t.ask(c.Context(), e, o); err != nil {
		return err
	}
	st, err := e.Stats()
	if err != nil {
		return err
	}
	if t.json {
		return json.NewEncoder(c.OutOrStdout()).Encode(newGPUFigures(st.GPU))
	}
	return newGPUFigures(st.GPU).print(c.OutOrStdout())
}

// ask runs the queries, if there are any.
func (t *gpuTrial) ask(ctx context.Context, e *riffle.Engine, o *riffle.SearchOptions) error {
	if t.topics == "" {
		return nil
	}
	topics, err := readTopics(t.topics)
	if err != nil {
		return err
	}
	queries := make([]riffle.Query, len(topics))
	for i, topic := range topics {
		queries[i] = t.match(topic.Text)
	}
	_, err = e.SearchBatch(ctx, queries, o)
	return err
}

// gpuFigures are riffle.GPUStats as commands show them.
type gpuFigures struct {
	Batches    int64         `json:"batches"`
	Alone      int64         `json:"on_gpu"`  // queries that a GPU answered alone
	Completed  int64         `json:"on_both"` // completed by the CPU
	CPU        int64         `json:"on_cpu"`  // answered by the CPU alone
	Refused    int64         `json:"refused"` // of these, those that a GPU cannot answer
	FailedOver int64         `json:"failed_over"`
	MovedBytes int64         `json:"moved_bytes"`
	Devices    []cacheFigure `json:"devices"`
}

// A cacheFigure describes the contents of a GPU's memory.
type cacheFigure struct {
	Name      string  `json:"name"`
	Lost      string  `json:"lost,omitempty"`
	Bytes     int64   `json:"cache_bytes"`
	UsedBytes int64   `json:"used_bytes"`
	Lists     int     `json:"lists"`
	Extents   int     `json:"extents"`
	HitRate   float64 `json:"hit_rate"` // by bytes
}

// newGPUFigures returns nil without a GPU.
func newGPUFigures(st *riffle.GPUStats) *gpuFigures {
	if st == nil || len(st.Devices) == 0 {
		return nil
	}
	s := st.Searches
	f := &gpuFigures{
		Batches: s.Batches, Alone: s.OnGPU, Completed: s.OnBoth, CPU: s.OnCPU, Refused: s.Refused, FailedOver: s.FailedOver, MovedBytes: s.MovedBytes,
	}
	for _, d := range st.Devices {
		f.Devices = append(f.Devices, cacheFigure{
			Name: d.Info.Name, Lost: d.Lost, Bytes: d.Cache.Bytes, UsedBytes: d.Cache.UsedBytes,
			Lists: d.Cache.Lists, Extents: d.Cache.Extents, HitRate: round2(100*d.Cache.HitRate()) / 100,
		})
	}
	return f
}

func (f *gpuFigures) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "batches\t%d\nqueries answered by a GPU alone\t%d\nqueries completed by the CPU\t%d\nqueries answered by the CPU\t%d\n",
		f.Batches, f.Alone, f.Completed, f.CPU)
	fmt.Fprintf(w, "queries that a GPU cannot answer\t%d\nqueries of failed batches\t%d\nbytes copied to GPUs\t%d\n", f.Refused, f.FailedOver, f.MovedBytes)
	for i, d := range f.Devices {
		fmt.Fprintf(w, "gpu %d\t%s %s\n  cache\t%d of %d bytes, %d lists, %d extents\n  hit rate by bytes\t%.1f %%\n",
			i, d.Name, d.Lost, d.UsedBytes, d.Bytes, d.Lists, d.Extents, 100*d.HitRate)
	}
	return w.Flush()
}
