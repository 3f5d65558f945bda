package main

import "github.com/spf13/cobra"

func newDelete() *cobra.Command {
	return &cobra.Command{Use: "delete", RunE: func(*cobra.Command, []string) error { return nil }}
}
