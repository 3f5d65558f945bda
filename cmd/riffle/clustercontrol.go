package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterControl() *cobra.Command {
	var f connectFlags
	var every time.Duration
	c := &cobra.Command{
		Use:   "control",
		Short: "Trim the logs of a cluster of external servers",
		Long: `Trims the logs now and then, and finishes what interrupted commands have left, until it is interrupted itself.
Nodes with servers of their own (riffle serve --cluster) do this by themselves. A cluster on external
servers of NATS (riffle serve --nats) needs one such program, with a key of the role controller.`,
		Args: cobra.NoArgs,
	}
	clusterFlagsOf(c, &f)
	c.Flags().DurationVar(&every, "every", 10*time.Second, "how often")
	c.RunE = func(c *cobra.Command, _ []string) error {
		log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			cl.Control(ctx, cluster.ControlOptions{Every: every, Log: log})
			return nil
		})
	}
	return c
}
