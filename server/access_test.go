package server

import (
	"bufio"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// accessSamples are bodies and parameters with which a request for a route succeeds. Routes that need neither are not
// among them.
var accessSamples = map[string]struct{ query, body string }{
	"GET /why":                                  {"?index=books&id=moby&q=whale", ""},
	"PUT /v1/indexes/{index}/documents/{id}":    {"", `{"title": "Moby Dick"}`},
	"PATCH /v1/indexes/{index}/documents/{id}":  {"", `{"price": 3}`},
	"POST /v1/indexes/{index}/documents":        {"", `{"title": "Typee"}`},
	"POST /v1/indexes/{index}/documents/delete": {"", `{"query": {"all": {}}}`},
	"POST /v1/indexes/{index}/documents/update": {"", `{"query": {"all": {}}, "set": {"price": 4}}`},
	"POST /v1/indexes/{index}/explain":          {"", `{"id": "moby", "text": {"text": "whale"}}`},
	"GET /v1/indexes/{index}/suggest":           {"?field=title&q=mo", ""},
	"GET /v1/indexes/{index}/terms":             {"?field=title", ""},
	"GET /v1/indexes/{index}/postings":          {"?field=title&term=whale", ""},
	"POST /v1/indexes/{index}/analyze":          {"", `{"text": "Call me Ishmael"}`},
}

// TestAccess tries every cell of the table of docs/ACCESS.md.
func TestAccess(t *testing.T) {
	keys, secrets := newKeys(t, RoleRead, RoleWrite, RoleAdmin)
	secrets = append([]string{"", "riffle_wrong"}, secrets...) // by column
	s := newServer(t, &Options{Keys: keys})
	table := readAccess(t)
	for _, rt := range routes {
		cells := table[rt.pattern]
		delete(table, rt.pattern)
		if len(cells) != len(secrets) {
			t.Errorf("docs/ACCESS.md needs a row of %d cells for the route %s", len(secrets), rt.pattern)
			continue
		}
		for i, want := range cells {
			prepareBooks(t, s)
			r := accessRequest(t, rt.pattern)
			if secrets[i] != "" {
				r.Header.Set("Authorization", "Bearer "+secrets[i])
			}
			res := send(s, r)
			got := res.Status[:3]
			if res.StatusCode < 300 {
				got = "yes"
			}
			if got != want {
				t.Errorf("%s with %s: %s\n%s", rt.pattern, []string{"no key", "a wrong key", "read", "write", "admin"}[i], res.Status, printAnswer(t, res))
			}
			if got != "401" && got != "403" || secrets[i] == "" {
				continue
			}
			// The password of basic authentication is the same key.
			r = accessRequest(t, rt.pattern)
			r.SetBasicAuth("anybody", secrets[i])
			if res := send(s, r); res.Status[:3] != want {
				t.Errorf("%s by basic authentication: %s, want %s", rt.pattern, res.Status, want)
			}
		}
	}
	for pattern := range table {
		t.Errorf("docs/ACCESS.md has a row for %s, which is no route", pattern)
	}
}

// readAccess reads the cells of the table, by route.
func readAccess(t *testing.T) map[string][]string {
	file, err := os.Open("../docs/ACCESS.md")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table := map[string][]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		pattern, cells, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "| `"), "` | ")
		if !ok || !strings.HasPrefix(lines.Text(), "| `") {
			continue
		}
		if table[pattern] != nil {
			t.Errorf("two rows for %s", pattern)
		}
		table[pattern] = strings.Split(strings.TrimSuffix(cells, " |"), " | ")
	}
	return table
}

// prepareBooks makes sure that there is an index books with a document, and none of the name new.
func prepareBooks(t testing.TB, s *Server) {
	t.Helper()
	if err := s.host.drop("new"); err != nil && faultOf(err).Type != kindNoIndex.urn() {
		t.Fatal(err)
	}
	s.host.mu.RLock()
	ix := s.host.indexes["books"]
	s.host.mu.RUnlock()
	if ix == nil {
		schema := &riffle.Schema{Fields: map[string]riffle.Field{"price": {Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored}}}
		if err := s.host.create("books", schema); err != nil {
			t.Fatal(err)
		}
		ix = s.host.indexes["books"]
	}
	if err := ix.engine.Put(t.Context(), "moby", map[string]any{"title": "Moby Dick, or: the Whale", "price": 2}); err != nil {
		t.Fatal(err)
	}
}

// accessRequest returns a request for a route that would succeed.
func accessRequest(t testing.TB, pattern string) *http.Request {
	method, path, _ := strings.Cut(pattern, " ")
	index := "books"
	if pattern == "PUT /v1/indexes/{index}" {
		index = "new"
	}
	path = strings.NewReplacer("{$}", "", "{index}", index, "{id}", "moby", "{file}", "page.js", "{profile}", "heap").Replace(path)
	sample := accessSamples[pattern]
	r := httptest.NewRequestWithContext(t.Context(), method, path+sample.query, strings.NewReader(sample.body))
	r.Host = "localhost"
	return r
}

// TestSecurityHeaders: every answer has them, those of errors and of unknown paths, too.
func TestSecurityHeaders(t *testing.T) {
	s := newServer(t, nil)
	check := func(r *http.Request) {
		t.Helper()
		res := send(s, r)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Values(name); !slices.Equal(got, []string{want}) {
				t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, name, got, want)
			}
		}
		policy := res.Header.Values("Content-Security-Policy")
		if len(policy) != 1 || !strings.HasPrefix(policy[0], "default-src 'none';") || !strings.Contains(policy[0], "frame-ancestors 'none'") ||
			strings.Contains(policy[0], "unsafe") {
			t.Errorf("%s %s: the policy is %q", r.Method, r.URL, policy)
		}
		if res.Header.Get("Content-Type") == "" && res.StatusCode != http.StatusNoContent {
			t.Errorf("%s %s: %s without a media type", r.Method, r.URL, res.Status)
		}
		for name := range res.Header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "Set-Cookie" {
				t.Errorf("%s %s: an answer with %s", r.Method, r.URL, name)
			}
		}
	}
	for _, rt := range routes {
		prepareBooks(t, s)
		check(accessRequest(t, rt.pattern))
	}
	for _, text := range []string{"GET /nothing", "DELETE /healthz", "OPTIONS /v1/indexes\nOrigin: https://example.com\nAccess-Control-Request-Method: GET",
		"GET /v1/indexes/none/schema", "POST /v1/indexes/books/search\n{", "GET /healthz\nHost: example.com", "GET /v1/indexes\nOrigin: https://example.com"} {
		check(readRequest(t, text))
	}
}

// TestPathsReachNoFiles: whatever stands in a path, nothing outside of the server's directory is read, made or removed.
func TestPathsReachNoFiles(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, &Options{Dir: filepath.Join(outside, "dir")})
	prepareBooks(t, s)
	before := filesIn(t, outside)
	odd := []string{"..", ".", "%2e%2e", "%2E%2E", "..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "..%2f..%2f..%2fetc", "%2fetc", "%2Fetc%2Fpasswd",
		strings.ReplaceAll(secret, "/", "%2f"), "%00", "books%00", "books%2f..%2f..%2fsecret", ".dropped-books", ".hidden", "C:", "nul%3a", "books.", "%ff", "~", "-rf"}
	for _, name := range odd {
		for _, pattern := range []string{"/v1/indexes/%s", "/v1/indexes/%s/", "/v1/indexes/books/../../%s", "/v1/indexes/%s/schema", "/v1/indexes/%s/checkpoint",
			"/assets/%s", "/assets/%s/routes.go", "/assets/page.js/%s", "//%s", "/?index=%s", "/inside?index=%s"} {
			for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
				path := strings.ReplaceAll(pattern, "%s", name)
				r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader("{}"))
				if err != nil {
					continue // net/http would not let it in either
				}
				res := send(s, r)
				// "books." is a good name, if an odd one.
				if name == "books." && method == "PUT" && res.StatusCode == http.StatusCreated {
					if err := s.host.drop(name); err != nil {
						t.Fatal(err)
					}
					continue
				}
				text := printAnswer(t, res)
				if res.StatusCode < 300 || res.StatusCode >= 500 {
					t.Errorf("%s %s: %s", method, path, text)
				}
				named := strings.Contains(name, filepath.Base(outside)) // then the answer may say it back
				if strings.Contains(text, "the secret") || strings.Contains(text, outside) && !named || strings.Contains(text, "root:") || strings.Contains(text, "package server") {
					t.Errorf("%s %s: the answer has what is in files: %s", method, path, text)
				}
			}
		}
	}
	if after := filesIn(t, outside); !slices.Equal(before, after) {
		t.Errorf("files before: %q\nafter: %q", before, after)
	}
}

// filesIn returns the paths of folders, and of files outside of indexes: in those the store comes and goes.
func filesIn(t *testing.T, dir string) []string {
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		found[path] = true
		if filepath.Base(path) == "books" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}
