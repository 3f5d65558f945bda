package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/riffle-search/riffle"
)

// metrics are the figures of a Server for Prometheus. docs/METRICS.md lists them all.
type metrics struct {
	registry *prometheus.Registry
	list     []metric // all of them
	handler  http.Handler
	err      error // of registering

	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	underWay prometheus.Gauge                  // the only one of inFlight
	answers  memo[answeredAs, answeredFigures] // of requests and took

	searches     *prometheus.CounterVec
	searchTook   *prometheus.HistogramVec
	decoded      *prometheus.CounterVec
	skipped      *prometheus.CounterVec
	scored       *prometheus.CounterVec
	moved        *prometheus.CounterVec
	changes      *prometheus.CounterVec
	applyTook    *prometheus.HistogramVec
	seals        *prometheus.HistogramVec
	sealedDocs   *prometheus.CounterVec
	merges       *prometheus.HistogramVec
	mergedDocs   *prometheus.CounterVec
	failures     *prometheus.CounterVec
	gpuFailures  *prometheus.CounterVec
	ofIndex      []interface{ DeletePartialMatch(prometheus.Labels) int } // those of events, by index
	descriptions []*prometheus.Desc                                       // of figures, in their order
}

// A metric is what METRICS.md says of one.
type metric struct {
	name, kind, help string
	labels           []string
}

const (
	counterKind   = "counter"
	gaugeKind     = "gauge"
	histogramKind = "histogram"
)

// newMetrics registers all metrics of a Server, with registry or with a new one.
func newMetrics(s *Server, registry *prometheus.Registry) (*metrics, error) {
	m := &metrics{registry: registry}
	if registry == nil {
		m.registry = prometheus.NewRegistry()
		m.register(collectors.NewGoCollector())
		m.register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	m.requests = m.counter("riffle_http_requests_total", "Requests that have been answered; 499 stands for clients that have gone.", "route", "status")
	m.took = m.histogram("riffle_http_request_seconds", "Time from the head of a request to the end of its answer.", "route")
	m.inFlight = m.gauge("riffle_http_requests_in_flight", "Requests under way.")
	m.underWay = m.inFlight.WithLabelValues()

	m.searches = m.counter("riffle_searches_total", "Searches by what ran them and how they ended: ok, late, canceled, invalid or failed.", "index", "executor", "result")
	m.searchTook = m.histogram("riffle_search_seconds", "Time of searches, within the engine.", "index")
	m.decoded = m.counter("riffle_search_blocks_decoded_total", "Blocks of postings that searches have decoded.", "index")
	m.skipped = m.counter("riffle_search_blocks_skipped_total", "Blocks of postings that searches have skipped.", "index")
	m.scored = m.counter("riffle_search_documents_scored_total", "Documents that searches have scored, fully or in part.", "index")
	m.moved = m.counter("riffle_search_moved_bytes_total", "Bytes that searches have copied to GPUs.", "index")
	m.changes = m.counter("riffle_changes_total", "Changes that are durable: put, update or delete.", "index", "change")
	m.applyTook = m.histogram("riffle_apply_seconds", "Time of batches of changes until they are durable and visible.", "index")
	m.seals = m.histogram("riffle_seal_seconds", "Time of seals, which write documents in memory as a segment.", "index")
	m.sealedDocs = m.counter("riffle_sealed_documents_total", "Documents that seals have written.", "index")
	m.merges = m.histogram("riffle_merge_seconds", "Time of merges of segments.", "index")
	m.mergedDocs = m.counter("riffle_merged_documents_total", "Documents that merges have written.", "index")
	m.failures = m.counter("riffle_background_failures_total", "Seals, merges and clean-ups that have failed.", "index")
	m.gpuFailures = m.counter("riffle_gpu_failures_total", "Batches that a GPU has failed to answer, so that the CPU did.", "index")

	for i := range figures {
		f := &figures[i]
		labels := append([]string{}, f.labels...)
		m.list = append(m.list, metric{f.name, f.kind, f.help, labels})
		m.descriptions = append(m.descriptions, prometheus.NewDesc(f.name, f.help, labels, nil))
	}
	m.register(&reader{s, m.descriptions})
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true})
	return m, m.err
}

// register registers a collector, and notes the error if another Server has the same registry.
func (m *metrics) register(c prometheus.Collector) {
	m.err = errors.Join(m.err, m.registry.Register(c))
}

func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.add(metric{name, counterKind, help, labels}, v)
	return v
}

func (m *metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.add(metric{name, gaugeKind, help, labels}, v)
	return v
}

// histogram makes a native histogram, with few buckets of the classic kind for who does not scrape native ones.
func (m *metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}, labels)
	m.add(metric{name, histogramKind, help, labels}, v)
	return v
}

func (m *metrics) add(of metric, v interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}) {
	m.list = append(m.list, of)
	m.register(v)
	if len(of.labels) > 0 && of.labels[0] == "index" {
		m.ofIndex = append(m.ofIndex, v)
	}
}

// forget takes the figures of an index away that has been dropped.
func (m *metrics) forget(index string) {
	for _, v := range m.ofIndex {
		v.DeletePartialMatch(prometheus.Labels{"index": index})
	}
}

// answered counts a request.
func (m *metrics) answered(route string, status int, took time.Duration) {
	f := m.answers.of(answeredAs{route, status}, func() answeredFigures {
		return answeredFigures{m.requests.WithLabelValues(route, strconv.Itoa(status)), m.took.WithLabelValues(route)}
	})
	f.count.Inc()
	f.took.Observe(took.Seconds())
}

// answeredAs is what tells the figures of requests apart.
type answeredAs struct {
	route  string
	status int
}

type answeredFigures struct {
	count prometheus.Counter
	took  prometheus.Observer
}

// A memo keeps what is made for each of a few keys: to look figures up by the texts of their labels takes longer.
type memo[K comparable, V any] struct {
	mu   sync.RWMutex
	list map[K]V
}

func (k *memo[K, V]) of(key K, make func() V) V {
	k.mu.RLock()
	v, ok := k.list[key]
	k.mu.RUnlock()
	if ok {
		return v
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok = k.list[key]; !ok {
		if k.list == nil {
			k.list = map[K]V{}
		}
		v = make()
		k.list[key] = v
	}
	return v
}

// listen adds what an engine tells to the figures.
func (m *metrics) listen(index string) *riffle.Listener {
	took, applied := m.searchTook.WithLabelValues(index), m.applyTook.WithLabelValues(index)
	decoded, skipped := m.decoded.WithLabelValues(index), m.skipped.WithLabelValues(index)
	scored, moved := m.scored.WithLabelValues(index), m.moved.WithLabelValues(index)
	puts, updates, deletes := m.changes.WithLabelValues(index, "put"), m.changes.WithLabelValues(index, "update"), m.changes.WithLabelValues(index, "delete")
	seals, sealed := m.seals.WithLabelValues(index), m.sealedDocs.WithLabelValues(index)
	merges, merged := m.merges.WithLabelValues(index), m.mergedDocs.WithLabelValues(index)
	failures, gpuFailures := m.failures.WithLabelValues(index), m.gpuFailures.WithLabelValues(index)
	type ranAs struct{ executor, result string }
	searches := new(memo[ranAs, prometheus.Counter])
	return &riffle.Listener{
		Applied: func(ev riffle.ApplyEvent) {
			puts.Add(float64(ev.Puts))
			updates.Add(float64(ev.Updates))
			deletes.Add(float64(ev.Deletes))
			applied.Observe(ev.Duration.Seconds())
		},
		Searched: func(ev riffle.SearchEvent) {
			executor := ev.Executor
			if executor == "" {
				executor = "none"
			}
			result := searchResult(ev.Err)
			searches.of(ranAs{executor, result}, func() prometheus.Counter { return m.searches.WithLabelValues(index, executor, result) }).Inc()
			took.Observe(ev.Duration.Seconds())
			decoded.Add(float64(ev.Work.BlocksDecoded))
			skipped.Add(float64(ev.Work.BlocksSkipped))
			scored.Add(float64(ev.Work.DocsScored))
			moved.Add(float64(ev.Work.BytesMoved))
		},
		Sealed: func(ev riffle.SealEvent) {
			seals.Observe(ev.Duration.Seconds())
			sealed.Add(float64(ev.Docs))
		},
		Merged: func(ev riffle.MergeEvent) {
			merges.Observe(ev.Duration.Seconds())
			merged.Add(float64(ev.Docs))
		},
		Failed:    func(error) { failures.Inc() },
		GPUFailed: func(riffle.GPUEvent) { gpuFailures.Inc() },
	}
}

// searchResult says in a word how a search has ended.
func searchResult(err error) string {
	if err == nil {
		return "ok"
	}
	var query *riffle.QueryError
	switch {
	case errors.Is(err, riffle.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return "late"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &query):
		return "invalid"
	}
	return "failed"
}

// metricsPage answers with all figures, in the form that Prometheus asks for.
func (s *Server) metricsPage(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}
