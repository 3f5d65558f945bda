package compat

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/riffle-search/riffle/compat/bleve"
)

var record = flag.Bool("record", false, "write the answers that the tests of compat/bleve replay, since compiling bleve takes minutes")

// A recording is an index with what bleve answers to requests.
type recording struct {
	Mapping  json.RawMessage  `json:"mapping"`
	Docs     []bleve.Document `json:"docs"`
	Requests []recorded       `json:"requests"`
}

// A recorded request is answered by a result, less took, cost and scores; by nothing if it is an error.
type recorded struct {
	Request json.RawMessage `json:"request"`
	Answer  map[string]any  `json:"answer"`
}

// TestRecord writes answers to the odd requests, and to some at random.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	var all []recording
	ofPlaces := len(mappings)
	for _, number := range []int{0, 3, 4, 5, ofPlaces} {
		mapping, newDocument := placeMappings[0], placeDocument
		if number < ofPlaces {
			mapping, newDocument = mappings[number], document
		}
		r := recording{Mapping: json.RawMessage(mapping)}
		rng := rand.New(rand.NewPCG(15, uint64(number)))
		im := upstream.NewIndexMapping()
		if err := json.Unmarshal(r.Mapping, im); err != nil {
			t.Fatal(err)
		}
		theirs, err := upstream.NewUsing("", im, scorch.Name, scorch.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		theirs.SetName("x")
		batch := theirs.NewBatch()
		for i := range 30 {
			id, doc := "d"+string(rune('A'+i)), newDocument(rng)
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if err := batch.Index(id, doc); err != nil {
				t.Fatal(err)
			}
			r.Docs = append(r.Docs, bleve.Document{ID: id, JSON: text})
		}
		if err := theirs.Batch(batch); err != nil {
			t.Fatal(err)
		}
		var requests []string
		if number == ofPlaces {
			for range 200 {
				text, err := json.Marshal(placeRequest(rng, []string{"1000km"}))
				if err != nil {
					t.Fatal(err)
				}
				requests = append(requests, string(text))
			}
		} else {
			for line := range strings.Lines(oddRequests) {
				requests = append(requests, line)
			}
			for range 150 {
				requests = append(requests, strings.Replace(string(request(rng)), `"size":100`, `"size":5`, 1))
			}
			for range 60 {
				requests = append(requests, string(facetsRequest(rng)))
			}
		}
		for _, text := range requests {
			a := recorded{Request: json.RawMessage(text)}
			var req upstream.SearchRequest
			err := json.Unmarshal(a.Request, &req)
			if err == nil {
				err = req.Validate()
			}
			if err == nil {
				var res *upstream.SearchResult
				if res, err = theirs.Search(&req); err == nil {
					a.Answer = plain(t, res)
				}
			}
			r.Requests = append(r.Requests, a)
		}
		all = append(all, r)
	}
	f, err := os.Create("../../compat/bleve/testdata/answers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if err := json.NewEncoder(z).Encode(all); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
