package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The rules of accessibility are our own, over what Chromium computes: its accessibility tree, which is what screen
// readers get, and styles. They are those of WCAG 2.2, level AA, that a program can decide, as far as they concern a
// page like this one. axe-core has more rules, of which most concern what this page has not (frames, media, widgets);
// it is 600 KB of JavaScript from npm, which a Go repository would have to download or keep. With RIFFLE_AXE, which
// names its file axe.min.js, TestAxe asks it for a second opinion.

// A fault is what a rule says about an element.
type fault struct {
	Rule  string `json:"rule"`
	Where string `json:"where"`
	Text  string `json:"text"`
}

func (f fault) String() string { return f.Rule + ": " + f.Where + ": " + f.Text }

//go:embed facts.js
var facts string

// faultsOf returns what is wrong with the page that a tab shows.
func faultsOf(b *tab) []fault {
	b.t.Helper()
	styles := eval[struct {
		Faults []fault `json:"faults"`
		Texts  int     `json:"texts"`
	}](b, facts)
	all := styles.Faults
	if styles.Texts == 0 {
		all = append(all, fault{"contrast", "page", "no text was looked at"})
	}
	return append(all, treeFaults(b)...)
}

// axNode is a node of the accessibility tree.
type axNode struct {
	id, role, name     string
	ignored, focusable bool
	level              int
	children           []*axNode
}

// tree returns the accessibility tree.
func tree(b *tab) *axNode {
	b.t.Helper()
	res, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	b.must(err)
	nodes := map[accessibility.NodeID]*axNode{}
	text := func(v *accessibility.Value) string {
		var s string
		if v != nil {
			json.Unmarshal(v.Value, &s)
		}
		return s
	}
	for _, n := range res.Nodes {
		a := &axNode{id: string(n.NodeID), role: text(n.Role), name: strings.TrimSpace(text(n.Name)), ignored: n.Ignored}
		for _, p := range n.Properties {
			switch p.Name {
			case accessibility.PropertyNameFocusable:
				a.focusable = string(p.Value.Value) == "true"
			case accessibility.PropertyNameLevel:
				json.Unmarshal(p.Value.Value, &a.level)
			}
		}
		nodes[n.NodeID] = a
	}
	for _, n := range res.Nodes {
		for _, c := range n.ChildIDs {
			if child := nodes[c]; child != nil {
				nodes[n.NodeID].children = append(nodes[n.NodeID].children, child)
			}
		}
	}
	if len(res.Nodes) == 0 {
		b.t.Fatal("the accessibility tree is empty")
	}
	return nodes[res.Nodes[0].NodeID]
}

var (
	// named are the roles that are of no use without a name.
	named = []string{"button", "checkbox", "combobox", "ComboBoxGrouping", "ComboBoxMenuButton", "ComboBoxSelect", "group", "heading", "image", "link", "listbox",
		"menuitem", "navigation", "option", "progressbar", "radio", "region", "search", "searchbox", "slider", "switch", "tab", "table", "textbox", "spinbutton", "complementary"}
	// nameless are those of named that may go without one.
	nameless  = []string{"search", "table", "group"} // a group that takes the focus must have one
	landmarks = []string{"banner", "main", "navigation", "complementary", "contentinfo", "search", "region", "form"}
	// shapeless are the roles of what takes no part in anything.
	shapeless = []string{"", "generic", "none", "paragraph", "LayoutTable", "Pre", "GenericContainer"}
)

// treeFaults applies the rules about the accessibility tree.
func treeFaults(b *tab) []fault {
	b.t.Helper()
	var all []fault
	mains, tops, level := 0, 0, 0
	var walk func(n *axNode, landed bool)
	walk = func(n *axNode, landed bool) {
		what := fmt.Sprintf("%s %q", n.role, n.name)
		landed = landed || slices.Contains(landmarks, n.role)
		if !n.ignored {
			switch {
			case n.role == "RootWebArea":
			case n.focusable && slices.Contains(shapeless, n.role):
				all = append(all, fault{"role", what, "takes the focus, but is nothing"})
			case n.name == "" && slices.Contains(named, n.role) && (n.focusable || !slices.Contains(nameless, n.role)):
				all = append(all, fault{"name", what, "has no name"})
			}
			switch n.role {
			case "main":
				mains++
			case "heading":
				if n.level == 1 {
					tops++
				}
				if n.level > level+1 {
					all = append(all, fault{"heading", what, fmt.Sprintf("level %d comes after level %d", n.level, level)})
				}
				level = n.level
			case "StaticText":
				if !landed && n.name != "" {
					all = append(all, fault{"landmark", what, "is in no landmark"})
				}
			}
		}
		for _, c := range n.children {
			// A link to skip what precedes the content stands before all landmarks.
			walk(c, landed || n.role == "link" && strings.HasPrefix(n.name, "Skip"))
		}
	}
	walk(tree(b), false)
	if mains != 1 {
		all = append(all, fault{"landmark", "page", fmt.Sprintf("%d main parts", mains)})
	}
	if tops != 1 {
		all = append(all, fault{"heading", "page", fmt.Sprintf("%d headings of level 1", tops)})
	}
	return all
}

// A stop is an element that the key Tab leads to.
type stop struct {
	What   string `json:"what"`
	Seen   bool   `json:"seen"`   // the focus is: an outline with a contrast of 3, within the window
	Inside bool   `json:"inside"` // the window
	End    bool   `json:"end"`    // no element has the focus
	Number int    `json:"number"` // of the element among those that had the focus, from 0
}

const focused = `(() => {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return { end: true };
  window.stops ??= [];
  if (!stops.includes(e)) stops.push(e);
  const s = getComputedStyle(e), r = e.getBoundingClientRect();
  const c = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (color) => {
    c.clearRect(0, 0, 1, 1);
    c.fillStyle = color;
    c.fillRect(0, 0, 1, 1);
    const v = [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
  };
  const ground = (e) => !e ? "#fff" : /, 0\)|transparent/.test(getComputedStyle(e).backgroundColor) ? ground(e.parentElement) : getComputedStyle(e).backgroundColor;
  const [a, b] = [light(s.outlineColor), light(ground(e.parentElement))].sort((x, y) => y - x);
  return {
    what: e.localName + (e.id ? "#" + e.id : "") + " " + JSON.stringify((e.ariaLabel || e.textContent || e.name || "").trim().slice(0, 40)),
    seen: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && (a + 0.05) / (b + 0.05) >= 3,
    inside: r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth && r.width > 0,
    number: stops.indexOf(e),
  };
})()`

// keyFaults presses Tab until the focus has been on everything, and looks at where it is.
func keyFaults(b *tab) []fault {
	b.t.Helper()
	want := eval[int](b, `(() => {
  document.body.tabIndex = -1; // the key goes on from where the focus was: from the beginning
  document.body.focus();
  document.body.removeAttribute("tabindex");
  window.stops = undefined;
  scrollTo(0, 0);
  return [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled).length;
})()`)
	var all []fault
	reached := 0
	for range 2*want + 3 {
		b.keys(kb.Tab)
		s := eval[stop](b, focused)
		if s.End || s.Number < reached {
			break // all the way round
		}
		reached++
		if !s.Seen {
			all = append(all, fault{"focus", s.What, "the focus cannot be seen"})
		}
		if !s.Inside {
			all = append(all, fault{"focus", s.What, "has the focus outside of the window"})
		}
	}
	if reached < want {
		all = append(all, fault{"keys", "page", fmt.Sprintf("Tab reaches %d of %d controls", reached, want)})
	}
	return all
}
