package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/server"
)

func newKey() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "key [--keys FILE] NAME {read | write | admin}",
		Short: "Make an API key for riffle serve",
		Long: `Makes a key for clients of riffle serve. NAME is for logs. A key with the role read searches and reads
documents, write also changes documents, and admin also creates, drops and copies indexes.

With --keys the key is added to FILE, which is made if it does not exist, and the secret is printed.
Servers that run notice. Without --keys the second line of the output is the one for the file. The
secret is not kept: the file has its hash. To take a key back, delete its line.`,
		Args: cobra.ExactArgs(2),
	}
	c.Flags().StringVar(&file, "keys", "", "file to add the key to")
	c.MarkFlagFilename("keys")
	c.ValidArgs = []string{"read", "write", "admin"}
	c.RunE = func(c *cobra.Command, args []string) error {
		role, err := server.ParseRole(args[1])
		if err != nil {
			return usageError{err}
		}
		secret, line, err := server.NewKey(args[0], role)
		if err != nil {
			return usageError{err}
		}
		if file == "" {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", secret, line)
			return err
		}
		if err := addKey(file, line); err != nil {
			return fmt.Errorf("--keys: %w", err)
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), secret)
		return err
	}
	return c
}

// addKey adds a line to a file of keys, whose names differ.
func addKey(path, line string) error {
	return addLine(path, line+"\n", func(text []byte) error {
		_, err := server.ReadKeys(bytes.NewReader(text))
		return err
	})
}
