package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBleveFolders searches folders of documents as one. Each answer must be what follows from the documents:
// all folders count, pages are parts of one order, and an id may be in several folders.
func TestBleveFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	type document struct{ folder, id string }
	var all, whales []document
	for f, folder := range []string{"a", "b", "c"} {
		for n := range 7 * (f + 1) {
			d := document{folder, fmt.Sprintf("%02d", n*(f+1))}
			text := "a ship at sea"
			if all = append(all, d); (n+f)%3 == 0 {
				text = "a white whale at sea"
				whales = append(whales, d)
			}
			write(filepath.Join("data", folder, d.id+".json"), fmt.Sprintf(`{"text": %q, "number": %d}`, text, n))
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "data", "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	order := func(docs []document) []document {
		docs = slices.Clone(docs)
		slices.SortStableFunc(docs, func(a, b document) int { return strings.Compare(a.id, b.id) }) // then by folder
		return docs
	}
	backwards := func(docs []document) []document {
		docs = slices.Clone(docs)
		slices.SortStableFunc(docs, func(a, b document) int { return strings.Compare(b.id, a.id) })
		return docs
	}
	cut := func(docs []document, from, size int) []document {
		docs = docs[min(from, len(docs)):]
		return docs[:min(size, len(docs))]
	}
	type question struct {
		request string
		total   int
		want    []document
	}
	questions := []question{
		{`{"query": {"match_all": {}}, "size": 0}`, len(all), nil},
		{`{"query": {"match": "whale"}, "size": 100, "sort": ["_id"]}`, len(whales), order(whales)},
		{`{"query": {"match_phrase": "white whale"}, "size": 100, "sort": ["-_id"]}`, len(whales), backwards(whales)},
		{`{"query": {"match": "squid"}}`, 0, nil},
	}
	for from := 0; from <= len(all); from += 5 {
		questions = append(questions, question{fmt.Sprintf(`{"query": {"match": "sea"}, "from": %d, "size": 5, "sort": ["_id"]}`, from), len(all), cut(order(all), from, 5)})
	}
	var ids []document
	for _, d := range all {
		if d.id == "06" {
			ids = append(ids, d)
		}
	}
	questions = append(questions, question{`{"query": {"ids": ["06"]}, "sort": ["_id"]}`, len(ids), ids})
	behind := slices.DeleteFunc(order(whales), func(d document) bool { return d.id <= "06" })
	questions = append(questions, question{`{"query": {"match": "whale"}, "sort": ["_id"], "search_after": ["06"], "size": 4}`, len(whales), cut(behind, 0, 4)})
	if len(whales) < 10 || len(ids) < 3 || len(behind) < 4 {
		t.Fatalf("%d whales, %d documents 06, %d behind it", len(whales), len(ids), len(behind))
	}

	var requests strings.Builder
	for _, q := range questions {
		requests.WriteString(q.request + "\n")
	}
	requests.WriteString(`{"query": {"match": "a", "boost": -1}}` + "\n")
	write("requests", requests.String())
	write("mapping.json", "{}")
	args := []string{"bleve", "--mapping", filepath.Join(dir, "mapping.json"), "--requests", filepath.Join(dir, "requests"), "--data"}
	lines := strings.Split(strings.TrimSpace(must(t, append(args, filepath.Join(dir, "data"))...)), "\n")
	if len(lines) != len(questions)+1 {
		t.Fatalf("%d answers to %d requests", len(lines), len(questions)+1)
	}
	for i, q := range questions {
		var answer struct {
			Status struct{ Total, Failed, Successful int }
			Total  int `json:"total_hits"`
			Hits   []struct{ Index, ID string }
		}
		if err := json.Unmarshal([]byte(lines[i]), &answer); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		var got []document
		for _, h := range answer.Hits {
			got = append(got, document{h.Index, h.ID})
		}
		if answer.Total != q.total || answer.Status.Total != 4 || answer.Status.Successful != 4 || !slices.Equal(got, q.want) {
			t.Errorf("%s:\n%+v, want %d of\n%v", q.request, answer, q.total, q.want)
		}
	}
	if last := lines[len(questions)]; !strings.HasPrefix(last, `{"error":"bleve: query.boost: `) {
		t.Errorf("a request that is refused: %s", last)
	}

	// One folder alone is an index whose name is that of the folder.
	one := must(t, append(args, filepath.Join(dir, "data", "b"))...)
	if !strings.Contains(one, `"index":"b"`) || strings.Contains(one, `"index":"a"`) {
		t.Errorf("one folder: %.300s", one)
	}
	write("deep/a/b/x.json", "{}")
	write("wrong/a/x.json", "{")
	for data, want := range map[string]string{"deep": filepath.Join("deep", "a", "b") + ": it is a folder", "wrong": `document "x"`, "none": "no such file"} {
		code, _, stderr := commandLine("", append(args, filepath.Join(dir, data))...)
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s, want %s", data, code, stderr, want)
		}
	}
}
