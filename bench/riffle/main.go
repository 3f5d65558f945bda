// Command riffle runs riffle under the comparison's protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/bench/protocol"
)

func main() { protocol.Serve(&engine{}) }

type engine struct {
	e    *riffle.Engine
	opts riffle.SearchOptions

	columns []protocol.Column // nil unless documents are rows
}

type document struct {
	Title string   `riffle:"title"`
	Lead  string   `riffle:"lead"`
	Text  string   `riffle:"text"`
	Tags  []string `riffle:"tag"`
}

func (e *engine) options() *riffle.Options {
	text := riffle.Field{Type: riffle.FieldText, Analyzer: "whitespace", NoStore: true}
	return &riffle.Options{
		Schema: &riffle.Schema{
			Fields: map[string]riffle.Field{
				"title": text,
				"lead":  text,
				"text":  text,
				"tag":   {Type: riffle.FieldKeyword, NoStore: true},
			},
			NoStore: true,
		},
	}
}

func (e *engine) Build(docs, dir string, options map[string]string) (int, error) {
	opts := e.options()
	columns, err := columnFields(opts.Schema, options["columns"])
	if err != nil {
		return 0, err
	}
	opts.Schema.Positions = riffle.PositionsNone
	if options["positions"] != "" {
		opts.Schema.Positions = riffle.PositionsStored
	}
	if options["pairs"] != "" {
		text := opts.Schema.Fields["text"]
		text.PhrasePairs = []string{"_english_"}
		opts.Schema.Fields["text"] = text
	}
	switch order := options["order"]; order {
	case "":
	case "bp":
		opts.Merge.Order = riffle.OrderByGraph
	default:
		return 0, fmt.Errorf("order %q: not known", order)
	}
	batch, err := protocol.BatchDocs(options)
	if err != nil {
		return 0, err
	}
	n := 0
	lines := documents(docs, options, columns, &n)
	if batch > 0 {
		add := applyBatches
		if options["submit"] != "" {
			add = submitBatches
		}
		return n, addBatches(dir, lines, batch, opts, add)
	}
	if _, err := riffle.Build(context.Background(), dir, lines, &riffle.BuildOptions{Index: *opts, OneSegment: true}); err != nil {
		return n, err
	}
	if options["delete"] != "" {
		return n, deleteSome(dir, n, opts)
	}
	return n, nil
}

// documents yields the lines of a file and counts them.
func documents(path string, options map[string]string, columns []protocol.Column, n *int) riffle.Documents {
	return func(yield func(riffle.Document, error) bool) {
		_, err := protocol.ReadLines(path, func(i int, line []byte) error {
			doc := &document{Text: string(line)}
			if options["tags"] != "" {
				doc.Tags = protocol.Tags(i)
			}
			if options["fields"] != "" {
				fields := protocol.Fields(doc.Text)
				doc.Title, doc.Lead, doc.Text = fields[0], fields[1], fields[2]
			}
			var value any = doc
			if columns != nil {
				var err error
				if value, err = protocol.Row(columns, doc.Text); err != nil {
					return err
				}
			}
			if !yield(riffle.Document{ID: strconv.Itoa(i), Value: value}, nil) {
				return errStopped
			}
			*n = i + 1
			return nil
		})
		if err != nil && err != errStopped {
			yield(riffle.Document{}, err)
		}
	}
}

// errStopped: the build has ended before the lines.
var errStopped = errors.New("stopped")

// addBatches adds documents as a program does that has them a batch at a time, and leaves the
// segments as they are when merges have come to rest.
func addBatches(dir string, lines riffle.Documents, size int, opts *riffle.Options, add addFunc) (err error) {
	index, err := riffle.Open(dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	err = add(index, func(yield func(*riffle.Batch, error) bool) {
		var batch riffle.Batch
		for doc, err := range lines {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch.Put(doc.ID, doc.Value); batch.Len() < size {
				continue
			}
			if !yield(&batch, nil) {
				return
			}
			batch.Reset()
		}
		yield(&batch, nil)
	})
	if err == nil {
		err = awaitRest(index)
	}
	return err
}

// An addFunc adds batches, each of which is used again after yield has returned.
type addFunc func(index *riffle.Engine, batches iter.Seq2[*riffle.Batch, error]) error

// applyBatches adds one batch after the other.
func applyBatches(index *riffle.Engine, batches iter.Seq2[*riffle.Batch, error]) error {
	for batch, err := range batches {
		if err == nil {
			err = index.Apply(context.Background(), batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// submitBatches prepares a batch while the one before becomes durable and visible.
func submitBatches(index *riffle.Engine, batches iter.Seq2[*riffle.Batch, error]) error {
	var last *riffle.Pending
	for batch, err := range batches {
		var p *riffle.Pending
		if err == nil {
			p, err = index.Submit(context.Background(), batch)
		}
		if last != nil {
			err = errors.Join(err, last.Wait(context.Background()))
		}
		if err != nil {
			return err
		}
		last = p
	}
	if last == nil {
		return nil
	}
	return last.Wait(context.Background())
}

// awaitRest waits until merges have come to rest: until this process has taken no processor time for
// a fifth of a second, in four intervals, or the number of segments has not changed for two seconds.
// (The latter is for systems without a clock of processor time, where it is the wall's.)
func awaitRest(index *riffle.Engine) error {
	const interval, busy = 50 * time.Millisecond, time.Millisecond
	segments, since := 0, time.Now()
	for rests := 0; rests < 4 && time.Since(since) < 2*time.Second; rests++ {
		before := protocol.CPUTime()
		time.Sleep(interval)
		if protocol.CPUTime()-before > busy {
			rests = -1
		}
		stats, err := index.Stats()
		if err != nil {
			return err
		}
		if n := len(stats.Segments); n != segments {
			segments, since = n, time.Now()
		}
	}
	return nil
}

// deleteSome deletes the documents that protocol.Deleted names.
func deleteSome(dir string, docs int, opts *riffle.Options) (err error) {
	index, err := riffle.Open(dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	var batch riffle.Batch
	for id := range docs {
		if protocol.Deleted(id) {
			batch.Delete(strconv.Itoa(id))
		}
	}
	return errors.Join(index.Apply(context.Background(), &batch), index.Flush(context.Background()))
}

func (e *engine) Open(dir string, options map[string]string) (protocol.Reply, error) {
	o := e.options()
	var err error
	if e.columns, err = columnFields(o.Schema, options["columns"]); err != nil {
		return protocol.Reply{}, err
	}
	if size := options["cache"]; size != "" {
		mib, err := strconv.ParseInt(size, 10, 32)
		if err != nil {
			return protocol.Reply{}, fmt.Errorf("cache %q: not a number of MiB", size)
		}
		o.CacheBytes = mib << 20
	}
	if e.e != nil { // opened anew
		if err := e.e.Close(); err != nil {
			return protocol.Reply{}, err
		}
	}
	o.ReadOnly = options["puts"] == "" // engines that share an index have it open at the same time
	index, err := riffle.Open(dir, o)
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
	if e.columns != nil {
		sizes, err := index.Sizes(context.Background())
		if err != nil {
			return protocol.Reply{}, err
		}
		reply.ColumnBytes = int64(sizes.Columns)
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

// fields matches a query in all fields, with their boosts.
func fields(query string, combine riffle.Combine) riffle.Match {
	q := riffle.Match{Text: query, Combine: combine, Boosts: map[string]float64{}}
	for i, name := range protocol.FieldNames {
		q.Fields = append(q.Fields, name)
		q.Boosts[name] = protocol.Boosts[i]
	}
	return q
}

func (e *engine) Top(query string, and bool, k int, count bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	return e.search(match(query, and), k, count, dst)
}

func (e *engine) Search(q protocol.Query, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	if e.columns != nil {
		return e.rowSearch(q, k, dst[:0])
	}
	dst, _, err := e.search(tree(q), k, false, dst)
	return dst, err
}

func (e *engine) Matches(q protocol.Query) (int, error) {
	if e.columns != nil {
		return e.rowMatches(q)
	}
	return e.e.Count(context.Background(), tree(q))
}

// tree returns the query of a mode that is not flat, with its filter.
func tree(q protocol.Query) riffle.Query {
	query := unfiltered(q)
	if q.Filter == "" {
		return query
	}
	return riffle.Bool{Must: []riffle.Query{query}, Filter: []riffle.Query{riffle.Term{Field: "tag", Value: q.Filter}}}
}

func unfiltered(q protocol.Query) riffle.Query {
	switch q.Mode {
	case "nested":
		if first, second := q.Halves(); second != "" {
			return riffle.Bool{Should: []riffle.Query{match(first, true), riffle.Boost{Query: match(second, false), By: 2}}}
		}
	case "phrase":
		return riffle.Phrase{Field: "text", Text: q.Text}
	case "slop":
		return riffle.Phrase{Field: "text", Text: q.Text, Slop: protocol.Slop}
	case "near":
		return near(q.Text)
	case "prefix":
		return riffle.Prefix{Field: "text", Prefix: q.Text}
	case "infix":
		return riffle.Wildcard{Field: "text", Pattern: "*" + q.Text + "*"}
	case "regexp":
		return riffle.Regexp{Field: "text", Expr: q.Text}
	case "fuzzy1":
		return riffle.Fuzzy{Field: "text", Term: q.Text, Edits: 1}
	case "fuzzy2":
		return riffle.Fuzzy{Field: "text", Term: q.Text, Edits: 2}
	case "best":
		return fields(q.Text, riffle.CombineBest)
	case "cross":
		return fields(q.Text, riffle.CombineCross)
	case "bm25f":
		return fields(q.Text, riffle.CombineBM25F)
	}
	return match(q.Text, q.Mode == "and")
}

// near counts words between the first and the last as Near does. That is the same as counting all words
// that are not of the query, as protocol.NearGaps does, where no word repeats.
func near(text string) riffle.Query {
	words := strings.Split(text, " ")
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			return riffle.Intervals{Field: "text", Rule: riffle.IntervalText{Text: text, MaxGaps: protocol.NearGaps}}
		}
	}
	return riffle.Near{Field: "text", Phrases: words, Distance: protocol.NearGaps + len(words) - 2}
}

func (e *engine) Put(id int, text string) error {
	return e.e.Put(context.Background(), strconv.Itoa(id), &document{Text: text})
}

func (e *engine) search(q riffle.Query, k int, count bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	opts := e.opts
	opts.K, opts.ExactTotal = k, count
	res, err := e.e.Search(context.Background(), q, &opts)
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
