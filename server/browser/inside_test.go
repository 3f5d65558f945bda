package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/riffle-search/riffle/client"
)

// TestInside: from a hit to its document, from a field to its terms, and from a term to its hits.
func TestInside(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=letter")
	id := b.text("[data-inside]")
	b.click("[data-inside]")
	b.wait(`location.pathname === "/inside" && document.querySelector("#document table")`)
	if got := eval[string](b, `document.querySelector("#id").value`); got != id {
		t.Errorf("from the hit %s, the document is %s", id, got)
	}
	for _, field := range []string{"author", "text", "title", "words"} {
		b.has("#document table", field)
	}
	if n := b.count("section:first-of-type tbody tr"); n != 4 {
		t.Errorf("%d segments are shown, of 4", n)
	}
	b.has("main", "in 4 segments")

	b.click(`a[href*="field=text"]`)
	// Until the page is there, the browser may still go to the address's #terms, and take the focus away.
	b.wait(`document.readyState === "complete" && location.search.includes("field=text") && document.querySelectorAll(".terms li").length === 100`)
	b.has("#terms", "There are more")
	eval[any](b, `document.querySelector("#prefix").focus()`)
	b.keys("lett" + kb.Enter)
	b.wait(`location.search.includes("prefix=lett")`)
	b.wait(`document.querySelectorAll(".terms li").length < 100`)
	for _, term := range b.texts(".terms li a") {
		if !strings.HasPrefix(term, "lett") {
			t.Errorf("%s does not begin with lett", term)
		}
	}
	term := `[...document.querySelectorAll(".terms li")].find((e) => e.querySelector("a").innerText === "letter")`
	documents := number(b, eval[string](b, term+`.querySelector(".faint").innerText`))
	eval[any](b, term+`.querySelector("a").click()`)
	b.wait(`location.search.includes("term=letter") && document.querySelector("#list figure")`)
	if n := b.count("#list figure"); n < 1 || n > 4 {
		t.Errorf("%d lists of letter are drawn, of 4 segments", n)
	}
	b.click("#list a")
	b.wait(`location.pathname === "/" && document.querySelector(".hits mark")`)
	if got := total(b); got > documents || got < documents-10 { // the list counts deleted documents, too
		t.Errorf("letter is in %d documents, and has %d hits", documents, got)
	}
}

// TestMissingDocument: an id that is not there is said to be so.
func TestMissingDocument(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/inside?index=books")
	eval[any](b, `document.querySelector("#id").focus()`)
	b.keys("nobody" + kb.Enter)
	b.has(`[role="alert"]`, "There is no document with this id")
}

// TestOtherIndex: another index is chosen, in the same view.
func TestOtherIndex(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/inside?index=books")
	eval[any](b, `document.querySelector("#index").focus()`)
	b.keys("s") // scripts
	b.wait(`location.search.includes("index=scripts") && document.querySelector("h1")?.innerText === "scripts"`)
	if path := eval[string](b, "location.pathname"); path != "/inside" {
		t.Errorf("the view is %s", path)
	}
}

// TestFaultPages: an address that is wrong has a page that says so, and leads on.
func TestFaultPages(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	for path, text := range map[string]string{
		"/?index=gone":                         "gone",
		"/?index=books&from=x":                 "from",
		"/?index=books&sort=nofield":           "nofield",
		"/inside?index=books&field=gone":       "gone",
		"/why?index=books&q=time&id=nobody":    "no such document",
		"/why?index=books&q=title%3A%28&id=x":  "",
		"/inside?index=books&field=words&id=x": "",
	} {
		b.open(path)
		b.has("main", text)
		if b.count("header nav a") < 3 || b.count("h1") != 1 {
			t.Errorf("%s is no page: %s", path, b.text("body"))
		}
		for _, f := range treeFaults(b) {
			t.Errorf("%s: %s", path, f)
		}
		b.taken() // the browser reports answers that are errors
	}
}

// TestTitles: the views have titles of their own, which tell tabs and the browser's history apart.
func TestTitles(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	for path, want := range map[string]string{
		"/?index=books": "Search – books – riffle", "/inside?index=books": "Inside – books – riffle", "/watch?index=scripts": "Watch – scripts – riffle",
		"/why?index=books&q=time": "Why – books – riffle",
	} {
		b.open(path)
		if got := eval[string](b, "document.title"); got != want {
			t.Errorf("%s has the title %q, want %q", path, got, want)
		}
	}
}

// TestHistory: seals and merges appear as a timeline and as a table, and caches with the lists that searches read.
func TestHistory(t *testing.T) {
	t.Parallel()
	base, _ := serveScripts(t)
	b := newTab(t, base)
	b.size(1280, 800)
	b.open("/inside")
	b.has("#history", "None since")
	b.has("#cache", "No list is cached yet")
	c := client.New(base, nil)
	for i := range 3 {
		if err := c.Put(t.Context(), "scripts", fmt.Sprint("new-", i), map[string]any{"title": "New", "text": "one of three new documents"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Compact(t.Context(), "scripts"); err != nil {
		t.Fatal(err)
	}
	b.open("/?q=documents")
	b.open("/inside")
	b.has("#history", "merge of ")
	if n := b.count("#history tbody tr"); n < 2 {
		t.Errorf("%d events, of a seal and a merge at least", n)
	}
	if w := eval[float64](b, `document.querySelector("#history .timeline").getBoundingClientRect().width`); w < 300 {
		t.Errorf("the timeline is %g pixels wide", w)
	}
	b.has("#cache tbody", "documents")
	for _, width := range []int64{320, 390, 1280} {
		b.size(width, 800)
		for _, e := range eval[[]string](b, sticksOut) {
			t.Errorf("at %d: %s", width, e)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, f := range faultsOf(b) {
			t.Errorf("%s: %s", scheme, f)
		}
		if dir := os.Getenv("RIFFLE_SCREENSHOTS"); dir != "" {
			b.must(os.MkdirAll(dir, 0o755))
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			b.must(err)
			b.must(os.WriteFile(filepath.Join(dir, "inside-history-1280-"+scheme+".png"), picture, 0o644))
		}
	}
	for _, f := range keyFaults(b) {
		t.Error(f)
	}
}
