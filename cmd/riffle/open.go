package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	_ "github.com/riffle-search/riffle/analysis/bleve" // analyzers for --analyzer and for indexes made with them
	_ "github.com/riffle-search/riffle/analysis/lang"  // likewise
)

// dbFlag declares --db, the directory of the index.
func dbFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "db", "", "directory of the index (required)")
	c.MarkFlagRequired("db")
	c.MarkFlagDirname("db")
}

// openToRead opens an existing index, and never writes to it.
func openToRead(dir string) (*riffle.Engine, error) {
	return openWith(dir, &riffle.Options{})
}

// openWith is openToRead with some options.
func openWith(dir string, o *riffle.Options) (*riffle.Engine, error) {
	o.ReadOnly = true
	e, err := riffle.Open(dir, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no index in %s", dir)
	}
	return e, err
}

// openToChange opens an existing index. A plain Open would make a new one if --db is mistyped, so
// it first opens the index read-only.
func openToChange(dir string, o *riffle.Options) (*riffle.Engine, error) {
	e, err := openToRead(dir)
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return riffle.Open(dir, o)
}

// closing closes an engine at the end of a command and adds an error of the Close.
func closing(e *riffle.Engine, err *error) {
	*err = errors.Join(*err, e.Close())
}

// checkFields is checkField for several.
func checkFields(e *riffle.Engine, fields []string) error {
	for _, field := range fields {
		if err := checkField(e, field); err != nil {
			return err
		}
	}
	return nil
}

// checkField makes sure that a field can be searched. A search in a field that does not exist has
// no hits, and the caller would wonder why.
func checkField(e *riffle.Engine, field string) error {
	if f, ok := e.Schema().Fields[field]; ok && !f.NoIndex {
		return nil
	}
	st, err := e.Stats()
	if err != nil || len(st.Fields) == 0 {
		return err // an index without documents has no fields yet
	}
	var names []string
	for _, f := range st.Fields {
		names = append(names, f.Name)
	}
	if slices.Contains(names, field) {
		return nil
	}
	return fmt.Errorf("the index has no field %q to search; it has %s (choose one with --field)", field, strings.Join(names, ", "))
}
