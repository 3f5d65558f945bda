package analysis_test

import (
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/riffle-search/riffle/analysis"
)

func ExampleTokens() {
	for t := range analysis.Tokens(analysis.English(), "The Dog's running.") {
		fmt.Printf("%d %d-%d %s\n", t.Position, t.Start, t.End, t.Term)
	}
	// Output:
	// 1 4-9 dog
	// 2 10-17 run
}

func ExampleNew() {
	names := analysis.New("names",
		analysis.Words{},
		analysis.Lowercase{},
		analysis.Fold{},
		analysis.Stop("van", "de", "der"),
	)
	fmt.Printf("%q\n", analysis.Terms(names, "Édouard van der Bräun"))
	// Output:
	// ["edouard" "braun"]
}

func ExampleEdgeNGrams() {
	typeahead := analysis.New("typeahead", analysis.EdgeNGrams{Min: 2, Max: 4}, analysis.Lowercase{})
	fmt.Printf("%q\n", analysis.Terms(typeahead, "Search engines"))
	// Output:
	// ["se" "sea" "sear" "en" "eng" "engi"]
}

func ExampleParseSynonyms() {
	rules := "laptop, notebook\ntelly => television\n"
	synonyms, err := analysis.ParseSynonyms(strings.NewReader(rules), nil)
	if err != nil {
		log.Fatal(err)
	}
	a := analysis.New("shop", analysis.Words{}, analysis.Lowercase{}, synonyms)
	for t := range analysis.Tokens(a, "Laptop or telly?") {
		fmt.Println(t.Position, string(t.Term))
	}
	// Output:
	// 0 laptop
	// 0 notebook
	// 1 or
	// 2 television
}

func ExampleDeclaration() {
	text := `{
		"char_filters": ["html"],
		"filters": ["lowercase", {"type": "keyword_marker", "words": ["skiing"]}, "porter"]
	}`
	var d analysis.Declaration
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		log.Fatal(err)
	}
	a, err := d.Analyzer("sports")
	if err != nil {
		log.Fatal(err)
	}
	for t := range analysis.Tokens(a, "<b>Skiing</b> &amp; running") {
		fmt.Println(t.Position, t.Start, t.End, string(t.Term))
	}
	// Output:
	// 0 3 9 skiing
	// 1 20 27 run
}

func ExampleFilterText() {
	a := analysis.New("page", analysis.FilterText(analysis.Words{}, analysis.HTMLStrip{}), analysis.Lowercase{})
	const page = "<p>Tom &amp; <b>J</b>erry</p>"
	for t := range analysis.Tokens(a, page) {
		fmt.Printf("%s: %s\n", t.Term, page[t.Start:t.End])
	}
	// Output:
	// tom: Tom
	// jerry: J</b>erry
}

func ExampleShingles() {
	a := analysis.New("pairs", analysis.Words{}, analysis.Lowercase{}, analysis.Shingles{Min: 2, Max: 2})
	fmt.Printf("%q\n", analysis.Terms(a, "Quick brown fox"))
	// Output:
	// ["quick" "quick brown" "brown" "brown fox" "fox"]
}

func ExampleCJKBigrams() {
	a := analysis.New("cjk", analysis.Words{}, analysis.CJKWidth{}, analysis.Lowercase{}, analysis.CJKBigrams{})
	fmt.Printf("%q\n", analysis.Terms(a, "東京都 Ｇｏ"))
	// Output:
	// ["東京" "京都" "go"]
}

func ExampleHierarchy() {
	a := analysis.New("shelf", analysis.Keyword{}, analysis.Hierarchy{})
	fmt.Printf("%q\n", analysis.Terms(a, "fruit/apple/red"))
	// Output:
	// ["fruit" "fruit/apple" "fruit/apple/red"]
}

func ExampleCompounds() {
	parts := analysis.Compounds([]string{"dampf", "schiff", "fahrt"}, analysis.CompoundOptions{})
	a := analysis.New("german", analysis.Words{}, analysis.Lowercase{}, parts)
	fmt.Printf("%q\n", analysis.Terms(a, "Dampfschifffahrt"))
	// Output:
	// ["dampf" "dampfschifffahrt" "schiff" "fahrt"]
}
