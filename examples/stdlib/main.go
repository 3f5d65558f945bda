// Stdlib searches the documentation and source of the Go standard library that is part of every Go
// installation:
//
//	go run ./examples/stdlib "context cancel goroutine"
//
// The first call indexes GOROOT/src, every declaration as a document of its own, and takes a few
// seconds. Later calls use the same index until the Go version changes. A hit names package,
// declaration, file and line, and shows where the words are.
//
// What it demonstrates, by file:
//
//	main.go          opening an index, and rebuilding it when it is out of date
//	goroot.go        finding the Go installation
//	declarations.go  documents as tagged structs, with a static rank
//	identifiers.go   a custom analyzer: WithCancel is also "with" and "cancel"
//	library.go       batches, a schema derived from a struct, a query over weighted fields
//	snippet.go       the best part of a text, with the query's words marked
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	colour := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, colour); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "stdlib:", err)
		}
		os.Exit(1)
	}
}

// run is main with its surroundings as arguments, so that a test can call it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, colour bool) error {
	flags := flag.NewFlagSet("stdlib", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: stdlib [flags] WORD...\n\nSearches the Go standard library. Flags:\n\n")
		flags.PrintDefaults()
	}
	dir := flags.String("db", "", "`directory` of the index (default: riffle-stdlib in the user's cache directory)")
	goroot := flags.String("goroot", "", "`directory` of the Go installation to index (default: what go env GOROOT says)")
	k := flags.Int("k", 10, "`number` of hits")
	if err := flags.Parse(args); err != nil {
		return err
	}
	query := strings.Join(flags.Args(), " ")
	if strings.TrimSpace(query) == "" {
		flags.Usage()
		return errors.New("no query")
	}
	if *dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("no cache directory (%w); name one with --db", err)
		}
		*dir = filepath.Join(cache, "riffle-stdlib")
	}
	lib, err := openLibrary(ctx, *dir, *goroot, stderr)
	if err != nil {
		return err
	}
	defer lib.close()
	return lib.print(ctx, stdout, query, *k, colour)
}

// openLibrary opens an up-to-date index, and builds it first if needed.
func openLibrary(ctx context.Context, dir, goroot string, log io.Writer) (*library, error) {
	root, version, err := findGo(ctx, goroot)
	if err != nil {
		return nil, err
	}
	lib, err := open(dir, true)
	if err == nil && lib.version(ctx) == version {
		return lib, nil
	}
	switch {
	case err == nil:
		fmt.Fprintf(log, "The index in %s is of %s; indexing %s again.\n", dir, lib.madeFrom(ctx), version)
		if err := lib.close(); err != nil {
			return nil, err
		}
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(log, "Indexing %s from %s into %s.\n", version, root, dir)
	default:
		return nil, err
	}
	start := time.Now()
	n, err := makeIndex(ctx, dir, root, version)
	if err != nil {
		return nil, fmt.Errorf("indexing %s: %w", root, err)
	}
	fmt.Fprintf(log, "%d documents in %.1f s.\n\n", n, time.Since(start).Seconds())
	return open(dir, true)
}
