package dictionary_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/internal/jsonl"
)

// corpusWords are the terms of gutenberg-a, some 173,000, and a sample of those of 6 to 10 bytes.
var corpusWords = sync.OnceValues(func() (d *dictionary.Dictionary, sample []string) {
	r, err := jsonl.Open(filepath.Join(os.Getenv("RIFFLE_CORPORA"), "gutenberg-a.jsonl.zst"))
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	words := map[string]bool{}
	for doc := (jsonl.Document{}); ; {
		if err := r.Next(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil
		}
		for _, f := range doc.Fields {
			text, _ := f.Value.(string)
			for t := range analysis.Tokens(analysis.Standard(), text) {
				if !words[string(t.Term)] {
					words[string(t.Term)] = true
				}
			}
		}
	}
	var b dictionary.Builder
	for i, w := range slices.Sorted(maps.Keys(words)) {
		b.Add([]byte(w))
		if i%1009 == 0 && len(w) >= 6 && len(w) <= 10 && utf8.RuneCountInString(w) == len(w) {
			sample = append(sample, w)
		}
	}
	return b.Dictionary(), sample
})

// indexedWords are the terms of gutenberg-a with trigram indexes.
var indexedWords = sync.OnceValue(func() *dictionary.Dictionary {
	d, _ := corpusWords()
	var b dictionary.Builder
	for i := range d.Len() {
		b.Add(d.Term(i))
	}
	indexed := b.Dictionary()
	indexed.MakeGrams()
	return indexed
})

// BenchmarkFind finds terms by patterns made of words of the dictionary:
//
//	RIFFLE_CORPORA=/work/shared/corpora go test ./internal/dictionary -run xxx -bench Find
//
// "terms" is how many a pattern matches, "ns/term" the time divided by the terms of the dictionary,
// and "compared" with how many of these a fuzzy word is compared.
func BenchmarkFind(b *testing.B) {
	d, sample := corpusWords()
	if d == nil {
		b.Skip("no corpora (set RIFFLE_CORPORA)")
	}
	for _, c := range []struct {
		name  string
		edits int
		find  func(w string) int
	}{
		{"fuzzy-1", 1, func(w string) int { return fuzzy(d, w, 1) }},
		{"fuzzy-2", 2, func(w string) int { return fuzzy(d, w, 2) }},
		{"prefix-3", 0, func(w string) int {
			from, to := d.Prefix([]byte(w[:3]))
			return to - from
		}},
		{"ab*yz", 0, func(w string) int { return wildcard(d, w[:2]+"*"+w[len(w)-2:]) }},
		{"*xyz", 0, func(w string) int { return wildcard(d, "*"+w[len(w)-3:]) }},
		{"*infix*", 0, func(w string) int { return wildcard(d, "*"+w[1:len(w)-1]+"*") }},
		{"*infix*-indexed", 0, func(w string) int { return wildcard(indexedWords(), "*"+w[1:len(w)-1]+"*") }},
		{"?infix*", 0, func(w string) int { return wildcard(d, "?"+w[1:len(w)-1]+"*") }},
		{"regexp", 0, func(w string) int { return expression(d, w[:2]+"[a-m]+"+w[len(w)-1:]) }},
		{"regexp-unanchored", 0, func(w string) int { return expression(d, "[a-z]+"+w[len(w)-3:]) }},
		{"regexp-unanchored-indexed", 0, func(w string) int { return expression(indexedWords(), "[a-z]+"+w[len(w)-3:]) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			found := c.find(sample[0])
			for i := 0; b.Loop(); i++ {
				found += c.find(sample[i%len(sample)])
			}
			b.ReportMetric(float64(found)/float64(b.N+1), "terms")
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(d.Len()), "ns/term")
			if c.edits > 0 {
				b.ReportMetric(compared(d, sample, c.edits), "compared")
			}
		})
	}
}

// compared is with how many terms a word is compared on average.
func compared(d *dictionary.Dictionary, words []string, edits int) float64 {
	sum := 0
	for _, w := range words {
		f, err := dictionary.NewFuzzy(w, edits, 0)
		if err != nil {
			panic(err)
		}
		sum += f.Compared(d)
	}
	return float64(sum) / float64(len(words))
}

func fuzzy(d *dictionary.Dictionary, w string, edits int) (n int) {
	f, err := dictionary.NewFuzzy(w, edits, 0)
	if err != nil {
		panic(err)
	}
	f.Find(d, func(int, int) bool { n++; return true })
	return n
}

func wildcard(d *dictionary.Dictionary, pattern string) (n int) {
	w, err := dictionary.ParseWildcard(pattern)
	if err != nil {
		panic(err)
	}
	w.Find(d, func(int) bool { n++; return true })
	return n
}

func expression(d *dictionary.Dictionary, expr string) (n int) {
	r, err := dictionary.ParseRegexp(expr, nil)
	if err != nil {
		panic(err)
	}
	r.Find(d, func(int) bool { n++; return true })
	return n
}
