package browser

import "testing"

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

// TestWidths: no view is wider than the window, from 320 pixels on, which is what 1280 are to somebody who zooms to
// 400 %.
func TestWidths(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	for _, v := range views {
		b.size(1280, 800)
		v.show(b)
		for _, width := range []int64{1280, 800, 390, 320} {
			b.size(width, 800)
			for _, e := range eval[[]string](b, sticksOut) {
				t.Errorf("%s at %d: %s", v.name, width, e)
			}
		}
	}
}
