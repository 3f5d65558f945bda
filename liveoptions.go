package riffle

import (
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/store"
)

// analyzer finds an analyzer by name: the Engine's own first, then the registered ones.
func (o *Options) analyzer(name string) (analysis.Analyzer, error) {
	if a, ok := o.Analyzers[name]; ok {
		return a, nil
	}
	return analysis.Lookup(name)
}

// live returns the options as package live takes them. It expects options with their defaults set.
func (o *Options) live() *live.Options {
	text := *o
	text.Schema = nil
	l := &live.Options{
		Store: o.private.store, Building: o.private.building,
		Schema: o.Schema.internal(), AlterSchema: o.AlterSchema, RankField: o.Rank.Field, Analyzer: o.analyzer, Text: text.String(),
		Sync: o.Durability == SyncBatch, MemoryBytes: o.MemoryBytes, LogBytes: o.LogBytes, StoredCacheBytes: o.StoredCacheBytes, TrigramBytes: o.TrigramBytes, MaxFields: o.MaxFields, MaxDocs: o.private.maxDocs,
		Codec: kinds[o.Codec], TableBytes: o.private.tableBytes, CodedBytes: o.private.codedBytes, LayerBytes: o.private.layerBytes,
		Merge: live.Merge{
			Disabled: o.Merge.Disabled, SegmentsPerTier: o.Merge.SegmentsPerTier, MaxSegmentBytes: o.Merge.MaxSegmentBytes, MaxSegmentDocs: o.private.segmentDocs,
			Order: o.order(), Workers: o.Merge.Workers, MemoryBytes: o.Merge.MemoryBytes,
		},
		Listener: o.Listener.live(), Now: o.private.now, Replayed: o.private.replayed,
	}
	l.Store.ReadOnly = o.ReadOnly
	if l.Store.CacheBytes == 0 {
		l.Store.CacheBytes = min(max(o.CacheBytes/8, 1<<20), 16<<20)
	}
	switch {
	case o.NoMap, o.GPU != nil && (link.Linked || o.private.accelerator != nil):
		l.Store.LentBytes = -1 // gpuexec knows columns by their addresses, which another mapping may get
	case l.Store.LentBytes == 0:
		l.Store.LentBytes = min(max(o.CacheBytes/4, 4<<20), 1<<30)
	}
	l.CacheBytes = o.listBytes(&l.Store)
	if o.Listener != nil {
		l.Store.Log = o.Listener.Log
	}
	if n := o.private.memoryBytes; n > 0 {
		l.MemoryBytes = n
	}
	return l
}

// listBytes is the part of CacheBytes that is not for the store.
func (o *Options) listBytes(of *store.Options) int64 {
	return max(o.CacheBytes-of.CacheBytes-max(of.LentBytes, 0), o.CacheBytes/2)
}
