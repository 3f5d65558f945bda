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

// corpusWords are the terms of gutenberg-a, some 130,000, and a sample of those of 6 to 10 bytes.
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

// BenchmarkFind finds terms by patterns made of words: RIFFLE_CORPORA=... go test -bench Find
func BenchmarkFind(b *testing.B) {
	d, sample := corpusWords()
	if d == nil {
		b.Skip("no corpora (set RIFFLE_CORPORA)")
	}
	count := func(find func(yield func(int) bool)) (n int) {
		find(func(int) bool { n++; return true })
		return n
	}
	for _, c := range []struct {
		name string
		find func(w string) int
	}{
		{"fuzzy-1", func(w string) int {
			f, _ := dictionary.NewFuzzy(w, 1, 0)
			return count(func(yield func(int) bool) { f.Find(d, func(i, _ int) bool { return yield(i) }) })
		}},
		{"fuzzy-2", func(w string) int {
			f, _ := dictionary.NewFuzzy(w, 2, 0)
			return count(func(yield func(int) bool) { f.Find(d, func(i, _ int) bool { return yield(i) }) })
		}},
		{"prefix-3", func(w string) int {
			from, to := d.Prefix([]byte(w[:3]))
			return to - from
		}},
		{"ab*yz", func(w string) int { return wildcard(d, w[:2]+"*"+w[len(w)-2:]) }},
		{"*xyz", func(w string) int { return wildcard(d, "*"+w[len(w)-3:]) }},
		{"*infix*", func(w string) int { return wildcard(d, "*"+w[1:len(w)-1]+"*") }},
		{"?infix*", func(w string) int { return wildcard(d, "?"+w[1:len(w)-1]+"*") }},
		{"regexp", func(w string) int { return expression(d, w[:2]+"[a-m]+"+w[len(w)-1:]) }},
		{"regexp-unanchored", func(w string) int { return expression(d, "[a-z]+"+w[len(w)-3:]) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			found := 0
			for i := 0; b.Loop(); i++ {
				found += c.find(sample[i%len(sample)])
			}
			b.ReportMetric(float64(found)/float64(b.N), "terms")
		})
	}
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
