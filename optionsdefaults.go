package riffle

import (
	"math"
	"runtime"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/memlimit"
	"github.com/riffle-search/riffle/segment"
)

// DefaultCacheBytes is the default of Options.CacheBytes: an eighth of the memory of the machine, or
// of its control group (a container's limit), or a quarter of Go's memory limit (GOMEMLIMIT or
// debug.SetMemoryLimit), whichever is least; but at least 32 MiB, and 128 MiB where none is known.
func DefaultCacheBytes() int64 {
	const unknown, least = 128 << 20, 32 << 20
	budget := int64(math.MaxInt64)
	if machine := memlimit.Machine(); machine > 0 {
		budget = machine / 8
	}
	if limit := memlimit.Go(); limit > 0 {
		budget = min(budget, limit/4)
	}
	if budget == math.MaxInt64 {
		return unknown
	}
	return max(budget, least)
}

// withDefaults returns a copy with zero values replaced by defaults. It accepts nil.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Expire != nil && d.Expire.Every == 0 {
		x := *d.Expire
		x.Every = defaultExpireEvery
		d.Expire = &x
	}
	if d.MemoryBytes == 0 {
		d.MemoryBytes = DefaultMemoryBytes
	}
	if d.MaxFields == 0 {
		d.MaxFields = DefaultMaxFields
	}
	if d.LogBytes == 0 {
		d.LogBytes = max(DefaultLogBytes, d.MemoryBytes)
	}
	if d.CacheBytes == 0 {
		d.CacheBytes = DefaultCacheBytes()
	}
	if d.MaxTerms == 0 {
		d.MaxTerms = DefaultMaxTerms
	}
	if d.AggregationBytes == 0 {
		d.AggregationBytes = DefaultAggregationBytes
	}
	if d.CollapseBytes == 0 {
		d.CollapseBytes = DefaultCollapseBytes
	}
	if d.StoredCacheBytes == 0 {
		d.StoredCacheBytes = max(d.CacheBytes/16, 1<<20)
	}
	if d.TrigramBytes == 0 {
		d.TrigramBytes = max(d.CacheBytes/8, 64<<10)
	}
	if d.Merge.SegmentsPerTier == 0 {
		d.Merge.SegmentsPerTier = DefaultSegmentsPerTier
	}
	if d.Merge.MaxSegmentBytes == 0 {
		d.Merge.MaxSegmentBytes = DefaultMaxSegmentBytes
	}
	if d.Merge.Workers == 0 {
		d.Merge.Workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if d.Merge.MemoryBytes == 0 {
		d.Merge.MemoryBytes = segment.DefaultMergeMemory
	}
	if d.private.maxDocs == 0 {
		d.private.maxDocs = MaxDocs
	}
	if d.SearchWorkers == 0 {
		d.SearchWorkers = runtime.GOMAXPROCS(0)
	}
	if d.Exec.Grain == 0 {
		d.Exec.Grain = cpuexec.DefaultGrain
	}
	if d.Exec.Delta == 0 {
		d.Exec.Delta = cpuexec.DefaultDelta
	}
	sim := blockmax.DefaultBM25
	if d.Similarity != nil {
		sim = d.Similarity.OrDefault()
	}
	d.Similarity = &sim
	return d
}
