package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestViews looks at all views, which takes less time than to open them: at their width, by all rules of accessibility,
// dark and light, wide and narrow, and by the key Tab, which leads to every control.
func TestViews(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	for _, v := range views {
		b.size(1280, 800)
		b.scheme("light")
		v.show(b)
		said := map[fault]bool{}
		say := func(width int64, scheme string, all []fault) {
			for _, f := range all {
				if !said[f] {
					t.Errorf("%s, %s, %d wide: %s", v.name, scheme, width, f)
				}
				said[f] = true
			}
		}
		// 320 pixels are what is left of 1280 to somebody who zooms to 400 %.
		for _, width := range []int64{800, 320, 390, 1280} {
			b.size(width, 800)
			for _, e := range eval[[]string](b, sticksOut) {
				t.Errorf("%s at %d: %s", v.name, width, e)
			}
			if width == 390 || width == 1280 {
				say(width, "light", faultsOf(b))
				b.scheme("dark")
				say(width, "dark", faultsOf(b))
				b.scheme("light")
			}
		}
		say(1280, "light", keyFaults(b))
	}
}

// TestRules: each rule finds the fault that it is for, and a page without faults has none.
func TestRules(t *testing.T) {
	t.Parallel()
	const sound = `<!doctype html><html lang="en"><head><title>Sound</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><style>body { background: #fff; color: #222; } :focus-visible { outline: 2px solid #036; } a { display: inline-block; padding: 8px; color: #036; } input { border: 1px solid #555; }</style></head>
<body><a href="#m">Skip to the content</a><header><nav aria-label="Views"><a href="/">Home</a></nav></header><main id="m"><h1>Sound</h1>
<form><label for="q">Query</label><input id="q"></form><h2>Part</h2><p>Text</p><table><tbody><tr><th scope="row">Size</th><td>1</td></tr></tbody></table><ol><li>one</li></ol>
<svg viewBox="0 0 10 10" width="40" role="img" aria-label="Shares"><rect width="5" height="5" fill="#036"/></svg></main></body></html>`
	var pages atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src data: 'unsafe-inline'")
		fmt.Fprint(w, *pages.Load())
	}))
	t.Cleanup(s.Close)
	b := newTab(t, s.URL)
	b.size(800, 600)
	b.scheme("light")
	for _, test := range []struct{ rule, old, new, text string }{
		{"", "", "", ""},
		{"contrast", "<p>Text", `<p class="pale">Text`, "contrast of"},
		{"contrast", "<p>Text", `<p class="glass">Text`, "contrast of"},
		{"contrast", `<input id="q">`, `<input id="q" placeholder="words" class="hint">`, "the placeholder"},
		{"contrast", "<ol>", `<ol class="numbers">`, "the number"},
		{"contrast", "<p>Text", `<p class="image">Text`, "background image"},
		{"edge", `<input id="q">`, `<input id="q" class="edgeless">`, "neither edge"},
		{"edge", `fill="#036"`, `fill="#ccc"`, "the shape"},
		{"language", ` lang="en"`, "", "no lang"},
		{"title", "<title>Sound</title>", "", "no title"},
		{"zoom", "width=device-width", "width=device-width, user-scalable=no", "cannot zoom"},
		{"id", "<h2>", `<h2 id="q">`, "another element"},
		{"id", `<input id="q">`, `<input id="q" aria-describedby="gone">`, "gone, which is nowhere"},
		{"order", `<input id="q">`, `<input id="q" tabindex="3">`, "tabindex 3"},
		{"role", "<p>Text", `<p tabindex="0">Text`, "takes the focus, but is nothing"},
		{"role", "<p>Text", `<p aria-hidden="true"><a href="/x">Text</a>`, "hidden, but takes the focus"},
		{"role", "<p>Text", `<p aria-labelled="x">Text`, "there is no aria-labelled"},
		{"table", `<th scope="row">Size</th>`, "<td>Size</td>", "no headers"},
		{"table", ">Size<", "><", "a header without text"},
		{"list", "<li>one</li>", "<p>one</p>", "not an item"},
		{"target", "<p>Text</p>", `<p><a class="tiny" href="/a">a</a></p><p class="tight"><a class="tiny" href="/b">b</a></p>`, "close to"},
		{"name", `<label for="q">Query</label>`, "", "has no name"},
		{"name", ">Home<", ` aria-label=""><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt=""><`, "has no name"},
		{"name", ` aria-label="Shares"`, "", "has no name"},
		{"name", ` aria-label="Views"`, "", "has no name"},
		{"heading", "<h1>Sound</h1>", "", "0 headings of level 1"},
		{"heading", "<h2>Part</h2>", "<h1>Part</h1>", "2 headings of level 1"},
		{"heading", "<h2>Part</h2>", "<h3>Part</h3>", "level 3 comes after level 1"},
		{"landmark", "main", "div", "0 main parts"},
		{"landmark", "</main>", "</main><p>Outside</p>", "in no landmark"},
		{"focus", "outline: 2px solid #036", "outline: none", "cannot be seen"},
		{"focus", "outline: 2px solid #036", "outline: 2px solid #eee", "cannot be seen"},
		{"focus", `<input id="q">`, `<input id="q" class="away">`, "outside of the window"},
		{"keys", `<input id="q">`, `<input id="q" tabindex="-1">`, "of 3 controls"},
		{"keys", "</body>", `<script>document.querySelector("nav a").addEventListener("keydown", (e) => e.preventDefault())</script></body>`, "of 3 controls"},
	} {
		t.Run(test.rule+"/"+test.text, func(t *testing.T) {
			html := strings.ReplaceAll(sound, test.old, test.new)
			if test.rule != "" && html == sound {
				t.Fatalf("%s is not in the page", test.old)
			}
			const styles = `.pale { color: #999; } .glass { opacity: .4; } .hint::placeholder { color: #bbb; } .numbers ::marker { color: #bbb; }
.image { background-image: linear-gradient(red, blue); } .edgeless { border: 1px solid #ddd !important; } .tiny { padding: 0 !important; font-size: 10px; } .tight { margin-top: -12px; }
.away { position: fixed; left: -900px; }</style>`
			html = strings.Replace(html, "</style>", styles, 1)
			pages.Store(&html)
			b.open("/")
			all := append(faultsOf(b), keyFaults(b)...)
			b.taken() // the browser may grumble, too
			found := slices.ContainsFunc(all, func(f fault) bool { return f.Rule == test.rule && strings.Contains(f.Text, test.text) })
			if test.rule == "" && len(all) > 0 || test.rule != "" && !found {
				t.Errorf("the rules say %q", all)
			}
		})
	}
}

// TestAxe asks axe-core about all views.
func TestAxe(t *testing.T) {
	path := os.Getenv("RIFFLE_AXE")
	if path == "" {
		t.Skip("RIFFLE_AXE does not name a file axe.min.js")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, openLibrary(t))
	for _, v := range views {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			v.show(b)
			eval[any](b, string(axe)+"; null")
			eval[any](b, `window.verdict = undefined; axe.run().then((r) => { window.verdict = r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + v.help + ": " + n.html.slice(0, 200))); }); null`)
			b.wait("window.verdict")
			for _, f := range eval[[]string](b, "window.verdict") {
				t.Errorf("%s, %s: %s", v.name, scheme, f)
			}
		}
	}
}
