package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/jsonl"
)

// A Source supplies documents: Documents or JSONLines.
type Source interface {
	// read calls emit with one block of about size bytes after the other, always in the same order,
	// until emit returns false. emit replaces each input with another, whose buffers may be reused.
	// An error is part of the last one.
	read(ctx context.Context, size int, emit func(*blockInput) bool)
}

// A blockInput holds documents as read: lines of a file, or Go values.
type blockInput struct {
	file   string
	prefix string // of ids
	first  int    // number of the first line
	lines  []byte

	docs []Document

	read int64 // bytes read of the whole source, up to this block
	err  error // the last error of the source; it may be a bad line, after which the source continues
	bad  bool  // err is a fault of a document that is left out
}

// A Document is a Go value, a map or a struct, with its id.
type Document struct {
	ID  string
	Doc any
}

// Documents are Go values, or errors in their place. A document must not be changed after it has
// been yielded. An error that is an *InputError or a *document.Error concerns one document; any
// other ends the build.
type Documents iter.Seq2[Document, error]

// docBytes is the assumed size of a document of Documents, for the size of a block.
const docBytes = 1 << 10

func (d Documents) read(ctx context.Context, size int, emit func(*blockInput) bool) {
	var in blockInput
	most := max(1, size/docBytes)
	pass := func() bool {
		if !emit(&in) {
			return false
		}
		clear(in.docs)
		in = blockInput{docs: in.docs[:0]}
		return true
	}
	for doc, err := range d {
		if err != nil {
			if len(in.docs) > 0 && !pass() { // those before it come first
				return
			}
			in.err, in.bad = err, isFault(err)
			if !pass() || !isFault(err) {
				return
			}
			continue
		}
		in.docs = append(in.docs, doc)
		if len(in.docs) == most && !pass() {
			return
		}
	}
	if len(in.docs) > 0 {
		pass()
	}
}

// isFault reports whether an error concerns one document.
func isFault(err error) bool {
	var in *InputError
	var de *document.Error
	return errors.As(err, &in) || errors.As(err, &de)
}

// An InputError locates input that is no document, or a document that cannot be indexed.
type InputError struct {
	File   string
	Line   int   // counted from 1
	Column int   // in bytes, counted from 1; 0 for the line as a whole
	Err    error // a *document.Error if the line is well-formed
}

// Error reads FILE:LINE:COLUMN: reason.
func (e *InputError) Error() string {
	place := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Column > 0 {
		place = fmt.Sprintf("%s:%d", place, e.Column)
	}
	return place + ": " + strings.TrimPrefix(e.Err.Error(), "riffle: ")
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// inputError turns an error of package jsonl into a public one. It returns other errors unchanged.
func inputError(err error) error {
	var bad *jsonl.LineError
	if errors.As(err, &bad) {
		return &InputError{File: bad.File, Line: bad.Line, Column: bad.Column, Err: errors.New(bad.Reason)}
	}
	return err
}

// JSONLines are files with one JSON object a line, plain or compressed, as package jsonl reads
// them.
type JSONLines struct {
	Files    []string  // "-" is Stdin
	Stdin    io.Reader // nil when no file is "-"
	IDPrefix string    // put before every id
	Readers  int       // files read at a time; documents come from these in turns
}

// Documents yields the documents of all files, one file after the other.
func (s JSONLines) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, path := range s.Files {
			r, err := s.open(path)
			if err != nil {
				yield(Document{}, err)
				return
			}
			more := s.each(ctx, r, yield)
			r.Close() // read only, nothing can be lost
			if !more {
				return
			}
		}
	}
}

// each yields the documents of one file. It returns false if the caller wants no other file.
func (s JSONLines) each(ctx context.Context, r *jsonl.Reader, yield func(Document, error) bool) bool {
	for ctx.Err() == nil {
		var d jsonl.Document
		err := r.Next(&d)
		if err == io.EOF {
			return true
		}
		doc := Document{}
		if err == nil {
			doc = Document{s.IDPrefix + d.ID, d.Map()}
		}
		err = inputError(err)
		if !yield(doc, err) || err != nil && !isFault(err) {
			return false
		}
	}
	yield(Document{}, ctx.Err())
	return false
}

func (s JSONLines) read(ctx context.Context, size int, emit func(*blockInput) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	files := s.Files
	readers := min(max(1, s.Readers), len(files))
	// No file is opened before its turn: a Zstandard decoder may hold 128 MB.
	begin := func() *fileReader {
		f := &fileReader{source: s, path: files[0], blocks: make(chan blockInput, 1), spare: make(chan []byte, 2)}
		files = files[1:]
		if f.path == "-" { // nothing can interrupt a read from a terminal
			go f.run(ctx, size)
		} else {
			wg.Go(func() { f.run(ctx, size) })
		}
		return f
	}
	var turns []*fileReader
	for range readers {
		turns = append(turns, begin())
	}
	var read int64
	for i := 0; len(turns) > 0; {
		i %= len(turns)
		f := turns[i]
		var in blockInput
		ok := false
		select {
		case in, ok = <-f.blocks:
		case <-ctx.Done():
			return
		}
		if !ok {
			if len(files) > 0 {
				turns[i] = begin()
			} else {
				turns = slices.Delete(turns, i, i+1)
			}
			continue
		}
		read += in.read
		in.read = read
		end := in.err != nil && !in.bad
		if !emit(&in) || end {
			return
		}
		select {
		case f.spare <- in.lines[:0]:
		default:
		}
		i++
	}
}

// A fileReader reads one file on a goroutine of its own.
type fileReader struct {
	source JSONLines
	path   string
	blocks chan blockInput // read counts the bytes since the previous block
	spare  chan []byte
}

func (f *fileReader) run(ctx context.Context, size int) {
	defer close(f.blocks)
	send := func(in blockInput) bool {
		in.file, in.prefix = f.path, f.source.IDPrefix
		select {
		case f.blocks <- in:
			return true
		case <-ctx.Done():
			return false
		}
	}
	r, err := f.source.open(f.path)
	if err != nil {
		send(blockInput{err: err})
		return
	}
	defer r.Close() // read only, nothing can be lost
	var before int64
	for {
		var in blockInput
		select {
		case in.lines = <-f.spare:
		default:
		}
		in.lines, in.first, in.err = r.Block(in.lines, size)
		in.read = r.RawBytes() - before
		before += in.read
		var bad *jsonl.LineError
		if in.bad = errors.As(in.err, &bad); in.bad {
			in.err = inputError(in.err)
		}
		if in.err == io.EOF || !send(in) || in.err != nil && !in.bad {
			return
		}
	}
}

func (s JSONLines) open(path string) (*jsonl.Reader, error) {
	if path != "-" {
		return jsonl.Open(path)
	}
	if s.Stdin == nil {
		return nil, errors.New(`riffle: JSONLines: there is a file "-", but Stdin is nil`)
	}
	return jsonl.NewReader(path, s.Stdin), nil
}
