package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/riffle-search/riffle"
)

// metricsHead begins docs/METRICS.md.
const metricsHead = `# Metrics

What ` + "`GET /metrics`" + ` answers with, for Prometheus; a key needs the role read, since the figures say no more
than ` + "`/stats`" + `. Those of the Go runtime and the process come with them, unless ` + "`Options.Registry`" + ` is set.
[deploy/grafana/riffle.json](../deploy/grafana/riffle.json) is a dashboard of them.

- Counters begin anew when an index is opened. Times are in seconds.
- Histograms are native ones, with buckets 10 % wide (` + "`scrape_native_histograms: true`" + ` in Prometheus), and
  have few classic buckets for scrapers that do not read native ones.
- An engine that is mounted has the figures of events (searches, changes, seals, merges, failures) only if it was
  opened with ` + "`Server.Listener`" + `. Figures of GPUs are there with ` + "`Options.GPU`" + ` of the engine.

This table is made from the server's list by ` + "`go test ./server -run TestMetricsTable -rewrite`" + `.

| Metric | Kind | Labels | Meaning |
|---|---|---|---|
`

// TestMetricsTable: docs/METRICS.md has a row for each metric.
func TestMetricsTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(metricsHead)
	list := slices.Clone(newServer(t, nil).metrics.list)
	slices.SortFunc(list, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	for _, m := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), m.help)
	}
	const path = "../docs/METRICS.md"
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != b.String() {
		t.Errorf("%s is not as the server's metrics are (%v); -rewrite makes it anew", path, err)
	}
}

// TestMetrics: requests, searches and changes are counted, and what is there is what the table says.
func TestMetrics(t *testing.T) {
	s := newServer(t, nil)
	prepareBooks(t, s) // one put
	for _, c := range []struct {
		request string
		status  int
	}{
		{"PUT /v1/indexes/books/documents/1\n{\"title\": \"Typee\"}", 200},
		{"PATCH /v1/indexes/books/documents/moby\n{\"price\": 9}", 200},
		{"DELETE /v1/indexes/books/documents/2", 204},
		{"POST /v1/indexes/books/compact", 204},
		{"GET /v1/indexes/books/search?q=whale", 200},
		{"POST /v1/indexes/books/search\n{\"query\": {\"all\": {}}}", 200},
		{"POST /v1/indexes/books/search\n{\"query\": {\"all\": {}}, \"k\": -1}", 400},
		{"GET /v1/indexes/none/search?q=whale", 404},
		{"GET /nothing", 404},
	} {
		if res := send(s, readRequest(t, c.request)); res.StatusCode != c.status {
			t.Fatalf("%s\n%s", c.request, printAnswer(t, res))
		}
	}
	res := send(s, readRequest(t, "GET /metrics"))
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	for _, line := range []string{
		`riffle_http_requests_total{route="GET /v1/indexes/{index}/search",status="200"} 1`,
		`riffle_http_requests_total{route="GET /v1/indexes/{index}/search",status="404"} 1`,
		`riffle_http_requests_total{route="POST /v1/indexes/{index}/search",status="400"} 1`,
		`riffle_http_requests_total{route="other",status="404"} 1`,
		`riffle_http_request_seconds_count{route="POST /v1/indexes/{index}/search"} 2`,
		`riffle_http_requests_in_flight 1`, // this one
		`riffle_searches_total{executor="none",index="books",result="invalid"} 1`,
		`riffle_search_seconds_count{index="books"} 3`,
		`riffle_changes_total{change="put",index="books"} 2`,
		`riffle_changes_total{change="update",index="books"} 1`,
		`riffle_changes_total{change="delete",index="books"} 1`,
		`riffle_apply_seconds_count{index="books"} 4`,
		`riffle_documents{index="books"} 2`,
		`riffle_segments{index="books"} 1`,
		`riffle_seal_seconds_count{index="books"} 1`,
		`riffle_queue_refused_total{queue="search"} 0`,
		`riffle_queue_waiting{queue="write"} 0`,
		`riffle_indexes 1`,
	} {
		if !bytes.Contains(body, []byte("\n"+line+"\n")) {
			t.Errorf("there is no line %s", line)
		}
	}
	if !regexp.MustCompile(`riffle_searches_total\{executor="cpu/[a-z]+",index="books",result="ok"\} \d`).Match(body) {
		t.Errorf("no searches by a CPU in\n%s", body)
	}

	families, err := s.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered := map[string]*dto.MetricFamily{}
	for _, f := range families {
		gathered[f.GetName()] = f
	}
	for _, m := range s.metrics.list {
		f := gathered[m.name]
		delete(gathered, m.name)
		if f == nil {
			if !strings.HasPrefix(m.name, "riffle_gpu_") && !strings.HasPrefix(m.name, "riffle_cluster_") {
				t.Errorf("%s is in the list and not in the answer", m.name)
			}
			continue
		}
		if kind := strings.ToLower(f.GetType().String()); kind != m.kind {
			t.Errorf("%s is a %s, not a %s", m.name, kind, m.kind)
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		want := slices.Sorted(slices.Values(m.labels))
		if !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %q, not %q", m.name, labels, want)
		}
		if h := f.Metric[0].GetHistogram(); m.kind == histogramKind && (h.Schema == nil || len(h.Bucket) == 0) {
			t.Errorf("%s is no native histogram, or no classic one: %v", m.name, h)
		}
		if (m.kind == counterKind) != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s: the names of counters end in _total, and no others", m.name)
		}
	}
	for name := range gathered {
		if strings.HasPrefix(name, "riffle_") {
			t.Errorf("%s is in the answer and not in the list", name)
		}
	}

	if err := s.host.drop("books"); err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(send(s, readRequest(t, "GET /metrics")).Body); bytes.Contains(body, []byte(`index="books"`)) {
		t.Error("an index that has been dropped still has figures")
	}
}

// TestMountedListener: an engine of the program is among the figures, beside what the program itself listens to.
func TestMountedListener(t *testing.T) {
	s := newServer(t, nil)
	heard := 0
	mine := &riffle.Listener{Searched: func(riffle.SearchEvent) { heard++ }}
	e, err := riffle.Open(t.TempDir(), &riffle.Options{Listener: riffle.JoinListeners(mine, s.Listener("mine"))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := s.Mount("mine", e); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), riffle.All{}, nil); err != nil { // by the program, not by HTTP
		t.Fatal(err)
	}
	body, err := io.ReadAll(send(s, readRequest(t, "GET /metrics")).Body)
	if err != nil || !bytes.Contains(body, []byte(`riffle_search_seconds_count{index="mine"} 1`)) || heard != 1 {
		t.Errorf("heard %d times, %v\n%s", heard, err, body)
	}
}

// TestSharedRegistry: two Servers with one registry are refused, instead of figures that are half of each.
func TestSharedRegistry(t *testing.T) {
	s := newServer(t, nil)
	if other, err := New(&Options{Registry: s.metrics.registry}); err == nil {
		other.Close(t.Context())
		t.Error("a second server takes the registry of the first")
	} else if !strings.Contains(err.Error(), "Options.Registry") {
		t.Error(err)
	}
}

// TestDashboard: the dashboard asks for metrics and labels that there are.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../deploy/grafana/riffle.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Query json.RawMessage }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	known := map[string]metric{}
	for _, m := range newServer(t, nil).metrics.list {
		known[m.name] = m
	}
	name := regexp.MustCompile(`riffle_[a-z_]+`)
	label := regexp.MustCompile(`([a-z_]+)\s*=~?"|by \(([a-z_, ]+)\)`)
	asked := 0
	for _, p := range board.Panels {
		if len(p.Targets) == 0 && p.Type != "row" {
			t.Errorf("%s asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			names := name.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: %s asks for no metric", p.Title, target.Expr)
			}
			var labels []string
			for _, n := range names {
				if _, ok := known[n]; !ok {
					t.Errorf("%s: %s: there is no metric %s", p.Title, target.Expr, n)
				}
				labels = append(labels, known[n].labels...)
				asked++
			}
			for _, m := range label.FindAllStringSubmatch(target.Expr, -1) {
				for _, l := range strings.Split(m[1]+m[2], ",") {
					if l = strings.TrimSpace(l); !slices.Contains(labels, l) && l != "job" && l != "instance" {
						t.Errorf("%s: %s: no metric there has the label %s", p.Title, target.Expr, l)
					}
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d metrics are shown: has the form of the file changed?", asked)
	}
}
