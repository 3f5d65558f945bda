package main

import "github.com/spf13/cobra"

func newStat() *cobra.Command {
	return &cobra.Command{Use: "stat", RunE: func(*cobra.Command, []string) error { return nil }}
}
