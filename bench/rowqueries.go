package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/bench/protocol"
)

// rangeShares are how many of the documents a range has, in percent.
var rangeShares = []float64{0.01, 1, 10, 50}

// wordClasses are words by the share of the documents that have them. Sets for scores use the middle one.
var wordClasses = []struct {
	name  string
	share float64
}{{"dense", 0.6}, {"common", 0.08}, {"sparse", 0.001}}

const wordsOfClass = 5

// rowSets are queries over the rows of a file, with the modes that they are for. The same file gives the
// same queries, at most limit of a set.
func rowSets(c corpus, s shape, limit int) ([]querySet, error) {
	values, err := readRows(c, s)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 20
	}
	var classes [][]string
	for _, class := range wordClasses {
		classes = append(classes, values.words.near(class.share, c.docs))
	}
	// over returns a set over all documents and one over each class of words.
	var sets []querySet
	over := func(mode, name, rest string, classNames ...string) {
		sets = append(sets, querySet{name: name + ", all", modes: []string{mode}, queries: []string{protocol.AllDocuments + " " + rest}})
		for i, class := range wordClasses {
			if !slices.Contains(classNames, class.name) {
				continue
			}
			set := querySet{name: name + ", " + class.name, modes: []string{mode}}
			for _, word := range classes[i][:min(limit, wordsOfClass)] {
				set.queries = append(set.queries, word+" "+rest)
			}
			sets = append(sets, set)
		}
	}
	rng := rand.New(rand.NewPCG(7, 17))
	for _, column := range s.numbers {
		for _, share := range rangeShares {
			ranges := querySet{name: fmt.Sprintf("%s %g %%", column, share), modes: []string{"range"}}
			filtered := querySet{name: ranges.name, modes: []string{"filtered"}}
			for i := range 2 * limit { // the other half primes a process, so that no range has come before
				low, high := span(rng, values.numbers[column], share/100)
				ranges.queries = append(ranges.queries, fmt.Sprintf("%s %s %d %d", protocol.AllDocuments, column, low, high))
				filtered.queries = append(filtered.queries, fmt.Sprintf("%s %s %d %d", classes[1][i%wordsOfClass], column, low, high))
			}
			ranges.queries, ranges.primer = ranges.queries[:limit], ranges.queries[limit:]
			filtered.queries, filtered.primer = filtered.queries[:limit], filtered.queries[limit:]
			filtered.name = column + fmt.Sprintf(" %g %%, %s", share, wordClasses[1].name)
			sets = append(sets, ranges, filtered)
		}
	}
	for _, column := range s.numbers {
		for _, order := range []string{"asc", "desc"} {
			over("sort", column+" "+order, column+" "+order, "dense", "common", "sparse")
		}
	}
	for _, column := range s.facets {
		over("terms", column, column, "dense", "common", "sparse")
		over("cardinality", column, column)
	}
	for _, column := range s.histograms {
		over("histogram", column, fmt.Sprint(column, " ", s.width), "dense", "common")
	}
	over("stats", s.numbers[0], s.numbers[0], "dense", "common")
	over("percentiles", s.numbers[0], s.numbers[0], "dense", "common")
	over("cardinality", s.numbers[0], s.numbers[0], "dense", "common")
	if s.place != "" {
		placed, err := placeSets(values, s, classes, limit)
		if err != nil {
			return nil, err
		}
		sets = append(sets, placed...)
	}
	slices.SortStableFunc(sets, func(a, b querySet) int {
		return slices.Index(columnModes, a.modes[0]) - slices.Index(columnModes, b.modes[0])
	})
	return sets, nil
}

// span returns the least and the greatest value of a random run of the sorted values.
func span(rng *rand.Rand, sorted []int64, share float64) (low, high int64) {
	n := max(1, int(share*float64(len(sorted))))
	at := rng.IntN(len(sorted) - n + 1)
	return sorted[at], sorted[at+n-1]
}

// documentsOf counts the documents that have each word.
type documentsOf map[string]int

// near returns the words whose share of the documents is nearest to one.
func (d documentsOf) near(share float64, docs int) []string {
	words := make([]string, 0, len(d))
	for word := range d {
		words = append(words, word)
	}
	off := func(word string) float64 {
		if a, b := float64(d[word]), share*float64(docs); a < b {
			return b / a
		} else {
			return a / b
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(off(a), off(b)), strings.Compare(a, b))
	})
	return words[:min(wordsOfClass, len(words))]
}

// rowValues are what queries are drawn from.
type rowValues struct {
	numbers map[string][]int64 // sorted, of the columns of numbers
	words   documentsOf
	places  []place // by row
}

func readRows(c corpus, s shape) (rowValues, error) {
	columns, err := protocol.ParseColumns(s.columns)
	if err != nil {
		return rowValues{}, err
	}
	numbers, words := map[string][]int64{}, documentsOf{}
	var places []place
	last := map[string]int{}
	_, err = protocol.ReadLines(c.path, func(n int, line []byte) error {
		return protocol.Values(columns, string(line), func(column protocol.Column, value string) error {
			switch {
			case slices.Contains(s.numbers, column.Name):
				v, err := strconv.ParseInt(value, 10, 64)
				numbers[column.Name] = append(numbers[column.Name], v)
				return err
			case column.Name == s.place:
				lat, lon, err := protocol.Place(value)
				places = append(places, place{lat, lon})
				return err
			case column.Kind == "text":
				for word := range strings.SplitSeq(value, " ") {
					if last[word] != n+1 {
						last[word] = n + 1
						words[word]++
					}
				}
			}
			return nil
		})
	})
	for _, values := range numbers {
		slices.Sort(values)
	}
	if err == nil && len(words) < wordsOfClass {
		err = fmt.Errorf("%s: too few words to draw queries from", c.path)
	}
	return rowValues{numbers, words, places}, err
}
