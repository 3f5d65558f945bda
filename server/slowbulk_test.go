package server

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// bulkOf returns lines of NDJSON of about so many bytes, and their number.
func bulkOf(prefix string, bytes int) (string, int) {
	var b strings.Builder
	n := 0
	for ; b.Len() < bytes; n++ {
		fmt.Fprintf(&b, `{"put": "%s%d", "fields": {"title": "%s"}}`+"\n", prefix, n, strings.Repeat("whale ", 200))
	}
	return b.String(), n
}

// TestSlowBulk: a client that stops in the midst of a large body keeps no other from writing, however large a line is,
// and whether the body is compressed. All of its lines are carried out in the end.
func TestSlowBulk(t *testing.T) {
	s := newServer(t, &Options{Writes: 1})
	prepareBooks(t, s)
	long := fmt.Sprintf(`{"put": "long", "fields": {"title": "%s"}}`+"\n", strings.Repeat("sea ", 1<<20))
	for _, test := range []struct {
		name, begin string // what the client sends before it stops
		zip         bool
	}{
		{"lines", "", false},
		{"a long line", long[:3<<20], false},
		{"gzip", "", true},
	} {
		lines, n := bulkOf(test.name, 3<<20)
		begin, rest := lines, lines
		if test.begin != "" {
			begin, rest = lines+test.begin, long[len(test.begin):]+lines
		}
		from, to := io.Pipe()
		r := accessRequest(t, "POST /v1/indexes/{index}/documents")
		r.Header.Set("Content-Type", "application/x-ndjson")
		r.Body, r.ContentLength = from, -1
		in := io.WriteCloser(to)
		if test.zip {
			r.Header.Set("Content-Encoding", "gzip")
			z, err := gzip.NewWriterLevel(to, gzip.NoCompression)
			must(t, err)
			in = z
		}
		answer := make(chan *http.Response)
		go func() { answer <- send(s, r) }()
		_, err := io.WriteString(in, begin)
		must(t, err)
		// The server has read nearly all of it, and waits for the rest.
		w := httptest.NewRecorder()
		s.ServeHTTP(w, readRequest(t, "PUT /v1/indexes/books/documents/other?timeout=20s\n"+`{"title": "x"}`))
		if w.Code != http.StatusOK {
			t.Errorf("%s: another write beside a slow one: %d %s", test.name, w.Code, w.Body)
		}
		_, err = io.WriteString(in, rest)
		must(t, err)
		must(t, in.Close())
		must(t, to.Close())
		res := <-answer
		body, err := io.ReadAll(res.Body)
		must(t, err)
		want := 2 * n
		if test.begin != "" {
			want++
		}
		if !strings.HasSuffix(string(body), fmt.Sprintf(`{"changes":%d,"failed":0}`+"\n", want)) {
			t.Errorf("%s: %s ends with %s, want %d changes", test.name, res.Status, body[max(0, len(body)-200):], want)
		}
		if held := s.arrived.held.Load(); held != 0 {
			t.Errorf("%s: %d bytes are still counted", test.name, held)
		}
		if g := s.gates[writeQueue]; len(g.slots) != 0 || g.waiting.Load() != 0 {
			t.Errorf("%s: %d turns are taken, %d requests wait", test.name, len(g.slots), g.waiting.Load())
		}
	}
}

// TestBulkWithoutMemory: where no memory is left for a body to arrive outside of a turn, it arrives within one.
func TestBulkWithoutMemory(t *testing.T) {
	s := newServer(t, &Options{Writes: 1, AnswerBytes: 3 << 20})
	prepareBooks(t, s)
	lines, n := bulkOf("b", 2<<20)
	long := fmt.Sprintf(`{"put": "long", "fields": {"title": "%s"}}`+"\n", strings.Repeat("sea ", 1<<20))
	for _, most := range []int64{1 << 20, 6 << 20, 3 << 20} {
		s.arrived.most = most
		r := accessRequest(t, "POST /v1/indexes/{index}/documents")
		r.Header.Set("Content-Type", "application/x-ndjson")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(lines+long+lines)), -1
		res := send(s, r)
		body, err := io.ReadAll(res.Body)
		must(t, err)
		if !strings.HasSuffix(string(body), fmt.Sprintf(`{"changes":%d,"failed":0}`+"\n", 2*n+1)) {
			t.Errorf("%d bytes: %s ends with %s, want %d changes", most, res.Status, body[max(0, len(body)-200):], 2*n+1)
		}
		if held, g := s.arrived.held.Load(), s.gates[writeQueue]; held != 0 || len(g.slots) != 0 {
			t.Errorf("%d bytes: %d are still counted, %d turns taken", most, held, len(g.slots))
		}
	}
}
