package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/search/query"
	index "github.com/blevesearch/bleve_index_api"
)

// bleve's HTTP package left its module after v2.3: what serveBleve does is what its SearchHandler did, without the log
// that is discarded there by default.

// buildBleve indexes the corpus.
func buildBleve(dir string) error {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	text := bleve.NewTextFieldMapping()
	text.Analyzer = "en"
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, true, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", text)
	m.DefaultMapping = doc
	idx, err := bleve.New(dir, m)
	if err != nil {
		return err
	}
	batch := idx.NewBatch()
	err = eachPassage(func(id, text string) error {
		if err := batch.Index(id, map[string]any{"text": text}); err != nil || batch.Size() < 1000 {
			return err
		}
		defer batch.Reset()
		return idx.Batch(batch)
	})
	if err == nil {
		err = idx.Batch(batch)
	}
	if err == nil {
		err = oneSegment(idx)
	}
	return errors.Join(err, idx.Close())
}

// oneSegment merges everything and waits until the files of the parts are gone.
func oneSegment(idx bleve.Index) error {
	advanced, err := idx.Advanced()
	if err != nil {
		return err
	}
	s, ok := advanced.(*scorch.Scorch)
	if !ok {
		return fmt.Errorf("the index is a %T, not scorch", advanced)
	}
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		stats := s.StatsMap()
		switch {
		case stats["num_root_memorysegments"].(uint64) > 0: // the persister is at it
		case stats["num_root_filesegments"].(uint64) > 1:
			if err := s.ForceMerge(context.Background(), &mergeplan.SingleSegmentMergePlanOptions); err != nil {
				return err
			}
		case stats["num_files_on_disk"].(uint64) <= 2: // the segment, and the bolt file that names it
			return nil
		}
	}
	return errors.New("not one segment after five minutes")
}

func bleveRequest(text string) (head, body string) {
	q := bleve.NewMatchQuery(text)
	q.SetField("text")
	data, err := json.Marshal(bleve.NewSearchRequestOptions(q, *k, 0, false))
	if err != nil {
		panic(err) // a match of text has a JSON form
	}
	return "POST /api/bench/_search", string(data)
}

// serveBleve answers searches.
func serveBleve() error {
	idx, err := bleve.OpenUsing(indexDir("bleve"), map[string]any{"read_only": true})
	if err != nil {
		return err
	}
	defer idx.Close()
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var req bleve.SearchRequest
		if err := json.Unmarshal(body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if v, ok := req.Query.(query.ValidatableQuery); ok {
			if err := v.Validate(); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		res, err := idx.SearchInContext(context.Background(), &req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(res); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
}
