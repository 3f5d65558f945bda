package server

import (
	"net/http"

	"github.com/riffle-search/riffle"
)

// watchPage shows how an index is doing. The figures that change are charts, which page.js draws from /metrics.
type watchPage struct {
	Index  string
	Stats  *riffle.Stats
	Bytes  int64   // of all segments
	Cached float64 // share of the lists that searches wanted and that were cached, in percent
	Charts []chart
}

// A chart is a figure over the last minutes. Of is what page.js computes it from: "rate" and a counter for its change
// a second, "share" and two counters for the part that the first one has, "quantile" and a histogram for its time.
type chart struct{ Title, Unit, Of string }

var charts = []chart{
	{"Searches", "a second", "rate riffle_searches_total"},
	{"Time of a search, median", "ms", "quantile riffle_search_seconds 0.5"},
	{"Time of a search, 99th percentile", "ms", "quantile riffle_search_seconds 0.99"},
	{"Changes", "a second", "rate riffle_changes_total"},
	{"Lists found in the cache", "%", "share riffle_cache_hits_total riffle_cache_misses_total"},
	{"Blocks skipped", "%", "share riffle_search_blocks_skipped_total riffle_search_blocks_decoded_total"},
	{"Searches by GPUs", "a second", "rate riffle_gpu_batched_searches_total"},
}

// watchView shows the figures of an index.
func (s *Server) watchView(w http.ResponseWriter, r *http.Request) error {
	f, ix, err := s.engineFrameOf("watch", r)
	if err != nil {
		return err
	}
	if ix == nil {
		return render(w, r, f)
	}
	p := &watchPage{Index: ix.name, Charts: charts}
	if p.Stats, err = ix.engine.Stats(); err != nil {
		return err
	}
	if p.Stats.GPU == nil {
		p.Charts = charts[:len(charts)-1]
	}
	for i := range p.Stats.Segments {
		p.Bytes += p.Stats.Segments[i].Bytes
	}
	if all := p.Stats.CacheHits + p.Stats.CacheMisses; all > 0 {
		p.Cached = 100 * float64(p.Stats.CacheHits) / float64(all)
	}
	f.Data = p
	return render(w, r, f)
}
