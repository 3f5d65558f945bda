package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterBackup() *cobra.Command {
	var f connectFlags
	c := &cobra.Command{
		Use:   "backup INDEX DIR",
		Short: "Copy an index of a cluster to a directory",
		Long: `Writes a backup of an index into DIR, which must not exist: a verified copy of each shard, which is an index
of riffle, and backup.json. It has all changes that were acknowledged before the command. riffle
cluster restore makes the index again. Nodes of other machines give copies with TLS alone
(--cluster-cert, --cluster-key, --cluster-ca).`,
		Args: cobra.ExactArgs(2),
	}
	clusterFlagsOf(c, &f)
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			b, err := cl.TakeBackup(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			docs, bytes := 0, int64(0)
			for i := range b.Shards {
				docs, bytes = docs+b.Shards[i].Docs, bytes+b.Shards[i].Files.Bytes()
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d shards, %d documents, %d bytes\n", args[0], len(b.Shards), docs, bytes)
			return err
		})
	}
	return c
}

func newClusterRestore() *cobra.Command {
	var f connectFlags
	var o cluster.RestoreOptions
	var logSpace byteSize
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Make an index from a backup",
		Long: `Makes an index from what riffle cluster backup has written, beside other indexes: --name gives it another
name. The files are verified first, and stay as they are. Nodes fetch the copies from this program; those
of other machines need --copies-listen, an address of this machine that they reach, and TLS
(--cluster-cert, --cluster-key, --cluster-ca). When it fails nothing is left.`,
		Args: cobra.ExactArgs(1),
	}
	clusterFlagsOf(c, &f)
	flags := c.Flags()
	flags.StringVar(&o.Name, "name", "", "of the index (default: that of the backup)")
	flags.IntVar(&o.Replicas, "replicas", 0, "of each shard (default: as many as there were)")
	flags.StringSliceVar(&o.Nodes, "nodes", nil, "that may have replicas (default: all that are up and not drained)")
	flags.IntVar(&o.LogCopies, "log-copies", 0, "of each log: 1, 3 or 5 (default: as many as there were)")
	flags.Var(&logSpace, "log-space", "of each log (default: 1 GiB)")
	flags.StringVar(&o.Copies.Listen, "copies-listen", "", "address at which nodes fetch the copies (default: a port of this machine)")
	flags.StringVar(&o.Copies.Advertise, "copies-advertise", "", "address by which nodes know it, if it is another one")
	flags.StringVar(&o.Work, "work", "", "directory for temporary files, best on the file system of the backup")
	c.MarkFlagDirname("work")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		o.LogBytes = int64(logSpace)
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error { return cl.Restore(ctx, args[0], o) })
	}
	return c
}
