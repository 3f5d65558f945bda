package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/jsonl"
)

// chunkBytes is how much input makes a batch, however few its documents, with so much memory for the
// index. Batches of some megabytes justify a sync each. About nine are in flight, each with the
// documents that were made of it, which is why small memory makes small batches.
func chunkBytes(memory int64) int { return int(min(max(memory/128, 128<<10), 4<<20)) }

// A loader turns files into batches. One goroutine reads lines, a parser for each core parses them,
// and the caller gets the batches in the order of the input:
//
//	reader ──chunks of lines──> parsers
//	   └────the same chunks, in order────> caller, who waits for each one's parser
type loader struct {
	files  []string
	in     io.Reader              // stands for "-"
	batch  int                    // maximum of documents in a chunk
	bytes  int                    // of input in a chunk, about
	prefix string                 // of all ids
	counts func(name string) bool // fields that count as text

	spare chan *chunk // applied ones, whose memory is reused
}

// A chunk is a run of lines of one file, and later the batch of their documents.
type chunk struct {
	file       string
	prefix     string
	lines      []span
	text       []byte // the lines, one after the other
	inputBytes int64  // read so far of all files, in compressed form
	last       error  // why reading ended after this chunk; not for io.EOF

	parsed    chan struct{} // closed when the fields below are set
	documents riffle.Batch
	textBytes int64
	faults    []error // lines that are not documents
}

// A span is one line of a chunk.
type span struct {
	number int // in the file, counted from 1
	end    int // in chunk.text; the line begins where the previous one ends
	fault  error
}

// run reads everything and calls apply with one chunk after the other; recycle takes them back. It
// returns the first error:
// of apply, of reading (after the earlier chunks are applied), or the context's.
func (l *loader) run(ctx context.Context, apply func(*chunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the goroutines; nothing waits for a read that blocks
	parsers := runtime.GOMAXPROCS(0)
	l.spare = make(chan *chunk, parsers+2)
	inOrder := make(chan *chunk, parsers+1)
	toParse := make(chan *chunk, parsers+1)
	go func() {
		defer close(inOrder)
		defer close(toParse)
		l.read(ctx, func(c *chunk) bool {
			select {
			case inOrder <- c:
				toParse <- c // blocks only briefly: parsers wait for nothing
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	for range parsers {
		go func() {
			for c := range toParse {
				c.parse(l.counts)
			}
		}()
	}
	for {
		c, err := next(ctx, inOrder)
		if c == nil || err != nil {
			return err
		}
		if len(c.lines) > 0 { // an unreadable file leaves no index behind
			if err := apply(c); err != nil {
				return err
			}
		}
		if c.last != nil {
			return c.last
		}
	}
}

// recycle takes back a chunk that has been applied.
func (l *loader) recycle(c *chunk) {
	select {
	case l.spare <- c:
	default:
	}
}

// newChunk returns an empty chunk, a spare one if possible.
func (l *loader) newChunk(path string) *chunk {
	var c chunk
	select {
	case old := <-l.spare:
		old.documents.Reset()
		c = chunk{lines: old.lines[:0], text: old.text[:0], documents: old.documents}
	default:
	}
	c.file, c.prefix, c.parsed = path, l.prefix, make(chan struct{})
	return &c
}

// next waits for the next chunk and its parser. It returns nil after the last one.
func next(ctx context.Context, chunks <-chan *chunk) (*chunk, error) {
	select {
	case c := <-chunks:
		if c != nil {
			<-c.parsed
		}
		if ctx.Err() == nil {
			return c, nil
		}
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// read cuts all files into chunks until emit returns false or a file cannot be read.
func (l *loader) read(ctx context.Context, emit func(*chunk) bool) {
	var before int64 // bytes of the files already read
	for _, path := range l.files {
		r, err := l.open(path)
		if err != nil {
			c := l.newChunk(path)
			c.last, c.inputBytes = err, before
			emit(c)
			return
		}
		ok := l.readFile(ctx, path, r, before, emit)
		before += r.RawBytes()
		r.Close() // read only, so nothing can be lost
		if !ok {
			return
		}
	}
}

func (l *loader) open(path string) (*jsonl.Reader, error) {
	if path == "-" {
		return jsonl.NewReader(path, l.in), nil
	}
	return jsonl.Open(path)
}

func (l *loader) readFile(ctx context.Context, path string, r *jsonl.Reader, before int64, emit func(*chunk) bool) bool {
	for ctx.Err() == nil {
		c := l.newChunk(path)
		err := c.fill(r, l.batch, l.bytes)
		c.inputBytes = before + r.RawBytes()
		if err != io.EOF {
			c.last = err
		}
		if (len(c.lines) > 0 || c.last != nil) && !emit(c) {
			return false
		}
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}

// fill reads lines until the chunk is full. Errors are final, io.EOF among them.
func (c *chunk) fill(r *jsonl.Reader, most, bytes int) error {
	for len(c.lines) < most && len(c.text) < bytes {
		line, err := r.Line()
		var fault *jsonl.LineError
		if err != nil && !errors.As(err, &fault) {
			return err
		}
		if fault == nil {
			c.text = append(c.text, line...)
		}
		c.lines = append(c.lines, span{number: r.LineNumber(), end: len(c.text), fault: err})
	}
	return nil
}

// parse makes documents from the lines.
func (c *chunk) parse(counts func(string) bool) {
	defer close(c.parsed)
	for _, d := range c.each(&c.faults) {
		c.documents.Put(c.prefix+d.ID, d.Map())
		c.textBytes += textBytes(d, counts)
	}
}

// each iterates over the lines that are documents, by their number in the file. It appends the
// faults of the others to faults. The document is valid only until the next one.
func (c *chunk) each(faults *[]error) iter.Seq2[int, *jsonl.Document] {
	return func(yield func(int, *jsonl.Document) bool) {
		var p jsonl.Parser
		var d jsonl.Document
		start := 0
		for _, line := range c.lines {
			err := line.fault
			if err == nil {
				err = p.Parse(c.text[start:line.end], &d)
			}
			start = line.end
			var fault *jsonl.LineError
			switch {
			case errors.As(err, &fault):
				fault.File, fault.Line = c.file, line.number
				*faults = append(*faults, err)
			case !yield(line.number, &d):
				return
			}
		}
	}
}

// lineOf returns the number of the first line with a document of this id, or else that of the last
// line.
func (c *chunk) lineOf(id string) int {
	var faults []error
	for line, d := range c.each(&faults) {
		if c.prefix+d.ID == id {
			return line
		}
	}
	return c.lines[len(c.lines)-1].number
}

// refusal adds the position of the document that the engine refused.
func (c *chunk) refusal(line int, err *riffle.DocumentError) error {
	return fmt.Errorf("%s:%d: %s", c.file, line, strings.TrimPrefix(err.Error(), "riffle: "))
}

// textBytes returns the size of the counted strings.
func textBytes(d *jsonl.Document, counts func(string) bool) int64 {
	var n int
	for _, f := range d.Fields {
		if !counts(f.Name) {
			continue
		}
		switch v := f.Value.(type) {
		case string:
			n += len(v)
		case []string:
			for _, s := range v {
				n += len(s)
			}
		case []any:
			for _, e := range v {
				if s, ok := e.(string); ok {
					n += len(s)
				}
			}
		}
	}
	return int64(n)
}
