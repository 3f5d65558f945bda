package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Reader reads documents from one file or stream. Only RawBytes may be called
// while another goroutine is inside one of the other methods.
type Reader struct {
	name   string
	file   io.Closer // nil when the caller owns the stream
	raw    counter
	source source
	lines  splitter
	parser Parser
	err    error  // the final one; later calls return it again
	rest   []byte // after the last Block: the beginning of a line, at least
}

// Open opens a file, or standard input when the path is "-".
func Open(path string) (*Reader, error) {
	if path == "-" {
		return NewReader(path, os.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := NewReader(path, f)
	r.file = f
	return r, nil
}

// NewReader reads from a stream, which the caller closes. Errors call it by name. NewReader reads
// nothing before the first call of Next or Line.
func NewReader(name string, stream io.Reader) *Reader {
	r := &Reader{name: name}
	r.raw.r = stream
	r.source.raw = bufio.NewReaderSize(&r.raw, 64<<10)
	r.lines = splitter{r: &r.source, max: MaxLineBytes}
	return r
}

// Next reads the next document into d. At the end it returns io.EOF. After a *LineError it may be
// called again, for the line after the bad one; every other error is final.
func (r *Reader) Next(d *Document) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	return r.At(r.LineNumber(), r.parser.Parse(line, d))
}

// Line returns the next line that is not blank, valid until the next call, for callers that parse
// on other goroutines. Errors are as for Next.
func (r *Reader) Line() ([]byte, error) {
	for r.err == nil {
		line, err := r.lines.next()
		if err == errTooLong {
			return nil, r.At(r.LineNumber(), &LineError{Reason: fmt.Sprintf("longer than %d bytes", r.lines.max)})
		}
		if err != nil {
			r.fail(err)
			break
		}
		if r.lines.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if !blank(line) {
			return line, nil
		}
	}
	return nil, r.err
}

// blank reports whether a line consists only of JSON's white space.
func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// fail makes an error of the source the final one.
func (r *Reader) fail(err error) {
	if err == io.EOF {
		r.err = err
		return
	}
	r.err = fmt.Errorf("%s:%d: %w", r.name, r.lines.number+1, err)
}

// LineNumber returns the number of the last line returned, counted from 1, including blank lines.
func (r *Reader) LineNumber() int { return r.lines.number }

// At adds the file's name and a line number to an error of [Parser.Parse]. It returns other errors,
// and nil, unchanged.
func (r *Reader) At(line int, err error) error {
	var bad *LineError
	if errors.As(err, &bad) && bad.File == "" {
		return &LineError{File: r.name, Line: line, Column: bad.Column, Reason: bad.Reason}
	}
	return err
}

// RawBytes returns how many bytes of the file have been read, in compressed form. A goroutine that
// shows progress may call it.
func (r *Reader) RawBytes() int64 { return r.raw.n.Load() }

// Close closes the file, if Open opened one. Lines and errors returned earlier stay valid, except
// the last line.
func (r *Reader) Close() error {
	r.source.close()
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.name, os.ErrClosed)
	}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
