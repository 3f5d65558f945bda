package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Column is one column of rows: documents with columns. An index has rows when the build option "columns" and the same option of
// "open" list the columns as "NAME:KIND,NAME:KIND". A line of the file then has the values of a
// document, in that order, with tabs between:
//
//   - time: nanoseconds since 1970 UTC, decimal
//   - int: an integer, decimal
//   - keyword: a string
//   - keywords: strings, with | between
//   - text: tokens, with single spaces between; its name is "text"
//   - place: latitude and longitude in degrees, decimal, with a comma between
//
// A query is words with single spaces between: the word that documents must have in their text, or * for
// all documents; the column; and more by mode:
//
//	range        LOW HIGH   documents with a value in the range, both ends included; only counted
//	filtered     LOW HIGH   the best documents by the word's score, of those in the range
//	sort         asc, desc  the first documents in the order of the column, ties by number
//	terms                   the strings with most documents, ties by string
//	histogram    WIDTH      the buckets floor(value/WIDTH) that have documents, ascending
//	stats                   count, least, greatest and sum
//	percentiles             at 50, 95 and 99 percent
//	cardinality             how many different values
//	within       SHAPE …    documents with a place in a shape, see PlaceShape; only counted
//	inside       SHAPE …    the best documents by the word's score, of those in the shape
//	nearest      LAT LON    the documents with the nearest places
//	score        MODE …     the best documents by a function score, see ScoreFunction
//
// Answers are hits. Of a sort, a score is the value; of nearest, metres. Of terms, a hit is the string's ID (see TermID) with the
// number of documents as score; of a histogram, the bucket with it. Stats have the ids 0 to 3, percentiles
// the percent, a cardinality 0.
//
// Ids are document numbers: those that the engine gives its documents, where it keeps them in the
// order of arrival, so that an index has no column for them.
type Column struct{ Name, Kind string }

// ParseColumns reads the option "columns".
func ParseColumns(spec string) (columns []Column, err error) {
	for part := range strings.SplitSeq(spec, ",") {
		name, kind, _ := strings.Cut(part, ":")
		switch kind {
		case "time", "int", "keyword", "keywords", "text", "place":
			columns = append(columns, Column{name, kind})
		default:
			return nil, fmt.Errorf("columns %q: %q is of no known kind", spec, part)
		}
	}
	return columns, nil
}

// Values calls fn with each column and its text in a line.
func Values(columns []Column, line string, fn func(c Column, value string) error) error {
	for i, c := range columns {
		value, rest, more := strings.Cut(line, "\t")
		if more != (i < len(columns)-1) {
			return fmt.Errorf("%d columns wanted: %q", len(columns), line)
		}
		if err := fn(c, value); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		line = rest
	}
	return nil
}

// Row is the document of a line: times in UTC, int64, strings, and slices of keywords, by column.
func Row(columns []Column, line string) (map[string]any, error) {
	doc := make(map[string]any, len(columns))
	err := Values(columns, line, func(c Column, value string) (err error) {
		switch c.Kind {
		case "time":
			var ns int64
			ns, err = strconv.ParseInt(value, 10, 64)
			doc[c.Name] = time.Unix(0, ns).UTC()
		case "int":
			doc[c.Name], err = strconv.ParseInt(value, 10, 64)
		case "keywords":
			doc[c.Name] = strings.Split(value, "|")
		case "place":
			var lat, lon float64
			lat, lon, err = Place(value)
			doc[c.Name] = map[string]any{"lat": lat, "lon": lon}
		default:
			doc[c.Name] = value
		}
		return err
	})
	return doc, err
}

// AllDocuments is the word of a query over all documents.
const AllDocuments = "*"

// Percents are those of the mode "percentiles".
var Percents = []float64{50, 95, 99}

// A ColumnQuery is a parsed query of rows.
type ColumnQuery struct {
	Word, Column string
	Low, High    int64 // of range and filtered
	Width        int64 // of histogram
	Desc         bool  // of sort

	Shape PlaceShape    // of within, inside and nearest, which has no kind
	Score ScoreFunction // of score
}

// ParseColumnQuery reads a query of a mode.
func ParseColumnQuery(mode, text string) (q ColumnQuery, err error) {
	words := strings.Split(text, " ")
	switch mode {
	case "within", "inside", "nearest", "score":
		return parsePlaceQuery(mode, words)
	}
	wanted := map[string]int{"range": 4, "filtered": 4, "sort": 3, "histogram": 3}[mode]
	if len(words) != max(wanted, 2) {
		return q, fmt.Errorf("query %q is none of the mode %q", text, mode)
	}
	q.Word, q.Column = words[0], words[1]
	switch mode {
	case "range", "filtered":
		if q.Low, err = strconv.ParseInt(words[2], 10, 64); err == nil {
			q.High, err = strconv.ParseInt(words[3], 10, 64)
		}
	case "sort":
		q.Desc = words[2] == "desc"
	case "histogram":
		q.Width, err = strconv.ParseInt(words[2], 10, 64)
	}
	return q, err
}

// TermID stands for a string of a terms facet in an answer: a hash that every language has in a line.
func TermID(term string) int {
	h := uint32(0)
	for i := range len(term) {
		h = h*31 + uint32(term[i])
	}
	return int(h)
}
