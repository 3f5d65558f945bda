package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

func newDelete() *cobra.Command {
	var db string
	var by byQueryFlags
	c := &cobra.Command{
		Use:   "delete --db DIR {ID... | --query TEXT}",
		Short: "Delete documents",
		Long: `Deletes documents and prints how many there were. Merges, or compact, give the
space back.

Those with the given ids are deleted in one step. Exit code 1 when one of the ids
does not exist; the others are deleted.

With --query, those that match are deleted, a thousand in each step; the text is
as for search. If it is broken off, what has been deleted stays, and --resume
with the printed token finishes it: documents that are put meanwhile stay.`,
		Example: `  riffle delete --db logs --query 'at:<now-7d'
  riffle delete --db logs --query 'at:<now-7d' --dry-run
  riffle delete --db books moby emma`,
	}
	by.declare(c, "delete", "ids")
	c.RunE = func(c *cobra.Command, ids []string) error {
		switch {
		case c.Flags().Changed("query") && len(ids) > 0:
			return usagef("either ids or --query")
		case c.Flags().Changed("query"):
			return by.run(c, db, "deleted", func(ctx context.Context, e *riffle.Engine, q riffle.Query, o *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error) {
				return e.DeleteByQuery(ctx, q, o)
			})
		case len(ids) == 0:
			return usagef("no ids, and no --query")
		}
		for _, name := range []string{"rate", "resume", "dry-run"} {
			if c.Flags().Changed(name) {
				return usagef("--%s goes with --query", name)
			}
		}
		return remove(c, db, ids)
	}
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
