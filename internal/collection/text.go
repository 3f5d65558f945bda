package collection

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/trec"
	"github.com/riffle-search/riffle/postings"
)

// FromText makes a collection of the field "text" of JSON lines, with the standard analyzer, and of
// the queries of a topics file. It uses at most limit documents; 0 means all. It drops words that
// no document has from the queries, and queries without other words.
func FromText(name string, files []string, topics string, limit int) (*Collection, error) {
	queries, words, err := readQueries(topics)
	if err != nil {
		return nil, err
	}
	in := inverter{words: words, lists: make([]postings.Builder, len(words)), counts: make([]uint32, len(words)), limit: limit}
	for _, file := range files {
		if err := in.read(file); err != nil {
			return nil, err
		}
	}
	if in.doc == 0 {
		return nil, fmt.Errorf("%v: no documents with a text", files)
	}
	return in.collection(name, queries), nil
}

// readQueries numbers the words of queries and returns queries as these numbers, none twice in a
// query.
func readQueries(topics string) (queries [][]int, words map[string]int, err error) {
	f, err := os.Open(topics)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	all, err := trec.ReadTopics(filepath.Base(topics), f)
	words = map[string]int{}
	for _, t := range all {
		var q []int
		for _, word := range analysis.Terms(analysis.Standard(), t.Text) {
			n, known := words[word]
			if !known {
				n = len(words)
				words[word] = n
			}
			if !slices.Contains(q, n) {
				q = append(q, n)
			}
		}
		queries = append(queries, q)
	}
	return queries, words, err
}

// An inverter makes lists from texts.
type inverter struct {
	words  map[string]int
	lists  []postings.Builder
	norms  []uint8
	tokens uint64
	limit  int

	doc     uint32
	counts  []uint32 // of each word in the current document
	present []int    // its words
}

func (in *inverter) read(file string) error {
	r, err := jsonl.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	var d jsonl.Document
	for in.limit == 0 || int(in.doc) < in.limit {
		if err := r.Next(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for _, f := range d.Fields {
			if text, ok := f.Value.(string); ok && f.Name == "text" {
				in.add(text)
			}
		}
	}
	return nil
}

func (in *inverter) add(text string) {
	length := uint32(0)
	analysis.AnalyzeString(analysis.Standard(), text, func(batch []analysis.Token) {
		length += uint32(len(batch))
		for i := range batch {
			if n, wanted := in.words[string(batch[i].Term)]; wanted {
				if in.counts[n] == 0 {
					in.present = append(in.present, n)
				}
				in.counts[n]++
			}
		}
	})
	code := blockmax.LengthCode(length)
	for _, n := range in.present {
		in.lists[n].Add(in.doc, in.counts[n], code)
		in.counts[n] = 0
	}
	in.present = in.present[:0]
	in.norms = append(in.norms, code)
	in.tokens += uint64(length)
	in.doc++
}

// collection renumbers the lists that are not empty.
func (in *inverter) collection(name string, queries [][]int) *Collection {
	var lists []*postings.List
	number := make([]int, len(in.lists))
	for i := range in.lists {
		number[i] = -1
		if in.lists[i].Len() > 0 {
			number[i] = len(lists)
			lists = append(lists, in.lists[i].View(postings.MaxDoc))
		}
	}
	var kept [][]int
	for _, q := range queries {
		var k []int
		for _, n := range q {
			if number[n] >= 0 {
				k = append(k, number[n])
			}
		}
		if len(k) > 0 {
			kept = append(kept, k)
		}
	}
	return New(name, in.norms, float64(in.tokens)/float64(in.doc), lists, kept)
}
