package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/trec"
)

// A corpus is documents as every engine gets them: one a line, tokens with single
// spaces between them.
type corpus struct {
	path  string
	hash  string // of the file
	docs  int
	bytes int64 // of the original text

	columns string // the option "columns", where documents are rows
}

// writeCorpus tokenises the field "text" of JSON lines. At most limit documents are taken, or all
// if it is 0, and written the given number of times, copy behind copy.
func writeCorpus(path string, sources []string, limit, copies int) (c corpus, err error) {
	c.path = path
	f, err := os.Create(path)
	if err != nil {
		return c, err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<20)
	var line []byte
	for _, source := range sources {
		err := eachText(source, func(text string) bool {
			if limit > 0 && c.docs == limit {
				return false
			}
			line = append(appendTokens(line[:0], text), '\n')
			out.Write(line) // errors stay until Flush
			c.docs++
			c.bytes += int64(len(text))
			return true
		})
		if err != nil {
			return c, err
		}
	}
	if err := out.Flush(); err != nil {
		return c, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	for i := 1; i < copies && err == nil; i++ {
		_, err = io.Copy(out, io.NewSectionReader(f, 0, size))
	}
	if err == nil {
		err = out.Flush()
	}
	c.docs, c.bytes = c.docs*max(copies, 1), c.bytes*int64(max(copies, 1))
	c.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return c, err
}

// eachText calls fn with the text of each document until it returns false.
func eachText(path string, fn func(text string) bool) error {
	r, err := jsonl.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	var doc jsonl.Document
	for {
		if err := r.Next(&doc); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for _, f := range doc.Fields {
			if text, ok := f.Value.(string); ok && f.Name == "text" && !fn(text) {
				return nil
			}
		}
	}
}

// appendTokens appends the words of a text as riffle's standard analyzer finds
// them, with single spaces between. Of white space a word may hold only U+202F, which
// joins letters by UAX #29; enter sees to it that all engines find equally many terms.
func appendTokens(dst []byte, text string) []byte {
	begin := len(dst)
	analysis.AnalyzeString(analysis.Standard(), text, func(batch []analysis.Token) {
		for _, t := range batch {
			if len(dst) > begin {
				dst = append(dst, ' ')
			}
			dst = append(dst, t.Term...)
		}
	})
	return dst
}

// A querySet is one file or list of queries, tokenised.
type querySet struct {
	name    string
	queries []string

	modes  []string // that the queries are for; nil for any that asks for words
	primer []string // as many other queries of the kind; nil where there are none

	borders []border // of each query, if it is of a shape
}

// takes says whether the queries are for a task.
func (s querySet) takes(t task) bool {
	if s.modes == nil {
		return !slices.Contains(termModes, t.mode) && !t.columns()
	}
	return slices.Contains(s.modes, t.mode)
}

// readQueries takes the first queries of a file that have at least so many words, and
// at least one.
func readQueries(path string, limit, words int) (querySet, error) {
	set := querySet{name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	f, err := os.Open(path)
	if err != nil {
		return set, err
	}
	defer f.Close()
	topics, err := trec.ReadTopics(path, f)
	if err != nil {
		return set, err
	}
	for _, t := range topics {
		if limit > 0 && len(set.queries) == limit {
			break
		}
		if q := appendTokens(nil, t.Text); len(q) > 0 && bytes.Count(q, []byte(" "))+1 >= words {
			set.queries = append(set.queries, string(q))
		}
	}
	if len(set.queries) == 0 {
		return set, fmt.Errorf("%s: no queries", path)
	}
	return set, nil
}
