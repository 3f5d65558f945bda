package server

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestPage: the page of searches works without JavaScript, and whatever it shows is escaped.
func TestPage(t *testing.T) {
	s := newServer(t, nil)
	schema := &riffle.Schema{Fields: map[string]riffle.Field{"place": {Type: riffle.FieldKeyword}}}
	if err := s.host.create("books", schema); err != nil {
		t.Fatal(err)
	}
	e := s.host.all()[0].engine
	for _, doc := range []map[string]any{
		{"id": "moby", "title": "Moby <b>Dick</b>", "text": "Call me Ishmael <script>alert(1)</script>.", "place": "sea & shore"},
		{"id": "book", "title": "The Jungle Book", "text": "Now Rann the Kite brings home the night.", "place": "jungle"},
	} {
		if err := e.Put(t.Context(), doc["id"].(string), doc); err != nil {
			t.Fatal(err)
		}
	}
	get := func(path string) string {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Host = "localhost"
		res := send(s, r)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %s %s %v", path, res.Status, body, err)
		}
		return string(body)
	}
	for _, test := range []struct {
		path      string
		has, lack []string
	}{
		{"/", []string{"1 to 2 of 2", "The Jungle Book", "Moby &lt;b&gt;Dick&lt;/b&gt;", "sea &amp; shore", `href="/?f.place=jungle"`, "<!doctype html>"}, []string{"<b>", "alert(1)</script>"}},
		{"/?q=ishmael", []string{"1 to 1 of 1", "<mark>Ishmael</mark> &lt;script&gt;", "riffle.ParseQuery(&#34;ishmael&#34;"}, []string{"Jungle"}},
		{"/?f.place=jungle", []string{"1 to 1 of 1", "The Jungle Book", `aria-current="true">jungle`, "sea &amp; shore"}, []string{"Moby"}},
		{"/?q=title:(whale", []string{`title:<mark>(</mark>whale`, "the group has no end"}, []string{" of 2"}},
		{"/why?id=moby&q=ishmael+dick", []string{"text:ishmael = weight", "title:dick = weight", `<rect class="part2"`, "<!doctype html>"}, nil},
		{"/why?id=moby&q=ishmael&part=why", []string{"text:ishmael = weight"}, []string{"<!doctype html>"}},
		{"/inside", []string{"2 documents, 0 deleted", "in memory", `field=title#terms`, `&#34;place&#34;: {`}, nil},
		{"/inside", []string{"None since the server", "Cached lists", "/inside?index=books&amp;field=title#terms"}, []string{"The list of"}},
		{"/?q=book", []string{"1 to 1 of 1"}, nil},
		{"/inside?field=title&prefix=ju", []string{`/inside?index=books&amp;field=title&amp;prefix=ju&amp;term=jungle#list`, `/inside?field=title&amp;index=books&amp;term=book#list">book</a>`}, []string{"moby"}},
		{"/inside?field=title&term=the", []string{"1 document has the term", "In memory: 1 of 2 documents, 1 block", `class="bounds" viewBox="0 0 1000 60"`, `d="M0.0 60V0.0H1000.0V60z"`, "run tf/0", "1 of 3 terms", "/?index=books&amp;q=title%3A%22the%22"}, []string{"Blocks after"}},
		{"/inside?field=title&term=%3Cscript%3E", []string{"The list of <span dir=\"auto\">&lt;script&gt;", "No document has this term"}, []string{"<script>"}},
		{"/inside?id=moby", []string{"Version 2", "sea &amp; shore"}, []string{"no document"}},
		{"/inside?id=nobody", []string{"There is no document with this id"}, nil},
		{"/watch", []string{"Time of a search, 99th percentile", `data-of="rate riffle_searches_total"`, "Lists found in the cache"}, []string{"GPU"}},
		{"/?part=results", []string{"1 to 2 of 2"}, []string{"<!doctype html>"}},
		{"/?q=%22%3E%3Cscript%3E", nil, []string{`"><script>`}},
		{"/assets/page.js", []string{"Searches as the user types"}, nil},
	} {
		body := get(test.path)
		for _, text := range test.has {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", test.path, text, body)
			}
		}
		for _, text := range test.lack {
			if strings.Contains(body, text) {
				t.Errorf("%s has %s:\n%s", test.path, text, body)
			}
		}
	}
}
