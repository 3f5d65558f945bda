package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
)

func newClusterSchema() *cobra.Command {
	var f connectFlags
	c := &cobra.Command{
		Use:   "schema INDEX FILE",
		Short: "Change the schema of an index of a cluster",
		Long: `Changes the schema of an index to that of FILE, in JSON, without another index: fields can be added, and rules
for later documents changed. riffle cluster reindex makes other changes. Takes a few seconds, in which all
programs that write learn of it. When it is interrupted the same command goes on. A key needs the roles
controller and writer.`,
		Args: cobra.ExactArgs(2),
	}
	clusterFlagsOf(c, &f)
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		schema, err := riffle.ParseSchema(text)
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error { return cl.AlterSchema(ctx, args[0], schema) })
	}
	return c
}
