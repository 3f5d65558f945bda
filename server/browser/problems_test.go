package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestProblems: a tab notices what a page must not do.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, policy, body, want string }{
		{"console", "default-src data: 'unsafe-inline'", `<script>console.error("lost")</script>`, "lost"},
		{"exception", "default-src data: 'unsafe-inline'", `<script>nothing.at.all</script>`, "nothing is not defined"},
		{"promise", "default-src data: 'unsafe-inline'", `<script>Promise.reject(Error("refused"))</script>`, "refused"},
		{"answer", "default-src data: 'self'", `<img src="/gone" alt="">`, "404"},
		{"inline script", "default-src data: 'self'", `<script>1</script>`, "Content Security Policy"},
		{"style attribute", "default-src data: 'self'", `<p style="color: red">red`, "Content Security Policy"},
		{"other host", "default-src *", `<img src="http://127.0.0.2:9/x.png" alt="">`, "a request to another host: http://127.0.0.2:9/x.png"},
		{"no policy", "", `<p>nothing`, "no content security policy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				if test.policy != "" {
					w.Header().Set("Content-Security-Policy", test.policy)
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<!doctype html><link rel=icon href=data:,>%s", test.body)
			}))
			defer s.Close()
			b := newTab(t, s.URL)
			b.open("/")
			var all []string
			for until := time.Now().Add(patience); !strings.Contains(strings.Join(all, "\n"), test.want); time.Sleep(10 * time.Millisecond) {
				if all = append(all, b.taken()...); time.Now().After(until) {
					t.Fatalf("noticed: %q, want %q", all, test.want)
				}
			}
			b.taken()
		})
	}
}
