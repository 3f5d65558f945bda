// Command typing measures the server's page while somebody types: the whole HTTP answer of the search for every prefix of
// each query, of the suggestions for its last word, and of facets.
//
//	cd bench && go run ./typing -corpus A.jsonl.zst,B.jsonl.zst -queries ../../shared/corpora/queries/gutenberg-dev.tsv
//
// Requests come one after the other, over one connection, from the same process. Passages are stored; titles are keywords,
// of which the page makes facets.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/server"
)

var (
	dir    = flag.String("db", "", "`directory` of the index, which is kept; a temporary one by default")
	corpus = flag.String("corpus", "", "`files` of JSON lines to index, if there is no index yet")
	topics = flag.String("queries", "", "`file` of queries: a number, a tab and the text")
	every  = flag.Int("every", 10, "take each such query only")
	only   = flag.String("only", "", "measure this task only: page, suggest, facets or search")
	cpu    = flag.String("profile", "", "`file` for a CPU profile")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("typing: ")
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	queries, err := readQueries()
	if err != nil {
		return err
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "riffle-typing-"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
		*dir += "/index"
	}
	if _, err := os.Stat(*dir); errors.Is(err, os.ErrNotExist) {
		if err := build(); err != nil {
			return err
		}
	}
	s, err := server.New(nil)
	if err != nil {
		return err
	}
	e, err := riffle.Open(*dir, &riffle.Options{ReadOnly: true, Listener: s.Listener("bench")})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := s.Mount("bench", e); err != nil {
		return err
	}
	st, err := e.Stats()
	if err != nil {
		return err
	}
	h := httptest.NewServer(s)
	defer h.Close()
	if *cpu != "" {
		f, err := os.Create(*cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%d passages in %d segments, %d queries, %d cores\n\n", st.Docs, len(st.Segments), len(queries), runtime.GOMAXPROCS(0))
	fmt.Println("| | requests | mean, ms | p50 | p99 | most | bytes of an answer | the slowest |\n|---|---:|---:|---:|---:|---:|---:|---|")
	for _, t := range []struct {
		name, title string
		requests    func(query string) []request
	}{
		{"page", "page, every prefix", pageRequests},
		{"suggest", "suggestions, every prefix of the last word", suggestRequests},
		{"facets", "page with facets of a whole query", facetRequests},
		{"search", "JSON with highlights of a whole query", searchRequests},
	} {
		if *only != "" && *only != t.name {
			continue
		}
		var all []request
		for _, q := range queries {
			all = append(all, t.requests(q)...)
		}
		if err := measure(h.URL, t.title, all); err != nil {
			return err
		}
	}
	return nil
}

// readQueries returns the texts of the queries that are taken.
func readQueries() (all []string, err error) {
	data, err := os.ReadFile(*topics)
	if err != nil {
		return nil, err
	}
	i := 0
	for line := range strings.Lines(string(data)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			if i%*every == 0 {
				all = append(all, text)
			}
			i++
		}
	}
	return all, nil
}

// build indexes the corpus.
func build() error {
	f, err := riffle.Build(context.Background(), *dir, riffle.JSONLines{Files: strings.Split(*corpus, ",")}, &riffle.BuildOptions{OneSegment: true, Index: riffle.Options{
		Schema: &riffle.Schema{Fields: map[string]riffle.Field{
			"text":  {Type: riffle.FieldText, Analyzer: "english"},
			"title": {Type: riffle.FieldKeyword, Column: riffle.ColumnStored},
		}, Dynamic: riffle.DynamicIgnore},
	}})
	if err == nil {
		log.Printf("indexed %d documents", f.Docs)
	}
	return err
}

// A request is a GET, or a POST of a body.
type request struct{ target, body string }

// prefixes returns what is in the box of the page as a text is typed.
func prefixes(text string) (all []string) {
	for i := range text {
		if i > 0 {
			all = append(all, text[:i])
		}
	}
	return append(all, text)
}

// pageRequests are those of page.js as somebody types.
func pageRequests(query string) (all []request) {
	for _, p := range prefixes(query) {
		all = append(all, request{target: "/?" + url.Values{"index": {"bench"}, "q": {p}, "part": {"results"}}.Encode()})
	}
	return all
}

// suggestRequests are those for completions of the last word.
func suggestRequests(query string) (all []request) {
	for _, p := range prefixes(query[strings.LastIndexByte(query, ' ')+1:]) {
		if len(p) >= 2 {
			all = append(all, request{target: "/v1/indexes/bench/suggest?" + url.Values{"field": {"text"}, "q": {p}, "limit": {"6"}}.Encode()})
		}
	}
	return all
}

func facetRequests(query string) []request {
	return []request{{target: "/?" + url.Values{"index": {"bench"}, "q": {query}}.Encode()}}
}

func searchRequests(query string) []request {
	return []request{{"/v1/indexes/bench/search", fmt.Sprintf(`{"text":{"text":%q},"load":["title"],"highlight":{"fields":["text"],"html":true}}`, query)}}
}

// measure sends all requests once to load lists, and once to measure.
func measure(url, title string, all []request) error {
	times, size := make([]time.Duration, len(all)), 0
	for range 2 {
		size = 0
		for i, r := range all {
			start := time.Now()
			n, err := send(url, r)
			if err != nil {
				return err
			}
			times[i] = time.Since(start)
			size += n
		}
	}
	slowest, sum := 0, time.Duration(0)
	for i, d := range times {
		if sum += d; d > times[slowest] {
			slowest = i
		}
	}
	what := all[slowest].target
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	fmt.Printf("| %s | %d | %.2f | %.2f | %.2f | %.2f | %d | `%s` |\n", title, len(times), ms(sum)/float64(len(times)), ms(times[len(times)/2]), ms(times[len(times)*99/100]), ms(times[len(times)-1]), size/len(times), what)
	return nil
}

func send(url string, r request) (int, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != "" {
		method, body = http.MethodPost, strings.NewReader(r.body)
	}
	req, err := http.NewRequest(method, url+r.target, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var b bytes.Buffer
	n, err := b.ReadFrom(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", r.target, res.Status, &b)
	}
	return int(n), err
}
