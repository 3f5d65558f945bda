// Command bleve runs bleve under the comparison's protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/riffle-search/riffle/bench/protocol"
)

func main() { protocol.Serve(&engine{}) }

type engine struct {
	index   bleve.Index
	columns []protocol.Column // nil unless documents are rows
}

// batchDocs is how many documents go into one batch.
const batchDocs = 1000

// schema indexes one field, with frequencies and lengths, and positions if they are asked for.
func schema(positions bool) (*mapping.IndexMappingImpl, error) {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	err := m.AddCustomAnalyzer("spaces", map[string]any{"type": custom.Name, "tokenizer": whitespace.Name})
	text := bleve.NewTextFieldMapping()
	text.Analyzer = "spaces"
	text.Store, text.IncludeTermVectors, text.IncludeInAll, text.DocValues = false, positions, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", text)
	tag := bleve.NewKeywordFieldMapping()
	tag.Store, tag.IncludeTermVectors, tag.IncludeInAll, tag.DocValues = false, false, false, false
	doc.AddFieldMappingsAt("tag", tag)
	m.DefaultMapping = doc
	return m, err
}

func (e *engine) Build(docs, dir string, options map[string]string) (int, error) {
	m, err := schema(options["positions"] != "")
	if err != nil {
		return 0, err
	}
	if spec := options["columns"]; spec != "" {
		if e.columns, err = protocol.ParseColumns(spec); err != nil {
			return 0, err
		}
		mapColumns(m.DefaultMapping, e.columns)
	}
	idx, err := bleve.New(dir, m)
	if err != nil {
		return 0, err
	}
	batch := idx.NewBatch()
	n, err := protocol.ReadLines(docs, func(n int, line []byte) error {
		doc := document(n, string(line), options["tags"] != "")
		if e.columns != nil {
			if doc, err = protocol.Row(e.columns, string(line)); err != nil {
				return err
			}
		}
		if err := batch.Index(strconv.Itoa(n), doc); err != nil || batch.Size() < batchDocs {
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
	return n, errors.Join(err, idx.Close())
}

func document(id int, text string, tags bool) map[string]any {
	doc := map[string]any{"text": text}
	if tags {
		doc["tag"] = protocol.Tags(id)
	}
	return doc
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
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		stats := s.StatsMap()
		memory, files := stats["num_root_memorysegments"].(uint64), stats["num_root_filesegments"].(uint64)
		switch {
		case memory > 0: // the persister is at it
		case files > 1:
			if err := s.ForceMerge(context.Background(), &mergeplan.SingleSegmentMergePlanOptions); err != nil {
				return err
			}
		case stats["num_files_on_disk"].(uint64) <= 2: // the segment, and the bolt file that names it
			return nil
		}
	}
	return errors.New("not one segment after five minutes")
}

func (e *engine) Open(dir string, options map[string]string) (protocol.Reply, error) {
	if e.index != nil { // opened anew
		if err := e.index.Close(); err != nil {
			return protocol.Reply{}, err
		}
	}
	var err error
	if spec := options["columns"]; spec != "" {
		if e.columns, err = protocol.ParseColumns(spec); err != nil {
			return protocol.Reply{}, err
		}
	}
	// Read-only: nothing goes on in the background.
	if e.index, err = bleve.OpenUsing(dir, map[string]any{"read_only": true}); err != nil {
		return protocol.Reply{}, err
	}
	docs, err := e.index.DocCount()
	if err != nil {
		return protocol.Reply{}, err
	}
	reply := protocol.Reply{Version: "bleve 2.5.7", Docs: int(docs)}
	dict, err := e.index.FieldDict("text")
	if err != nil {
		return reply, err
	}
	defer dict.Close()
	for entry, err := dict.Next(); entry != nil || err != nil; entry, err = dict.Next() {
		if err != nil {
			return reply, err
		}
		reply.Terms++
	}
	advanced, err := e.index.Advanced()
	if err != nil {
		return reply, err
	}
	reply.Segments = int(advanced.(*scorch.Scorch).StatsMap()["num_root_filesegments"].(uint64))
	return reply, nil
}

func (e *engine) DF(term string) (int, error) { return e.Count(term, false) }

func terms(q string) (all []query.Query) {
	for w := range strings.SplitSeq(q, " ") {
		all = append(all, inField(bleve.NewTermQuery(w), "text"))
	}
	return all
}

func words(q string, and bool) query.Query {
	all := terms(q)
	switch {
	case len(all) == 1:
		return all[0]
	case and:
		return bleve.NewConjunctionQuery(all...)
	}
	return bleve.NewDisjunctionQuery(all...)
}

// Search boosts, nests and filters as riffle does; bleve adds a coordination factor.
func (e *engine) Search(q protocol.Query, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	if e.columns != nil {
		return e.rowSearch(q, k, dst)
	}
	query, err := tree(q)
	if err == nil {
		dst, _, err = e.search(query, k, dst)
	}
	return dst, err
}

func (e *engine) Matches(q protocol.Query) (int, error) {
	if e.columns != nil {
		return e.rowMatches(q)
	}
	query, err := tree(q)
	if err != nil {
		return 0, err
	}
	return e.matches(query)
}

// tree returns the query of a mode that is not flat, with its filter.
func tree(q protocol.Query) (query.Query, error) {
	tree, err := unfiltered(q)
	if err == nil && q.Filter != "" {
		filtered := bleve.NewBooleanQuery()
		filtered.AddMust(tree)
		filtered.AddFilter(inField(bleve.NewTermQuery(q.Filter), "tag"))
		tree = filtered
	}
	return tree, err
}

func unfiltered(q protocol.Query) (query.Query, error) {
	switch q.Mode {
	case "or", "and":
		return words(q.Text, q.Mode == "and"), nil
	case "nested":
		first, second := q.Halves()
		if second == "" {
			return words(q.Text, false), nil
		}
		others := bleve.NewDisjunctionQuery(terms(second)...)
		others.SetBoost(2)
		return bleve.NewDisjunctionQuery(words(first, true), others), nil
	case "phrase":
		return bleve.NewPhraseQuery(strings.Split(q.Text, " "), "text"), nil
	case "prefix":
		return inField(bleve.NewPrefixQuery(q.Text), "text"), nil
	case "infix":
		return inField(bleve.NewWildcardQuery("*"+q.Text+"*"), "text"), nil
	case "regexp":
		return inField(bleve.NewRegexpQuery(q.Text), "text"), nil
	case "fuzzy1", "fuzzy2":
		fuzzy := bleve.NewFuzzyQuery(q.Text)
		fuzzy.SetFuzziness(int(q.Mode[len("fuzzy")] - '0'))
		return inField(fuzzy, "text"), nil
	}
	return nil, fmt.Errorf("bleve has no query for the mode %q", q.Mode)
}

func inField(q query.FieldableQuery, field string) query.Query {
	q.SetField(field)
	return q
}

// Top need not be told to count: bleve always visits every match.
func (e *engine) Top(q string, and bool, k int, _ bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	return e.search(words(q, and), k, dst)
}

func (e *engine) search(q query.Query, k int, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	res, err := e.index.Search(bleve.NewSearchRequestOptions(q, k, 0, false))
	if err != nil {
		return dst, 0, err
	}
	for _, h := range res.Hits {
		id, err := strconv.Atoi(h.ID)
		if err != nil {
			return dst, 0, err
		}
		dst = append(dst, protocol.Hit{ID: id, Score: h.Score})
	}
	return dst, int(res.Total), nil
}

// Count asks for no scores, which lets bleve combine whole bitmaps.
func (e *engine) Count(q string, and bool) (int, error) { return e.matches(words(q, and)) }

func (e *engine) matches(q query.Query) (int, error) {
	req := bleve.NewSearchRequestOptions(q, 0, 0, false)
	req.Score = "none"
	res, err := e.index.Search(req)
	if err != nil {
		return 0, err
	}
	return int(res.Total), nil
}
