package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

const (
	bulkLines = 1000    // most changes of a batch
	bulkBytes = 1 << 20 // after which a batch is full

	// maxProblems is how many lines of a body may fail and have their problem in the answer; the others have only
	// its status. So what is kept of a line is mostly two bytes.
	maxProblems = 10_000

	// maxLines is how many lines a body may have, empty ones, too: the answer has some 30 bytes for each.
	maxLines = 4_000_000
)

// A bulk carries out the changes of a body of NDJSON: in their order, in batches, each change for itself. The answer
// begins after the last change, since many clients read no answer before they have sent everything.
type bulk struct {
	ctx    context.Context
	server *Server
	index  *index
	idOf   string // the field that has the id of a document, if lines are documents and not changes
	turn   *slowTurn

	sharded *shardedBulk // nil for an index of this process

	group    []bulkLine // of the next batch
	bytes    int
	waiting  []bulkLine // of the batch before, which is on its way to the disk
	pending  *riffle.Pending
	applied  func(error) // ends the span of the batch that is on its way
	statuses []uint16    // of lines; 0 for an empty one, and one without an answer yet
	problems map[int]*client.Problem
}

type bulkLine struct {
	number int // from 1
	text   []byte
}

// postBulk carries out the changes of a body of NDJSON.
func (s *Server) postBulk(ix *index, w http.ResponseWriter, r *http.Request) error {
	in, err := body(w, r, s.opts.MaxBulk)
	if err != nil {
		return err
	}
	defer in.Close()
	b := &bulk{ctx: r.Context(), server: s, index: ix, idOf: r.URL.Query().Get("id"), problems: map[int]*client.Problem{}}
	if ix.sharded != nil {
		b.sharded = &shardedBulk{b: b, token: readingOf(r).Token}
	}
	if out := w.(*answer); out.arriving {
		b.turn = &slowTurn{ctx: b.ctx, server: s, answer: out, gate: s.gates[writeQueue], needs: groupBytes + readBytes + decoderBytes(r)}
		defer b.turn.end()
	}
	if err := b.read(bufio.NewReaderSize(in, readBytes), s.opts); err != nil {
		f := faultOf(errors.Join(err, b.finish()))
		f.Line = b.firstOpen()
		return f
	}
	return b.answer(w)
}

const (
	readBytes  = 64 << 10      // of the buffer that lines are read from
	groupBytes = 4 * bulkBytes // most that a group takes while it is read, and its lines have bulkBytes at most
)

// decoderBytes is the memory, about, that it takes to decompress the body of a request.
func decoderBytes(r *http.Request) int64 {
	switch encodingOfBody(r) {
	case "gzip":
		return 64 << 10
	case "zstd":
		return 2 * zstdWindow
	}
	return 0
}

// read reads all lines and carries them out.
func (b *bulk) read(in *bufio.Reader, o *Options) error {
	b.turn.pause()
	for n := 1; ; n++ {
		line, err := b.readLine(in, o.MaxBody)
		if err != nil && err != io.EOF {
			return unreadable(err, o.MaxBulk)
		}
		if n > maxLines && err == nil {
			return kindTooLarge.fault("more than %d lines", maxLines)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 || err == nil {
			b.statuses = append(b.statuses, 0)
		}
		if len(line) > 0 {
			b.group = append(b.group, bulkLine{n, line})
			b.bytes += len(line)
		}
		if len(b.group) == bulkLines || b.bytes >= bulkBytes {
			if err := b.carryOut(); err != nil {
				return err
			}
			b.turn.pause()
		}
		if err == io.EOF {
			if err := b.carryOut(); err != nil {
				return err
			}
			return b.finish()
		}
	}
}

// carryOut submits the group, in a turn.
func (b *bulk) carryOut() error {
	if len(b.group) == 0 {
		return nil
	}
	if err := b.turn.resume(); err != nil {
		return err
	}
	return b.submit()
}

// readLine reads a line of at most limit bytes into memory of its own.
func (b *bulk) readLine(in *bufio.Reader, limit int64) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= bulkBytes && len(line)+len(part) > bulkBytes {
			if err := b.turn.grows(2 * limit); err != nil {
				return nil, err
			}
		}
		if line = append(line, part...); int64(len(line)) > limit {
			return nil, kindTooLarge.fault("a line of more than %d bytes", limit)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// submit hands the group to the engine, and waits for the one before.
func (b *bulk) submit() error {
	group := b.group
	b.group, b.bytes = nil, 0
	if len(group) == 0 {
		return nil
	}
	batch, err := b.parse(group)
	if err == nil && b.sharded != nil {
		return b.sharded.submit(batch, group)
	}
	if err == nil {
		var p *riffle.Pending
		ctx, _, applied := b.server.span(b.ctx, "apply", b.index)
		if p, err = b.index.engine.Submit(ctx, batch); err == nil {
			if err := b.finish(); err != nil {
				applied(err)
				return err
			}
			for i := range group {
				group[i].text = nil // numbers are enough from now on
			}
			b.pending, b.waiting, b.applied = p, group, applied
			return nil
		}
		applied(err)
	}
	if !ofLine(err) {
		return err
	}
	if len(group) == 1 {
		b.fail(group[0].number, err)
		return nil
	}
	// One of the lines is at fault, and nothing of the batch has been applied: line by line then.
	for i := range group {
		b.group = group[i : i+1]
		if err := b.submit(); err != nil {
			return err
		}
	}
	return nil
}

// ofLine says whether an error is that of a line, so that others can still be carried out.
func ofLine(err error) bool {
	f := faultOf(err)
	return f.Status < http.StatusInternalServerError && f.Type != kindReadOnly.urn() || f.Type == kindUnsupported.urn()
}

// parse returns the changes of lines as a batch.
func (b *bulk) parse(lines []bulkLine) (*riffle.Batch, error) {
	batch := new(riffle.Batch)
	if b.idOf != "" {
		for _, l := range lines {
			if err := b.put(batch, l.text); err != nil {
				return nil, err
			}
		}
		return batch, nil
	}
	array := []byte{'['}
	for i, l := range lines {
		// Checked alone: two lines may make a value together.
		if l.text[0] != '{' || !json.Valid(l.text) || !utf8.Valid(l.text) {
			var v map[string]any
			if err := decode(l.text, &v); err != nil {
				return nil, err
			}
			return nil, kindRequest.fault("a change is an object")
		}
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, l.text...)
	}
	if err := json.Unmarshal(append(array, ']'), batch); err != nil {
		return nil, asDocument(malformed(err), err)
	}
	return batch, nil
}

// put adds a document, whose id is that of a field.
func (b *bulk) put(batch *riffle.Batch, line []byte) error {
	var doc map[string]any
	if err := decode(line, &doc); err != nil {
		return err
	}
	var id string
	switch v := doc[b.idOf].(type) {
	case string:
		id = v
	case json.Number:
		id = v.String()
	default:
		f := kindDocument.fault("the field %q must have the id, a string or a number", b.idOf)
		f.Field = b.idOf
		return f
	}
	batch.Put(id, doc)
	return nil
}

// finish waits until the batch that is under way is durable.
func (b *bulk) finish() error {
	if b.sharded != nil {
		return b.sharded.finish()
	}
	if b.pending == nil {
		return nil
	}
	err := b.pending.Wait(b.ctx)
	b.applied(err)
	if err == nil {
		for _, l := range b.waiting {
			b.statuses[l.number-1] = http.StatusOK
		}
	}
	b.pending, b.waiting = nil, nil
	return err
}

// fail notes the error of a line.
func (b *bulk) fail(line int, err error) {
	f := faultOf(err)
	b.statuses[line-1] = uint16(f.Status)
	if len(b.problems) < maxProblems {
		b.problems[line] = &f.Problem
	}
}

// firstOpen returns the first line that has neither taken effect nor failed.
func (b *bulk) firstOpen() int {
	last := 0
	for i, s := range b.statuses {
		if s != 0 {
			last = i + 1
		}
	}
	return last + 1
}

// answer writes the result of each line.
func (b *bulk) answer(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	var sum client.BulkSummary
	for i, status := range b.statuses {
		if status == 0 {
			continue
		}
		if status == http.StatusOK {
			sum.Changes++
		} else {
			sum.Failed++
		}
		if err := enc.Encode(client.LineResult{Line: i + 1, Status: int(status), Problem: b.problems[i+1]}); err != nil {
			return err
		}
	}
	if b.sharded != nil {
		sum.Unknown, sum.Token = b.sharded.unknown, b.sharded.token
		w.Header().Set(tokenHeader, sum.Token)
	}
	if err := enc.Encode(sum); err != nil {
		return err
	}
	return w.(*answer).whole(http.StatusOK, out.Bytes())
}
