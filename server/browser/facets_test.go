package browser

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// total returns the number of hits that the status names.
func total(b *tab) int {
	b.t.Helper()
	_, rest, _ := strings.Cut(b.text("#status"), " of ")
	n, _, _ := strings.Cut(rest, ",")
	return number(b, n)
}

// number reads a number of the page, whose thousands are apart.
func number(b *tab, text string) int {
	b.t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(text), "\u202f", ""))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestFacets: a value narrows the hits to as many as it says, two of a field widen them, they stay while the user
// types, and go again.
func TestFacets(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time")
	all := total(b)
	value := func(n int) string { return "aside section:first-child li:nth-child(" + strconv.Itoa(n) + ")" }
	counts := []int{number(b, b.text(value(1)+" .faint")), number(b, b.text(value(2)+" .faint"))}
	names := b.texts("aside section:first-child a")
	b.click(value(1) + " a")
	b.settled()
	b.wait(`document.querySelectorAll("aside [aria-current]").length === 1`)
	if got := total(b); got != counts[0] || got >= all {
		t.Errorf("%s narrows %d hits to %d, and says %d", names[0], all, got, counts[0])
	}
	for _, author := range b.texts(".hits > li dl div:first-child dd") {
		if author != names[0] {
			t.Errorf("with %s chosen, there is a hit of %s", names[0], author)
		}
	}

	// Of the same field, other values keep their counts, and widen.
	second := `[...document.querySelectorAll("aside section:first-child li")].find((e) => e.querySelector("a").innerText === ` + encoded(names[1]) + `)`
	if got := number(b, eval[string](b, second+`.querySelector(".faint").innerText`)); got != counts[1] {
		t.Errorf("%s has %d hits, not %d", names[1], got, counts[1])
	}
	eval[any](b, second+`.querySelector("a").click()`)
	b.settled()
	if got := total(b); got != counts[0]+counts[1] {
		t.Errorf("both have %d hits, not %d and %d", got, counts[0], counts[1])
	}

	// They stay while the user types.
	b.search("letter")
	if got := b.count("aside [aria-current]"); got != 2 {
		t.Errorf("after another query, %d values are chosen", got)
	}
	narrow := total(b)
	b.open(eval[string](b, "location.pathname + location.search"))
	if got := total(b); got != narrow || b.count("aside [aria-current]") != 2 {
		t.Errorf("opened again, the address has %d hits, not %d", got, narrow)
	}
	b.click("aside [aria-current]")
	b.settled()
	b.click("aside [aria-current]")
	b.settled()
	if got := total(b); b.count("aside [aria-current]") != 0 || got <= narrow {
		t.Errorf("without facets there are %d hits, with them %d", got, narrow)
	}

	// Where nothing is left, the page says how to go on.
	b.click("aside a")
	b.settled()
	b.search("letterzz")
	b.has(".empty", "without the chosen facets")
	b.query("letter")
	b.settled()
	b.query("letterzz")
	b.settled()
	b.click(".empty a")
	b.settled()
	if strings.Contains(eval[string](b, "location.search"), "f.") {
		t.Error("the facets are still in the address")
	}
}

// TestSort: the order of hits is that of a field, and survives typing, pages and the button Back.
func TestSort(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time")
	words := func() []int {
		var all []int
		for _, w := range b.texts(".hits > li dl div:last-child dd") {
			all = append(all, number(b, w))
		}
		if len(all) < 2 {
			t.Fatalf("%d hits", len(all))
		}
		return all
	}
	ordered := func(sign int) {
		t.Helper()
		all := words()
		for i := range all[1:] {
			if sign*all[i] > sign*all[i+1] {
				t.Errorf("words in order %d: %v", sign, all)
				return
			}
		}
	}
	choose := func(value string) {
		eval[any](b, `(() => { const s = document.querySelector("#sort"); s.value = `+encoded(value)+`; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
		b.settled()
	}
	choose("words")
	ordered(1)
	choose("-words")
	ordered(-1)
	most := words()[0]
	b.click(`a[rel="next"]`)
	b.settled()
	ordered(-1)
	if got := words()[0]; got > most {
		t.Errorf("the second page begins with %d words, the first one with %d", got, most)
	}
	b.search("letter")
	ordered(-1)
	if sort := eval[string](b, `new URL(location).searchParams.get("sort")`); sort != "-words" {
		t.Errorf("the address sorts by %q", sort)
	}
	// By keyboard: a letter chooses an option.
	eval[any](b, `document.querySelector("#sort").focus()`)
	b.keys("b")
	b.wait(`document.querySelector("#sort").value === ""`)
	b.keys(kb.Tab)
	b.settled()
	eval[any](b, "history.back()")
	b.wait(`document.querySelector("#sort").value === "-words"`)
	b.settled()
	ordered(-1)
}
