package main

import "github.com/spf13/cobra"

func newGet() *cobra.Command {
	return &cobra.Command{Use: "get", RunE: func(*cobra.Command, []string) error { return nil }}
}
