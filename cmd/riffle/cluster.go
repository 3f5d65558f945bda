package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

// newCluster returns the commands for a cluster as a whole.
func newCluster() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Look after a cluster of machines",
		Long: `Commands for a cluster, whose nodes are processes of riffle serve --cluster. docs/CLUSTER.md says what a
cluster is for and what it promises.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, sub := range []*cobra.Command{
		newClusterDemo(), newClusterStatus(), newClusterKey(), newClusterConfig(),
		newClusterAdd(), newClusterDrain(), newClusterMove(), newClusterCheck(), newClusterBackup(), newClusterRestore(), newClusterReindex(), newClusterSchema(), newClusterControl(),
	} {
		markFailures(sub)
		c.AddCommand(sub)
	}
	return c
}

// localNATS is where commands look for the cluster: the usual port of NATS.
const localNATS = "nats://127.0.0.1:4222"

// clusterWait is how long a cluster may take to answer a command.
const clusterWait = 10 * time.Second

// clusterFlagsOf declares how a command reaches the cluster.
func clusterFlagsOf(c *cobra.Command, f *connectFlags) {
	f.declare(c.Flags(), localNATS, "URL of the servers of NATS, such as the --nats-listen of a node")
	for _, flag := range []string{"nats-key", "cluster-cert", "cluster-key", "cluster-ca"} {
		c.MarkFlagFilename(flag)
	}
}

// withCluster calls use with a client of a cluster.
func withCluster(ctx context.Context, f *connectFlags, use func(context.Context, *cluster.Client) error) (err error) {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	conn, err := f.connect("riffle cluster", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer conn.Close()
	config, err := f.tls()
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, clusterWait)
	c, err := cluster.Connect(short, conn, &cluster.Options{CopyTLS: mutual(config)})
	cancel()
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, c), c.Close())
}
