// Importbleve copies an index of bleve into a new index of riffle: its documents one by one, from their
// stored fields, and its mapping as a schema.
//
//	cd bench && go run ./importbleve --from old.bleve --db new
//
// What bleve has not stored cannot be copied: standard error lists such fields, and what of the mapping
// has no counterpart. The schema is that of bleve.Mapping.Schema, in package compat/bleve; with
// --schema it is that of a file, as riffle.ParseSchema reads it.
//
// It is part of the module bench, so that riffle does not depend on bleve.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/riffle-search/riffle"
)

func main() {
	from := flag.String("from", "", "directory of the bleve index")
	to := flag.String("db", "", "directory of the new index")
	file := flag.String("schema", "", "file with another schema, in JSON")
	flag.Parse()
	if *from == "" || *to == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *from, *to, *file); err != nil {
		fmt.Fprintln(os.Stderr, "importbleve:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, from, to, file string) error {
	var schema *riffle.Schema
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if schema, err = riffle.ParseSchema(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	done, err := Import(ctx, from, to, schema)
	if err != nil {
		return err
	}
	for _, p := range done.Problems {
		fmt.Fprintln(os.Stderr, p)
	}
	fmt.Printf("%d documents\n", done.Docs)
	return nil
}
