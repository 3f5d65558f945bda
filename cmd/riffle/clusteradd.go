package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterAdd() *cobra.Command {
	var f connectFlags
	c := &cobra.Command{
		Use:   "add NODE",
		Short: "Give a node its share of the replicas",
		Long: `Moves replicas of each index to a node that has started, until it has as many as the others: from those
that have most. Prints each move before it begins. When it is interrupted what has been moved stays, and
the same command goes on. A node that was drained is used again.`,
		Args: cobra.ExactArgs(1),
	}
	clusterFlagsOf(c, &f)
	c.RunE = func(c *cobra.Command, args []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			return cl.AddNode(ctx, args[0], func(s cluster.Step) { fmt.Fprintln(c.OutOrStdout(), s) })
		})
	}
	return c
}

func newClusterDrain() *cobra.Command {
	var f connectFlags
	c := &cobra.Command{
		Use:   "drain NODE",
		Short: "Take all replicas from a node",
		Long: `Moves all replicas of a node to others, and places no new ones on it until riffle cluster add. The node
need not be up, if each shard has another replica. Prints each move before it begins. When it is
interrupted the same command goes on. Afterwards the node can be stopped for good.`,
		Args: cobra.ExactArgs(1),
	}
	clusterFlagsOf(c, &f)
	c.RunE = func(c *cobra.Command, args []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			return cl.Drain(ctx, args[0], func(s cluster.Step) { fmt.Fprintln(c.OutOrStdout(), s) })
		})
	}
	return c
}
