package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster"
)

func newClusterCheck() *cobra.Command {
	var f connectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [INDEX...]",
		Short: "Compare replicas and verify their checksums",
		Long: `Compares the replicas of each shard at one entry of its log, while others write: the entries that they have
read, their documents, and the terms of these. Each replica verifies all of its checksums and
invariants, too, as riffle check does. Reads everything. Without names it checks all indexes. Prints
what was checked; with faults the exit code is 1. A key needs the roles controller and writer.`,
	}
	clusterFlagsOf(c, &f)
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object on one line for each index")
	c.RunE = func(c *cobra.Command, args []string) error {
		return withCluster(c.Context(), &f, func(ctx context.Context, cl *cluster.Client) (err error) {
			if len(args) == 0 {
				if args, err = cl.Indexes(ctx); err != nil {
					return err
				}
			}
			var faults []string
			for _, name := range args {
				r, err := cl.Check(ctx, name)
				if err != nil {
					return err
				}
				faults = append(faults, r.Faults()...)
				if asJSON {
					err = json.NewEncoder(c.OutOrStdout()).Encode(r)
				} else {
					err = printCheck(c, r)
				}
				if err != nil {
					return err
				}
			}
			if len(faults) > 0 {
				return fmt.Errorf("faults:\n  %s", strings.Join(faults, "\n  "))
			}
			return nil
		})
	}
	return c
}

func printCheck(c *cobra.Command, r *cluster.CheckResult) error {
	docs, replicas := 0, 0
	for _, s := range r.Shards {
		most := 0
		for _, x := range s.Replicas {
			if x.Error == "" {
				replicas++
			}
			most = max(most, x.Docs)
		}
		docs += most
	}
	word := "ok"
	if len(r.Faults()) > 0 {
		word = "faults"
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s: %d shards, %d replicas, %d documents\n", r.Index, word, len(r.Shards), replicas, docs)
	return err
}
