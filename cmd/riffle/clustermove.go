package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterMove() *cobra.Command {
	var f connectFlags
	var from, to string
	var shard int
	c := &cobra.Command{
		Use:   "move INDEX --shard N [--from NODE] [--to NODE]",
		Short: "Move, add or remove a replica",
		Long: `Moves the replica of a shard from one node to another: the new one copies another replica, reads the log
until it has all, and takes part in searches; then the old one is removed. Without --from a replica is
added, without --to one is removed, but not the last one. The shard never has fewer replicas than
before. When it is interrupted the same command goes on; without --to, and with the new node
as --from, it is called off.`,
		Args: cobra.ExactArgs(1),
	}
	clusterFlagsOf(c, &f)
	c.Flags().IntVar(&shard, "shard", 0, "number of the shard, from 0")
	c.Flags().StringVar(&from, "from", "", "node that has a replica")
	c.Flags().StringVar(&to, "to", "", "node that is to have one")
	c.MarkFlagRequired("shard")
	c.MarkFlagsOneRequired("from", "to")
	c.RunE = func(c *cobra.Command, args []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			switch {
			case from == "":
				return cl.AddReplica(ctx, args[0], shard, to)
			case to == "":
				return cl.RemoveReplica(ctx, args[0], shard, from)
			}
			return cl.Move(ctx, args[0], shard, from, to)
		})
	}
	return c
}
