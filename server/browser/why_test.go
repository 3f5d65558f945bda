package browser

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestWhy: the explanation of a hit opens and closes below it, by the mouse and by the keyboard. Its bar adds up.
func TestWhy(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time+letter+first")
	b.click("[data-why]")
	b.wait(`document.querySelector(".why .tree")`)
	if expanded := eval[string](b, `document.querySelector("[data-why]").ariaExpanded`); expanded != "true" {
		t.Errorf("the explanation is open, and aria-expanded is %s", expanded)
	}
	line := b.text(".hits > li > p:last-of-type")
	_, rest, _ := strings.Cut(line, "score ")
	score, _, _ := strings.Cut(rest, ",")
	if root := b.text(".why .tree > li > strong"); root != score {
		t.Errorf("the explanation begins with %s, and the hit has %s", root, score)
	}
	sum := 0.0
	for _, w := range eval[[]string](b, `[...document.querySelectorAll(".why .bar rect")].map((r) => r.getAttribute("width"))`) {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if bars, legend := b.count(".why .bar rect"), b.count(".why .legend li"); math.Abs(sum-100) > 0.1 || bars < 2 || bars != legend {
		t.Errorf("the %d parts of the bar take %g %%, and the legend has %d", bars, sum, legend)
	}
	b.wait(`document.activeElement === document.querySelector("[data-why]")`)
	b.keys(kb.Enter)
	b.wait(`!document.querySelector(".why")`)
	b.keys(kb.Enter)
	b.wait(`document.querySelectorAll(".why .tree").length === 1`)
	if path := eval[string](b, "location.pathname"); path != "/" {
		t.Errorf("the keyboard led to %s", path)
	}
	if n := b.count("h1"); n != 1 {
		t.Errorf("the page has %d headings of level 1", n)
	}
}

// TestWhyPage: the explanation is a page of its own, too, with the parts that do not match.
func TestWhyPage(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time+OR+zzyzx")
	address := eval[string](b, `document.querySelector("[data-why]").href`)
	b.open(strings.TrimPrefix(address, "http://"+b.host))
	b.has("h1", "Why this score")
	b.has(".tree", "weight")
	b.has("main", "time OR zzyzx")
	id := eval[string](b, `new URL(location).searchParams.get("id")`)
	b.open("/why?" + url.Values{"index": {"books"}, "q": {"zzyzx"}, "id": {id}}.Encode())
	b.has(".tree", "does not match")
	if n := b.count(".bar"); n != 0 {
		t.Errorf("a document that does not match has %d bars", n)
	}
}

// TestPlan: the plan of a search is a page that the results lead to, and is below the explanation of a hit. Its rows have
// the width of the page, a color for each state, and the numbers of the table.
func TestPlan(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time+letter+of")
	b.click(`#status a`)
	b.wait(`location.pathname === "/why" && document.querySelector(".row svg path")`)
	b.has("h1", "How this search ran")
	b.has(".choice", "cpu/bmm")
	if n := b.count(".row svg"); n < 3 {
		t.Errorf("%d rows for three words", n)
	}
	colors := eval[[]string](b, `[...document.querySelectorAll("figure .states rect")].map((r) => getComputedStyle(r).fill)`)
	for i, c := range colors {
		if c == "rgb(0, 0, 0)" || slices.Contains(colors[:i], c) {
			t.Errorf("the states have the colors %v", colors)
		}
	}
	if len(colors) != 3 {
		t.Errorf("%d states", len(colors))
	}
	b.click("summary")
	b.wait(`document.querySelector(".wide table").offsetHeight > 0`)
	labels := eval[[]string](b, `[...document.querySelectorAll(".row svg")].map((s) => s.ariaLabel)`)
	cells := eval[[]string](b, `[...document.querySelectorAll(".wide tr")].slice(1).map((r) => { const c = [...r.cells].map((c) => c.textContent); return c[0] + ": " + c[4] + " blocks decoded, " + c[5] + " bounded, " + c[6] + " skipped" })`)
	if !slices.Equal(labels, cells) {
		t.Errorf("the rows are %q, and the table has %q", labels, cells)
	}
	b.open("/?index=books&q=time+letter")
	b.click("[data-why]")
	b.wait(`document.querySelector(".why .row svg path")`)
}
