package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/bench/protocol"
)

// A list is queries that are drawn from the words of the documents. The same documents give the same
// list. It is named with @ before it where a file of queries could be.
type list struct {
	name  string
	modes []string // of querySet
	does  string   // one line for the help
	make  func(d *drawing) ([]string, error)
}

// Sizes of lists. Each that is drawn comes twice: to measure, and to prime a process with.
const (
	listSize  = 200
	stopSize  = 60 // for the longest lists of postings
	wordsSize = 100
)

var lists = []list{
	{"log", nil, "queries of terabyte05 and msmarco-dev that match as phrases", (*drawing).log},
	{"content", nil, "two neighboring words, or the ends of three, that are neither common nor rare", (*drawing).content},
	{"random-2", nil, "two neighboring words, anywhere in the text", neighbors(2)},
	{"random-3", nil, "three", neighbors(3)},
	{"random-4", nil, "four", neighbors(4)},
	{"random-5", nil, "five", neighbors(5)},
	{"stop", nil, "two to four neighbors, all among the 20 most common words", (*drawing).stop},
	{"game", nil, "the phrases of the search benchmark game", (*drawing).game},
	{"words", []string{"fuzzy1", "fuzzy2"}, "words of 6 to 10 letters", (*drawing).words},
	{"prefixes", []string{"prefix"}, "the first three letters of such words", (*drawing).prefixes},
	{"infixes", []string{"infix"}, "four letters of such words, from the second on", (*drawing).infixes},
	{"expressions", []string{"regexp"}, "two letters, some of a to m, and the last letter of such words", (*drawing).expressions},
}

// What is common or rare, as shares of all words where the number of documents matters.
const (
	stopWords   = 20
	commonWords = 100
	contentRate = 1.0 / 420_000
	wordRate    = 1.0 / 1_700_000
)

// drawing is the documents as numbers of words, to draw queries from.
type drawing struct {
	corpora string
	rng     *rand.Rand

	terms  []string // by number, the most frequent first
	counts []int
	tokens []uint32
	starts []int // of documents in tokens, and the end
}

// newDrawing reads the documents.
func newDrawing(docs, corpora string) (*drawing, error) {
	d := &drawing{corpora: corpora, starts: []int{0}}
	numbers := map[string]uint32{}
	_, err := protocol.ReadLines(docs, func(_ int, line []byte) error {
		for word := range bytes.FieldsSeq(line) {
			number, ok := numbers[string(word)]
			if !ok {
				number = uint32(len(d.terms))
				numbers[string(word)] = number
				d.terms, d.counts = append(d.terms, string(word)), append(d.counts, 0)
			}
			d.counts[number]++
			d.tokens = append(d.tokens, number)
		}
		d.starts = append(d.starts, len(d.tokens))
		return nil
	})
	d.rank()
	return d, err
}

// rank numbers words by descending frequency.
func (d *drawing) rank() {
	order := make([]uint32, len(d.terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if d.counts[a] != d.counts[b] {
			return d.counts[b] - d.counts[a]
		}
		return strings.Compare(d.terms[a], d.terms[b])
	})
	terms, counts, renamed := make([]string, len(order)), make([]int, len(order)), make([]uint32, len(order))
	for to, from := range order {
		terms[to], counts[to], renamed[from] = d.terms[from], d.counts[from], uint32(to)
	}
	d.terms, d.counts = terms, counts
	for i, token := range d.tokens {
		d.tokens[i] = renamed[token]
	}
}

// set draws the list of a name, of which at most limit queries are measured; all if it is 0.
func (d *drawing) set(name string, limit int) (querySet, error) {
	at := slices.IndexFunc(lists, func(l list) bool { return l.name == name })
	if at < 0 {
		return querySet{}, fmt.Errorf("no list is named @%s; run with -help for the lists", name)
	}
	d.rng = rand.New(rand.NewPCG(7, uint64(at)))
	queries, err := lists[at].make(d)
	if err == nil && len(queries) < 2 {
		err = fmt.Errorf("the documents are too few to draw the list @%s from", name)
	}
	if err != nil {
		return querySet{}, err
	}
	half := len(queries) / 2
	set := querySet{name: name, modes: lists[at].modes, queries: queries[:half], primer: queries[half:]}
	if name == "game" || name == "log" { // of which there are only so many
		set.queries, set.primer = queries, nil
	}
	if limit > 0 {
		set.queries = set.queries[:min(limit, len(set.queries))]
	}
	return set, nil
}

// neighbors draws twice n different phrases of the text, of a length, whose words are as wanted; fewer
// where it finds no more in many attempts.
func (d *drawing) neighbors(n, length int, wanted func(words []uint32) bool) []string {
	var phrases []string
	seen := map[string]bool{}
	for attempts := 0; len(phrases) < 2*n && attempts < 1<<22; attempts++ {
		doc := d.rng.IntN(len(d.starts) - 1)
		begin, end := d.starts[doc], d.starts[doc+1]
		if end-begin < length {
			continue
		}
		begin += d.rng.IntN(end - begin - length + 1)
		words := d.tokens[begin : begin+length]
		if phrase := d.phrase(words); wanted(words) && !seen[phrase] {
			seen[phrase] = true
			phrases = append(phrases, phrase)
		}
	}
	return phrases
}

func (d *drawing) phrase(words []uint32) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.terms[w])
	}
	return b.String()
}

func neighbors(length int) func(d *drawing) ([]string, error) {
	return func(d *drawing) ([]string, error) {
		return d.neighbors(listSize, length, func([]uint32) bool { return true }), nil
	}
}

func (d *drawing) content() ([]string, error) {
	ok := func(w uint32) bool {
		return w >= commonWords && d.counts[w] >= max(2, int(contentRate*float64(len(d.tokens))))
	}
	two := d.neighbors(listSize/2, 2, func(w []uint32) bool { return ok(w[0]) && ok(w[1]) })
	three := d.neighbors(listSize/2, 3, func(w []uint32) bool { return ok(w[0]) && ok(w[2]) })
	return interleave(two, three), nil
}

func (d *drawing) stop() ([]string, error) {
	var all [][]string
	for length := 2; length <= 4; length++ {
		all = append(all, d.neighbors(stopSize/3, length, func(w []uint32) bool { return slices.Max(w) < stopWords }))
	}
	return interleave(all...), nil
}

// interleave takes one of each in turn.
func interleave(of ...[]string) (all []string) {
	for i := 0; slices.ContainsFunc(of, func(l []string) bool { return i < len(l) }); i++ {
		for _, l := range of {
			if i < len(l) {
				all = append(all, l[i])
			}
		}
	}
	return all
}

// log returns the queries of two files that match as phrases.
func (d *drawing) log() ([]string, error) {
	numbers := make(map[string]uint32, len(d.terms))
	for number, term := range d.terms {
		numbers[term] = uint32(number)
	}
	var phrases [][]uint32
	seen := map[string]bool{}
	for _, file := range []string{"terabyte05.tsv", "msmarco-dev.tsv"} {
		set, err := readQueries(filepath.Join(d.corpora, "queries", file), 0, 2)
		if err != nil {
			return nil, err
		}
		for _, q := range set.queries {
			var words []uint32
			for word := range strings.SplitSeq(q, " ") {
				if number, ok := numbers[word]; ok {
					words = append(words, number)
				}
			}
			if len(words) == strings.Count(q, " ")+1 && !seen[q] {
				seen[q] = true
				phrases = append(phrases, words)
			}
		}
	}
	found := d.found(phrases)
	phrases = slices.DeleteFunc(phrases, func(words []uint32) bool { return !found[&words[0]] })
	d.rng.Shuffle(len(phrases), func(i, j int) { phrases[i], phrases[j] = phrases[j], phrases[i] })
	texts := make([]string, len(phrases))
	for i, words := range phrases {
		texts[i] = d.phrase(words)
	}
	return texts, nil
}

// found returns which phrases occur in a document, by their first words.
func (d *drawing) found(phrases [][]uint32) map[*uint32]bool {
	byPair := map[[2]uint32][][]uint32{}
	begins := make([]bool, len(d.terms))
	for _, words := range phrases {
		pair := [2]uint32(words)
		byPair[pair], begins[words[0]] = append(byPair[pair], words), true
	}
	found := map[*uint32]bool{}
	for doc := range len(d.starts) - 1 {
		tokens := d.tokens[d.starts[doc]:d.starts[doc+1]]
		for i := range max(0, len(tokens)-1) {
			if !begins[tokens[i]] {
				continue
			}
			for _, words := range byPair[[2]uint32(tokens[i:])] {
				if len(words) <= len(tokens)-i && slices.Equal(words, tokens[i:i+len(words)]) {
					found[&words[0]] = true
				}
			}
		}
	}
	return found
}

// game returns what the search benchmark game asks as phrases.
func (d *drawing) game() ([]string, error) {
	f, err := os.Open(filepath.Join(d.corpora, "queries", "search-benchmark-game.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var phrases []string
	for lines := json.NewDecoder(f); ; {
		var q struct {
			Query string
			Tags  []string
		}
		if err := lines.Decode(&q); err == io.EOF {
			return phrases, nil
		} else if err != nil {
			return nil, err
		}
		if words := string(appendTokens(nil, q.Query)); slices.Contains(q.Tags, "phrase") && strings.Contains(words, " ") {
			phrases = append(phrases, words)
		}
	}
}

// words draws words of the letters a to z.
func (d *drawing) words() ([]string, error) {
	least := max(2, int(wordRate*float64(len(d.tokens))))
	var words []string
	for i, w := range d.terms {
		plain := !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
		if plain && len(w) >= 6 && len(w) <= 10 && d.counts[i] >= least {
			words = append(words, w)
		}
	}
	d.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words[:min(2*wordsSize, len(words))], nil
}

func (d *drawing) prefixes() ([]string, error) {
	return d.parts(func(w string) string { return w[:3] })
}

func (d *drawing) infixes() ([]string, error) {
	return d.parts(func(w string) string { return w[1:5] })
}

func (d *drawing) expressions() ([]string, error) {
	return d.parts(func(w string) string { return w[:2] + "[a-m]+" + w[len(w)-1:] })
}

// parts draws words and makes a query of each.
func (d *drawing) parts(query func(word string) string) ([]string, error) {
	words, err := d.words()
	for i, w := range words {
		words[i] = query(w)
	}
	return words, err
}

func listLists(w io.Writer) {
	fmt.Fprintln(w, "\nlists (-queries @NAME,...):")
	for _, l := range lists {
		fmt.Fprintf(w, "  %-12s %s\n", l.name, l.does)
	}
}
