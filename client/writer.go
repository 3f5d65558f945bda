package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/riffle-search/riffle"
)

// A Writer sends many changes as bodies of NDJSON: each change takes effect, or fails, for itself. A body that a
// busy server has refused is sent again; see Options.Retries. Changes are durable when Flush or Close has returned. A
// Writer is for one goroutine; several Writers send side by side.
//
// After an error the body is kept, and the next call sends it again. The server carries it out once, since each body has
// an idempotency key.
type Writer struct {
	client *Client
	ctx    context.Context
	index  string
	opts   WriterOptions
	lines  bytes.Buffer
	once   string // the idempotency key of the body
	count  int    // lines of the body
	sent   int    // changes of the bodies before
	sum    BulkSummary
	first  error // of changes, without WriterOptions.Failed
}

// WriterOptions configure a Writer. A nil *WriterOptions is valid.
type WriterOptions struct {
	// Bytes and Changes are how large a body becomes. The defaults are 4 MiB and 10,000.
	Bytes, Changes int

	// Failed is called for each change that fails, with its number from 1 on. Without it, Flush and Close return the
	// first such problem, after everything has been sent.
	Failed func(change int, p *Problem)
}

// Writer returns a Writer for an index. Its context is that of all requests.
func (c *Client) Writer(ctx context.Context, index string, o *WriterOptions) *Writer {
	w := &Writer{client: c, ctx: ctx, index: index}
	if o != nil {
		w.opts = *o
	}
	if w.opts.Bytes <= 0 {
		w.opts.Bytes = 4 << 20
	}
	if w.opts.Changes <= 0 {
		w.opts.Changes = 10_000
	}
	return w
}

// Put adds a document, or replaces the one with its id; see riffle.Batch.Put.
func (w *Writer) Put(id string, doc any) error {
	return w.add(func(b *riffle.Batch) { b.Put(id, doc) })
}

// PutIf is Put on a condition; see riffle.Batch.PutIf.
func (w *Writer) PutIf(id string, doc any, version uint64) error {
	return w.add(func(b *riffle.Batch) { b.PutIf(id, doc, version) })
}

// Update gives fields of a document other values; see riffle.Batch.Update.
func (w *Writer) Update(id string, fields any) error {
	return w.add(func(b *riffle.Batch) { b.Update(id, fields) })
}

// UpdateIf is Update on a condition; see riffle.Batch.UpdateIf.
func (w *Writer) UpdateIf(id string, fields any, version uint64) error {
	return w.add(func(b *riffle.Batch) { b.UpdateIf(id, fields, version) })
}

// Delete deletes a document, if it exists.
func (w *Writer) Delete(id string) error { return w.add(func(b *riffle.Batch) { b.Delete(id) }) }

// DeleteIf is Delete on a condition; see riffle.Batch.DeleteIf.
func (w *Writer) DeleteIf(id string, version uint64) error {
	return w.add(func(b *riffle.Batch) { b.DeleteIf(id, version) })
}

// add adds a change to the body, and sends that if it is full. A change that cannot be written is an error, and the
// Writer goes on without it.
func (w *Writer) add(change func(*riffle.Batch)) error {
	var one riffle.Batch
	change(&one)
	array, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if w.count > 0 && (w.once != "" || w.count >= w.opts.Changes || w.lines.Len()+len(array) > w.opts.Bytes) {
		if err := w.send(); err != nil {
			return err
		}
	}
	w.lines.Write(array[1 : len(array)-1]) // the element of the array
	w.lines.WriteByte('\n')
	w.count++
	return nil
}

// Flush sends what has been added, and waits until it has taken effect.
func (w *Writer) Flush() error {
	if err := w.send(); err != nil {
		return err
	}
	err := w.first
	w.first = nil
	return err
}

// Close is Flush, and returns how many changes have taken effect and failed since the Writer was made.
func (w *Writer) Close() (BulkSummary, error) {
	err := w.Flush()
	return w.sum, err
}

// send sends the body. An error says that it may not have been carried out to its end; the Line of a *Problem is then
// the number of the first change, of all, that has not.
func (w *Writer) send() error {
	if w.count == 0 {
		return nil
	}
	if w.once == "" {
		w.once = rand.Text()
	}
	body, err := w.client.open(w.ctx, call{method: http.MethodPost, path: in(w.index, "documents"), lines: w.lines.Bytes(), once: w.once, params: w.after()})
	if p, ok := errors.AsType[*Problem](err); ok && p.Line > 0 {
		p.Line += w.sent
	}
	if err != nil {
		return err
	}
	defer body.Close()
	whole := false
	for d := json.NewDecoder(body); !whole; {
		var line struct {
			LineResult
			BulkSummary
		}
		if err := d.Decode(&line); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("client: the results of changes %d to %d: %w", w.sent+1, w.sent+w.count, err)
		}
		whole = line.Line == 0
		if whole {
			w.sum.Changes += line.Changes
			w.sum.Failed += line.Failed
			w.sum.Unknown += line.Unknown
			w.sum.Token = line.Token // stands for that of the body before, too
		} else if line.Status != http.StatusOK {
			w.failed(w.sent+line.Line, line.Problem, line.Status)
		}
	}
	w.sent += w.count
	w.count, w.once = 0, ""
	w.lines.Reset()
	return nil
}

// after returns the parameters of a body that comes after others.
func (w *Writer) after() url.Values {
	if w.sum.Token == "" {
		return nil
	}
	return url.Values{"token": {w.sum.Token}}
}

// failed notes the problem of a change. Of very many, the server gives the status alone.
func (w *Writer) failed(change int, p *Problem, status int) {
	if p == nil {
		p = &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status}
	}
	switch {
	case w.opts.Failed != nil:
		w.opts.Failed(change, p)
	case w.first == nil:
		w.first = fmt.Errorf("client: change %d: %w", change, p)
	}
}
