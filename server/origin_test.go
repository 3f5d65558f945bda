package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestOrigins: pages of the sites that Options.Origins names may read answers and write, others may not.
func TestOrigins(t *testing.T) {
	const app = "https://app.example.com"
	s := newServer(t, &Options{Origins: []string{app, "http://localhost:3000"}})
	prepareBooks(t, s)
	for _, test := range []struct {
		request string
		status  int
		allowed string
	}{
		{"GET /v1/indexes\nOrigin: " + app, 200, app},
		{"GET /v1/indexes\nOrigin: http://localhost:3000", 200, "http://localhost:3000"},
		{"GET /v1/indexes\nOrigin: https://example.com", 200, ""},
		{"GET /v1/indexes\nOrigin: null", 200, ""},
		{"GET /v1/indexes\nOrigin: https://app.example.com.evil.com", 200, ""},
		{"GET /v1/indexes", 200, ""},
		{"GET /v1/indexes/none/schema\nOrigin: " + app, 404, app},
		{"PUT /v1/indexes/books/documents/1\nSec-Fetch-Site: cross-site\nOrigin: " + app + "\n{}", 200, app},
		{"PUT /v1/indexes/books/documents/1\nSec-Fetch-Site: cross-site\nOrigin: https://example.com\n{}", 403, ""},
		{"OPTIONS /v1/indexes/books\nAccess-Control-Request-Method: DELETE\nOrigin: " + app, 204, app},
		{"OPTIONS /v1/indexes/books\nOrigin: " + app, 405, app}, // no preflight
		{"OPTIONS /v1/indexes/books\nAccess-Control-Request-Method: DELETE\nOrigin: https://example.com", 405, ""},
	} {
		res := send(s, readRequest(t, test.request))
		h := res.Header
		if res.StatusCode != test.status || h.Get("Access-Control-Allow-Origin") != test.allowed {
			t.Errorf("%s\n%s, allowed for %q", test.request, res.Status, h.Get("Access-Control-Allow-Origin"))
		}
		if !slices.Contains(h.Values("Vary"), "Origin") {
			t.Errorf("%s\na cache could give this to another origin: Vary is %q", test.request, h.Values("Vary"))
		}
		if h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s\ncredentials are allowed", test.request)
		}
		preflight := res.StatusCode == http.StatusNoContent && strings.HasPrefix(test.request, "OPTIONS")
		if got := h.Get("Access-Control-Allow-Methods"); preflight != (got == crossMethods) {
			t.Errorf("%s\nmethods %q", test.request, got)
		}
	}
	for _, bad := range []string{"*", "app.example.com", "https://app.example.com/", "https://*.example.com", ""} {
		if s, err := New(&Options{Origins: []string{bad}}); err == nil {
			s.Close(t.Context())
			t.Errorf("the origin %q is taken", bad)
		}
	}
}

// TestCrossMethods: the methods of all routes are among those that other origins may use.
func TestCrossMethods(t *testing.T) {
	for _, rt := range routes {
		method, _, _ := strings.Cut(rt.pattern, " ")
		if !slices.Contains(strings.Split(crossMethods, ", "), method) {
			t.Errorf("%s: %s is not among %s", rt.pattern, method, crossMethods)
		}
	}
}
