package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle"
)

// queries run on every index. Alpha is the weight of the static rank.
var queries = []struct {
	name  string
	query riffle.Query
	alpha float64
}{
	{"or", riffle.Match{Field: "body", Text: "w0 w3 w60"}, 0},
	{"and", riffle.Match{Field: "body", Text: "w1 w2", Mode: riffle.ModeAnd}, 0},
	{"one long list", riffle.Match{Field: "body", Text: "every"}, 0},
	{"one short list", riffle.Match{Field: "body", Text: "w72"}, 0},
	{"stems, two fields", riffle.Match{Fields: []string{"title", "body"}, Text: "run w7"}, 0},
	{"a copy", riffle.Match{Field: "both", Text: "running w9"}, 0},
	{"sparse norms", riffle.Match{Field: "seldom", Text: "w5 w20"}, 0},
	{"keyword", riffle.Term{Field: "tag", Value: "tag 3"}, 0},
	{"number", riffle.Term{Field: "n", Value: -7}, 0},
	{"fraction", riffle.Term{Field: "inner.x", Value: 41.5}, 0},
	{"bool", riffle.Bool{Must: []riffle.Query{riffle.Term{Field: "flag", Value: true}}, MustNot: []riffle.Query{riffle.Match{Field: "body", Text: "w4"}}}, 0},
	{"not stored", riffle.Term{Field: "hidden", Value: "h1"}, 0},
	{"rank", riffle.Match{Field: "body", Text: "w0 w11"}, 0.25},
}

// phrases run on indexes with positions; their answers follow the line phraseAnswers.
var phrases = []struct {
	name  string
	query riffle.Query
}{
	{"phrase", riffle.Phrase{Field: "body", Text: "every w3"}},
	{"phrase over a hole", riffle.Phrase{Field: "title", Text: "the running of w2"}},
	{"sloppy phrase", riffle.Phrase{Field: "body", Text: "w1 w2 w0", Slop: 4}},
	{"near", riffle.Near{Field: "seldom", Phrases: []string{"w4", "w5"}, Distance: 3}},
	{"intervals", riffle.Intervals{Field: "body", Rule: riffle.IntervalText{Text: "w0 w0", Ordered: true, MaxGaps: 2}}},
}

const phraseAnswers = "with positions:\n"

// ranges run on indexes with columns; their answers follow the line rangeAnswers.
var ranges = []struct {
	name  string
	query riffle.Query
}{
	{"range of integers", riffle.Range{Field: "n", From: -7, To: 3}},
	{"range of fractions", riffle.Range{Field: "inner.x", From: 41.5, To: 44, IncludeTo: true}},
	{"range of dates", riffle.Range{Field: "day", From: "1970-06-01", To: "1972-01-01"}},
	{"range as a filter", riffle.Bool{Must: []riffle.Query{riffle.Match{Field: "body", Text: "w3 w5"}}, Filter: []riffle.Query{riffle.Range{Field: "rank", From: 0.5}}}},
}

const rangeAnswers = "with columns:\n"

// answersOf opens an index read-only and runs all queries.
func answersOf(dir string) (string, error) {
	e, err := riffle.Open(dir, &riffle.Options{Rank: rank, ReadOnly: true})
	if err != nil {
		return "", err
	}
	text, err := ask(e, 12)
	return text, errors.Join(err, e.Close())
}

// ask runs all queries for k hits.
func ask(e *riffle.Engine, k int) (string, error) {
	var b strings.Builder
	for _, q := range queries {
		if err := askOne(&b, e, q.name, q.query, &riffle.SearchOptions{K: k, Alpha: &q.alpha}); err != nil {
			return "", err
		}
	}
	for i, q := range phrases {
		var without *riffle.QueryError
		if _, err := e.Count(ctx, q.query); i == 0 && errors.As(err, &without) {
			break // an index without positions
		}
		if i == 0 {
			b.WriteString(phraseAnswers)
		}
		if err := askOne(&b, e, q.name, q.query, &riffle.SearchOptions{K: k}); err != nil {
			return "", err
		}
	}
	if e.Schema().Columns != riffle.ColumnStored {
		return b.String(), nil
	}
	b.WriteString(rangeAnswers)
	for _, q := range ranges {
		if err := askOne(&b, e, q.name, q.query, &riffle.SearchOptions{K: k}); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// askOne appends the answer to a query.
func askOne(b *strings.Builder, e *riffle.Engine, name string, q riffle.Query, o *riffle.SearchOptions) error {
	n, err := e.Count(ctx, q)
	if err != nil {
		return err
	}
	res, err := e.Search(ctx, q, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s: %d documents\n", name, n)
	for _, h := range res.Hits {
		fmt.Fprintf(b, "\t%s %.9g\n", h.ID, h.Score)
	}
	return nil
}

// checkDocuments compares the stored documents with the originals.
func checkDocuments(e *riffle.Engine) error {
	count := 0
	var err error
	live(func(number, state int) {
		count++
		got, e := e.Get(ctx, id(number))
		if want := stored(document(number, state)); e == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			e = fmt.Errorf("document %s is\n%v\nwant\n%v", id(number), got, want)
		}
		err = errors.Join(err, e)
	})
	for _, check := range []func(*riffle.Engine) (int, error){checkTagged, checkUnsigned, checkPlaces, checkUpdated, checkLayered} {
		there, checkErr := check(e)
		count += there
		err = errors.Join(err, checkErr)
	}
	if st, e := e.Stats(); e != nil || int(st.Docs) != count {
		err = errors.Join(err, e, fmt.Errorf("%d documents, want %d", st.Docs, count))
	}
	return err
}

// stored returns the stored form of a document, with flat names.
func stored(doc map[string]any) map[string]any {
	delete(doc, "body")
	delete(doc, "hidden")
	if inner, ok := doc["inner"].(map[string]any); ok {
		delete(doc, "inner")
		for name, v := range inner {
			doc["inner."+name] = v
		}
	}
	return doc
}
