package collection

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"os"

	"github.com/riffle-search/riffle/postings"
)

// stored is the form of a collection in a file: lists in their stored form, by the codec
// interpolative.
type stored struct {
	Version int
	Name    string
	Average float64
	Norms   []uint8
	Lists   []postings.Encoded
	Queries [][]int
}

// fileVersion is the version of stored, and of the form of lists.
const fileVersion = 1

// Write writes a collection to a file, in some 7 bits a posting.
func (c *Collection) Write(path string) (err error) {
	s := stored{Version: fileVersion, Name: c.Name, Average: c.Average, Norms: c.Norms, Queries: c.Queries}
	s.Lists = make([]postings.Encoded, len(c.Lists))
	errs := make([]error, len(c.Lists))
	InParallel(len(c.Lists), 0, func(i int) { s.Lists[i], errs[i] = c.encode(i) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := gob.NewEncoder(w).Encode(&s); err != nil {
		return err
	}
	return w.Flush()
}

// encode returns the stored form of list i.
func (c *Collection) encode(i int) (postings.Encoded, error) {
	again, err := c.rebuild(i, postings.Interpolative)
	if err != nil {
		return postings.Encoded{}, err
	}
	return again.Encode(), nil
}

// Recode returns the collection with its lists by another codec.
func (c *Collection) Recode(codec postings.Kind) (*Collection, error) {
	lists := make([]*postings.List, len(c.Lists))
	errs := make([]error, len(c.Lists))
	InParallel(len(c.Lists), 0, func(i int) {
		b, err := c.rebuild(i, codec)
		if errs[i] = err; err == nil {
			lists[i] = b.View(postings.MaxDoc)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return New(c.Name+"/"+codec.String(), c.Norms, c.Average, lists, c.Queries), nil
}

// rebuild returns a builder with the postings of list i.
func (c *Collection) rebuild(i int, codec postings.Kind) (*postings.Builder, error) {
	b := &postings.Builder{Codec: codec}
	var cursor postings.Cursor
	cursor.Reset(c.Lists[i].List)
	for d := cursor.Next(); d != postings.End; d = cursor.Next() {
		b.Add(d, cursor.TF(), c.Norms[d])
	}
	return b, cursor.Err()
}

// A loader holds the parts of a list in memory.
type loader struct{ postings.Encoded }

func (l loader) Directory(part int) ([]byte, error) { return l.Encoded.Directory[part], nil }
func (l loader) Chunk(chunk int) ([]byte, error)    { return l.Chunks[chunk], nil }

// Read reads a file that Write wrote.
func Read(path string) (*Collection, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s stored
	if err := gob.NewDecoder(bufio.NewReaderSize(f, 1<<20)).Decode(&s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.Version != fileVersion {
		return nil, fmt.Errorf("%s: version %d of the form, want %d", path, s.Version, fileVersion)
	}
	lists := make([]*postings.List, len(s.Lists))
	errs := make([]error, len(s.Lists))
	InParallel(len(lists), 0, func(i int) { lists[i], errs[i] = open(s.Lists[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return New(s.Name, s.Norms, s.Average, lists, s.Queries), nil
}

// open opens a list and loads all of it.
func open(e postings.Encoded) (*postings.List, error) {
	l, err := postings.Open(e.Entry, loader{e})
	for b := 0; err == nil && b < l.Blocks(); b += postings.ExtentBlocks {
		_, err = l.Payload(b)
	}
	return l, err
}
