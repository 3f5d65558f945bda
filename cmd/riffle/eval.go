package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle/internal/trec"
)

const evalLong = `Scores a TREC run against judgements as trec_eval defines it, one "name value" a
line: MAP, nDCG@10, P@10, Recall@100, Recall@1000. Means are over all queries that
have judgements, as with trec_eval -c: one without an answer counts as 0. Grades of
1 and more are relevant.

Judgements are lines of "query document grade" (tabs or spaces), or of NIST's
four columns.`

func newEval() *cobra.Command {
	var qrels string
	c := &cobra.Command{
		Use:     "eval --qrels FILE RUN",
		Short:   "Score a TREC run against judgements",
		Long:    evalLong,
		Example: "  riffle eval --qrels qrels.tsv run.txt",
		Args:    cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error { return evaluate(c, qrels, args[0]) }
	c.Flags().StringVar(&qrels, "qrels", "", "file of judgements (required)")
	c.MarkFlagRequired("qrels")
	c.MarkFlagFilename("qrels", "tsv", "txt", "qrels")
	return c
}

func evaluate(c *cobra.Command, qrelsPath, runPath string) error {
	f, err := os.Open(qrelsPath)
	if err != nil {
		return err
	}
	defer f.Close()
	qrels, err := trec.ReadQrels(qrelsPath, f)
	if err != nil {
		return err
	}
	g, err := os.Open(runPath)
	if err != nil {
		return err
	}
	defer g.Close()
	run, err := trec.ReadRun(runPath, g)
	if err != nil {
		return err
	}
	m, err := trec.Evaluate(qrels, run)
	if err != nil {
		return err
	}
	return m.Print(c.OutOrStdout())
}
