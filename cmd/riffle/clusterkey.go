package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/cluster/access"
)

func newClusterKey() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "key [--users FILE] NAME ROLE[,ROLE]...",
		Short: "Make a key for a member of a cluster",
		Long: `Makes a key for a program that connects to the NATS of a cluster. The roles say what it may do:

  reader      search, get and count, and see how the cluster is doing
  writer      change documents
  controller  create, change and drop indexes, and all that a reader may
  node        have replicas: NAME is that of the node

A riffle serve --nats needs reader,writer,controller, and a node with --nats the role node besides. The
secret is printed; keep it in a file for --nats-key. With --users the public half is added to FILE, for
--nats-users of the nodes that run the servers of NATS. They read it when they start. Without --users
the second line of the output is the one for the file.`,
		Example: "  riffle cluster key --users users dashboard reader > dashboard.key",
		Args:    cobra.ExactArgs(2),
	}
	c.Flags().StringVar(&file, "users", "", "file to add the user to")
	c.MarkFlagFilename("users")
	for _, r := range access.Roles {
		c.ValidArgs = append(c.ValidArgs, string(r))
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		var roles []access.Role
		for r := range strings.SplitSeq(args[1], ",") {
			roles = append(roles, access.Role(r))
		}
		u, seed, err := access.NewUser(args[0], roles...)
		if err != nil {
			return usageError{err}
		}
		if file == "" {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n%s", seed, u.Line())
			return err
		}
		check := func(text []byte) error {
			_, err := access.ReadUsers(bytes.NewReader(text))
			return err
		}
		if err := addLine(file, u.Line(), check); err != nil {
			return fmt.Errorf("--users: %w", err)
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), seed)
		return err
	}
	return c
}

func newClusterConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config FILE",
		Short: "Print users as configuration of a server of NATS",
		Long: `Prints the users of FILE, which riffle cluster key writes, with their permissions, as the block
"authorization" of the configuration of nats-server: for a cluster whose servers of NATS run by themselves.
Such servers also need "jetstream { sync_interval: always }", or what is acknowledged may be lost with the
power of several machines.`,
		Args: cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		users, err := access.ReadUsers(f)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		_, err = io.WriteString(c.OutOrStdout(), access.Config(users))
		return err
	}
	return c
}

// addLine adds a line to a file that only its owner reads, if check finds no fault in the whole.
func addLine(path, line string, check func(text []byte) error) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		line = "\n" + line
	}
	if err := check(append(text, line...)); err != nil {
		return fmt.Errorf("%s would be wrong: %w", path, err)
	}
	if _, err = file.WriteString(line); err != nil {
		return err
	}
	return file.Sync()
}
