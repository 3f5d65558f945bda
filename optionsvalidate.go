package riffle

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/riffle-search/riffle/internal/document"
)

// Validate reports all invalid fields in one error.
func (o *Options) Validate() error {
	d := o.withDefaults()
	var errs []error
	want := func(ok bool, field, rule string, got any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %s, not %v", "Options."+field, rule, got))
		}
	}
	want(d.Durability <= SyncNone, "Durability", "must be SyncBatch or SyncNone", d.Durability)
	want(d.MemoryBytes >= 64<<10, "MemoryBytes", "must be at least 64 KiB", d.MemoryBytes)
	want(d.MemoryBytes <= MaxMemoryBytes, "MemoryBytes", "must be at most 64 GiB", d.MemoryBytes)
	want(d.MaxFields > 0 && d.MaxFields <= MaxMaxFields, "MaxFields", "must lie in [1, 65536]", d.MaxFields)
	want(d.LogBytes >= 64<<10, "LogBytes", "must be at least 64 KiB", d.LogBytes)
	want(d.CacheBytes > 0, "CacheBytes", "must be positive", d.CacheBytes)
	want(d.MaxTerms > 0, "MaxTerms", "must be positive", d.MaxTerms)
	want(d.AggregationBytes > 0, "AggregationBytes", "must be positive", d.AggregationBytes)
	want(d.CollapseBytes > 0, "CollapseBytes", "must be positive", d.CollapseBytes)
	want(d.StoredCacheBytes > 0, "StoredCacheBytes", "must be positive", d.StoredCacheBytes)
	want(d.TrigramBytes > 0 || d.TrigramBytes == NoTrigrams, "TrigramBytes", "must be positive, or NoTrigrams", d.TrigramBytes)
	want(int(d.Codec) < len(kinds), "Codec", "must be CodecInterpolative, CodecPacked, CodecPFor or CodecRice", d.Codec)
	want(d.Merge.SegmentsPerTier >= 2, "Merge.SegmentsPerTier", "must be at least 2", d.Merge.SegmentsPerTier)
	want(d.Merge.MaxSegmentBytes > 0, "Merge.MaxSegmentBytes", "must be positive", d.Merge.MaxSegmentBytes)
	want(d.Merge.Order <= OrderByField, "Merge.Order", "must be OrderByArrival, OrderByGlobalScore, OrderByGraph or OrderByField", d.Merge.Order)
	if d.Merge.Order == OrderByField {
		want(d.Merge.OrderField != "", "Merge.OrderField", "must name a field with OrderByField", `""`)
	} else {
		want(d.Merge.OrderField == "", "Merge.OrderField", "goes with OrderByField", strconv.Quote(d.Merge.OrderField))
		want(!d.Merge.OrderDescending, "Merge.OrderDescending", "goes with OrderByField", true)
	}
	if x := d.Expire; x != nil {
		want(x.Field != "", "Expire.Field", "must name a field", `""`)
		want(x.After >= 0, "Expire.After", "must not be negative", x.After)
		want(x.Every > 0, "Expire.Every", "must be positive", x.Every)
	}
	want(d.Merge.Workers > 0, "Merge.Workers", "must be at least 1", d.Merge.Workers)
	want(d.Merge.MemoryBytes > 0, "Merge.MemoryBytes", "must be positive", d.Merge.MemoryBytes)
	want(d.Rank.Alpha >= 0 && d.Rank.Alpha <= 1 && !math.IsNaN(d.Rank.Alpha), "Rank.Alpha", "must lie in [0, 1]", d.Rank.Alpha)
	want(d.Rank.Alpha == 0 || d.Rank.Field != "", "Rank.Field", "must name a field when Alpha is set", `""`)
	if err := d.Similarity.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("Options.Similarity: %w", err))
	}
	want(d.SearchWorkers > 0, "SearchWorkers", "must be at least 1", d.SearchWorkers)
	if err := d.Exec.validate(); err != nil {
		errs = append(errs, fmt.Errorf("Options.Exec: %w", err))
	}
	if d.GPU != nil {
		if err := d.GPU.validate(); err != nil {
			errs = append(errs, fmt.Errorf("Options.GPU: %w", err))
		}
	}
	for name, a := range d.Analyzers {
		want(name != "" && a != nil, "Analyzers", "must map names to analyzers", fmt.Sprintf("%q: %v", document.ShortName(name), a))
		want(name == "" || document.CheckName(name) == nil, "Analyzers", "must have names that are UTF-8 and at most 1,024 bytes long", fmt.Sprintf("%q", document.ShortName(name)))
	}
	if d.Rank.Field != "" {
		want(document.CheckName(d.Rank.Field) == nil, "Rank.Field", "must be UTF-8 and at most 1,024 bytes long", fmt.Sprintf("%q", document.ShortName(d.Rank.Field)))
	}
	if s := d.Schema.internal(); s != nil {
		if err := errors.Join(s.CheckNames(), s.Validate(d.analyzer)); err != nil {
			errs = append(errs, fmt.Errorf("Options.%w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("riffle: %w", err)
	}
	return nil
}
