package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// A bulkMode says whether index makes the index as a whole.
type bulkMode uint8

const (
	bulkAuto bulkMode = iota // for an index that is new, of files
	bulkOn
	bulkOff
)

var bulkNames = []string{"auto", "on", "off"}

func declareBulk(c *cobra.Command, v *choice[bulkMode]) {
	*v = choice[bulkMode]{text: "auto", names: bulkNames, parse: func(s string) (bulkMode, error) {
		i := slices.Index(bulkNames, s)
		if i < 0 {
			return 0, fmt.Errorf("want one of %v", bulkNames)
		}
		return bulkMode(i), nil
	}}
	v.declare(c, "bulk", "make the index as a whole, several times as fast, nothing before everything: on, off, or auto, which is on for a new index unless input comes from a pipe or batches were asked for")
}

// bulk decides whether the index is made as a whole.
func (ix *indexCommand) wantsBulk(c *cobra.Command, files []string) (bool, error) {
	switch ix.bulk.value {
	case bulkOn:
		return true, nil
	case bulkOff:
		return false, nil
	}
	if c.Flags().Changed("batch") || c.Flags().Changed("no-sync") || slices.Contains(files, "-") {
		return false, nil
	}
	entries, err := os.ReadDir(ix.db)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return true, nil
	}
	e, err := riffle.Open(ix.db, &riffle.Options{ReadOnly: true})
	if err == nil {
		return false, e.Close()
	}
	return errors.Is(err, riffle.ErrUnfinished), nil // any other error is met again
}

// build makes the index as a whole.
func (ix *indexCommand) build(ctx context.Context, in io.Reader, files []string, w *indexWriter) (s summary, err error) {
	defer w.progress.finish()
	o := &riffle.BuildOptions{Index: *w.options, Workers: ix.workers, MemoryBytes: int64(ix.memory), OneSegment: ix.one}
	o.Bad = func(err error) error { return w.bad(err) }
	o.Progress = func(p riffle.BuildProgress) { w.progress.update(p.Docs, p.TextBytes, p.InputBytes) }
	source := riffle.JSONLines{Files: files, Stdin: in, IDPrefix: ix.prefix, Readers: ix.readers}
	res, err := riffle.Build(ctx, ix.db, source, o)
	if err != nil {
		return s, err
	}
	w.total.Docs, w.total.TextBytes = res.Docs, res.TextBytes
	e, err := riffle.Open(ix.db, &riffle.Options{ReadOnly: true})
	if err != nil {
		return s, err
	}
	defer closing(e, &err)
	err = w.sizes(e)
	w.total.Written = res.WrittenBytes
	return w.total, err
}
