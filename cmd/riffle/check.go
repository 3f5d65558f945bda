package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const checkLong = `Reads the whole index and verifies every checksum and every invariant: posting
lists and their bounds, lengths, ids, stored documents, deletions, the log. Prints
what was checked, or the place of the first fault and exit code 1. It never writes
to the index, and works on a checkpoint too.`

func newCheck() *cobra.Command {
	var db string
	var all bool
	c := &cobra.Command{
		Use:   "check --db DIR",
		Short: "Verify every checksum and invariant of an index",
		Long:  checkLong,
		Args:  cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return check(c, db, all) }
	dbFlag(c, &db)
	c.Flags().BoolVar(&all, "all", false, "go on behind the first fault and print all of them")
	return c
}

func check(c *cobra.Command, db string, all bool) (err error) {
	e, err := openToRead(db)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	var first error
	faults := 0
	err = e.Check(ctx, func(fault error) {
		faults++
		switch {
		case all:
			fmt.Fprintf(c.ErrOrStderr(), "fault: %v\n", fault)
		case faults == 1:
			first = fault
			stop()
		}
	})
	switch {
	case first != nil:
		return first
	case err != nil:
		return err
	case faults > 0:
		return fmt.Errorf("%d faults", faults)
	}
	st, err := e.Stats()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "ok: %d documents, %d segments, %d log records, %d bytes\n",
		st.Docs, len(st.Segments), st.LogRecords, st.Store.DiskBytes)
	return err
}
