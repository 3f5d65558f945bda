package browser

import (
	"context"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/server"
)

// BenchmarkTyping types queries into the page over the first index in the directory that RIFFLE_TYPING names, and
// measures, in the page, from each key until its hits can be drawn: the request, the search with facets and fragments,
// the answer and the layout. Completions are asked for at the same time. The percentiles are of all keys.
//
//	400,000 passages, title and text    24 ms-p50/key    50 ms-p95/key    153 ms-max/key    475 keys
//
// (Intel Xeon, two cores for the browser and the server together, Chromium 156, go1.26.)
func BenchmarkTyping(b *testing.B) {
	dir := os.Getenv("RIFFLE_TYPING")
	if dir == "" {
		b.Skip("RIFFLE_TYPING names no directory of indexes")
	}
	s, err := server.New(&server.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	h := httptest.NewServer(s)
	b.Cleanup(func() {
		h.Close()
		s.Close(context.Background())
	})
	p := newTab(b, h.URL)
	p.open("/")
	eval[any](p, `(() => {
  window.times = [];
  let pressed;
  document.querySelector("#q").addEventListener("keydown", () => { pressed = performance.now(); });
  new MutationObserver(() => {
    document.body.offsetHeight; // lays the hits out
    times.push(performance.now() - pressed);
  }).observe(document.querySelector("#hits"), { childList: true });
})()`)
	for b.Loop() {
		for _, query := range []string{"captain of the ship", "to be or not to be", "the great storm at sea", "letters from london", "origin of species"} {
			p.query(query[:1])
			p.settled()
			for _, letter := range query[1:] {
				p.keys(string(letter))
				p.settled()
			}
		}
	}
	times := eval[[]float64](p, "times")
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms-p50/key")
	b.ReportMetric(times[len(times)*95/100], "ms-p95/key")
	b.ReportMetric(times[len(times)-1], "ms-max/key")
	b.ReportMetric(float64(len(times)), "keys")
}
