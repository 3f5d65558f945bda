package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

func newDelete() *cobra.Command {
	var db string
	c := &cobra.Command{
		Use:   "delete --db DIR ID...",
		Short: "Delete documents",
		Long: `Deletes documents, all in one step, and prints how many there were. Exit code 1
when one of the ids does not exist; the others are deleted. Merges, or compact,
give the space back.`,
		Args: cobra.MinimumNArgs(1),
	}
	c.RunE = func(c *cobra.Command, ids []string) error { return remove(c, db, ids) }
	dbFlag(c, &db)
	return c
}

func remove(c *cobra.Command, db string, ids []string) (err error) {
	e, err := openToChange(db, nil)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	var b riffle.Batch
	var missing []error
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		_, err := e.Get(c.Context(), id)
		switch {
		case errors.Is(err, riffle.ErrNotFound):
			missing = append(missing, noDocument(id))
		case err != nil:
			return err
		default:
			b.Delete(id)
		}
	}
	if err := e.Apply(c.Context(), &b); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "deleted %d\n", b.Len()); err != nil {
		return err
	}
	return errors.Join(missing...)
}
