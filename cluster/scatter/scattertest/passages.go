package scattertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// EachLine calls visit with the first lines of a file of the corpora, which may be compressed. It skips the
// test if RIFFLE_CORPORA is not set.
func EachLine(t *testing.T, file string, most int, visit func(line []byte)) {
	t.Helper()
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		t.Skip("no corpora (set RIFFLE_CORPORA)")
	}
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".zst") {
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 0; n < most && lines.Scan(); n++ {
		visit(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// passageSchema has facets of passages: their book, words that begin with a capital, and length.
var passageSchema = &riffle.Schema{Fields: map[string]riffle.Field{
	"text": {Type: riffle.FieldText}, "book": {Type: riffle.FieldKeyword}, "names": {Type: riffle.FieldKeyword}, "length": {Type: riffle.FieldNumber},
}}

// OpenPassages returns an index of at most so many passages of gutenberg-a, and the same in shards, of which whole has
// the documents of shard 0 first, and then those of the next. n is the number of passages.
func OpenPassages(t *testing.T, shards, passages int) (whole *riffle.Engine, parts []*riffle.Engine, n int) {
	t.Helper()
	batches := make([]riffle.Batch, shards)
	EachLine(t, "gutenberg-a.jsonl.zst", passages, func(line []byte) {
		var p struct{ ID, Title, Text string }
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, word := range strings.Fields(p.Text) {
			if word[0] >= 'A' && word[0] <= 'Z' && len(names) < 20 {
				names = append(names, strings.Trim(word, ".,;:!?\"'"))
			}
		}
		batches[n%shards].Put(p.ID, map[string]any{"text": p.Text, "book": p.Title, "names": names, "length": len(p.Text)})
		n++
	})
	open := func() *riffle.Engine {
		e, err := riffle.Open(filepath.Join(t.TempDir(), "index"), &riffle.Options{Schema: passageSchema, Durability: riffle.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	whole = open()
	for i := range batches {
		part := open()
		parts = append(parts, part)
		if err := errors.Join(part.Apply(t.Context(), &batches[i]), whole.Apply(t.Context(), &batches[i]), whole.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	return whole, parts, n
}

// RunPassages compares the queries of gutenberg-dev, in several forms, over passages of gutenberg-a in four
// shards, with those of one index that has the passages of shard 0 first, and then those of the next: as
// OR, AND and AND+OR, as phrases and with slop, with filters, in an order, as similar passages, and with
// pages to the end. The flag -more multiplies the number of passages, and its square that of queries, up to
// all 2,000.
func RunPassages(t *testing.T, passages, queries int, make Make) {
	passages, queries = passages**more, min(queries**more**more, 2000)
	whole, parts, n := OpenPassages(t, 4, passages)
	x := make(t, parts)
	number, hits, cached := 0, 0, 0
	EachLine(t, "queries/gutenberg-dev.tsv", queries, func(line []byte) {
		if t.Failed() {
			return
		}
		_, text, _ := strings.Cut(string(line), "\t")
		number++
		some, c := paged(t, x, whole, number, text)
		hits, cached = hits+some, cached+c
	})
	t.Logf("%d passages, %d queries, %d hits compared, %d answers by cached statistics", n, number, hits, cached)
	if n < passages || number < queries || hits < 10*queries {
		t.Errorf("too few of them")
	}
}

// paged compares the answers to one text of a query, in a form of its number.
func paged(t *testing.T, x *scatter.Index, whole *riffle.Engine, number int, text string) (hits, cached int) {
	words := strings.Fields(text)
	match := riffle.Match{Field: "text", Text: text, Mode: riffle.Mode(number % 3)}
	o := scatter.Options{SearchOptions: riffle.SearchOptions{K: 100, ExactTotal: true}}
	var q riffle.Query = match
	switch number / 3 % 8 {
	case 1:
		q = riffle.Phrase{Field: "text", Text: strings.Join(words[:min(2, len(words))], " "), Slop: number % 3}
	case 2:
		q = riffle.Bool{Must: []riffle.Query{match}, Filter: []riffle.Query{riffle.Range{Field: "length", From: 200 + number%500}}}
	case 3:
		o.Sort = []riffle.SortKey{{Field: "length", Desc: number%2 == 0}}
	case 4:
		o.Sort = []riffle.SortKey{{Field: "book"}, {Score: true, Desc: true}}
	case 5:
		q = riffle.Fuzzy{Field: "text", Term: words[number%len(words)]}
	case 6:
		q = riffle.MoreLikeThis{Fields: []string{"text"}, Texts: []string{text}, MinTermFreq: 1, MinDocFreq: 2}
		o.Collapse = &riffle.Collapse{Field: "book"}
	case 7:
		q, o.Load, o.Highlight = riffle.MatchBoolPrefix{Field: "text", Text: text, Mode: match.Mode}, []string{"book"}, &riffle.HighlightOptions{}
		o.K = 25
	}
	one := o.SearchOptions
	for page := 0; ; page++ {
		want, err := whole.Search(t.Context(), q, &one)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(t.Context(), q, &o)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("query %d, page %d: %#v", number, page, q)
		Compare(t, what, got, want)
		if page == 0 {
			again, err := x.Search(t.Context(), q, &o)
			if err != nil {
				t.Fatal(err)
			}
			Compare(t, "again: "+what, again, want)
			if again.Cached {
				cached++
			}
		}
		hits += len(got.Hits)
		if t.Failed() || len(want.Hits) < o.K {
			return hits, cached
		}
		if o.After, err = got.Hits[len(got.Hits)-1].Cursor(); err != nil {
			t.Fatal(err)
		}
		one.After = want.Hits[len(want.Hits)-1].Cursor
	}
}
