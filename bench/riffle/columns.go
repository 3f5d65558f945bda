package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/bench/protocol"
)

// columnFields add the fields of rows to a schema; see protocol.Column. As in
// Tantivy and in Lucene with doc values, numbers and times have columns and no terms.
func columnFields(schema *riffle.Schema, spec string) ([]protocol.Column, error) {
	if spec == "" {
		return nil, nil
	}
	columns, err := protocol.ParseColumns(spec)
	for _, c := range columns {
		switch c.Kind {
		case "time":
			schema.Fields[c.Name] = riffle.Field{Type: riffle.FieldDate, NoStore: true, NoIndex: true, Column: riffle.ColumnStored}
		case "int":
			schema.Fields[c.Name] = riffle.Field{Type: riffle.FieldNumber, NoStore: true, NoIndex: true, Column: riffle.ColumnStored}
		case "keyword", "keywords":
			schema.Fields[c.Name] = riffle.Field{Type: riffle.FieldKeyword, NoStore: true}
		case "place":
			schema.Fields[c.Name] = riffle.Field{Type: riffle.FieldPlace, NoStore: true}
		}
	}
	return columns, err
}

// bound is a number of a query as the value of a column.
func (e *engine) bound(column string, value int64) any {
	if e.isTime(column) {
		return time.Unix(0, value).UTC()
	}
	return value
}

func (e *engine) isTime(column string) bool {
	return slices.Contains(e.columns, protocol.Column{Name: column, Kind: "time"})
}

func (e *engine) between(q protocol.ColumnQuery) riffle.Range {
	return riffle.Range{Field: q.Column, From: e.bound(q.Column, q.Low), To: e.bound(q.Column, q.High), IncludeTo: true}
}

// condition is what documents must fulfil, beside the word.
func (e *engine) condition(mode string, q protocol.ColumnQuery) riffle.Query {
	if mode == "within" || mode == "inside" {
		return within(q)
	}
	return e.between(q)
}

func having(word string) riffle.Query {
	if word == protocol.AllDocuments {
		return riffle.All{}
	}
	return riffle.Term{Field: "text", Value: word}
}

// rowMatches counts the documents of a range.
func (e *engine) rowMatches(q protocol.Query) (int, error) {
	c, err := protocol.ParseColumnQuery(q.Mode, q.Text)
	if err != nil {
		return 0, err
	}
	return e.e.Count(context.Background(), e.condition(q.Mode, c))
}

// rowSearch answers a query of rows.
func (e *engine) rowSearch(q protocol.Query, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	c, err := protocol.ParseColumnQuery(q.Mode, q.Text)
	if err != nil {
		return dst, err
	}
	switch query := having(c.Word); q.Mode {
	case "filtered", "inside":
		dst, _, err = e.search(riffle.Bool{Must: []riffle.Query{query}, Filter: []riffle.Query{e.condition(q.Mode, c)}}, k, false, dst)
		return dst, err
	case "sort":
		return e.sorted(query, riffle.SortKey{Field: c.Column, Desc: c.Desc}, k, dst)
	case "nearest":
		from := point(c.Shape.Numbers)
		return e.sorted(query, riffle.SortKey{Field: c.Column, From: &from}, k, dst)
	case "score":
		dst, _, err = e.search(scored(query, c), k, false, dst)
		return dst, err
	default:
		return e.aggregated(query, q.Mode, c, k, dst)
	}
}

func (e *engine) sorted(query riffle.Query, key riffle.SortKey, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	opts := e.opts
	opts.K, opts.Sort = k, []riffle.SortKey{key}
	res, err := e.e.Search(context.Background(), query, &opts)
	if err != nil {
		return dst, err
	}
	for _, h := range res.Hits {
		id, err := strconv.Atoi(h.ID)
		if err != nil {
			return dst, err
		}
		dst = append(dst, protocol.Hit{ID: id, Score: number(h.Sort[0])})
	}
	return dst, nil
}

// number is a value as the score of an answer.
func number(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case time.Time:
		return float64(v.UnixNano())
	}
	return math.NaN()
}

// aggregated asks for no hits.
func (e *engine) aggregated(query riffle.Query, mode string, c protocol.ColumnQuery, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	var a riffle.Aggregation
	switch mode {
	case "terms":
		a = riffle.TermsAggregation{Field: c.Column, Size: k}
	case "histogram":
		if e.isTime(c.Column) {
			a = riffle.DateHistogramAggregation{Field: c.Column, Every: time.Duration(c.Width), MinCount: 1}
		} else {
			a = riffle.HistogramAggregation{Field: c.Column, Interval: float64(c.Width), MinCount: 1}
		}
	case "stats":
		a = riffle.StatsAggregation{Field: c.Column}
	case "percentiles":
		a = riffle.PercentilesAggregation{Field: c.Column, Percents: protocol.Percents}
	case "cardinality":
		a = riffle.CardinalityAggregation{Field: c.Column}
	default:
		return dst, fmt.Errorf("unknown mode %q", mode)
	}
	opts := e.opts
	opts.NoHits, opts.Aggregations = true, map[string]riffle.Aggregation{"a": a}
	res, err := e.e.Search(context.Background(), query, &opts)
	if err != nil {
		return dst, err
	}
	found := res.Aggregations["a"]
	switch mode {
	case "terms":
		for _, b := range found.Buckets {
			dst = append(dst, protocol.Hit{ID: protocol.TermID(b.Key.(string)), Score: float64(b.Count)})
		}
	case "histogram":
		for _, b := range found.Buckets {
			dst = append(dst, protocol.Hit{ID: int(number(b.Key)) / int(c.Width), Score: float64(b.Count)})
		}
	case "stats":
		s := found.Stats
		for i, v := range []float64{float64(s.Count), number(s.Min), number(s.Max), s.Sum} {
			dst = append(dst, protocol.Hit{ID: i, Score: v})
		}
	case "percentiles":
		for _, p := range found.Percentiles {
			dst = append(dst, protocol.Hit{ID: int(p.Percent), Score: number(p.Value)})
		}
	default:
		dst = append(dst, protocol.Hit{Score: float64(found.Distinct)})
	}
	return dst, nil
}
