package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// oddIDs are ids that paths, escapes or JSON could change.
var oddIDs = []string{
	"a/b", "/", "//", "/a", "a/", "..", ".", "...", "../..", "a/../b", "%2F", "%2E%2E", "%", "%zz", " ", "a b", "a+b", "?", "#", "a;b", "a&b=c", `a\b`, `"`, "<&>", "é", "e\u0301", "😀",
	"\u2028", "\x00", "\n", "\x7f", "\ufffd", "\xff", "\xfe", "\xff/\x00", "\xed\xa0\x80", "delete", "update", "null", "{}", `{"bytes": "/w=="}`, "17", strings.Repeat("x", 1024),
}

// serveClient returns a client of a server over a real connection: http.Client and ServeMux both change paths.
func serveClient(t *testing.T, o *Options) *client.Client {
	t.Helper()
	s := httptest.NewServer(newServer(t, o))
	t.Cleanup(s.Close)
	return client.New(s.URL, nil)
}

// TestIDs: every id is the same after it has been in paths, bodies and answers.
func TestIDs(t *testing.T) {
	ctx, c := t.Context(), serveClient(t, nil)
	must(t, c.CreateIndex(ctx, "odd", nil))
	for i, id := range oddIDs {
		must(t, c.Put(ctx, "odd", id, map[string]any{"n": i}))
	}
	check := func(by string, of map[string]uint64) {
		t.Helper()
		if len(of) != len(oddIDs) {
			t.Errorf("%s: %d documents, want %d", by, len(of), len(oddIDs))
		}
		for _, id := range oddIDs {
			if of[id] == 0 {
				t.Errorf("%s: there is no %q", by, id)
			}
		}
	}
	versions := map[string]uint64{}
	for d, err := range c.Export(ctx, "odd", "") {
		must(t, err)
		versions[string(d.ID)] = d.Version
	}
	check("export", versions)
	hits, err := c.Search(ctx, "odd", &client.SearchRequest{K: 100, Versions: true})
	must(t, err)
	found := map[string]uint64{}
	for _, h := range hits.Hits {
		found[string(h.ID)] = h.Version
	}
	check("search", found)
	for i, id := range oddIDs {
		d, err := c.Document(ctx, "odd", id)
		must(t, err)
		if string(d.ID) != id || d.Version != versions[id] || d.Fields["n"] != float64(i) {
			t.Errorf("document %q is %+v", id, d)
		}
		x, err := c.Explain(ctx, "odd", &client.ExplainRequest{ID: client.ID(id)})
		if err != nil || !x.Matches {
			t.Errorf("explanation of %q: %v, %v", id, x, err)
		}
		for e, err := range c.Export(ctx, "odd", id) {
			must(t, err)
			if string(e.ID) != id {
				t.Errorf("export from %q begins with %q", id, e.ID)
			}
			break
		}
		if err := c.PutIf(ctx, "odd", id, map[string]any{"n": 0}, 0); err == nil {
			t.Errorf("document %q exists, and PutIf says that it does not", id)
		} else if p, ok := errors.AsType[*client.Problem](err); !ok || p.ID == nil || string(*p.ID) != id {
			t.Errorf("the problem of %q is %+v", id, err)
		}
	}
	// By batches and lines they are put again, and by paths deleted.
	var b riffle.Batch
	for i, id := range oddIDs {
		b.PutIf(id, map[string]any{"n": i + 1000}, versions[id])
	}
	must(t, c.Apply(ctx, "odd", &b))
	w := c.Writer(ctx, "odd", nil)
	for i, id := range oddIDs {
		must(t, w.Put(id, map[string]any{"n": i + 2000}))
	}
	_, err = w.Close()
	must(t, err)
	for i, id := range oddIDs {
		if d, err := c.Document(ctx, "odd", id); err != nil || d.Fields["n"] != float64(i+2000) {
			t.Errorf("document %q is %+v: %v", id, d, err)
		}
		must(t, c.Delete(ctx, "odd", id))
		_, err := c.Document(ctx, "odd", id)
		if p, ok := errors.AsType[*client.Problem](err); !ok || p.Type != kindNoDocument.urn() {
			t.Errorf("document %q has been deleted: %v", id, err)
		}
	}
	if n, err := c.Count(ctx, "odd", &client.CountRequest{}); err != nil || n != 0 {
		t.Errorf("%d documents are left: %v", n, err)
	}
}

// TestPathsWithoutID: a path whose id is empty, or that leads elsewhere, is none of a document, and a client notices
// before.
func TestPathsWithoutID(t *testing.T) {
	s := newServer(t, nil)
	send(s, readRequest(t, "PUT /v1/indexes/odd"))
	for path, want := range map[string]int{
		"/v1/indexes/odd/documents/":          404,
		"/v1/indexes/odd/documents/a/b":       404,
		"/v1/indexes/odd/documents//":         404,
		"/v1/indexes/odd/documents/..":        404,
		"/v1/indexes/odd/documents/./x":       307,
		"/v1/indexes/odd/documents/%2e%2e":    404, // no such document
		"/v1/indexes/%2e%2e/documents/x":      404,
		"/v1/indexes/..%2f..%2fetc/documents": 404,
	} {
		if res := send(s, readRequest(t, "GET "+path)); res.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, res.Status, want)
		}
	}
	c := serveClient(t, nil)
	if _, err := c.Document(t.Context(), "odd", ""); err == nil || !strings.Contains(err.Error(), "must not be empty") {
		t.Error(err)
	}
}

// TestNotUTF8: bytes that are not UTF-8 do not become others.
func TestNotUTF8(t *testing.T) {
	s := newServer(t, nil)
	send(s, readRequest(t, "PUT /v1/indexes/odd"))
	for path, body := range map[string]string{
		"PUT /v1/indexes/odd/documents/a": "{\"title\": \"\xff\"}",
		"POST /v1/indexes/odd/documents":  "[{\"put\": \"\xff\", \"fields\": {}}]",
		"POST /v1/indexes/odd/documents ": "{\"title\": \"\xff\"}",
		"POST /v1/indexes/odd/search":     "{\"text\": {\"text\": \"\xff\"}}",
	} {
		res := send(s, readRequest(t, strings.TrimSpace(path)+"\n"+body))
		text := printAnswer(t, res)
		at := strconv.Itoa(strings.IndexByte(body, '\xff'))
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"offset": `+at) {
			t.Errorf("%s: want 400 at byte %s\n%s", path, at, text)
		}
	}
	res := send(s, readRequest(t, "POST /v1/indexes/odd/documents\nContent-Type: application/x-ndjson\n{\"put\": \"\xff\", \"fields\": {}}\n{\"put\": \"\xfe\", \"fields\": {}}"))
	if text := printAnswer(t, res); strings.Count(text, `"status": 400`) < 2 {
		t.Errorf("lines that are not UTF-8:\n%s", text)
	}
	if text := printAnswer(t, send(s, readRequest(t, "POST /v1/indexes/odd/count"))); !strings.Contains(text, `"count": 0`) {
		t.Error(text)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
