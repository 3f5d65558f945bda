package bleve

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestRecordedAnswers replays what bleve 2.5.7 answered to 1,992 requests. Compiling bleve takes minutes, so its
// answers are recorded by a test of the module bench: go test ./compat -run Record -record
func TestRecordedAnswers(t *testing.T) {
	f, err := os.Open("testdata/answers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var recordings []struct {
		Mapping  json.RawMessage
		Docs     []Document
		Requests []struct {
			Request json.RawMessage
			Answer  map[string]any
		}
	}
	if err := json.NewDecoder(z).Decode(&recordings); err != nil {
		t.Fatal(err)
	}
	answers, documents := 0, 0
	for _, r := range recordings {
		x, err := Open(t.TempDir(), mapping(t, string(r.Mapping)), &Options{Name: "x", Engine: &riffle.Options{Durability: riffle.SyncNone}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if err := x.Put(t.Context(), r.Docs...); err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Requests {
			res, err := x.Search(t.Context(), a.Request)
			if answers++; err != nil {
				if a.Answer != nil {
					t.Errorf("%s\n%s: %v", r.Mapping, a.Request, err)
				}
				continue
			}
			documents += res.Total
			if got := answerOf(t, res); !reflect.DeepEqual(got, a.Answer) {
				g, _ := json.Marshal(got)
				w, _ := json.Marshal(a.Answer)
				t.Errorf("%s\n%s:\n%s\nbleve has\n%s", r.Mapping, a.Request, g, w)
			}
		}
	}
	if answers != 1992 || documents < 5_000 {
		t.Errorf("%d answers with %d documents", answers, documents)
	}
}

// answerOf returns a result as JSON has it, less what may differ.
func answerOf(t *testing.T, res *Result) (r map[string]any) {
	text, err := json.Marshal(res)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"took", "cost", "max_score"} {
		delete(r, name)
	}
	for _, h := range r["hits"].([]any) {
		hit := h.(map[string]any)
		delete(hit, "score")
		fields, _ := hit["fields"].(map[string]any)
		for _, list := range fields { // bleve has values by segment and kind
			if list, ok := list.([]any); ok {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprintf("%v %T", a, a), fmt.Sprintf("%v %T", b, b)) })
			}
		}
	}
	return r
}
