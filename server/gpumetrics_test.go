package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/riffle-search/riffle"
)

// fakeStats are figures of an index instead of those of an engine: machines that run the tests seldom have a GPU.
type fakeStats struct {
	*reader
	stats *riffle.Stats
}

func (f *fakeStats) Collect(to chan<- prometheus.Metric) { f.collectIndex(to, "books", f.stats) }

// gathered returns the values of metrics that begin with a prefix, by name and labels.
func gathered(t *testing.T, g prometheus.Gatherer, prefix string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	must(t, err)
	all := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			all[name] = valueOf(m)
		}
	}
	return all
}

func valueOf(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetGauge().GetValue() }

// TestGPUMetrics: each figure of GPUs comes from the field that it is about; without a GPU there is none.
func TestGPUMetrics(t *testing.T) {
	s := newServer(t, nil)
	g := &riffle.GPUStats{Devices: make([]riffle.GPUDeviceStats, 2)}
	q := &g.Searches
	q.Batches, q.Queries, q.Device, q.FailedBatches, q.TurnedAway, q.Queued = 2, 3, 5*time.Second, 7, 11, 13
	q.FailedOver, q.Refused = 41, 43
	c := &g.Devices[0].Cache
	c.Bytes, c.UsedBytes, c.WantedBytes, c.HitBytes, c.CopiedBytes, c.EvictedBytes = 17, 19, 23, 29, 31, 37
	g.Devices[1].Lost = "it has fallen off the bus"
	fake := &fakeStats{&reader{s, s.metrics.descriptions}, &riffle.Stats{GPU: g}}
	r := prometheus.NewRegistry()
	must(t, r.Register(fake))
	want := map[string]float64{
		"riffle_gpu_batches_total books": 2, "riffle_gpu_batched_searches_total books": 3, "riffle_gpu_busy_seconds_total books": 5,
		"riffle_gpu_failed_batches_total books": 7, "riffle_gpu_turned_away_total books": 11, "riffle_gpu_queued books": 13,
		"riffle_gpu_failed_over_total books": 41, "riffle_gpu_refused_total books": 43,
	}
	for name, v := range map[string]float64{"bytes": 17, "used_bytes": 19, "wanted_bytes_total": 23, "hit_bytes_total": 29, "copied_bytes_total": 31, "evicted_bytes_total": 37} {
		want["riffle_gpu_cache_"+name+" 0 books"], want["riffle_gpu_cache_"+name+" 1 books"] = v, 0
	}
	want["riffle_gpu_lost 0 books"], want["riffle_gpu_lost 1 books"] = 0, 1
	if got := gathered(t, r, "riffle_gpu_"); !maps.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", inLines(got), inLines(want))
	}
	for _, f := range figures { // none is left out here
		if strings.HasPrefix(f.name, "riffle_gpu_") && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(name string) bool { return strings.HasPrefix(name, f.name+" ") }) {
			t.Errorf("%s is not tested", f.name)
		}
	}
	for _, without := range []*riffle.GPUStats{nil, {NoGPU: "no driver"}} {
		fake.stats = &riffle.Stats{GPU: without}
		for name, v := range gathered(t, r, "riffle_gpu_") {
			if v != 0 || without == nil || strings.Contains(name, "cache") {
				t.Errorf("without a GPU, %s is %v", name, v)
			}
		}
	}
}

// TestGPUEvents: searches by GPUs, what they copy, and failures of GPUs are counted.
func TestGPUEvents(t *testing.T) {
	s := newServer(t, nil)
	l := s.Listener("books")
	l.Searched(riffle.SearchEvent{Executor: "gpu/maxscore", Work: riffle.Work{BytesMoved: 4096}})
	l.Searched(riffle.SearchEvent{Executor: "gpu/maxscore+cpu/maxscore", Err: errors.New("lost")})
	l.GPUFailed(riffle.GPUEvent{Device: 1, Lost: true, Err: errors.New("lost")})
	got := gathered(t, s.metrics.registry, "riffle_")
	for name, want := range map[string]float64{
		"riffle_searches_total gpu/maxscore books ok": 1, "riffle_searches_total gpu/maxscore+cpu/maxscore books failed": 1,
		"riffle_search_moved_bytes_total books": 4096, "riffle_gpu_failures_total books": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func inLines(m map[string]float64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintln(&b, name, m[name])
	}
	return b.String()
}
