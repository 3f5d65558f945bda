package browser

import "strings"

// A view is a state of the page that tests look at.
type view struct {
	name, path string
	then       func(b *tab) // leads to the state from the path; nil if that is all
}

// views are all views, in the states that differ in what they show.
var views = []view{
	{"search", "/?index=books&q=time", nil},
	{"search-all", "/?index=books", nil},
	{"search-none", "/?index=books&q=zzyzx", nil},
	{"search-none-long", "/?index=books&q=" + strings.Repeat("zzyzx", 40), nil},
	{"search-fault-long", "/?index=books&q=(" + strings.Repeat("letter", 40), nil},
	{"search-fault", "/?index=books&q=title:(letter", nil},
	{"search-facet", "/?index=books&q=letter&f.speech=yes", nil},
	{"search-scripts", "/?index=scripts", nil},
	{"search-completions", "/?index=books", func(b *tab) {
		b.query("letter t")
		b.keys("i")
		b.wait(`!document.querySelector("#completions").hidden`)
	}},
	{"search-request", "/?index=books&q=time", func(b *tab) {
		b.click("summary")
		b.wait(`document.querySelector(".request pre").offsetHeight > 0`)
	}},
	{"search-why", "/?index=books&q=time+letter", func(b *tab) {
		b.click("[data-why]")
		b.wait(`document.querySelector(".why .tree")`)
	}},
	{"why", "/?index=books&q=time+letter+-king", func(b *tab) {
		eval[any](b, `location.href = document.querySelector("[data-why]").href`)
		b.wait(`location.pathname === "/why" && document.querySelector(".tree")`)
	}},
	{"why-plan", "/why?index=books&q=time+letter+of", func(b *tab) { b.click("summary") }},
	{"why-plan-long", "/why?index=scripts&q=ein+Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", nil},
	{"inside", "/inside?index=books", nil},
	{"inside-terms", "/inside?index=books&field=text&prefix=le#terms", nil},
	{"inside-list", "/inside?index=books&field=text&term=letter#list", nil},
	{"inside-document", "/inside?index=scripts&id=rights-ar#document", nil},
	{"inside-document-long", "/inside?index=scripts&id=Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft#document", nil},
	{"inside-list-long", "/inside?index=scripts&field=text&term=donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft#list", nil},
	{"inside-missing", "/inside?index=books&id=nobody#document", nil},
	{"fault", "/inside?index=books&field=gone", func(b *tab) { b.taken() }},
	{"watch", "/watch?index=books", func(b *tab) {
		b.wait(`[...document.querySelectorAll("polyline")].some((p) => p.points.numberOfItems > 2)`)
	}},
}

// show opens a view.
func (v *view) show(b *tab) {
	b.t.Helper()
	b.open(v.path)
	if v.then != nil {
		v.then(b)
	}
	b.wait(`document.readyState === "complete" && document.documentElement.offsetWidth > 0`)
}
