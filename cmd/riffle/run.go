package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/trec"
)

const runLong = `Answers every query of a topics file (id, tab, text, a query a line) and writes
the answers in TREC format:

  query-id Q0 document-id rank score tag

Queries run in parallel on all cores; the output has the order of the topics. A
query without hits has no line. Scores are written so that they fall strictly:
whoever sorts them again finds the order of this engine, ties included.`

type runCommand struct {
	queryFlags
	db, topics, output, tag string
}

func newRun() *cobra.Command {
	var r runCommand
	c := &cobra.Command{
		Use:     "run --db DIR --topics FILE",
		Short:   "Answer many queries and write a TREC run",
		Long:    runLong,
		Example: "  riffle run --db cran --topics queries.tsv -k 1000 -o run.txt\n  riffle eval --qrels qrels.tsv run.txt",
		Args:    cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return r.run(c) }
	dbFlag(c, &r.db)
	topicsFlag(c, &r.topics)
	r.declare(c, 1000)
	c.Flags().StringVarP(&r.output, "output", "o", "-", "file to write; - is standard output")
	c.Flags().StringVar(&r.tag, "tag", "riffle", "name of the run, its last column")
	return c
}

func topicsFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "topics", "", "file of queries: id, tab, text (required)")
	c.MarkFlagRequired("topics")
	c.MarkFlagFilename("topics", "tsv", "txt")
}

func (r *runCommand) run(c *cobra.Command) (err error) {
	o, err := r.options(c)
	if err != nil {
		return err
	}
	topics, err := readTopics(r.topics)
	if err != nil {
		return err
	}
	e, err := openWith(r.db, r.engineOptions())
	if err != nil {
		return err
	}
	defer closing(e, &err)
	if err := checkFields(e, r.fieldNames()); err != nil {
		return err
	}
	return writeTo(r.output, c.OutOrStdout(), func(w io.Writer) error {
		return r.write(c.Context(), e, topics, o, w)
	})
}

func readTopics(path string) ([]trec.Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trec.ReadTopics(path, f)
}

// writeTo calls write with a new file, and removes the file if write fails; "-" is the given
// writer.
func writeTo(path string, out io.Writer, write func(io.Writer) error) error {
	if path == "-" {
		return write(out)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		if info, serr := os.Stat(path); serr == nil && info.Mode().IsRegular() {
			os.Remove(path)
		}
		return err
	}
	return nil
}

// An answer is the outcome of one topic.
type answer struct {
	hits []trec.Hit
	err  error
}

// write answers the topics in parallel and writes the answers in the order of the topics.
func (r *runCommand) write(ctx context.Context, e *riffle.Engine, topics []trec.Topic, o *riffle.SearchOptions, out io.Writer) error {
	w, err := trec.NewRunWriter(out, r.tag)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([]chan answer, len(topics))
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	wait := inParallel(runtime.GOMAXPROCS(0), len(topics), func(_, i int) {
		answers[i] <- r.answer(ctx, e, topics[i], o)
	})
	defer wait()
	for i, t := range topics {
		a := <-answers[i]
		answers[i] = nil
		if a.err == nil {
			a.err = w.Write(t.ID, a.hits)
		}
		if a.err != nil {
			cancel() // the remaining answers become errors, quickly
			return a.err
		}
	}
	return w.Flush()
}

func (r *runCommand) answer(ctx context.Context, e *riffle.Engine, t trec.Topic, o *riffle.SearchOptions) answer {
	res, err := e.Search(ctx, r.match(t.Text), o)
	if err != nil {
		return answer{err: err}
	}
	hits := make([]trec.Hit, len(res.Hits))
	for i, h := range res.Hits {
		hits[i] = trec.Hit{Doc: h.ID, Score: h.Score}
	}
	return answer{hits: hits}
}
