// Package library indexes the Go standard library that is part of every Go installation: each declaration is a
// document. Open keeps such an index up to date.
package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// DefaultDir returns the directory of the index in the user's cache directory. Each program that may run at the same
// time as others needs a name of its own, since an index is open in one process at a time.
func DefaultDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w", err)
	}
	return filepath.Join(cache, name), nil
}

// Open opens an up-to-date index for reading, and builds it first if needed: from the Go installation in goroot, or
// from the one of the go command if that is empty. It reports to log what takes long. The engine tells l, which may be
// nil, what it does.
func Open(ctx context.Context, dir, goroot string, log io.Writer, l *riffle.Listener) (*riffle.Engine, error) {
	root, version, err := findGo(ctx, goroot)
	if err != nil {
		return nil, err
	}
	e, err := openToRead(dir, l)
	if err == nil && versionOf(ctx, e) == version {
		return e, nil
	}
	switch {
	case err == nil:
		fmt.Fprintf(log, "The index in %s is of %s; indexing %s again.\n", dir, madeFrom(ctx, e), version)
		if err := e.Close(); err != nil {
			return nil, err
		}
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(log, "Indexing %s from %s into %s.\n", version, root, dir)
	case errors.Is(err, riffle.ErrLocked):
		return nil, fmt.Errorf("another process has the index open, or is making it; only one can: %w", err)
	default:
		return nil, err
	}
	start := time.Now()
	n, err := makeIndex(ctx, dir, root, version)
	if err != nil {
		return nil, fmt.Errorf("indexing %s: %w", root, err)
	}
	fmt.Fprintf(log, "%d documents in %.1f s.\n\n", n, time.Since(start).Seconds())
	return openToRead(dir, l)
}

// about is the id of the document that names the Go version of the index. It is deleted before a
// build and written at its end, so it exists exactly when the index is complete.
const about = "about this index"

// openToRead opens an index for reading; errors match os.ErrNotExist if there is none.
func openToRead(dir string, l *riffle.Listener) (*riffle.Engine, error) {
	return open(dir, &riffle.Options{ReadOnly: true, Listener: l})
}

// open opens an index with the rules of declarations.
func open(dir string, o *riffle.Options) (*riffle.Engine, error) {
	schema, err := riffle.SchemaOf(declaration{})
	if err != nil {
		return nil, err
	}
	schema.Fields["version"] = riffle.Field{Type: riffle.FieldKeyword, NoIndex: true} // of the document `about`
	o.Schema = schema
	o.Analyzers = map[string]analysis.Analyzer{"go": goAnalyzer}
	o.Rank = riffle.Rank{Field: "rank", Alpha: 0.15}
	o.Durability = riffle.SyncNone // a build that a power cut interrupts can be repeated
	return riffle.Open(dir, o)
}

// versionOf returns the Go version of a complete index, or else "".
func versionOf(ctx context.Context, e *riffle.Engine) string {
	fields, err := e.Get(ctx, about)
	if err != nil {
		return ""
	}
	v, _ := fields["version"].(string)
	return v
}

// madeFrom describes the version for people.
func madeFrom(ctx context.Context, e *riffle.Engine) string {
	if v := versionOf(ctx, e); v != "" {
		return v
	}
	return "an indexing that did not end"
}

// makeIndex brings an index up to date with a Go installation and returns its number of documents.
// It replaces documents that exist already, and deletes those that only the older version has.
func makeIndex(ctx context.Context, dir, root, version string) (n int, err error) {
	e, err := open(dir, &riffle.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	stale, err := ids(e)
	if err != nil {
		return 0, err
	}
	if err := e.Delete(ctx, about); err != nil {
		return 0, err
	}
	err = readLibrary(ctx, filepath.Join(root, "src"), func(decls []declaration) error {
		var b riffle.Batch
		for i := range decls {
			b.Put(decls[i].ID, &decls[i])
			delete(stale, decls[i].ID)
		}
		n += len(decls)
		return e.Apply(ctx, &b)
	})
	if err != nil {
		return 0, err
	}
	var last riffle.Batch
	for id := range stale {
		last.Delete(id)
	}
	last.Put(about, map[string]any{"version": version})
	if err := e.Apply(ctx, &last); err != nil {
		return 0, err
	}
	return n, e.Flush(ctx)
}

// ids returns the ids of all documents.
func ids(e *riffle.Engine) (map[string]bool, error) {
	s, err := e.Snapshot()
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
