package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestSearchAsTyped: hits appear while a query is typed, with the words marked, and the address follows.
func TestSearchAsTyped(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	b.has("#results", "1 to 10 of ")
	b.query("letterzz")
	b.has("#status", "No hits")
	b.has(".empty", "Nothing matches letterzz")
	b.keys(kb.Backspace + kb.Backspace)
	b.wait(`document.querySelectorAll(".hits > li").length === 10 && document.querySelector(".hits mark")`)
	for _, word := range b.texts(".hits mark") {
		if !strings.HasPrefix(strings.ToLower(word), "letter") {
			t.Errorf("%q is marked", word)
		}
	}
	b.wait(`new URL(location).searchParams.get("q") === "letter"`)
	if n := b.count("header"); n != 1 {
		t.Errorf("the page has %d headers: is a page in the page?", n)
	}
	if sent := b.sent("part=results"); len(sent) < 2 || len(sent) > 10 {
		t.Errorf("ten keys made %d requests: %q", len(sent), sent)
	}
}

// TestSearchFault: an error is marked where it is, and goes when the query is mended.
func TestSearchFault(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	b.search("time title:(letter")
	b.has(".fault", "the group has no end")
	if at := b.text(".fault mark"); at != "(" {
		t.Errorf("%q is marked", at)
	}
	if before := b.text(".fault code"); before != "time title:(letter" {
		t.Errorf("the fault shows %q", before)
	}
	b.keys(")")
	b.wait(`document.querySelector("#fault").offsetHeight === 0`)
	b.has("#results", " of ")
}

// TestPages: pages and sorting change the hits, and the button Back of the browser brings the hits before.
func TestPages(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	b.query("time")
	b.keys(kb.Enter)
	b.settled()
	b.has(".status", "1 to 10 of ")
	first := b.text(".hits > li")
	b.click(`a[rel="next"]`)
	b.has(".status", "11 to 20 of ")
	if got := b.text(".hits > li"); got == first {
		t.Errorf("the second page begins like the first one: %s", got)
	}
	if start := eval[int](b, `document.querySelector(".hits").start`); start != 11 {
		t.Errorf("hits are numbered from %d", start)
	}
	b.click(`a[rel="next"]`)
	b.has(".status", "21 to 30 of ")
	b.click(`a[rel="prev"]`)
	b.has(".status", "11 to 20 of ")
	for _, status := range []string{"21 to 30 of ", "11 to 20 of ", "1 to 10 of "} {
		eval[any](b, "history.back()")
		b.has(".status", status)
	}
	b.settled()
	if got := b.text(".hits > li"); got != first {
		t.Errorf("back at the first page, it begins with %s, not %s", got, first)
	}
	if q := eval[string](b, `document.querySelector("#q").value`); q != "time" {
		t.Errorf("back at the first page, the box has %q", q)
	}
}
