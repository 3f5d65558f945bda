package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// byQueryFlags are the flags of commands that change what matches a query.
type byQueryFlags struct {
	text, field, resume string
	rate                float64
	dryRun              bool
	progress            choice[progressMode]
}

// declare declares the flags; does is what the command does, such as "delete".
func (q *byQueryFlags) declare(c *cobra.Command, does, instead string) {
	f := c.Flags()
	f.StringVar(&q.text, "query", "", does+" what matches a query, in the language of search, instead of "+instead)
	f.StringVar(&q.field, "field", "text", "field of the words of the query that name none")
	f.Float64Var(&q.rate, "rate", 0, "most documents a second, on average; 0 for no bound")
	f.StringVar(&q.resume, "resume", "", "token of a call that was broken off, to finish it")
	f.BoolVar(&q.dryRun, "dry-run", false, "with --query: count the documents, and change none")
	c.RegisterFlagCompletionFunc("field", completeFields)
	declareProgress(c, &q.progress)
}

// A changeByQuery is DeleteByQuery or UpdateByQuery of an engine.
type changeByQuery func(context.Context, *riffle.Engine, riffle.Query, *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error)

// run changes what matches, and prints how many documents that were, behind a word such as "deleted".
func (q *byQueryFlags) run(c *cobra.Command, db, did string, change changeByQuery) (err error) {
	open := func() (*riffle.Engine, error) { return openToChange(db, nil) }
	if q.dryRun {
		open = func() (*riffle.Engine, error) { return openToRead(db) }
	}
	e, err := open()
	if err != nil {
		return err
	}
	defer closing(e, &err)
	query, err := riffle.ParseQuery(q.text, &riffle.ParseOptions{Engine: e, Fields: []string{q.field}})
	var pe *riffle.ParseError
	if errors.As(err, &pe) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if q.dryRun {
		n, err := e.Count(c.Context(), query)
		if err == nil {
			_, err = fmt.Fprintf(c.OutOrStdout(), "would have %s %d\n", did, n)
		}
		return err
	}
	var p *progress
	done, err := change(c.Context(), e, query, &riffle.ByQueryOptions{DocsPerSecond: q.rate, Resume: q.resume, Progress: func(d riffle.ByQueryProgress) {
		if p == nil {
			p = newProgress(q.progress.value, c.ErrOrStderr(), int64(d.Total))
		}
		p.changed(d.Changed+d.Unchanged+d.Skipped, d.Total)
	}})
	if p != nil {
		p.finish()
	}
	if err == nil || done.Changed > 0 {
		_, perr := fmt.Fprintf(c.OutOrStdout(), "%s %d\n", did, done.Changed)
		err = errors.Join(err, perr)
	}
	if err != nil && done.Token != "" {
		err = fmt.Errorf("%w; to finish: --resume %s", err, done.Token)
	}
	return err
}
