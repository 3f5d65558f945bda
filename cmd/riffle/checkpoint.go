package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newCheckpoint() *cobra.Command {
	var db string
	c := &cobra.Command{
		Use:   "checkpoint --db DIR TARGET",
		Short: "Copy an index to a new directory",
		Long: `Writes a complete, durable copy of the index into TARGET, which must not exist.
On the same file system it is made of hard links and costs no space until the
index changes. The copy is an index like any other.`,
		Args: cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error { return checkpoint(c.Context(), db, args[0]) }
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	dbFlag(c, &db)
	return c
}

func checkpoint(ctx context.Context, db, target string) (err error) {
	e, err := openToChange(db, nil)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	return e.Checkpoint(ctx, target)
}
