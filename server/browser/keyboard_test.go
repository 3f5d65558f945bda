package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tabTo presses Tab, at most as many times as there are controls, until an element of a selector has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 200 {
		if eval[bool](b, "document.activeElement.matches("+encoded(selector)+")") {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("Tab does not lead to %s", selector)
}

// TestKeyboard uses every view without a mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	b.wait(`document.activeElement.id === "q"`) // so that one types at once
	b.keys("time" + kb.Enter)
	b.settled()
	b.has("#status", "1 to 10 of ")

	// Backwards from the box are the navigation and the link that skips it, which shows itself.
	for range 10 {
		if eval[bool](b, `document.activeElement.matches(".skip")`) {
			break
		}
		b.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(kb.ModifierShift)))
	}
	if r := eval[[]float64](b, `(() => { const r = document.querySelector(".skip").getBoundingClientRect(); return [r.width, r.height]; })()`); r[0] < 24 || r[1] < 12 {
		t.Errorf("with the focus, the link to skip is %v large", r)
	}
	b.keys(kb.Enter)
	b.wait(`location.hash === "#main"`)
	b.tabTo("#q") // the first control of the content

	b.tabTo("aside a")
	facet := eval[string](b, "document.activeElement.innerText")
	b.keys(kb.Enter)
	b.settled()
	b.has("aside [aria-current]", strings.TrimPrefix(facet, "✓ "))
	if at := eval[string](b, "document.activeElement.innerText"); !strings.HasSuffix(at, facet) {
		t.Errorf("after choosing %s, the focus is on %q", facet, at)
	}
	b.keys(kb.Enter)
	b.settled()
	b.wait(`!document.querySelector("aside [aria-current]")`)

	b.tabTo("[data-why]")
	b.keys(kb.Enter)
	b.wait(`document.querySelector(".why .tree")`)
	b.tabTo(`a[rel="next"]`)
	b.keys(kb.Enter)
	b.has("#status", "11 to 20 of ")
	if at := eval[string](b, `document.activeElement.id + " " + scrollY`); at != "status 0" {
		t.Errorf("after turning the page, the focus and the window are at %q", at)
	}
	b.tabTo("summary")
	b.keys(" ")
	b.wait(`document.querySelector(".request").open`)
	b.tabTo(".request pre")
	before := eval[float64](b, "document.activeElement.scrollTop")
	b.keys(kb.ArrowDown)
	b.wait("document.activeElement.scrollTop > " + encoded(before))

	b.open("/inside?index=books")
	b.tabTo(`a[href*="field=text"]`)
	b.keys(kb.Enter)
	b.wait(`location.search.includes("field=text") && document.querySelector(".terms")`)
	b.tabTo("#prefix")
	b.keys("lett" + kb.Enter)
	b.wait(`location.search.includes("prefix=lett")`)
	b.tabTo(".terms a")
	b.keys(kb.Enter)
	b.wait(`document.querySelector("#list figure")`)
}
