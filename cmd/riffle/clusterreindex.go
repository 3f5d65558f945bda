package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
)

func newClusterReindex() *cobra.Command {
	var f connectFlags
	var o cluster.ReindexOptions
	var schemaFile string
	var logSpace byteSize
	c := &cobra.Command{
		Use:   "reindex INDEX [--shards N] [--schema FILE]",
		Short: "Divide an index into another number of shards",
		Long: `Makes an index anew, with another number of shards or another schema, and lets its name stand for the
new one. It is searched and written meanwhile; writes wait for about a second at the end. No acknowledged
change is lost. If it fails late, the index takes no changes until the same command has
succeeded; the error says so. All fields must be stored, unless the logs still have their beginnings. A key
needs the roles controller and writer.`,
		Args: cobra.ExactArgs(1),
	}
	clusterFlagsOf(c, &f)
	flags := c.Flags()
	flags.IntVar(&o.Shards, "shards", 0, "of the new index (default: as many as there are)")
	flags.StringVar(&schemaFile, "schema", "", "file with the schema of the new index, in JSON (default: that of the old one)")
	flags.IntVar(&o.Replicas, "replicas", 0, "of each shard (default: as many as there are)")
	flags.StringSliceVar(&o.Nodes, "nodes", nil, "that may have replicas (default: all that are up and not drained)")
	flags.IntVar(&o.LogCopies, "log-copies", 0, "of each log: 1, 3 or 5 (default: as many as there are)")
	flags.Var(&logSpace, "log-space", "of each log (default: 1 GiB)")
	flags.StringVar(&o.Work, "work", "", "directory for temporary files, which hold one shard at a time")
	c.MarkFlagDirname("work")
	c.MarkFlagFilename("schema")
	c.RunE = func(c *cobra.Command, args []string) error {
		if schemaFile != "" {
			text, err := os.ReadFile(schemaFile)
			if err != nil {
				return fmt.Errorf("--schema: %w", err)
			}
			if o.Schema, err = riffle.ParseSchema(text); err != nil {
				return fmt.Errorf("--schema: %s: %w", schemaFile, err)
			}
		}
		o.LogBytes, o.Progress = int64(logSpace), func(step string) { fmt.Fprintln(c.ErrOrStderr(), step) }
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error { return cl.Reindex(ctx, args[0], o) })
	}
	return c
}
