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
//	main.go                  the command line
//	search.go                a query over weighted fields
//	snippet.go               the best part of a text, with the query's words marked
//	library/index.go         batches, a schema derived from a struct, and rebuilding what is out of date
//	library/declarations.go  documents as tagged structs, with a static rank
//	library/identifiers.go   a custom analyzer: WithCancel is also "with" and "cancel"
//	library/goroot.go        finding the Go installation
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"github.com/riffle-search/riffle/examples/stdlib/library"
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
	dir := flags.String("db", "", "`directory` of the index (default: riffle-library in the user's cache directory)")
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
		var err error
		if *dir, err = library.DefaultDir("riffle-library"); err != nil {
			return fmt.Errorf("%w; name one with --db", err)
		}
	}
	e, err := library.Open(ctx, *dir, *goroot, stderr, nil)
	if err != nil {
		return err
	}
	defer e.Close()
	return search(ctx, e, stdout, query, *k, colour)
}
