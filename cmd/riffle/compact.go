package main

import "github.com/spf13/cobra"

func newCompact() *cobra.Command {
	return &cobra.Command{Use: "compact", RunE: func(*cobra.Command, []string) error { return nil }}
}
