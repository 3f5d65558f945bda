package bleve_test

import (
	"fmt"
	"log"

	"github.com/riffle-search/riffle/analysis"
	_ "github.com/riffle-search/riffle/analysis/bleve"
)

func Example() {
	for _, name := range []string{"standard", "bleve/standard", "bleve/en"} {
		a, err := analysis.Lookup(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-14s %q\n", name, analysis.Terms(a, "The Dog's running"))
	}
	// Output:
	// standard       ["the" "dog's" "running"]
	// bleve/standard ["dog's" "running"]
	// bleve/en       ["dog" "run"]
}
