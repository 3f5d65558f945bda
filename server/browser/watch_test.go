package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// searches sends searches to the library until the test ends.
func searches(t testing.TB, base string) {
	stop := t.Context().Done()
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			q := url.Values{"q": {fmt.Sprintf("time letter%d first", i%50)}}
			if res, err := http.Get(base + "/v1/indexes/books/search?" + q.Encode()); err == nil {
				res.Body.Close()
			}
		}
	}()
}

// chart is the part of the view Watch that shows a figure.
func chart(of string) string { return "figure[data-of=" + encoded(of) + "]" }

// TestWatch: charts follow what happens to the index, and have a scale that holds all of their points.
func TestWatch(t *testing.T) {
	t.Parallel()
	base := openLibrary(t)
	b := newTab(t, base)
	b.open("/watch?index=books")
	rate, p50, p99 := chart("rate riffle_searches_total"), chart("quantile riffle_search_seconds 0.5"), chart("quantile riffle_search_seconds 0.99")
	b.wait(`document.querySelector('` + rate + ` output').innerText === "0"`)
	searches(t, base)
	b.wait(`Number(document.querySelector('` + rate + ` output').innerText.replaceAll("\u202f", "")) > 1`)
	b.wait(`document.querySelector('` + rate + ` polyline').points.numberOfItems >= 4`)
	value := func(chart string) float64 {
		b.wait(`document.querySelector('` + chart + ` output').innerText !== "–"`)
		v, err := strconv.ParseFloat(eval[string](b, `document.querySelector('`+chart+` output').innerText.replaceAll("\u202f", "")`), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if half, most := value(p50), value(p99); half <= 0 || most < half {
		t.Errorf("half of the searches took at most %g ms, 99 %% of them %g ms", half, most)
	}
	if share := value(chart("share riffle_cache_hits_total riffle_cache_misses_total")); share < 0 || share > 100 {
		t.Errorf("%g %% of the lists were cached", share)
	}
	outside := eval[[]string](b, `[...document.querySelectorAll("polyline")].flatMap((p) => [...p.points].filter((q) => !(q.x >= 0 && q.x <= 120 && q.y >= 0 && q.y <= 40)).map((q) => p.closest("figure").dataset.of + " " + q.x + "," + q.y))`)
	if len(outside) > 0 {
		t.Errorf("points outside of their charts: %q", outside)
	}
}

// TestWatchQuantile: page.js computes quantiles from the buckets of a histogram, as if their values lay evenly.
func TestWatchQuantile(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/watch?index=books")
	const buckets = `(() => {
  const of = (counts) => figuresOf(Object.entries(counts).map(([le, n]) => 'riffle_search_seconds_bucket{index="books",le="' + le + '"} ' + n).join("\n"));
  const before = of({ "0.001": 10, "0.01": 20, "+Inf": 20 });
  const now = of({ "0.001": 10, "0.01": 120, "+Inf": NUMBER });
  return ["0.5", "0.99", "1"].map((q) => String(Math.round(1000 * valueOf("quantile riffle_search_seconds " + q, now, before, 1)) / 1000));
})()`
	if rate := eval[float64](b, `valueOf("rate a", new Map([["a", 5]]), new Map([["a", 700]]), 1)`); rate != 5 {
		t.Errorf("after a restart the rate is %g a second", rate)
	}
	// A hundred searches took between 1 and 10 ms; or those, and as many more than 10 ms.
	for number, want := range map[string]string{"120": "[5.5 9.91 10]", "220": "[10 10 10]", "20": "[NaN NaN NaN]"} {
		expression := buckets
		if number == "20" {
			expression = strings.ReplaceAll(expression, `"0.01": 120`, `"0.01": 20`)
		}
		if got := fmt.Sprint(eval[[]string](b, strings.ReplaceAll(expression, "NUMBER", number))); got != want {
			t.Errorf("with %s searches the quantiles are %s ms, want %s", number, got, want)
		}
	}
}
