package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// newServer returns a Server with a new directory, which is closed at the end of the test.
func newServer(t testing.TB, o *Options) *Server {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return s
}

// TestScripts sends the requests of testdata/http and prints the answers. A request is a line with the method and the
// path, lines of headers, and the body. What differs from run to run is an ellipsis. Answers, and requests that were
// carried out, must be as the OpenAPI document says.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/http", func(t *testing.T, path string) {
		s, c := newServer(t, nil), readTheContract(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "http" {
				d.Fatalf(t, "unknown command")
			}
			return printAnswer(t, exchange(t, c, s, readRequest(t, d.Input)))
		})
	})
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]+): (.*)$`)

// readRequest reads the text of a request.
func readRequest(t testing.TB, text string) *http.Request {
	first, rest, _ := strings.Cut(text, "\n")
	method, target, _ := strings.Cut(first, " ")
	var header [][2]string
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			break
		}
		header, rest = append(header, [2]string{m[1], m[2]}), after
	}
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(rest))
	r.Host = "localhost"
	for _, h := range header {
		if h[0] == "Host" {
			r.Host = h[1]
		}
		r.Header.Set(h[0], h[1])
	}
	return r
}

// exchange is send, and holds both sides against the OpenAPI document.
func exchange(t *testing.T, c *contract, h http.Handler, r *http.Request) *http.Response {
	sent, err := readAll(&r.Body)
	if err != nil {
		t.Fatal(err)
	}
	res := send(h, r)
	got, err := readAll(&res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.checkAnswer(r, res.StatusCode, res.Header, got); err != nil {
		t.Errorf("%s %s: openapi.json: %v", r.Method, r.URL, err)
	}
	if res.StatusCode < 300 {
		if err := c.checkRequest(r, sent, got); err != nil {
			t.Errorf("%s %s: openapi.json: %v", r.Method, r.URL, err)
		}
	}
	return res
}

// send returns the answer of a server to a request.
func send(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// changing are members of answers that differ from run to run.
var changing = regexp.MustCompile(`"(instance|token|cursor|took_ms|bytes)": ("[^"]*"|[0-9.e+-]+)|"([a-z]+_bytes|heads|code|rows|positions|[a-z_]+_ns)": [0-9]+|"(since|end)": "[^"]*"|documents/[a-z2-7]{26}|"id": "[a-z2-7]{26}"`)

// printAnswer returns the status, the headers that scripts are about, and the body of an answer.
func printAnswer(t testing.TB, r *http.Response) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.StatusCode, http.StatusText(r.StatusCode))
	for _, name := range []string{"Allow", "ETag", "Idempotency-Replayed", "Location", "Retry-After", "Riffle-Token", "WWW-Authenticate"} {
		for _, value := range r.Header.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(body) {
		var pretty bytes.Buffer
		if json.Indent(&pretty, line, "", "  ") == nil {
			line = pretty.Bytes()
		}
		b.Write(bytes.TrimSpace(line))
		b.WriteByte('\n')
	}
	return changing.ReplaceAllStringFunc(b.String(), func(text string) string {
		if name, _, ok := strings.Cut(text, `": `); ok {
			return name + `": "…"`
		}
		return "documents/…"
	})
}
