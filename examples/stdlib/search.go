package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// query looks for the words in all fields at once. A word in the name of a declaration counts more
// than one in its documentation, which counts more than one elsewhere in its source.
func query(words string) riffle.Query {
	field := func(name string, boost float64) riffle.Query {
		return riffle.Boost{Query: riffle.Match{Field: name, Text: words}, By: boost}
	}
	return riffle.Bool{Should: []riffle.Query{
		field("name", 2), field("path", 1.5), field("doc", 1.5), field("source", 1),
	}}
}

// search writes the best hits.
func search(ctx context.Context, e *riffle.Engine, w io.Writer, words string, k int, colour bool) error {
	start := time.Now()
	res, err := e.Search(ctx, query(words), &riffle.SearchOptions{K: k, Load: []string{"*"}, ExactTotal: true, Highlight: highlights})
	if err != nil {
		return err
	}
	took := time.Since(start)
	style := plain
	if colour {
		style = ansi
	}
	for i, h := range res.Hits {
		text := func(field string) string { v, _ := h.Fields[field].(string); return v }
		title := text("package")
		if name, more, _ := strings.Cut(text("name"), " "); name != "" {
			if title += "." + name; more != "" {
				title += " …"
			}
		}
		fmt.Fprintf(w, "%2d. %s  %s  %.3f\n", i+1, style.title(title), text("kind"), h.Score)
		fmt.Fprintf(w, "    %s\n", style.place(fmt.Sprintf("%s:%d", text("file"), h.Fields["line"])))
		for _, line := range snippet(h.Fragments, style) {
			fmt.Fprintf(w, "      %s\n", line)
		}
		fmt.Fprintln(w)
	}
	docs, err := e.Len()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d of %d documents match, found in %.2f ms by %s\n", res.Total, docs-1, float64(took.Microseconds())/1000, res.Executor)
	return err
}
