package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

func newDelete() *cobra.Command {
	var db string
	var by deleteByQuery
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
  riffle delete --db books moby emma`,
	}
	f := c.Flags()
	f.StringVar(&by.text, "query", "", "delete what matches a query, in the language of search, instead of ids")
	f.StringVar(&by.field, "field", "text", "field of the words of the query that name none")
	f.Float64Var(&by.rate, "rate", 0, "most documents a second, on average; 0 for no bound")
	f.StringVar(&by.resume, "resume", "", "token of a call that was broken off, to finish it")
	c.RegisterFlagCompletionFunc("field", completeFields)
	c.RunE = func(c *cobra.Command, ids []string) error {
		switch {
		case c.Flags().Changed("query") && len(ids) > 0:
			return usagef("either ids or --query")
		case c.Flags().Changed("query"):
			return by.run(c, db)
		case len(ids) == 0:
			return usagef("no ids, and no --query")
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

// A deleteByQuery is delete --query.
type deleteByQuery struct {
	text, field, resume string
	rate                float64
}

func (d *deleteByQuery) run(c *cobra.Command, db string) (err error) {
	e, err := openToChange(db, nil)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	q, err := riffle.ParseQuery(d.text, &riffle.ParseOptions{Engine: e, Fields: []string{d.field}})
	var pe *riffle.ParseError
	if errors.As(err, &pe) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	done, err := e.DeleteByQuery(c.Context(), q, &riffle.ByQueryOptions{DocsPerSecond: d.rate, Resume: d.resume})
	if err == nil || done.Changed > 0 {
		_, perr := fmt.Fprintf(c.OutOrStdout(), "deleted %d\n", done.Changed)
		err = errors.Join(err, perr)
	}
	if err != nil && done.Token != "" {
		err = fmt.Errorf("%w; to finish: --resume %s", err, done.Token)
	}
	return err
}
