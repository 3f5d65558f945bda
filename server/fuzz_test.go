package server

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fuzzed is a server that gets any request, and the log of its failures.
type fuzzed struct {
	*Server
	contract *contract
	mu       sync.Mutex
	log      bytes.Buffer
}

func (f *fuzzed) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(b)
}

func newFuzzed(t testing.TB) *fuzzed {
	f := &fuzzed{contract: readTheContract(t)}
	f.Server = newServer(t, &Options{Timeout: 2 * time.Second, MaxTimeout: 3 * time.Second, MaxBody: 1 << 20, MaxBulk: 4 << 20, Log: slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelError}))})
	f.fill(t)
	return f
}

const fuzzSchema = `{"schema": {"fields": {"title": {"type": "text", "analyzer": "english"}, "shelf": {"type": "keyword"}, "year": {"type": "number"}, "at": {"type": "date"},
	"place": {"type": "place"}, "flag": {"type": "bool"}, "sold": {"type": "number", "no_index": true, "column": "stored"}}}}`

// fill makes the index books, if it is not there, and puts documents into it.
func (f *fuzzed) fill(t testing.TB) {
	send(f, readRequest(t, "PUT /v1/indexes/books\n"+fuzzSchema))
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, `{"put": "b%d", "fields": {"title": "whale number %d, and %s", "shelf": ["sea", "s%d"], "year": %d, "at": "18%02d-10-18", "place": {"place": {"lat": %d, "lon": %d}}, "flag": %v, "sold": %d, "author.name": "Melville"}}`+"\n",
			i, i, strings.Repeat("jungle ", i%7), i%5, 1800+i, 50+i%40, i, -i, i%2 == 0, i)
	}
	lines.WriteString(`{"put": "moby", "fields": {"title": "Moby Dick; or, The Whale", "shelf": "sea", "year": 1851}}` + "\n" + `{"put": {"bytes": "/w=="}, "fields": {"title": {"bytes": "/w=="}}}`)
	res := send(f, readRequest(t, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n"+lines.String()))
	if text := printAnswer(t, res); res.StatusCode != http.StatusOK || !strings.Contains(text, `"failed": 0`) {
		t.Fatal(text)
	}
}

// ask sends a request. It returns an error if the server fails, or answers with what the document does not have.
func (f *fuzzed) ask(r *http.Request) (status int, err error) {
	w := httptest.NewRecorder()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, &f.log)
		}
	}()
	f.ServeHTTP(w, r)
	if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
		f.mu.Lock()
		defer f.mu.Unlock()
		err = fmt.Errorf("%d\n%s\n%.3000s", w.Code, w.Body, f.log.String())
		f.log.Reset()
		return w.Code, err
	}
	return w.Code, f.contract.checkAnswer(r, w.Code, w.Header(), w.Body.Bytes())
}

// request makes a request for an operation.
func (g *generator) request(t testing.TB, o *operation) (*http.Request, string) {
	method, path, _ := strings.Cut(o.pattern, " ")
	wrong := g.IntN(2) == 0
	g.members = pick(g, []int{2, 5, 12})
	header, params := http.Header{}, url.Values{}
	for _, p := range o.parameters {
		v := g.value(p.schema.pointer, p.name, 0)
		if wrong && g.IntN(4) == 0 {
			v = g.odd()
		}
		text, ok := v.(string)
		if !ok {
			var b bytes.Buffer
			write(&b, v)
			text = b.String()
		}
		if len(text) > 3000 {
			text = text[:3000]
		}
		switch {
		case p.in == "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", escapeWhole(text))
		case g.IntN(3) > 0 && p.name != "field" && p.name != "q":
		case p.in == "query":
			params.Add(p.name, text)
			if wrong && g.IntN(10) == 0 {
				params.Add(p.name, pick(g, oddTexts[:16]))
			}
		case p.in == "header" && !strings.ContainsAny(text, "\x00\r\n"):
			header.Set(p.name, text)
		}
	}
	if strings.HasPrefix(path, "/debug/") {
		params.Set("timeout", "20ms")
	}
	if o.pattern == "PUT /v1/indexes/{index}" || o.pattern == "DELETE /v1/indexes/{index}" {
		if g.IntN(4) > 0 {
			path = strings.Replace(path, "/books", "/scratch", 1)
		}
	}
	var body bytes.Buffer
	if o.body != nil {
		content := o.body["content"].(map[string]any)
		media := pick(g, slices.Sorted(maps.Keys(content)))
		header.Set("Content-Type", media)
		n := 1
		if media != "application/json" {
			n = g.IntN(6)
		}
		for range n {
			v := g.value(o.pointer+"/requestBody/content/"+escapePointer(media)+"/schema", "", 0)
			if wrong && g.IntN(4) > 0 {
				v = g.mutate(v)
			}
			write(&body, v)
			body.WriteByte('\n')
		}
		if data := body.Bytes(); wrong && len(data) > 0 && g.IntN(6) == 0 {
			switch g.IntN(3) {
			case 0:
				body.Truncate(g.IntN(len(data)))
			case 1:
				data[g.IntN(len(data))] ^= 1 << g.IntN(8)
			case 2:
				body.WriteString(pick(g, []string{"{}", "]", "\xff", "\x00"}))
			}
		}
	}
	u, err := url.Parse(strings.TrimSuffix(path, "{$}"))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	u.RawQuery = params.Encode()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", bytes.NewReader(body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	r.URL, r.Header = u, header
	return r, body.String()
}

// escapeWhole writes each byte that is not a letter or digit in hexadecimal digits, dots, too.
func escapeWhole(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestFuzz sends requests made from the OpenAPI document to each operation: such as it asks for, and others. No answer
// may be a failure of the server, and each must be as the document says. RIFFLE_FUZZ_TIME says for how long,
// RIFFLE_FUZZ_SEED with which seed, and RIFFLE_FUZZ_ROUTE what the patterns of routes have to contain.
func TestFuzz(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("RIFFLE_FUZZ_TIME"), "2s"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("RIFFLE_FUZZ_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	f := newFuzzed(t)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), contract: f.contract}
	patterns := slices.Sorted(maps.Keys(f.contract.operations))
	patterns = slices.DeleteFunc(patterns, func(p string) bool { return !strings.Contains(p, os.Getenv("RIFFLE_FUZZ_ROUTE")) })
	if len(patterns) == 0 {
		t.Fatalf("no route of the OpenAPI document contains %q", os.Getenv("RIFFLE_FUZZ_ROUTE"))
	}
	counts := map[string]map[int]int{}
	failures := map[string]bool{}
	sent, good := 0, 0
	for end := time.Now().Add(duration); time.Now().Before(end); sent++ {
		if sent%(5*len(patterns)) == 0 {
			f.fill(t)
		}
		pattern := patterns[sent%len(patterns)]
		r, body := g.request(t, f.contract.operations[pattern])
		began := time.Now()
		status, err := f.ask(r)
		if took := time.Since(began); took > 4*time.Second {
			err = fmt.Errorf("the answer took %v", took)
		}
		if counts[pattern] == nil {
			counts[pattern] = map[int]int{}
		}
		counts[pattern][status]++
		if status/100 == 2 {
			good++
		}
		if status == http.StatusNoContent && r.Method == http.MethodDelete && r.URL.Path == "/v1/indexes/books" {
			f.fill(t)
		}
		if what := fmt.Sprintf("%s %.60v", pattern, err); err != nil && !failures[what] {
			if failures[what] = true; len(failures) <= 12 {
				t.Errorf("request %d: %s %s %v\n%.1500s\n%.4000v", sent, r.Method, r.URL, r.Header, body, err)
			}
		}
	}
	for _, pattern := range patterns {
		t.Log(pattern, counts[pattern])
		if duration >= time.Minute && counts[pattern][200]+counts[pattern][201]+counts[pattern][204] == 0 {
			t.Errorf("no request for %s was carried out", pattern)
		}
	}
	t.Logf("%d requests, %d carried out", sent, good)
	if good < sent/20 && len(patterns) > 1 {
		t.Errorf("of %d requests only %d were carried out: the others have not got far", sent, good)
	}
}

// FuzzBulk: no body of NDJSON makes the server fail.
func FuzzBulk(f *testing.F) {
	f.Add([]byte(`{"put": "moby", "fields": {"title": "Moby Dick", "year": 1851}}`+"\n"+`{"delete": "b1", "if_version": 7}`), "")
	f.Add([]byte(`{"update": {"bytes": "/w=="}, "fields": {"sold": null, "at": {"time": "1851-10-18T00:00:00Z"}}}`), "")
	f.Add([]byte(`{"isbn": 17, "title": ["a", {"b": 1}]}`+"\n\n[]\n"), "isbn")
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte, idField string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/indexes/books/documents?id="+url.QueryEscape(idField), bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/x-ndjson")
		if _, err := s.ask(r); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzSearch: no body of a search makes the server fail.
func FuzzSearch(f *testing.F) {
	f.Add([]byte(`{"query": {"match": {"field": "title", "text": "whale"}}, "load": ["*"], "highlight": {"html": true}, "sort": ["-year"], "collapse": {"field": "shelf"}}`))
	f.Add([]byte(`{"text": {"text": "whale year:>1850", "lenient": true}, "aggregations": {"a": {"terms": {"field": "shelf", "sub": {"b": {"percentiles": {"field": "year"}}}}}}, "selections": {"a": {"term": {"field": "shelf", "value": "sea"}}}}`))
	f.Add([]byte(`{"query": {"function_score": {"functions": [{"decay": {"field": "at", "origin": "now", "scale": "30d"}}]}}, "after": "x", "similarity": {"k1": 0}, "deadline": "1ms", "k": 3}`))
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := s.ask(httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/indexes/books/search", bytes.NewReader(body))); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzSearchText: no parameters of a search make the server fail.
func FuzzSearchText(f *testing.F) {
	f.Add("q=whale+year:>1850&k=3&sort=-year,_score&load=title,year&highlight=title&exact_total=1")
	f.Add("q=%22moby+dick%22~2+title:/wh.*/&mode=and&fields=title&lenient=true&timeout=1s")
	f.Add("q=at:%5Bnow-1d+to+now%5D&time_zone=Europe/Berlin&after=x&from=7")
	s := newFuzzed(f)
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/indexes/books/search", nil)
		r.URL.RawQuery = query
		if _, err := s.ask(r); err != nil {
			t.Fatal(err)
		}
	})
}
