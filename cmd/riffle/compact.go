package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompact() *cobra.Command {
	var db string
	c := &cobra.Command{
		Use:   "compact --db DIR",
		Short: "Write everything into one segment and give space back",
		Long: `Merges all segments into one without deleted documents, which makes searches
faster and the index smaller. It takes about as long as writing the whole index,
and for that time the space of the old one too.`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return compact(c, db) }
	dbFlag(c, &db)
	return c
}

func compact(c *cobra.Command, db string) (err error) {
	e, err := openToChange(db)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	before, err := e.Stats()
	if err != nil {
		return err
	}
	if err := e.Compact(c.Context()); err != nil {
		return err
	}
	after, err := e.Stats()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "segments %d -> %d, deleted documents %d -> %d, bytes %d -> %d\n",
		len(before.Segments), len(after.Segments), before.Deleted, after.Deleted, before.Store.DiskBytes, after.Store.DiskBytes)
	return err
}
