package analysis_test

import (
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
