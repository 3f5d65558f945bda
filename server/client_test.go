package server

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// TestClient calls every method of the Go client.
func TestClient(t *testing.T) {
	ctx, c := t.Context(), serveClient(t, nil)
	must(t, c.Health(ctx))
	must(t, c.Ready(ctx))
	doc, err := c.OpenAPI(ctx)
	must(t, err)
	if !bytes.Contains(doc, []byte(`"openapi": "3.1.`)) {
		t.Errorf("the document begins with %.60s", doc)
	}
	schema := &riffle.Schema{Analyzer: "english", Fields: map[string]riffle.Field{
		"title": {Type: riffle.FieldText}, "shelf": {Type: riffle.FieldKeyword}, "sold": {Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored},
	}}
	must(t, c.CreateIndex(ctx, "books", schema))
	if err := c.CreateIndex(ctx, "books", nil); problem(t, err).Type != kindExists.urn() {
		t.Error(err)
	}
	must(t, c.Put(ctx, "books", "moby", map[string]any{"title": "Moby Dick; or, The Whale", "year": 1851, "shelf": "sea"}))
	must(t, c.PutIf(ctx, "books", "jungle", map[string]any{"title": "The Jungle Book", "year": 1894, "shelf": "land"}, 0))
	id, err := c.Add(ctx, "books", map[string]any{"title": "Typee"})
	must(t, err)
	moby, err := c.Document(ctx, "books", "moby")
	must(t, err)
	must(t, c.UpdateIf(ctx, "books", "moby", map[string]any{"sold": 3}, moby.Version))
	must(t, c.Update(ctx, "books", "moby", map[string]any{"sold": 4}))
	if err := c.DeleteIf(ctx, "books", "moby", moby.Version); problem(t, err).Status != http.StatusPreconditionFailed {
		t.Error(err)
	}
	must(t, c.Delete(ctx, "books", string(id)))

	a, err := c.Search(ctx, "books", &client.SearchRequest{
		Query: riffle.Match{Field: "title", Text: "whales"}, Load: []string{"*"}, Versions: true, Highlight: &client.Highlight{HTML: true},
		Aggregations: map[string]riffle.Aggregation{"shelves": riffle.TermsAggregation{Field: "shelf", Sub: map[string]riffle.Aggregation{"top": riffle.TopHitsAggregation{Load: []string{"title"}}}}},
	})
	must(t, err)
	if len(a.Hits) != 1 || a.Hits[0].ID != "moby" || a.Hits[0].Fields["sold"] != float64(4) || !strings.Contains(a.Hits[0].Fragments["title"][0].HTML, "<mark>Whale</mark>") {
		t.Errorf("hits: %+v", a.Hits)
	}
	if top := a.Aggregations["shelves"].Buckets[0].Sub["top"].Hits; len(top) != 1 || top[0].ID != "moby" || top[0].Fields["title"] == nil {
		t.Errorf("hits of an aggregation: %+v", top)
	}
	profiled, err := c.Search(ctx, "books", &client.SearchRequest{Text: &client.Text{Text: "whale jungle"}, Profile: &client.ProfileOptions{Lists: 1, Runs: 5}})
	must(t, err)
	if p := profiled.Profile; p == nil || len(p.Lists) != 1 || len(p.Lists[0].Runs) != 1 || p.Omitted == 0 || p.Blocks.Decoding != profiled.Work.BlocksDecoded || p.Times.Execute == 0 {
		t.Errorf("the profile %+v", p)
	}
	page, err := c.Search(ctx, "books", &client.SearchRequest{K: 1, Sort: []riffle.SortKey{{Field: "year", Desc: true}}})
	must(t, err)
	page, err = c.Search(ctx, "books", &client.SearchRequest{K: 1, Sort: []riffle.SortKey{{Field: "year", Desc: true}}, After: page.Hits[0].Cursor})
	must(t, err)
	if page.Hits[0].ID != "moby" {
		t.Errorf("the second page has %s", page.Hits[0].ID)
	}
	if a, err := c.SearchText(ctx, "books", "jungle", 1); err != nil || a.Hits[0].ID != "jungle" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = c.Search(ctx, "books", &client.SearchRequest{Text: &client.Text{Text: "title:(whale"}})
	if p := problem(t, err); p.Type != kindQuery.urn() || p.Offset == nil || *p.Offset != 6 {
		t.Error(err)
	}
	if n, err := c.Count(ctx, "books", &client.CountRequest{Text: &client.Text{Text: "whale or jungle"}}); err != nil || n != 2 {
		t.Error(n, err)
	}
	if x, err := c.Explain(ctx, "books", &client.ExplainRequest{Query: riffle.Match{Field: "title", Text: "whale"}, ID: "moby"}); err != nil || !x.Matches || len(x.Parts) == 0 {
		t.Error(x, err)
	}
	if s, err := c.Suggest(ctx, "books", "title", "wha", 3); err != nil || len(s) != 1 || s[0].Term != "whale" {
		t.Error(s, err)
	}
	if s, err := c.Terms(ctx, "books", "title", "", 1); err != nil || len(s.Terms) != 1 || !s.More {
		t.Error(s, err)
	}
	segment := uint64(0)
	if p, err := c.Postings(ctx, "books", &client.PostingsRequest{Field: "title", Term: "whale", Segment: &segment, Extents: true, Limit: 1}); err != nil || p.Documents != 1 || len(p.Lists[0].Ranges) != 1 || p.Lists[0].Ranges[0].Encoding != "" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := c.Postings(ctx, "books", &client.PostingsRequest{Field: "title", Term: "whale", From: 1}); err != nil || p.Lists[0].Blocks != 1 || len(p.Lists[0].Ranges) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if l, err := c.Cache(ctx, "books", 1); err != nil || len(l.Lists) != 1 || l.Lists[0].Bytes == 0 || len(l.Devices) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if s, err := c.Analyze(ctx, "books", &client.AnalyzeRequest{Field: "title", Text: "The whales"}); err != nil || len(s.Tokens) != 1 || s.Tokens[0].Term != "whale" {
		t.Error(s, err)
	}
	if s, err := c.Schema(ctx, "books"); err != nil || s.Analyzer != "english" || s.Fields["sold"].Column != riffle.ColumnStored {
		t.Error(s, err)
	}
	must(t, c.Compact(ctx, "books"))
	if s, err := c.Stats(ctx, "books"); err != nil || s["docs"] != float64(2) {
		t.Error(s, err)
	}
	if h, err := c.History(ctx, "books"); err != nil || len(h.Events) != 1 || h.Events[0].Kind != "seal" || h.Events[0].Documents != 2 || h.Events[0].End.Before(h.Since) {
		t.Errorf("%+v, %v", h, err)
	}
	if list, err := c.Indexes(ctx); err != nil || len(list) != 1 || list[0].Name != "books" || list[0].Documents != 2 || list[0].Segments != 1 {
		t.Error(list, err)
	}
	var copied, figures, profile bytes.Buffer
	must(t, c.Checkpoint(ctx, "books", &copied))
	if h, err := tar.NewReader(&copied).Next(); err != nil || !strings.HasPrefix(h.Name, "books") {
		t.Error(h, err)
	}
	must(t, c.Metrics(ctx, &figures))
	if !strings.Contains(figures.String(), "riffle_") {
		t.Errorf("figures: %.300s", &figures)
	}
	names, err := c.Profiles(ctx)
	must(t, err)
	if !strings.Contains(strings.Join(names, " "), "heap") {
		t.Error(names)
	}
	must(t, c.Profile(ctx, "heap", 0, &profile))
	if profile.Len() == 0 {
		t.Error("a profile is empty")
	}
	u, err := c.UpdateByQuery(ctx, "books", &client.ByQueryRequest{Query: riffle.Term{Field: "shelf", Value: "land"}, Set: map[string]any{"shelf": "old", "year": nil}})
	if err != nil || u.Changed != 1 {
		t.Error(u, err)
	}
	if d, err := c.DeleteByQuery(ctx, "books", &client.ByQueryRequest{Query: riffle.Term{Field: "shelf", Value: "old"}}); err != nil || d.Changed != 1 {
		t.Error(d, err)
	}
	must(t, c.DropIndex(ctx, "books"))
	if _, err := c.Schema(ctx, "books"); problem(t, err).Type != kindNoIndex.urn() {
		t.Error(err)
	}
}

// problem returns the problem that an error is.
func problem(t *testing.T, err error) *client.Problem {
	t.Helper()
	p, ok := errors.AsType[*client.Problem](err)
	if !ok {
		t.Fatalf("%v is no problem", err)
	}
	return p
}

// TestClientKey: the key goes with each request, and one that is wrong is a problem.
func TestClientKey(t *testing.T) {
	secret, line, err := NewKey("test", RoleAdmin)
	must(t, err)
	keys, err := ReadKeys(strings.NewReader(line))
	must(t, err)
	s := httptest.NewServer(newServer(t, &Options{Keys: keys}))
	t.Cleanup(s.Close)
	must(t, client.New(s.URL+"/", &client.Options{Key: secret, HTTP: s.Client()}).CreateIndex(t.Context(), "books", nil))
	_, err = client.New(s.URL, &client.Options{Key: secret + "x"}).Indexes(t.Context())
	if problem(t, err).Type != kindKey.urn() {
		t.Error(err)
	}
}

// TestWriter: changes arrive whatever the size of bodies is, those that fail have their number, and busy answers
// are waited out.
func TestWriter(t *testing.T) {
	inner := newServer(t, nil)
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests%3 == 2 {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	ctx, c := t.Context(), client.New(s.URL, nil)
	must(t, c.CreateIndex(ctx, "books", &riffle.Schema{Fields: map[string]riffle.Field{"year": {Type: riffle.FieldNumber}}}))
	var failed []int
	w := c.Writer(ctx, "books", &client.WriterOptions{Bytes: 2000, Failed: func(change int, p *client.Problem) {
		if failed = append(failed, change); p.Field != "year" || p.ID == nil {
			t.Errorf("change %d: %+v", change, p)
		}
	}})
	for i := range 1000 {
		doc := map[string]any{"year": i}
		if i%100 == 42 {
			doc["year"] = "never"
		}
		must(t, w.Put(fmt.Sprint(i), doc))
	}
	if err := w.Put("", nil); err == nil {
		t.Error("a document has been put under an empty id")
	}
	must(t, w.Delete("999"))
	sum, err := w.Close()
	must(t, err)
	if want := (client.BulkSummary{Changes: 991, Failed: 10}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if got := fmt.Sprint(failed); got != "[43 143 243 343 443 543 643 743 843 943]" {
		t.Errorf("failed: %s", got)
	}
	if n, err := c.Count(ctx, "books", &client.CountRequest{}); err != nil || n != 989 {
		t.Error(n, err)
	}
	if requests < 20 {
		t.Errorf("%d requests: bodies have not been split", requests)
	}
	w = c.Writer(ctx, "books", nil)
	must(t, w.Put("1", map[string]any{"year": "never"}))
	_, err = w.Close()
	if p := problem(t, err); p.Field != "year" || !strings.Contains(err.Error(), "change 1") {
		t.Error(err)
	}
}

// TestPython runs the tests of the Python client against a server.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3, which tests the Python client: ", err)
	}
	dir, err := filepath.Abs("../clients/python")
	must(t, err)
	secret, line, err := NewKey("python", RoleAdmin)
	must(t, err)
	keys, err := ReadKeys(strings.NewReader(line))
	must(t, err)
	s := httptest.NewServer(newServer(t, &Options{Keys: keys}))
	defer s.Close()
	run := exec.CommandContext(t.Context(), python, "-B", "-W", "error", "-m", "unittest", "-v", "test_riffle")
	run.Dir = dir
	run.Env = append(os.Environ(), "RIFFLE_URL="+s.URL, "RIFFLE_KEY="+secret, "NO_PROXY=127.0.0.1")
	out, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("test_odd_ids")) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
