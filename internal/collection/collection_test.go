package collection_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/collection"
	"github.com/riffle-search/riffle/postings"
)

// fromText makes a collection of 300 documents: "a" in all, "b c" in every third, three times, "d"
// in one.
func fromText(t *testing.T) *collection.Collection {
	t.Helper()
	var docs strings.Builder
	for i := range 300 {
		docs.WriteString(`{"id": "` + strings.Repeat("x", i+1) + `", "title": "no d", "text": "a`)
		if i%3 == 0 {
			docs.WriteString(` b c b c b c`)
		}
		if i == 100 {
			docs.WriteString(" d")
		}
		docs.WriteString("\"}\n")
	}
	dir := t.TempDir()
	file, topics := filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "topics.tsv")
	for path, text := range map[string]string{file: docs.String(), topics: "1\tB and a, b\n2\tnone\n3\td c\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, err := collection.FromText("test", []string{file}, topics, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestText(t *testing.T) {
	c := fromText(t)
	if want := [][]int{{0, 1}, {2, 3}}; !reflect.DeepEqual(c.Queries, want) {
		t.Errorf("queries are %v, want %v: b a, d c", c.Queries, want)
	}
	var counts []int
	for _, l := range c.Lists {
		counts = append(counts, l.List.Count)
	}
	if !slices.Equal(counts, []int{100, 300, 1, 100}) || c.Docs != 300 || c.Average != (300+600+1)/300. {
		t.Errorf("%d documents of %v words, lists of %v", c.Docs, c.Average, counts)
	}
	top, err := cpuexec.Executor{}.TopK(context.Background(), c.Plan(1, blockmax.And, 10))
	if err != nil || len(top.Hits) != 0 {
		t.Errorf("d and c: %v, %v; d is in document 100, which has no c", top.Hits, err)
	}
	s, err := c.Measure()
	if err != nil {
		t.Fatal(err)
	}
	if s.Total != 501 || s.Words != 2 || s.Postings != (400+101)/600. {
		t.Errorf("statistics are %+v", s)
	}
	k := s.Classes[0]
	if k.Log2 != -2 || k.Lists != 2 || k.TF != 3 || k.Once != 0 || k.Gap < 1.5 || k.Gap > 1.59 {
		t.Errorf("b and c, three times in every third document: %+v", k)
	}
	if lifts := c.Lifts(); len(lifts) != 1 || lifts[0] != 1 {
		t.Errorf("lifts are %v, want 1: a is everywhere", lifts)
	}
}

// TestFile writes and reads, and recodes.
func TestFile(t *testing.T) {
	c := fromText(t)
	path := filepath.Join(t.TempDir(), "lists")
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := collection.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	rice, err := again.Recode(postings.Rice)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*collection.Collection{again, rice} {
		for q := range c.Queries {
			want, err := cpuexec.Executor{}.TopK(context.Background(), c.Plan(q, blockmax.Or, 100))
			if err != nil {
				t.Fatal(err)
			}
			got, err := cpuexec.Executor{}.TopK(context.Background(), o.Plan(q, blockmax.Or, 100))
			if err != nil || !slices.Equal(got.Hits, want.Hits) {
				t.Errorf("%s, query %d: %v, %v, want %v", o.Name, q, got.Hits, err, want.Hits)
			}
		}
	}
	if err := os.WriteFile(path, []byte("no collection"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := collection.Read(path); err == nil {
		t.Error("a file of something else was read")
	}
}
