package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPlain: without JavaScript, one searches, turns pages, chooses facets, opens an explanation, and looks inside.
func TestPlain(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.plain()
	b.open("/?index=books")
	b.wait(`document.activeElement.id === "q"`)
	b.keys("time" + kb.Enter)
	b.wait(`location.search.includes("q=time") && document.querySelector(".hits mark")`)
	b.click(`a[rel="next"]`)
	b.has(".status", "11 to 20 of ")
	b.click("aside a")
	b.wait(`document.querySelector("aside [aria-current]")`)
	b.has(".status", "1 to ")
	if q := eval[string](b, `document.querySelector("#q").value`); q != "time" {
		t.Errorf("after a facet the box has %q", q)
	}
	b.click("[data-why]")
	b.has(".tree", "weight")
	if n := len(b.sent("part=")); n > 0 {
		t.Errorf("%d requests for parts of a page: does JavaScript run?", n)
	}
	b.open("/inside?index=books")
	b.click(`form[action^="/inside#document"] input:not([type="hidden"])`)
	b.keys("pg0001-0" + kb.Enter)
	b.wait(`location.search.includes("id=pg0001-0")`)
	b.open("/watch?index=books")
	if main := b.text("main"); !strings.Contains(main, "JavaScript") {
		t.Errorf("the view Watch does not say what it needs: %s", main)
	}
}
