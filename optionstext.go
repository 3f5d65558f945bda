package riffle

import (
	"fmt"
	"strings"
)

// String prints the options, defaults filled in, one `name=value` a line.
func (o *Options) String() string {
	d := o.withDefaults()
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s=%v\n", name, value) }
	line("durability", d.Durability)
	line("memory_bytes", d.MemoryBytes)
	line("max_fields", d.MaxFields)
	line("log_bytes", d.LogBytes)
	line("cache_bytes", d.CacheBytes)
	line("aggregation_bytes", d.AggregationBytes)
	line("collapse_bytes", d.CollapseBytes)
	line("stored_cache_bytes", d.StoredCacheBytes)
	line("codec", d.Codec)
	line("merge.segments_per_tier", d.Merge.SegmentsPerTier)
	line("merge.max_segment_bytes", d.Merge.MaxSegmentBytes)
	line("merge.order", d.Merge.Order)
	if d.Merge.Order == OrderByField {
		line("merge.order_field", d.Merge.OrderField)
		line("merge.order_descending", d.Merge.OrderDescending)
	}
	line("merge.workers", d.Merge.Workers)
	line("merge.memory_bytes", d.Merge.MemoryBytes)
	line("merge.disabled", d.Merge.Disabled)
	line("search_workers", d.SearchWorkers)
	line("exec.algorithm", d.Exec.Algorithm)
	line("exec.policy", d.Exec.Policy)
	line("exec.grain", d.Exec.Grain)
	line("exec.delta", d.Exec.Delta)
	if x := d.Expire; x != nil {
		line("expire.field", x.Field)
		line("expire.after", x.After)
		line("expire.every", x.Every)
	}
	if g := d.GPU; g != nil {
		line("gpu.devices", g.Devices)
		line("gpu.required", g.Required)
		line("gpu.memory_bytes", g.MemoryBytes)
		line("gpu.layout", g.Layout)
		line("gpu.policy", g.Policy)
		line("gpu.static_cache", g.StaticCache)
		line("gpu.flat_bytes", g.FlatBytes)
		line("gpu.no_flat", g.NoFlat)
		line("gpu.stream", g.Stream)
		line("gpu.host_bytes", g.HostBytes)
		line("gpu.batch_queries", g.BatchQueries)
		line("gpu.batch_bytes", g.BatchBytes)
		line("gpu.batch_delay", g.BatchDelay)
	}
	line("similarity.k1", d.Similarity.K1)
	line("similarity.b", d.Similarity.B)
	line("similarity.idf", d.Similarity.IDF)
	line("rank.field", d.Rank.Field)
	line("rank.alpha", d.Rank.Alpha)
	line("allow_unknown_fields", d.AllowUnknownFields)
	line("read_only", d.ReadOnly)
	if d.Schema != nil {
		line("schema", d.Schema)
	}
	return b.String()
}
