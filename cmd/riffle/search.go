package main

import "github.com/spf13/cobra"

func newSearch() *cobra.Command {
	return &cobra.Command{Use: "search", RunE: func(*cobra.Command, []string) error { return nil }}
}
