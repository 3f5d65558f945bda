// Command bluge runs bluge under the comparison's protocol.
package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/analysis"
	"github.com/blugelabs/bluge/analysis/tokenizer"

	"github.com/riffle-search/riffle/bench/protocol"
)

func main() { protocol.Serve(&engine{}) }

type engine struct{ reader *bluge.Reader }

// batchDocs is how many documents bluge's offline writer puts into one segment
// before it merges them all into one.
const batchDocs = 4000

func (e *engine) Build(docs, dir string, _ map[string]string) (int, error) {
	w, err := bluge.OpenOfflineWriter(bluge.DefaultConfig(dir), batchDocs, 10)
	if err != nil {
		return 0, err
	}
	spaces := &analysis.Analyzer{Tokenizer: tokenizer.NewWhitespaceTokenizer()}
	n, err := protocol.ReadLines(docs, func(n int, line []byte) error {
		text := bluge.NewTextField("text", string(line)).WithAnalyzer(spaces)
		return w.Insert(bluge.NewDocument(strconv.Itoa(n)).AddField(text))
	})
	return n, errors.Join(err, w.Close())
}

func (e *engine) Open(dir string, _ map[string]string) (protocol.Reply, error) {
	var err error
	if e.reader, err = bluge.OpenReader(bluge.DefaultConfig(dir)); err != nil {
		return protocol.Reply{}, err
	}
	docs, err := e.reader.Count()
	if err != nil {
		return protocol.Reply{}, err
	}
	reply := protocol.Reply{Version: "bluge 0.2.2", Docs: int(docs), Segments: 1}
	dict, err := e.reader.DictionaryIterator("text", nil, nil, nil)
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
	return reply, nil
}

func (e *engine) DF(term string) (int, error) { return e.Count(term, false) }

func words(q string, and bool) bluge.Query {
	var terms []bluge.Query
	for w := range strings.SplitSeq(q, " ") {
		terms = append(terms, bluge.NewTermQuery(w).SetField("text"))
	}
	switch {
	case len(terms) == 1:
		return terms[0]
	case and:
		return bluge.NewBooleanQuery().AddMust(terms...)
	}
	return bluge.NewBooleanQuery().AddShould(terms...)
}

func (e *engine) Top(q string, and bool, k int, count bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	req := bluge.NewTopNSearch(k, words(q, and))
	if count {
		req.WithStandardAggregations()
	}
	hits, err := e.reader.Search(context.Background(), req)
	if err != nil {
		return dst, 0, err
	}
	for h, err := hits.Next(); h != nil || err != nil; h, err = hits.Next() {
		if err != nil {
			return dst, 0, err
		}
		// bluge keeps a document's id among its stored fields, where it is alone here.
		id, bad := 0, error(nil)
		err := h.VisitStoredFields(func(field string, value []byte) bool {
			if field == "_id" {
				id, bad = strconv.Atoi(string(value))
			}
			return field != "_id"
		})
		if err := errors.Join(err, bad); err != nil {
			return dst, 0, err
		}
		dst = append(dst, protocol.Hit{ID: id, Score: h.Score})
	}
	n := 0
	if count {
		n = int(hits.Aggregations().Count())
	}
	return dst, n, nil
}

// Count asks for no scores, which lets bluge combine whole bitmaps.
func (e *engine) Count(q string, and bool) (int, error) {
	req := bluge.NewTopNSearch(1, words(q, and)).SetScore("none").WithStandardAggregations()
	hits, err := e.reader.Search(context.Background(), req)
	if err != nil {
		return 0, err
	}
	return int(hits.Aggregations().Count()), nil
}
