// Command riffle runs riffle under the comparison's protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/bench/protocol"
)

func main() { protocol.Serve(&engine{}) }

type engine struct {
	e    *riffle.Engine
	opts riffle.SearchOptions
}

type document struct {
	Text string `riffle:"text"`
}

func (e *engine) options() *riffle.Options {
	return &riffle.Options{
		Schema: &riffle.Schema{
			Fields:  map[string]riffle.Field{"text": {Type: riffle.FieldText, Analyzer: "whitespace", NoStore: true}},
			NoStore: true,
		},
	}
}

func (e *engine) Build(docs, dir string, options map[string]string) (int, error) {
	opts := e.options()
	switch order := options["order"]; order {
	case "":
	case "bp":
		opts.Merge.Order = riffle.OrderByGraph
	default:
		return 0, fmt.Errorf("order %q: not known", order)
	}
	n := 0
	lines := riffle.Documents(func(yield func(riffle.Document, error) bool) {
		var err error
		n, err = protocol.ReadLines(docs, func(n int, line []byte) error {
			if !yield(riffle.Document{ID: strconv.Itoa(n), Value: &document{string(line)}}, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped {
			yield(riffle.Document{}, err)
		}
	})
	_, err := riffle.Build(context.Background(), dir, lines, &riffle.BuildOptions{Index: *opts, OneSegment: true})
	return n, err
}

// errStopped: the build has ended before the lines.
var errStopped = errors.New("stopped")

func (e *engine) Open(dir string, options map[string]string) (protocol.Reply, error) {
	index, err := riffle.Open(dir, e.options())
	if err != nil {
		return protocol.Reply{}, err
	}
	if name := options["algorithm"]; name != "" {
		algorithm, err := riffle.ParseAlgorithm(name)
		if err != nil {
			return protocol.Reply{}, err
		}
		e.opts.Exec = &riffle.Exec{Algorithm: algorithm}
	}
	e.opts.Processor = riffle.ProcessorCPU
	e.e = index
	stats, err := index.Stats()
	if err != nil {
		return protocol.Reply{}, err
	}
	reply := protocol.Reply{Version: "riffle", Docs: int(stats.Docs), Segments: len(stats.Segments)}
	for _, f := range stats.Fields {
		if f.Name == "text" {
			reply.Terms = int(f.Terms)
		}
	}
	return reply, nil
}

func (e *engine) DF(term string) (int, error) {
	return e.e.Count(context.Background(), riffle.Term{Field: "text", Value: term})
}

func match(query string, and bool) riffle.Match {
	q := riffle.Match{Field: "text", Text: query}
	if and {
		q.Mode = riffle.ModeAnd
	}
	return q
}

func (e *engine) Top(query string, and bool, k int, count bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	opts := e.opts
	opts.K, opts.ExactTotal = k, count
	res, err := e.e.Search(context.Background(), match(query, and), &opts)
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
	return dst, res.Total, nil
}

func (e *engine) Count(query string, and bool) (int, error) {
	return e.e.Count(context.Background(), match(query, and))
}
