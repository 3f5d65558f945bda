package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterStatus() *cobra.Command {
	var f connectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [--nats URL]",
		Short: "Print nodes, logs and replicas",
		Long: `Prints the nodes of a cluster, and for each shard of each index its log and its replicas. Lag is the
number of entries of the log that a replica has not applied. Then come faults: nodes that do not answer,
logs without a leader, replicas that do not run or differ from others. With faults the exit code is 1.`,
		Args: cobra.NoArgs,
	}
	clusterFlagsOf(c, &f)
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object on one line")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) error {
			ctx, cancel := context.WithTimeout(ctx, clusterWait)
			defer cancel()
			st, err := cl.Status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(c.OutOrStdout()).Encode(st)
			} else {
				err = printStatus(c.OutOrStdout(), st, time.Now())
			}
			faults := st.Faults()
			if err == nil && len(faults) > 0 {
				err = fmt.Errorf("faults:\n  %s", strings.Join(faults, "\n  "))
			}
			return err
		})
	}
	return c
}

// printStatus prints a status as two tables.
func printStatus(out io.Writer, st *cluster.Status, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tSTATE\tREPLICAS\tREQUESTS\tBYTES\tUP FOR\tRIFFLE")
	for _, n := range st.Nodes {
		state, up := "silent", ""
		if n.Up {
			state, up = "up", now.Sub(n.Started).Round(time.Second).String()
		}
		if n.Drained {
			state += ", drained"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", n.Name, state, n.Replicas, n.Requests, n.Bytes, up, n.Program)
	}
	if err := w.Flush(); err != nil || len(st.Indexes) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nINDEX\tSHARD\tLOG\tLEADER\tNODE\tSTATE\tLAG\tDOCUMENTS\tBYTES")
	for _, x := range st.Indexes {
		for _, s := range x.Shards {
			leader := s.Log.Leader
			if leader == "" {
				leader = "none"
			}
			for _, r := range s.Replicas {
				known := "-\t-\t-"
				if r.State != cluster.Silent && r.State != cluster.Missing {
					known = fmt.Sprintf("%d\t%d\t%d", r.Lag, r.Docs, r.Bytes)
				}
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", x.Name, s.Shard, s.Log.Last, leader, r.Node, r.State, known)
			}
		}
	}
	return w.Flush()
}
