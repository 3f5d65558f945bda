package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// A library is an open index of the standard library.
type library struct{ e *riffle.Engine }

// about is the id of the document that names the Go version of the index. It is deleted before a
// build and written at its end, so it exists exactly when the index is complete.
const about = "about this index"

// open opens an index; errors match os.ErrNotExist if there is none to read.
func open(dir string, readOnly bool) (*library, error) {
	schema, err := riffle.SchemaOf(declaration{})
	if err != nil {
		return nil, err
	}
	schema.Fields["version"] = riffle.Field{Type: riffle.FieldKeyword, NoIndex: true} // of the document `about`
	e, err := riffle.Open(dir, &riffle.Options{
		Schema:     schema,
		Analyzers:  map[string]analysis.Analyzer{"go": goAnalyzer},
		Rank:       riffle.Rank{Field: "rank", Alpha: 0.15},
		Durability: riffle.SyncNone, // a build that a power cut interrupts can be repeated
		ReadOnly:   readOnly,
	})
	if err != nil {
		return nil, err
	}
	return &library{e}, nil
}

func (l *library) close() error { return l.e.Close() }

// version returns the Go version of a complete index, or else "".
func (l *library) version(ctx context.Context) string {
	fields, err := l.e.Get(ctx, about)
	if err != nil {
		return ""
	}
	v, _ := fields["version"].(string)
	return v
}

// madeFrom describes the version for people.
func (l *library) madeFrom(ctx context.Context) string {
	if v := l.version(ctx); v != "" {
		return v
	}
	return "an indexing that did not end"
}

// makeIndex brings an index up to date with a Go installation and returns its number of documents.
// It replaces documents that exist already, and deletes those that only the older version has.
func makeIndex(ctx context.Context, dir, root, version string) (n int, err error) {
	l, err := open(dir, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	stale, err := l.ids()
	if err != nil {
		return 0, err
	}
	if err := l.e.Delete(ctx, about); err != nil {
		return 0, err
	}
	err = readLibrary(ctx, filepath.Join(root, "src"), func(decls []declaration) error {
		var b riffle.Batch
		for i := range decls {
			b.Put(decls[i].ID, &decls[i])
			delete(stale, decls[i].ID)
		}
		n += len(decls)
		return l.e.Apply(ctx, &b)
	})
	if err != nil {
		return 0, err
	}
	var last riffle.Batch
	for id := range stale {
		last.Delete(id)
	}
	last.Put(about, map[string]any{"version": version})
	if err := l.e.Apply(ctx, &last); err != nil {
		return 0, err
	}
	return n, l.e.Flush(ctx)
}

// ids returns the ids of all documents.
func (l *library) ids() (map[string]bool, error) {
	s, err := l.e.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ids := map[string]bool{}
	for id, err := range s.IDs("") {
		if err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, nil
}

// readLibrary parses the packages below src on all cores and calls add with the
// declarations of one after the other.
func readLibrary(ctx context.Context, src string, add func([]declaration) error) error {
	dirs, err := packageDirs(src)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo, parsed := make(chan string), make(chan []declaration)
	go func() {
		defer close(todo)
		for _, dir := range dirs {
			select {
			case todo <- dir:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for dir := range todo {
				decls, err := readPackage(src, dir)
				if err != nil {
					cancel(err)
					return
				}
				select {
				case parsed <- decls:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() { wg.Wait(); close(parsed) }()
	for decls := range parsed {
		if err := add(decls); err != nil {
			cancel(err)
			break
		}
	}
	return context.Cause(ctx)
}

// query looks for the words in all fields at once. A word in the name of a declaration counts more
// than one in its documentation, which counts more than one elsewhere in its source.
func query(words string) riffle.Query {
	field := func(name string, boost float64) riffle.Query {
		return riffle.Boost{Query: riffle.Match{Field: name, Text: words}, By: boost}
	}
	return riffle.Bool{Should: []riffle.Query{
		field("name", 2), field("package", 1.5), field("doc", 1.5), field("source", 1),
	}}
}

// print writes the best hits.
func (l *library) print(ctx context.Context, w io.Writer, words string, k int, colour bool) error {
	start := time.Now()
	res, err := l.e.Search(ctx, query(words), &riffle.SearchOptions{K: k, Load: []string{"*"}, ExactTotal: true, Highlight: highlights})
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
	docs, err := l.e.Len()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d of %d documents match, found in %.2f ms by %s\n", res.Total, docs-1, float64(took.Microseconds())/1000, res.Executor)
	return err
}
