package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// Exit codes, documented in the help text.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const rootLong = `riffle is a search engine in a directory: documents go in as JSON lines, ranked
answers come out.

  riffle index --db books passages.jsonl.zst
  riffle search --db books "call me ishmael"

A directory belongs to one process at a time; a second one is told so at once.

Exit codes: 0 done; 1 failed, or a fault was found, or a document is missing;
2 called wrongly. Answers go to standard output, errors and progress to standard
error.`

// A usageError is the caller's mistake rather than a failure of the work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// A failure is an error of a command that has begun its work. Errors that cobra reports before that
// (flags, arguments, unknown commands) are not marked: they are the caller's mistakes.
type failure struct{ error }

func (e failure) Unwrap() error { return e.error }

// newRoot makes the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "riffle",
		Short:         "A search engine in a directory",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	profileFlags(root)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"documents", "Documents:", []*cobra.Command{newIndex(), newSearch(), newGet(), newUpdate(), newDelete()}},
		{"experiments", "Experiments:", []*cobra.Command{newRun(), newEval(), newBench()}},
		{"moving", "Moving to riffle:", []*cobra.Command{newBleve()}},
		{"server", "A server:", []*cobra.Command{newServe(), newKey()}},
		{"cluster", "A cluster:", []*cobra.Command{newCluster()}},
		{"index", "The index as a whole:", []*cobra.Command{newStat(), newCheck(), newCompact(), newCheckpoint(), newGPU()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			markFailures(c)
			root.AddCommand(c)
		}
	}
	return root
}

// markFailures wraps a command so that its errors are marked as failures.
func markFailures(c *cobra.Command) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := profiled(c, func() error { return run(c, args) }); err != nil {
			return failure{err}
		}
		return nil
	}
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	text := strings.ReplaceAll(": "+err.Error(), ": riffle: ", ": ") // the engine also begins its errors with its name
	fmt.Fprintf(errw, "riffle%s\n", text)
	if !isUsage(err) {
		return exitFailure
	}
	fmt.Fprintf(errw, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return exitUsage
}

func isUsage(err error) bool {
	var began failure
	var usage usageError
	var query *riffle.QueryError // a parameter that the engine refuses, such as -k 0
	return !errors.As(err, &began) || errors.As(err, &usage) || errors.As(err, &query)
}
