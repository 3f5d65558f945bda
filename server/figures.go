package server

import (
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// A figure is a metric that is read when Prometheus asks for it, and not counted by events.
type figure struct {
	name, kind, help string
	labels           []string
	ofServer         func(*Server, func(v float64, labels ...string))       // nil for one of an index
	ofIndex          func(*riffle.Stats, func(v float64, labels ...string)) // labels without the first, the index
	ofCluster        func(*client.ClusterStatus, func(v float64, labels ...string))
}

var queueNames = [queues]string{searchQueue: "search", writeQueue: "write", copyQueue: "copy"}

// figures are all of them.
var figures = slices.Concat(ownFigures, clusterFigures)

// ownFigures are those of this process.
var ownFigures = []figure{
	ofQueues("riffle_queue_running", gaugeKind, "Requests that have a turn.", func(g *gate) float64 { return float64(len(g.slots)) }),
	ofQueues("riffle_queue_slots", gaugeKind, "Requests that can have a turn at a time.", func(g *gate) float64 { return float64(cap(g.slots)) }),
	ofQueues("riffle_queue_waiting", gaugeKind, "Requests that wait for their turn.", func(g *gate) float64 { return float64(min(g.waiting.Load(), g.queue)) }),
	ofQueues("riffle_queue_refused_total", counterKind, "Requests that were refused because too many waited.", func(g *gate) float64 { return float64(g.refused.Load()) }),
	{"riffle_http_unread_bytes", gaugeKind, "Memory of answers that clients have not read yet.", nil, func(s *Server, is func(float64, ...string)) {
		is(float64(s.unread.held.Load()))
	}, nil, nil},
	{"riffle_http_arrived_bytes", gaugeKind, "Memory of bodies that have been read before their requests have had a turn.", nil, func(s *Server, is func(float64, ...string)) {
		is(float64(s.arrived.held.Load()))
	}, nil, nil},
	{"riffle_indexes", gaugeKind, "Indexes that are served.", nil, func(s *Server, is func(float64, ...string)) { is(float64(len(s.host.all()))) }, nil, nil},

	ofIndex("riffle_documents", gaugeKind, "Documents that searches can find.", func(st *riffle.Stats) float64 { return float64(st.Docs) }),
	ofIndex("riffle_deleted_documents", gaugeKind, "Documents that have been deleted and that merges have yet to take away.", func(st *riffle.Stats) float64 { return float64(st.Deleted) }),
	ofIndex("riffle_expired_documents_total", counterKind, "Documents that have been deleted because their time was over.", func(st *riffle.Stats) float64 { return float64(st.Expired) }),
	ofIndex("riffle_segments", gaugeKind, "Segments, those in memory included.", func(st *riffle.Stats) float64 { return float64(len(st.Segments)) }),
	ofIndex("riffle_segment_bytes", gaugeKind, "Bytes of all segments.", func(st *riffle.Stats) float64 {
		sum := int64(0)
		for i := range st.Segments {
			sum += st.Segments[i].Bytes
		}
		return float64(sum)
	}),
	ofIndex("riffle_memory_bytes", gaugeKind, "Memory of documents that have not been sealed.", func(st *riffle.Stats) float64 { return float64(st.MemoryBytes) }),
	ofIndex("riffle_pinned_bytes", gaugeKind, "Memory and disk that only snapshots and running searches hold.", func(st *riffle.Stats) float64 {
		return float64(st.Pinned.MemoryBytes + st.Pinned.DiskBytes)
	}),
	ofIndex("riffle_cache_bytes", gaugeKind, "Memory of opened lists of postings and of filters.", func(st *riffle.Stats) float64 { return float64(st.CacheBytes) }),
	ofIndex("riffle_cache_hits_total", counterKind, "Lists that were cached when searches wanted them.", func(st *riffle.Stats) float64 { return float64(st.CacheHits) }),
	ofIndex("riffle_cache_misses_total", counterKind, "Lists that had to be opened.", func(st *riffle.Stats) float64 { return float64(st.CacheMisses) }),
	ofIndex("riffle_cache_hit_bytes_total", counterKind, "Bytes of the lists that were cached.", func(st *riffle.Stats) float64 { return float64(st.CacheHitBytes) }),
	ofIndex("riffle_cache_read_bytes_total", counterKind, "Bytes that were read from the store for lists.", func(st *riffle.Stats) float64 { return float64(st.CacheReadBytes) }),
	ofIndex("riffle_resident_bytes", gaugeKind, "Memory of everything that is kept to make searches fast.", func(st *riffle.Stats) float64 { return float64(st.Resident.Sum()) }),
	ofIndex("riffle_filter_hits_total", counterKind, "Filters of a segment that were cached.", func(st *riffle.Stats) float64 { return float64(st.Filters.Hits) }),
	ofIndex("riffle_filter_misses_total", counterKind, "Filters of a segment that had to be computed.", func(st *riffle.Stats) float64 { return float64(st.Filters.Misses) }),
	ofIndex("riffle_stored_hits_total", counterKind, "Stored documents that were cached.", func(st *riffle.Stats) float64 { return float64(st.Stored.Hits) }),
	ofIndex("riffle_stored_misses_total", counterKind, "Stored documents that had to be decoded.", func(st *riffle.Stats) float64 { return float64(st.Stored.Misses) }),
	ofIndex("riffle_log_bytes", gaugeKind, "Bytes of the log of documents that no segment has yet.", func(st *riffle.Stats) float64 { return float64(st.Store.LogBytes) }),
	ofIndex("riffle_log_records", gaugeKind, "Records of the log that no segment covers.", func(st *riffle.Stats) float64 { return float64(st.LogRecords) }),
	{"riffle_written_bytes_total", counterKind, "Bytes written to the disk, by the log, by seals and by merges.", []string{"index", "by"}, nil, func(st *riffle.Stats, is func(float64, ...string)) {
		is(float64(st.Written.Log), "log")
		is(float64(st.Written.Seals), "seals")
		is(float64(st.Written.Merges), "merges")
	}, nil},
	ofIndex("riffle_disk_bytes", gaugeKind, "Bytes of all files of the index.", func(st *riffle.Stats) float64 { return float64(st.Store.DiskBytes) }),
	ofIndex("riffle_block_cache_bytes", gaugeKind, "Memory of the store's cache of blocks.", func(st *riffle.Stats) float64 { return float64(st.Store.CacheBytes) }),
	ofIndex("riffle_block_cache_hits_total", counterKind, "Blocks of the store's tables that were cached.", func(st *riffle.Stats) float64 { return float64(st.Store.CacheHits) }),
	ofIndex("riffle_block_cache_misses_total", counterKind, "Blocks of the store's tables that were read from files.", func(st *riffle.Stats) float64 { return float64(st.Store.CacheMisses) }),

	ofGPUs("riffle_gpu_batches_total", counterKind, "Batches of searches that GPUs have answered.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.Batches) }),
	ofGPUs("riffle_gpu_batched_searches_total", counterKind, "Searches in these batches.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.Queries) }),
	ofGPUs("riffle_gpu_busy_seconds_total", counterKind, "Time that GPUs have worked on batches.", func(g *riffle.GPUStats) float64 { return g.Searches.Device.Seconds() }),
	ofGPUs("riffle_gpu_failed_batches_total", counterKind, "Batches that failed.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.FailedBatches) }),
	ofGPUs("riffle_gpu_failed_over_total", counterKind, "Searches of batches that failed, which the CPU answered.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.FailedOver) }),
	ofGPUs("riffle_gpu_refused_total", counterKind, "Searches that GPUs cannot answer, so that the CPU did alone.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.Refused) }),
	ofGPUs("riffle_gpu_turned_away_total", counterKind, "Searches for the CPU because the GPUs' queue was full.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.TurnedAway) }),
	ofGPUs("riffle_gpu_queued", gaugeKind, "Searches that wait for a GPU.", func(g *riffle.GPUStats) float64 { return float64(g.Searches.Queued) }),
	ofDevices("riffle_gpu_lost", gaugeKind, "1 for a GPU that can no longer be used.", func(d *riffle.GPUDeviceStats) float64 {
		if d.Lost != "" {
			return 1
		}
		return 0
	}),
	ofDevices("riffle_gpu_cache_bytes", gaugeKind, "Size of a GPU's cache of lists.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.Bytes) }),
	ofDevices("riffle_gpu_cache_used_bytes", gaugeKind, "Bytes of lists in it.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.UsedBytes) }),
	ofDevices("riffle_gpu_cache_wanted_bytes_total", counterKind, "Bytes of lists that batches wanted.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.WantedBytes) }),
	ofDevices("riffle_gpu_cache_hit_bytes_total", counterKind, "Of these, those that were cached.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.HitBytes) }),
	ofDevices("riffle_gpu_cache_copied_bytes_total", counterKind, "Bytes that were copied to the GPU.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.CopiedBytes) }),
	ofDevices("riffle_gpu_cache_evicted_bytes_total", counterKind, "Bytes that others displaced, or that went with their segments.", func(d *riffle.GPUDeviceStats) float64 { return float64(d.Cache.EvictedBytes) }),
}

func ofQueues(name, kind, help string, of func(*gate) float64) figure {
	return figure{name, kind, help, []string{"queue"}, func(s *Server, is func(float64, ...string)) {
		for q, g := range s.gates {
			if g != nil {
				is(of(g), queueNames[q])
			}
		}
	}, nil, nil}
}

func ofIndex(name, kind, help string, of func(*riffle.Stats) float64) figure {
	return figure{name, kind, help, []string{"index"}, nil, func(st *riffle.Stats, is func(float64, ...string)) { is(of(st)) }, nil}
}

func ofGPUs(name, kind, help string, of func(*riffle.GPUStats) float64) figure {
	return figure{name, kind, help, []string{"index"}, nil, func(st *riffle.Stats, is func(float64, ...string)) {
		if st.GPU != nil {
			is(of(st.GPU))
		}
	}, nil}
}

func ofDevices(name, kind, help string, of func(*riffle.GPUDeviceStats) float64) figure {
	return figure{name, kind, help, []string{"index", "device"}, nil, func(st *riffle.Stats, is func(float64, ...string)) {
		if st.GPU != nil {
			for i := range st.GPU.Devices {
				is(of(&st.GPU.Devices[i]), strconv.Itoa(i))
			}
		}
	}, nil}
}

// A reader reads all figures for Prometheus.
type reader struct {
	server       *Server
	descriptions []*prometheus.Desc // of figures, in their order
}

// Describe sends all descriptions.
func (r *reader) Describe(to chan<- *prometheus.Desc) {
	for _, d := range r.descriptions {
		to <- d
	}
}

// Collect reads the figures. An index that is just being closed has none.
func (r *reader) Collect(to chan<- prometheus.Metric) {
	for i := range figures {
		if f := &figures[i]; f.ofServer != nil {
			f.ofServer(r.server, r.value(to, i))
		}
	}
	r.collectCluster(to)
	for _, ix := range r.server.host.all() {
		st, err := ix.engine.Stats()
		if err == nil {
			r.collectIndex(to, ix.name, st)
		}
	}
}

// collectCluster sends the figures of the cluster, if there is one that answers.
func (r *reader) collectCluster(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(r.server.stop, statusWait)
	defer cancel()
	st, err := r.server.cluster.ask(ctx)
	if err != nil {
		r.server.opts.Log.Warn("no figures of the cluster", "error", err)
		return
	}
	for i := range figures {
		if f := &figures[i]; f.ofCluster != nil {
			f.ofCluster(st, r.value(to, i))
		}
	}
}

// collectIndex sends the figures of an index.
func (r *reader) collectIndex(to chan<- prometheus.Metric, name string, st *riffle.Stats) {
	for i := range figures {
		if f := &figures[i]; f.ofIndex != nil {
			f.ofIndex(st, r.value(to, i, name))
		}
	}
}

// value returns a function that sends values of a figure.
func (r *reader) value(to chan<- prometheus.Metric, i int, labels ...string) func(float64, ...string) {
	kind := prometheus.GaugeValue
	if figures[i].kind == counterKind {
		kind = prometheus.CounterValue
	}
	return func(v float64, more ...string) {
		to <- prometheus.MustNewConstMetric(r.descriptions[i], kind, v, append(labels, more...)...)
	}
}
