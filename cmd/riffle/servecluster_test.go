package main

import (
	"bytes"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/riffle-search/riffle/internal/freeport"
)

// freeAddress returns an address of this machine at which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// TestServeCluster serves an index with shards from a node with a server of NATS of its own, and from another process
// that joins by NATS, before and after the first one was killed.
func TestServeCluster(t *testing.T) {
	dir, clients, users := t.TempDir(), freeAddress(t), filepath.Join(t.TempDir(), "users")
	key := func(name, roles string) string {
		return writeFile(t, name, must(t, "cluster", "key", "--users", users, name, roles))
	}
	all, reader := key("all", "reader,writer,controller"), key("dashboard", "reader")
	start := func() *process {
		return startServe(t, "--cluster", "books", "--node", "a", "--dir", dir, "--nats-listen", clients, "--nats-users", users)
	}
	a := start()
	b := startServe(t, "--nats", "nats://"+clients, "--nats-key", all)
	if table := must(t, "cluster", "status", "--nats", clients, "--nats-key", reader); !strings.Contains(table, "a     up") {
		t.Error(table)
	}
	endsWith(t, exitFailure, "cluster", "status", "--nats", clients)
	if status, text := b.call(t, "PUT", "/v1/indexes/books", `{"shards": 2, "schema": {"fields": {"shelf": {"type": "keyword"}}}}`); status != http.StatusCreated {
		t.Fatal(text)
	}
	r, err := http.NewRequest("PUT", a.url+"/v1/indexes/books/documents/moby", strings.NewReader(`{"title": "Moby Dick", "shelf": "sea"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	token := res.Header.Get("Riffle-Token")
	look := func(p *process, path, want string) {
		t.Helper()
		if status, text := p.call(t, "GET", path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("GET %s: %d %s, want %s", path, status, text, want)
		}
	}
	search := "/v1/indexes/books/search?token=" + url.QueryEscape(token)
	look(b, search+"&q=dick", `{"hits":[{"id":"moby",`)
	look(b, search+"&q=shelf:sea&load=shelf", `"fields":{"shelf":"sea"}`)
	look(b, "/v1/indexes/books/documents/moby?linearizable=true", `{"id":"moby","fields":{`)
	look(b, "/v1/indexes", `[{"name":"books","documents":1,"segments":0,"bytes":0,"shards":2,"replicas":1}]`)
	look(b, "/?index=books&q=dick", "1 to 1 of 1")
	look(b, "/?index=books&f.shelf=sea", `aria-current="true">sea</a> <span class="faint">1</span>`)
	facet := `{"query": {"all": {}}, "aggregations": {"shelves": {"terms": {"field": "shelf"}}}, "selections": {"shelves": {"term": {"field": "shelf", "value": "land"}}}}`
	if _, text := b.call(t, "POST", search, facet); !strings.Contains(text, `"hits":[],`) || !strings.Contains(text, `"buckets":[{"key":"sea","count":1}]`) {
		t.Errorf("a facet: %s", text)
	}
	for path, want := range map[string]string{
		"/v1/indexes/books/search?token=other":                               "urn:riffle:problem:request",
		"/v1/indexes/books/search?profile=true&q=dick":                       "urn:riffle:problem:unsupported",
		"/v1/indexes/books/search?after=damaged&q=dick":                      "urn:riffle:problem:query",
		"/v1/indexes/none/search?q=dick":                                     "urn:riffle:problem:no-index",
		"/v1/indexes/books/documents/nobody?token=" + url.QueryEscape(token): "urn:riffle:problem:no-document",
		"/v1/indexes/books/stats":                                            "urn:riffle:problem:unsupported",
	} {
		if _, text := b.call(t, "GET", path, ""); !strings.Contains(text, want) {
			t.Errorf("GET %s: %s, want %s", path, text, want)
		}
	}
	if status, text := b.call(t, "POST", "/v1/indexes/books/count?linearizable=true", "{}"); status != http.StatusNotImplemented {
		t.Errorf("a linearizable count: %d %s", status, text)
	}
	lines := `{"put": "emma", "fields": {"title": "Emma"}}` + "\n" + `{"put": "x", "fields": {"shelf": 7}}` + "\n" + `{"put": "y", "fields": {"title": "Y"}, "if_version": 3}`
	res, err = http.Post(b.url+"/v1/indexes/books/documents", "application/x-ndjson", strings.NewReader(lines))
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Riffle-Token") == "" {
		t.Fatal(res, err)
	}
	res.Body.Close()

	a.Process.Kill()
	a.Wait()
	a = start()
	look(a, search+"&q=dick", `{"hits":[{"id":"moby",`)
	waitUntil(t, "the other process is connected again", func() bool {
		status, _ := b.call(t, "GET", search+"&q=dick&timeout=1s", "")
		return status == http.StatusOK
	})
	look(b, "/v1/indexes/books/documents/emma?linearizable=true", `"title":"Emma"`)
	if status, text := b.call(t, "DELETE", "/v1/indexes/books", ""); status != http.StatusNoContent {
		t.Error(text)
	}
	b.end(t)
	a.end(t)
}

// TestClusterConfig: users become the configuration of a server of NATS.
func TestClusterConfig(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	must(t, "cluster", "key", "--users", users, "n1", "node")
	endsWith(t, exitFailure, "cluster", "key", "--users", users, "n1", "reader") // the name is taken
	endsWith(t, exitUsage, "cluster", "key", "n1", "boss")
	if two := strings.Split(must(t, "cluster", "key", "api", "reader,writer"), "\n"); len(two) != 3 || !strings.HasPrefix(two[0], "SU") || !strings.HasPrefix(two[1], "api reader,writer U") {
		t.Errorf("a key without a file: %q", two)
	}
	options, err := server.ProcessConfigFile(writeFile(t, "nats.conf", must(t, "cluster", "config", users)))
	if err != nil {
		t.Fatal(err)
	}
	if len(options.Nkeys) != 1 || !slices.Contains(options.Nkeys[0].Permissions.Subscribe.Allow, "riffle.*.q.*.*.n1") || options.Nkeys[0].Permissions.Response == nil {
		t.Errorf("users %+v", options.Nkeys)
	}
}

// TestClusterFlags: flags that need others say so.
func TestClusterFlags(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--dir x --node a", "--node goes with --cluster or --nats"},
		{"--dir x --cluster c", "--cluster needs --node"},
		{"--dir x --cluster c --node a --nats nats://here", "contradict each other"},
		{"--nats nats://here --node a", "a node needs --dir"},
		{"--nats nats://here --routes a:1", "go with --cluster"},
		{"--dir x --cluster c --node a --routes a:1", "--routes and --cluster-listen need each other"},
		{"--dir x --cluster c --node a --log-copies 2", "--log-copies is 1, 3 or 5"},
		{"--dir x --cluster c --node a --cluster-listen 10.0.0.1:6222 --routes 10.0.0.1:6222", "other machines reach 10.0.0.1:6222"},
		{"--dir x --cluster c --node a --nats-listen :4222 --cluster-cert c --cluster-key k --cluster-ca a", "give --nats-users"},
		{"--dir x --cluster c --node a --cluster-cert c", "need each other"},
		{"--dir x --cluster c --node a --nats-users u", "--nats-users goes with --nats-listen"},
		{"--dir x --cluster c --node a --nats-key u", "--nats-key goes with --nats"},
		{"--db x --nats nats://here", "--db and --demo go without"},
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"serve"}, strings.Fields(test.args)...), nil, &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("serve %s: %d %s, want %s", test.args, code, &errs, test.want)
		}
	}
}
