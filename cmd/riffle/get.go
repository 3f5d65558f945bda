package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

func newGet() *cobra.Command {
	var db string
	c := &cobra.Command{
		Use:   "get --db DIR ID...",
		Short: "Print stored documents",
		Long: `Prints the stored fields of documents, one JSON object a line, in the order of
the ids. Exit code 1 when one of them does not exist; the others are printed.`,
		Args: cobra.MinimumNArgs(1),
	}
	c.RunE = func(c *cobra.Command, ids []string) error { return get(c, db, ids) }
	dbFlag(c, &db)
	return c
}

func get(c *cobra.Command, db string, ids []string) (err error) {
	e, err := openToRead(db)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	out := json.NewEncoder(c.OutOrStdout())
	out.SetEscapeHTML(false)
	var missing []error
	for _, id := range ids {
		fields, err := e.Get(c.Context(), id)
		switch {
		case errors.Is(err, riffle.ErrNotFound):
			missing = append(missing, noDocument(id))
			continue
		case err != nil:
			return err
		}
		fields["id"] = id
		if err := out.Encode(fields); err != nil {
			return err
		}
	}
	return errors.Join(missing...)
}

func noDocument(id string) error { return fmt.Errorf("no document has id %q", id) }
