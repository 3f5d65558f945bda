package browser

import (
	"strings"
	"testing"
)

// sticksOut are the elements that reach beyond the window, unless they are in a part that scrolls, or are not seen.
const sticksOut = `(() => {
  const out = [];
  const wide = document.documentElement.clientWidth;
  const scrolls = (e) => { for (; e && e !== document.body; e = e.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true; return false; };
  for (const e of document.body.querySelectorAll("*")) {
    const r = e.getBoundingClientRect();
    if (r.width > 0 && r.height > 0 && (r.right > wide + 1 || r.left < -1) && e.checkVisibility() && !scrolls(e.parentElement)) out.push(e.outerHTML.slice(0, 120));
  }
  if (document.documentElement.scrollWidth > wide) out.push("the page is " + document.documentElement.scrollWidth + " wide");
  return out;
})()`

// TestSticksOut: what is wider than the window is found, unless it scrolls.
func TestSticksOut(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.size(390, 800)
	b.open("/?index=books&q=zzyzx")
	for html, want := range map[string]int{
		`<p>short`:                            0,
		`<svg width="500" height="10"></svg>`: 2, // it, and the page
		`<div class="wide"><svg width="500" height="10"></svg></div>`:                   0,
		`<div class="hidden"><svg width="500" height="10"></svg></div>`:                 0,
		`<p dir="rtl"><svg width="500" height="10"></svg>`:                              1, // beyond the left edge
		`<p>` + strings.Repeat("Donaudampfschifffahrtselektrizitäten", 4) + `</p>`:      1,
		`<p class="empty"><code>` + strings.Repeat("word", 100) + `</code></p><p>short`: 0,
	} {
		eval[any](b, `document.querySelector("main").insertAdjacentHTML("beforeend", '<div id="more">' + `+encoded(html)+` + "</div>")`)
		if out := eval[[]string](b, sticksOut); len(out) != want {
			t.Errorf("%s: %q sticks out", html, out)
		}
		eval[any](b, `document.querySelector("#more").remove()`)
	}
}
