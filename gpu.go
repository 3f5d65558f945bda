package riffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/search"
)

// GPUOptions say how an Engine uses GPUs. Answers are the same as on the CPU, to the last bit.
//
// Searches that arrive together run in batches, and a policy decides which of them go to a GPU. The
// CPU completes answers for which parts of lists are not resident. Programs built without the tag
// cuda have no GPU; see docs/GPU.md.
type GPUOptions struct {
	// Devices are the numbers of the GPUs to use, from 0. The default, none, is all GPUs of the machine.
	Devices []int

	// Required makes Open fail when one of Devices cannot be used. The error matches ErrNoDevice if
	// there is no such GPU, no driver, or no support in this build; otherwise it is what the GPU's
	// driver says, or that the memory is too small. By default the CPU then does everything, also
	// if other GPUs could be used, and Stats.GPU says why.
	Required bool

	// MemoryBytes is how much memory to take of each GPU, once, when it is opened: for batches and
	// for resident lists. A GPU with less free memory cannot be used. The default is seven eighths of
	// what is free. At most 64 GiB are taken; more would be of no use.
	MemoryBytes int64

	// Layout says how several GPUs hold the index. The default is GPULayoutAuto.
	Layout GPULayout

	// Policy says which searches go to a GPU, unless they say so themselves. The default is
	// GPUPolicyAuto.
	Policy GPUPolicy

	// StaticCache keeps what Engine.Warm loaded, and nothing else. By default the cache keeps
	// learning from searches.
	StaticCache bool

	// FlatBytes is how much of a GPU's memory, in bytes, holds lists as flat postings: one word a
	// posting. A flat list is scored several times as fast as its blocks. A list that recurs is
	// converted to one. The default, 0, is a quarter of the memory; NoFlat makes it none. FlatBytes,
	// three batches and a sixteenth for columns must fit into the memory that is taken, or else the
	// GPU cannot be used. FlatBytes reduces the memory of the list cache.
	FlatBytes int64

	// NoFlat keeps no flat postings: every search decodes blocks.
	NoFlat bool

	// Stream is for indexes whose lists exceed the memory of a GPU. The lists stay in main memory,
	// and the GPU reads the blocks that can matter to a batch while it scores others. The lists
	// searched most stay resident. Without Stream, searches of lists that do not fit are several
	// times as slow; with it, searches of lists that do fit are half as fast. Stream replaces
	// FlatBytes and NoFlat.
	Stream bool

	// HostBytes is how much main memory, in bytes, Stream may pin for the lists of one GPU, as they are
	// searched. Each GPU pins memory of its own, so n GPUs pin up to n times as much: with
	// GPULayoutCopies each pins all lists, with GPULayoutRanges its part of each. Lists that do not fit
	// are copied with every batch. The default is 32 GiB. Length codes, static ranks and filters
	// that do not stay on the GPU are pinned in addition.
	HostBytes int64

	// BatchQueries is the most searches in a batch, at most 65,536. The default is 1,024.
	BatchQueries int

	// BatchBytes is the memory of a GPU for a batch, at least 4 MiB; three are under way at a time.
	// The default is a sixteenth of the memory, at least 4 MiB and at most 1 GiB. Each batch also
	// pins a little more than half as much main memory. Length codes, static ranks and filters of a
	// segment that take more than a quarter of BatchBytes are pinned in addition when they come to the
	// GPU: by each batch up to the sixteenth of the memory that is for them, or with Stream those that
	// have no room in HostBytes.
	BatchBytes int64

	// BatchDelay is the longest that a search waits for others to share a batch while its GPU works
	// on another one. By default it waits until the GPU is about to be done with that.
	BatchDelay time.Duration
}

// A GPUPolicy says which searches go to a GPU.
type GPUPolicy uint8

const (
	GPUPolicyAuto GPUPolicy = iota // where the search is estimated to finish first
	GPUPolicyGPU                   // all
	GPUPolicyCPU                   // none
)

var gpuPolicies = [...]struct {
	name     string
	dispatch accelerator.Policy
}{{"auto", accelerator.Auto}, {"gpu", accelerator.Devices}, {"cpu", accelerator.Processors}}

func (p GPUPolicy) String() string {
	if int(p) < len(gpuPolicies) {
		return gpuPolicies[p].name
	}
	return fmt.Sprintf("GPUPolicy(%d)", uint8(p))
}

// ParseGPUPolicy reads "auto", "gpu" or "cpu".
func ParseGPUPolicy(name string) (GPUPolicy, error) {
	for p := range gpuPolicies {
		if gpuPolicies[p].name == name {
			return GPUPolicy(p), nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q, want auto, gpu or cpu", name)
}

// A GPULayout says how several GPUs hold an index.
type GPULayout uint8

const (
	// GPULayoutAuto is GPULayoutRanges if the lists of the index do not fit into one GPU's memory when it
	// is opened, and otherwise GPULayoutCopies.
	GPULayoutAuto GPULayout = iota

	// GPULayoutCopies lets each GPU answer whole searches. Each caches the lists of its own searches. A
	// batch takes one GPU.
	GPULayoutCopies

	// GPULayoutRanges gives each GPU a range of the documents of every segment, and its part of every
	// list. A batch takes all GPUs. Together they hold an index as many times as large.
	GPULayoutRanges
)

var gpuLayouts = [...]struct {
	name   string
	layout accelerator.Layout
}{{"auto", accelerator.AutoLayout}, {"copies", accelerator.Copies}, {"ranges", accelerator.Ranges}}

func (l GPULayout) String() string {
	if int(l) < len(gpuLayouts) {
		return gpuLayouts[l].name
	}
	return fmt.Sprintf("GPULayout(%d)", uint8(l))
}

// ParseGPULayout reads "auto", "copies" or "ranges".
func ParseGPULayout(name string) (GPULayout, error) {
	for l := range gpuLayouts {
		if gpuLayouts[l].name == name {
			return GPULayout(l), nil
		}
	}
	return 0, fmt.Errorf("unknown layout %q, want auto, copies or ranges", name)
}

// Limits of GPUOptions.
const (
	mostMemoryBytes  = 64 << 30
	mostBatchQueries = 1 << 16 // more make several batches
	leastBatchBytes  = 4 << 20 // of a search with a few short lists
	batchesUnderWay  = 3
)

// validate reports every invalid field.
func (g *GPUOptions) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	seen := map[int]bool{}
	for _, n := range g.Devices {
		want(n >= 0 && !seen[n], "Devices: %d is negative or comes twice", n)
		seen[n] = true
	}
	want(g.MemoryBytes >= 0, "MemoryBytes must not be negative, not %d", g.MemoryBytes)
	want(g.Policy <= GPUPolicyCPU, "Policy: there is no %v", g.Policy)
	want(g.Layout <= GPULayoutRanges, "Layout: there is no %v", g.Layout)
	want(g.FlatBytes >= 0, "FlatBytes must not be negative, not %d", g.FlatBytes)
	want(g.FlatBytes == 0 || !g.NoFlat, "FlatBytes must be 0 with NoFlat, not %d", g.FlatBytes)
	want(g.MemoryBytes <= 0 || g.FlatBytes < g.MemoryBytes, "FlatBytes must be less than MemoryBytes, %d, not %d", g.MemoryBytes, g.FlatBytes)
	want(g.HostBytes >= 0, "HostBytes must not be negative, not %d", g.HostBytes)
	want(g.HostBytes == 0 || g.Stream, "HostBytes is for Stream, which is off")
	want(!g.Stream || g.FlatBytes == 0 && !g.NoFlat, "Stream takes the place of FlatBytes and NoFlat")
	want(g.BatchQueries >= 0 && g.BatchQueries <= mostBatchQueries, "BatchQueries must be 0 to %d, not %d", mostBatchQueries, g.BatchQueries)
	want(g.BatchBytes == 0 || g.BatchBytes >= leastBatchBytes, "BatchBytes must be 0 or at least %d, not %d", leastBatchBytes, g.BatchBytes)
	memory := g.MemoryBytes
	if memory <= 0 {
		memory = mostMemoryBytes
	}
	want(g.BatchBytes <= memory/batchesUnderWay, "BatchBytes must be at most a third of the memory, %d, not %d", memory, g.BatchBytes)
	want(g.BatchDelay >= 0, "BatchDelay must not be negative, not %v", g.BatchDelay)
	return errors.Join(errs...)
}

// accelerator returns the options in the form of package accelerator.
func (g *GPUOptions) accelerator() accelerator.Options {
	return accelerator.Options{
		Devices: g.Devices, MemoryBytes: g.MemoryBytes, Policy: gpuPolicies[g.Policy].dispatch, Layout: gpuLayouts[g.Layout].layout, StaticCache: g.StaticCache,
		FlatBytes: g.FlatBytes, NoFlat: g.NoFlat, Stream: g.Stream, HostBytes: g.HostBytes,
		BatchQueries: g.BatchQueries, BatchBytes: g.BatchBytes, BatchDelay: g.BatchDelay,
	}
}

// GPUInfo describes a GPU.
type GPUInfo = accelerator.Info

// GPUs lists the GPUs of the machine. If it finds none, its error matches ErrNoDevice and says what
// is missing: the GPU, its driver or support in this build.
func GPUs() ([]GPUInfo, error) { return accelerator.List() }

// GPUStats are figures about the GPUs of an Engine since it was opened.
type GPUStats struct {
	Devices []GPUDeviceStats
	Layout  GPULayout // of the GPUs: GPULayoutCopies or GPULayoutRanges
	NoGPU   string    // why no GPU is used; empty when one is

	// Searches, by which processor answered them, and batches; see package internal/dispatch.
	Searches accelerator.Searches
}

// GPUDeviceStats are figures about one GPU.
type GPUDeviceStats struct {
	Info  GPUInfo
	Lost  string                 // why it can no longer be used; empty when it can
	Cache accelerator.CacheStats // of the lists in its memory
}

// Warm replaces the contents of all GPUs' memory with what the queries of a log visit most (Wang
// 2017). It then runs the log there, so that those lists are copied. Without a GPU it returns
// ErrNoDevice.
//
// Warmed lists stay resident until searches want others more or, with GPUOptions.StaticCache, for
// good. A segment's lists are dropped when it is merged.
func (e *Engine) Warm(ctx context.Context, log []Query, o *SearchOptions) error {
	if e.accelerator == nil {
		return e.noGPU()
	}
	v, err := e.acquire()
	if err != nil {
		return err
	}
	defer v.Release()
	ctx, cancel := e.index.UntilClose(ctx)
	defer cancel()
	err = e.searcher.Warm(ctx, v.View, len(log), func(i int) (*search.Run, error) {
		s, err := e.settings(o)
		if err != nil {
			return nil, err
		}
		return v.plan(ctx, log[i], &s)
	})
	return e.index.OrClosed(err)
}

// openAccelerator opens the GPUs of Options.GPU. Without Required, a missing device is no error.
func (e *Engine) openAccelerator() error {
	open, o := e.opts.private.accelerator, e.opts.GPU.accelerator()
	if open == nil {
		open = link.Open
	}
	o.Cores = e.opts.SearchWorkers
	o.Failed = func(device int, lost bool, err error) {
		e.opts.Listener.gpuFailed(GPUEvent{Device: device, Lost: lost, Err: err})
	}
	var err error
	if e.accelerator, err = open(o); err != nil {
		e.accelerator, e.noAccelerator = nil, err
		if e.opts.GPU.Required {
			return fmt.Errorf("riffle: Options.GPU: %w", err)
		}
	}
	return nil
}

// startAccelerator tells the accelerator how large the index is, and lets it take searches.
func (e *Engine) startAccelerator() error {
	st, err := e.index.Stats()
	if err != nil {
		return err
	}
	postings := uint64(0)
	for _, f := range st.Fields {
		postings += f.Postings
	}
	e.accelerator.Start(postings, st.Docs)
	return nil
}

// closeAccelerator releases the devices. Without an accelerator it does nothing.
func (e *Engine) closeAccelerator() error {
	if e.accelerator == nil {
		return nil
	}
	return e.accelerator.Close()
}

// noGPU says why there is no accelerator.
func (e *Engine) noGPU() error {
	switch {
	case errors.Is(e.noAccelerator, ErrNoDevice):
		return e.noAccelerator
	case e.noAccelerator != nil:
		return fmt.Errorf("%w: %w", ErrNoDevice, e.noAccelerator)
	}
	return fmt.Errorf("%w: opened without Options.GPU", ErrNoDevice)
}

// loadPrices starts from the search costs of the last session. Prices that cannot be read are
// ignored.
func (e *Engine) loadPrices() {
	if e.accelerator == nil {
		return
	}
	if text, err := e.index.Meta(live.MetaPrices); err == nil && text != nil {
		var m accelerator.Model
		if json.Unmarshal(text, &m) == nil {
			_ = json.Unmarshal(text, e.accelerator.Model())
		}
	}
}

// keepPrices saves what searches cost, for the next Open.
func (e *Engine) keepPrices() error {
	if e.accelerator == nil || e.opts.ReadOnly {
		return nil
	}
	text, err := json.Marshal(e.accelerator.Model())
	if err != nil {
		return err
	}
	return e.index.SetMeta(live.MetaPrices, text)
}

// gpuStats returns current figures, or nil without Options.GPU.
func (e *Engine) gpuStats() *GPUStats {
	if e.accelerator == nil {
		if e.noAccelerator == nil {
			return nil
		}
		return &GPUStats{NoGPU: e.noAccelerator.Error()}
	}
	st := e.accelerator.Stats()
	out := &GPUStats{Layout: GPULayout(st.Layout), Searches: st.Searches}
	for _, d := range st.Devices {
		dev := GPUDeviceStats{Info: d.Info, Cache: d.Cache}
		if d.Lost != nil {
			dev.Lost = d.Lost.Error()
		}
		out.Devices = append(out.Devices, dev)
	}
	return out
}
