package browser

import (
	"strings"
	"testing"
)

// TestAnnounced: what changes while the user types is announced. The elements that do so were there before, since
// screen readers do not read new ones, and they change once a search.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time")
	eval[any](b, `(() => {
  window.live = [...document.querySelectorAll('[role="status"], [role="alert"], [aria-live="polite"]')];
  window.heard = [];
  for (const e of live) new MutationObserver(() => { if (e.innerText.trim()) heard.push(e.innerText.trim()); }).observe(e, { childList: true, characterData: true, subtree: true });
})()`)
	kept := func() {
		t.Helper()
		if n := eval[int](b, "live.filter((e) => e.isConnected).length"); n != 2 {
			t.Errorf("%d of 2 live regions are still there", n)
		}
	}
	last := func(want string) {
		t.Helper()
		if heard := eval[[]string](b, "heard"); len(heard) == 0 || !strings.Contains(heard[len(heard)-1], want) {
			t.Errorf("announced: %q, want %s at the end", heard, want)
		}
	}
	b.search("letter")
	kept()
	last(" of ")
	b.keys(" (")
	b.settled()
	kept()
	last("the hits of the query before")
	if heard := eval[[]string](b, "heard.slice(-2)"); !strings.Contains(heard[0], "the group has no end") {
		t.Errorf("of an error, %q is announced", heard)
	}
	if invalid := eval[string](b, `document.querySelector("#q").ariaInvalid`); invalid != "true" {
		t.Errorf("with an error, aria-invalid is %s", invalid)
	}
	if b.count(".hits > li") == 0 {
		t.Error("an error took the hits away")
	}
	b.search("letter")
	kept()
	last(" of ")
	if invalid := eval[string](b, `document.querySelector("#q").ariaInvalid`); invalid != "false" {
		t.Errorf("without an error, aria-invalid is %s", invalid)
	}
}

// TestDirection: a text runs from right to left if its letters do, and what is around it does not turn.
func TestDirection(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=scripts&q=" + "אלהים")
	direction := func(selector string) string {
		t.Helper()
		return eval[string](b, "getComputedStyle(document.querySelector("+encoded(selector)+")).direction")
	}
	for selector, want := range map[string]string{"#q": "rtl", ".hits h2": "rtl", ".hits > li > p": "rtl", ".hits dd": "rtl", ".hits dt": "ltr", ".status": "ltr", "html": "ltr"} {
		if got := direction(selector); got != want {
			t.Errorf("%s is %s, want %s", selector, got, want)
		}
	}
	if mark := b.text(".hits mark"); mark != "אלהים" {
		t.Errorf("%q is marked", mark)
	}
	// The text begins at the right edge of its hit.
	if gap := eval[float64](b, `(() => {
  const p = document.querySelector(".hits > li > p");
  const r = document.createRange();
  r.selectNodeContents(p);
  return p.getBoundingClientRect().right - Math.max(...[...r.getClientRects()].map((c) => c.right));
})()`); gap > 2 {
		t.Errorf("the text begins %g pixels from the right edge", gap)
	}
	b.search("born")
	if got := direction(".hits h2"); got != "ltr" {
		t.Errorf("an English title is %s", got)
	}
	b.search("المادة")
	if got := direction(".hits h2"); got != "rtl" {
		t.Errorf("an Arabic title is %s", got)
	}
}

// TestMarkup: text of documents is text, and no markup runs.
func TestMarkup(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=scripts&q=markup")
	b.has(".hits h2", "<b>not bold</b>")
	b.has(".hits", "<script>alert(1)</script>")
	if n := b.count("main script, main img, main b, main i"); n != 0 {
		t.Errorf("%d elements come from documents", n)
	}
	b.search("<script>alert(3)</script>")
	if n := b.count("main script"); n != 0 {
		t.Error("a query became a script")
	}
}

// TestPolicy: the content security policy refuses scripts that are not the page's own files.
func TestPolicy(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	for _, v := range views {
		if v.then == nil {
			b.open(v.path)
		}
	}
	if p := b.taken(); len(p) > 0 {
		t.Errorf("on their own the views bring %q", p)
	}
	eval[any](b, `(() => {
  const inline = document.createElement("script");
  inline.textContent = "window.ran = 1";
  document.body.append(inline);
  document.body.insertAdjacentHTML("beforeend", '<img src="data:," onerror="window.ran = 2">');
  fetch("http://127.0.0.2:9/").catch(() => { window.refused = true; });
})()`)
	b.wait("window.refused")
	if eval[bool](b, "window.ran !== undefined") {
		t.Error("a script from elsewhere ran")
	}
	if p := strings.Join(b.taken(), "\n"); strings.Count(p, "Content Security Policy") < 3 {
		t.Errorf("the browser reports %s", p)
	}
}

// TestSchemes: the page is dark or light as the user likes, and follows at once.
func TestSchemes(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.scheme("light")
	b.open("/?index=books&q=time")
	const light = `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return r + g + b; })()`
	if v := eval[int](b, light); v < 600 {
		t.Errorf("the light page has the ground %d", v)
	}
	b.scheme("dark")
	if v := eval[int](b, light); v > 200 {
		t.Errorf("the dark page has the ground %d", v)
	}
}

// TestNoIndex: a server without an index says how to make one, in every view.
func TestNoIndex(t *testing.T) {
	t.Parallel()
	b := newTab(t, serveNothing(t))
	for _, path := range []string{"/", "/inside", "/watch"} {
		b.open(path)
		b.has("main", "PUT /v1/indexes/NAME")
		for _, f := range faultsOf(b) {
			t.Errorf("%s: %s", path, f)
		}
	}
}

// TestServerGone: when the server does not answer any more, the page says so, and keeps what it shows.
func TestServerGone(t *testing.T) {
	t.Parallel()
	url, close := serveScripts(t)
	b := newTab(t, url)
	b.open("/")
	b.search("born")
	close()
	b.search("free")
	b.has("#fault", "The server does not answer.")
	if b.count(".hits > li") == 0 {
		t.Error("the hits have gone, too")
	}
	b.taken() // the browser reports refused connections
}
