package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/numeric"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/riffle-search/riffle/bench/protocol"
)

// mapColumns adds the fields of rows to a mapping; see protocol.Column. All have doc values, for sorts and facets.
func mapColumns(doc *mapping.DocumentMapping, columns []protocol.Column) {
	for _, c := range columns {
		var f *mapping.FieldMapping
		switch c.Kind {
		case "time":
			f = bleve.NewDateTimeFieldMapping()
		case "int":
			f = bleve.NewNumericFieldMapping()
		case "keyword", "keywords":
			f = bleve.NewKeywordFieldMapping()
		case "place":
			f = bleve.NewGeoPointFieldMapping()
		default:
			continue // text is mapped already
		}
		f.Store, f.IncludeTermVectors, f.IncludeInAll, f.DocValues = false, false, false, true
		doc.AddFieldMappingsAt(c.Name, f)
	}
}

func (e *engine) between(q protocol.ColumnQuery) query.Query {
	yes := true
	for _, c := range e.columns {
		if c.Name == q.Column && c.Kind == "time" {
			return inField(bleve.NewDateRangeInclusiveQuery(time.Unix(0, q.Low).UTC(), time.Unix(0, q.High).UTC(), &yes, &yes), q.Column)
		}
	}
	low, high := float64(q.Low), float64(q.High)
	return inField(bleve.NewNumericRangeInclusiveQuery(&low, &high, &yes, &yes), q.Column)
}

// condition is what documents must fulfil, beside the word.
func (e *engine) condition(mode string, q protocol.ColumnQuery) query.Query {
	if mode == "within" || mode == "inside" {
		return within(q)
	}
	return e.between(q)
}

func having(word string) query.Query {
	if word == protocol.AllDocuments {
		return bleve.NewMatchAllQuery()
	}
	return inField(bleve.NewTermQuery(word), "text")
}

// rowMatches counts the documents of a range.
func (e *engine) rowMatches(q protocol.Query) (int, error) {
	c, err := protocol.ParseColumnQuery(q.Mode, q.Text)
	if err != nil {
		return 0, err
	}
	return e.matches(e.condition(q.Mode, c))
}

// rowSearch answers a query of rows.
func (e *engine) rowSearch(q protocol.Query, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	c, err := protocol.ParseColumnQuery(q.Mode, q.Text)
	if err != nil {
		return dst, err
	}
	switch query := having(c.Word); q.Mode {
	case "filtered", "inside":
		filtered := bleve.NewBooleanQuery()
		filtered.AddMust(query)
		filtered.AddFilter(e.condition(q.Mode, c))
		dst, _, err = e.search(filtered, k, dst)
		return dst, err
	case "sort":
		by := c.Column
		if c.Desc {
			by = "-" + by
		}
		return e.sorted(query, search.ParseSortOrderStrings([]string{by}), c.Column, k, dst)
	case "nearest":
		from := c.Shape.Numbers
		by, err := search.NewSortGeoDistance(c.Column, "m", from[1], from[0], false)
		if err != nil {
			return dst, err
		}
		return e.sorted(query, search.SortOrder{by}, c.Column, k, dst)
	case "terms":
		return e.facet(query, c.Column, k, dst)
	}
	return dst, fmt.Errorf("bleve has no query for the mode %q", q.Mode)
}

func (e *engine) sorted(query query.Query, by search.SortOrder, column string, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	req := bleve.NewSearchRequestOptions(query, k, 0, false)
	req.Score = "none"
	req.SortByCustom(by)
	res, err := e.index.Search(req)
	if err != nil {
		return dst, err
	}
	for _, h := range res.Hits {
		id, err := strconv.Atoi(h.ID)
		if err != nil {
			return dst, err
		}
		value, err := e.value(column, h.Sort[0])
		if err != nil {
			return dst, err
		}
		dst = append(dst, protocol.Hit{ID: id, Score: value})
	}
	return dst, nil
}

// value decodes a key of a sort.
func (e *engine) value(column, key string) (float64, error) {
	v, err := numeric.PrefixCoded(key).Int64()
	for _, c := range e.columns {
		if c.Name == column && c.Kind == "time" {
			return float64(v), err
		}
	}
	return numeric.Int64ToFloat64(v), err
}

func (e *engine) facet(query query.Query, column string, k int, dst []protocol.Hit) ([]protocol.Hit, error) {
	req := bleve.NewSearchRequestOptions(query, 0, 0, false)
	req.Score = "none"
	req.AddFacet("a", bleve.NewFacetRequest(column, k))
	res, err := e.index.Search(req)
	if err != nil {
		return dst, err
	}
	for _, t := range res.Facets["a"].Terms.Terms() {
		dst = append(dst, protocol.Hit{ID: protocol.TermID(t.Term), Score: float64(t.Count)})
	}
	return dst, nil
}
