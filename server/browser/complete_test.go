package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// chosen is the completion that the keyboard has chosen, for people and for screen readers.
const chosen = `(() => {
  const e = document.querySelector('#completions [aria-selected="true"]');
  const says = document.querySelector("#q").getAttribute("aria-activedescendant");
  return e ? (e.id === says ? e.dataset.text : "aria-activedescendant is " + says) : "";
})()`

// TestCompletion: fields and terms are offered, the keyboard and the mouse take them, and nobody must.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	open := `!document.querySelector("#completions").hidden`
	b.query("ti")
	b.wait(open)
	offered := b.texts("#completions li")
	if !strings.HasPrefix(offered[0], "title:") || len(offered) < 2 {
		t.Errorf("for ti, %q is offered", offered)
	}
	if expanded := eval[string](b, `document.querySelector("#q").ariaExpanded`); expanded != "true" {
		t.Errorf("the list is open, and aria-expanded is %s", expanded)
	}

	// Down and up go round, and do not move the cursor.
	b.keys(kb.ArrowDown)
	if got := eval[string](b, chosen); got != "title:" {
		t.Errorf("Down chooses %q", got)
	}
	b.keys(kb.ArrowUp)
	last := eval[string](b, `document.querySelector("#completions li:last-child").dataset.text`)
	if got := eval[string](b, chosen); got != last {
		t.Errorf("Up from the first one chooses %q, not %q", got, last)
	}
	b.keys(kb.ArrowDown + kb.Enter)
	b.wait(`document.querySelector("#q").value === "title:"`)
	b.wait(`document.activeElement.id === "q"`)

	// Behind a field, its terms.
	b.keys("lett")
	b.wait(open + ` && document.querySelector("#completions li").dataset.text.startsWith("lett")`)
	b.keys(kb.Escape)
	b.wait(`document.querySelector("#completions").hidden && document.querySelector("#q").value === "title:lett"`)
	b.keys("e")
	b.wait(open)
	b.keys(kb.ArrowDown + kb.Tab)
	b.wait(`/^title:lette\S+ $/.test(document.querySelector("#q").value)`)
	b.settled()

	// Enter without a choice searches for what was typed.
	b.query("time lett")
	b.wait(open)
	b.keys(kb.Enter)
	b.wait(`document.querySelector("#completions").hidden && document.querySelector("#q").value === "time lett"`)
	b.settled()

	// The mouse takes one, in the middle of a query.
	b.query("lett time")
	b.keys(strings.Repeat(kb.ArrowLeft, len(" time")) + "e")
	b.wait(open + ` && document.querySelector("#completions li").dataset.text.startsWith("lette")`)
	want := eval[string](b, `document.querySelector("#completions li").dataset.text`)
	b.click("#completions li")
	if got := eval[string](b, `document.querySelector("#q").value`); strings.Join(strings.Fields(got), " ") != want+" time" {
		t.Errorf("the mouse made %q of lette| time, want %s", got, want)
	}

	// The list goes when the focus does.
	b.query("ti")
	b.wait(open)
	b.click("h2")
	b.wait(`document.querySelector("#completions").hidden`)
}

// TestNoField: a word behind a name that is no field is told to the user, and brings no other error.
func TestNoField(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books")
	b.search("nofield:time")
	b.has(".fault", "nofield")
	b.search("title:time")
	b.wait(`document.querySelector("#fault").offsetHeight === 0 && document.querySelector(".hits mark")`)
	b.open("/?index=books&q=nofield:time")
	b.has(".fault", "nofield")
}
