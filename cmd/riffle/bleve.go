package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/compat/bleve"
)

// bleveBatch is how many documents are indexed together.
const bleveBatch = 1000

func newBleve() *cobra.Command {
	var mapping, data, requests string
	c := &cobra.Command{
		Use:   "bleve --mapping FILE --data DIR --requests FILE",
		Short: "Answer bleve's search requests as bleve does",
		Long: `Indexes documents by a bleve index mapping, and answers bleve's search requests,
to compare the answers with those of bleve before moving to riffle.

The mapping is bleve's JSON. DIR holds a file for each document: an object in JSON,
whose id is the file's name without .json. If DIR holds folders instead, each is
an index with the same mapping, and all are searched as one.

A line of the requests file (- is standard input) is a search request in JSON. For
each, a line of bleve's result JSON is printed, or {"error": "..."} if the request
is refused. All but the scores, and the order that follows from them, is as in
bleve. Parts of the mapping that have no counterpart are listed on standard error.

The index is made in the directory for temporary files, and removed.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&mapping, "mapping", "", "file with the index mapping")
	c.Flags().StringVar(&data, "data", "", "directory of the documents")
	c.Flags().StringVar(&requests, "requests", "", "file with search requests, one a line")
	for _, name := range []string{"mapping", "data", "requests"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is not defined above
		}
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return answerBleve(c, mapping, data, requests) }
	return c
}

func answerBleve(c *cobra.Command, mapping, data, requests string) (err error) {
	text, err := os.ReadFile(mapping)
	if err != nil {
		return err
	}
	m, err := bleve.ParseMapping(text)
	if err != nil {
		return fmt.Errorf("%s: %w", mapping, err)
	}
	for _, p := range m.Problems() {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %v\n", mapping, p)
	}
	in := c.InOrStdin()
	if requests != "-" {
		f, err := os.Open(requests)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	dir, err := os.MkdirTemp("", "riffle-bleve-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	alias, err := indexFolders(c.Context(), dir, m, data)
	defer func() {
		for _, x := range alias {
			err = errors.Join(err, x.Close())
		}
	}()
	if err != nil {
		return err
	}
	return answerLines(c.Context(), alias, in, c.OutOrStdout())
}

// indexFolders makes an index of the documents in a directory, or one of each of its folders.
func indexFolders(ctx context.Context, dir string, m *bleve.Mapping, data string) (alias bleve.Alias, err error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, err
	}
	folders := []string{}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, filepath.Join(data, e.Name()))
		}
	}
	switch len(folders) {
	case 0:
		folders = append(folders, data)
	case len(entries):
	default:
		return nil, usagef("%s: it holds documents and folders; only one of both is possible", data)
	}
	for i, folder := range folders {
		name, err := filepath.Abs(folder)
		if err != nil {
			return alias, err
		}
		o := &bleve.Options{Name: filepath.Base(name), Engine: &riffle.Options{Durability: riffle.SyncNone}}
		x, err := bleve.Open(filepath.Join(dir, fmt.Sprint(i)), m, o)
		if err != nil {
			return alias, err
		}
		alias = append(alias, x)
		if err := indexFiles(ctx, x, folder); err != nil {
			return alias, err
		}
	}
	return alias, nil
}

// indexFiles adds the documents in a folder, one a file.
func indexFiles(ctx context.Context, x *bleve.Index, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var docs []bleve.Document
	for i, e := range entries {
		path := filepath.Join(folder, e.Name())
		if e.IsDir() {
			return fmt.Errorf("%s: it is a folder, where a document is wanted", path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docs = append(docs, bleve.Document{ID: strings.TrimSuffix(e.Name(), ".json"), JSON: text})
		if len(docs) == bleveBatch || i == len(entries)-1 {
			if err := x.Put(ctx, docs...); err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
			docs = docs[:0]
		}
	}
	return nil
}

// answerLines answers the requests of a file, one a line.
func answerLines(ctx context.Context, alias bleve.Alias, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReader(in), json.NewEncoder(out)
	w.SetEscapeHTML(false)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if last := err == io.EOF; len(bytes.TrimSpace(line)) > 0 {
			var answer any
			if answer, err = alias.Search(ctx, line); err != nil {
				if ctx.Err() != nil {
					return err
				}
				answer = map[string]string{"error": err.Error()}
			}
			if err := w.Encode(answer); err != nil || last {
				return err
			}
		} else if last {
			return nil
		}
	}
}
