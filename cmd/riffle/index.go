package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

const indexLong = `Adds the documents of JSON lines files to an index, which is made if DIR does not
exist. Files may be compressed (zstd, gzip; told by their content); - is standard
input. A document whose id is there already replaces the old one, so an
interrupted run can simply be started again.

A line is one object:

  {"id": "m1", "title": "Moby Dick", "text": "Call me Ishmael.", "year": 1851}

The id is required, every other member is a field: strings are analysed text,
numbers and booleans are exact values, arrays are several values (a date field
takes strings: RFC 3339, or a date), objects become dotted names (a.b). Without
flags all fields are indexed and stored. Flags that describe fields (--schema,
--analyzer, --copy-to, --only, --store, --positions, --columns) count when the index
is made and are kept in it: later runs repeat them or leave all of them out.

A new index is made as a whole (--bulk), from standard input, too: several times as
fast, but nothing is there before everything is. To search documents while a pipe
still delivers more, say --bulk off. A run that was interrupted leaves an index that
cannot be opened; start it again. Bad input ends the run, is reported as
FILE:LINE:COLUMN, and leaves the same; --skip-bad reports, counts and goes on.

Otherwise documents go in by batches, all of a batch or nothing. Progress counts
documents that are durable: neither a crash of this process nor of the machine loses
one (with --no-sync that holds only at the end). A bad line ends the run; batches
before it stay, nothing of its own does, and no index is made for a bad line in the
first batch.

The last line on standard output is a JSON object: docs, seconds, text_bytes
(strings that are indexed or stored), mb_per_s, index_bytes (of the segments),
disk_bytes (of all files), written_bytes (log and tables, rewritten ones again),
segments, skipped; of batches, which of the bytes written were of the log, of
documents sealed and of merges (written_by); with --stages the seconds of a bulk
load that went into waiting for parsers, indexing, waiting for a GPU, and writing.`

type indexCommand struct {
	db       string
	fields   fieldFlags
	skipBad  bool
	batch    int
	memory   byteSize
	noSync   bool
	prefix   string
	codec    choice[riffle.Codec]
	progress choice[progressMode]

	bulk choice[bulkMode]
	buildFlags
}

func newIndex() *cobra.Command {
	var ix indexCommand
	c := &cobra.Command{
		Use:   "index --db DIR FILE...",
		Short: "Add documents from JSON lines",
		Long:  indexLong,
		Example: "  riffle index --db books passages-*.jsonl.zst\n" +
			"  riffle index --db cran --analyzer english --copy-to body=title,text docs.jsonl\n" +
			"  curl -s example.com/docs.jsonl.gz | riffle index --db d --only text --store=false -",
		Args: cobra.MinimumNArgs(1),
	}
	c.RunE = func(c *cobra.Command, files []string) error { return ix.run(c, files) }
	dbFlag(c, &ix.db)
	ix.fields.declare(c)
	f := c.Flags()
	f.BoolVar(&ix.skipBad, "skip-bad", false, "report and count bad lines and go on")
	f.IntVar(&ix.batch, "batch", 1000, "most documents of a batch (with a 128th of --memory of input at most, and 4 MiB)")
	f.Var(&ix.memory, "memory", "memory for documents that are not written out yet, such as 64MiB; the process then takes at most some 64 MiB more; 0 is 256MiB for an index that is made as a whole, else 128MiB, and garbage comes on top")
	f.BoolVar(&ix.noSync, "no-sync", false, "do not sync each batch: faster, but a crash may lose documents that progress has counted")
	f.StringVar(&ix.prefix, "id-prefix", "", "put before every id, where those of several files clash")
	declareCodec(c, &ix.codec)
	declareProgress(c, &ix.progress)
	declareBulk(c, &ix.bulk)
	ix.buildFlags.declare(c)
	return c
}

// sealing: Options.MemoryBytes is a part of the memory, because a segment in memory grows while the
// one before is written out.
const sealing = 2

// leastMemory is the minimum of Options.MemoryBytes, twice.
const leastMemory = sealing * 64 << 10

// A summary is the last line of output.
type summary struct {
	Docs       int     `json:"docs"`
	Seconds    float64 `json:"seconds"`
	TextBytes  int64   `json:"text_bytes"`
	MBPerS     float64 `json:"mb_per_s"`
	IndexBytes uint64  `json:"index_bytes"`   // of the segments
	DiskBytes  uint64  `json:"disk_bytes"`    // of all files, including logs that are no longer needed
	Written    uint64  `json:"written_bytes"` // since the index was opened
	Segments   int     `json:"segments"`
	Skipped    int     `json:"skipped"`

	By     *writtenBy    `json:"written_by,omitempty"` // batches
	Stages *stageSeconds `json:"stages,omitempty"`
}

// writtenBy says what wrote the bytes of riffle.WrittenStats.
type writtenBy struct {
	Log    uint64 `json:"log"`
	Seals  uint64 `json:"seals"`
	Merges uint64 `json:"merges"`
}

func (ix *indexCommand) run(c *cobra.Command, files []string) (err error) {
	if ix.batch < 1 {
		return usagef("--batch must be at least 1, not %d", ix.batch)
	}
	if ix.memory > 0 && ix.memory < leastMemory {
		return usagef("--memory must be at least 128KiB, not %v", &ix.memory)
	}
	schema, err := ix.fields.schema()
	if err != nil {
		return err
	}
	total, err := inputBytes(files)
	if err != nil {
		return err
	}
	w := &indexWriter{
		dir: ix.db, skipBad: ix.skipBad, one: ix.one, errw: c.ErrOrStderr(), counts: counter(schema),
		options:  &riffle.Options{Schema: schema, MemoryBytes: int64(ix.memory) / sealing, Codec: ix.codec.value},
		progress: newProgress(ix.progress.value, c.ErrOrStderr(), total),
	}
	if ix.noSync {
		w.options.Durability = riffle.SyncNone
	}
	if err := w.options.Validate(); err != nil {
		return usageError{err}
	}
	bulk, err := ix.wantsBulk(c)
	if err == nil {
		err = ix.check(c, bulk)
	}
	if err != nil {
		return err
	}
	start := time.Now()
	var s summary
	limit := limitMemory(int64(ix.memory)) // if one was requested
	defer limit.undo()
	limit.lookAtFiles(files)
	if ix.memory == 0 {
		ix.memory = sealing * riffle.DefaultMemoryBytes
		if bulk {
			ix.memory = riffle.DefaultBuildMemory
		}
	}
	in := limit.lookAt(c.InOrStdin())
	if bulk {
		s, err = ix.build(c.Context(), in, files, w)
	} else {
		l := loader{files: files, in: in, batch: ix.batch, bytes: chunkBytes(int64(ix.memory)), prefix: ix.prefix, counts: w.counts}
		s, err = w.load(c.Context(), &l)
	}
	if err != nil {
		return err
	}
	s.Seconds = time.Since(start).Seconds()
	s.MBPerS = float64(s.TextBytes) / 1e6 / s.Seconds
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", line)
	return err
}

// inputBytes makes sure that all files exist, before an hour goes into the first one, and returns
// their size; -1 if one of them is a stream.
func inputBytes(files []string) (int64, error) {
	var total int64
	stream := false
	for _, path := range files {
		if path == "-" {
			stream = true
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		if info.IsDir() {
			return 0, fmt.Errorf("%s is a directory", path)
		}
		stream = stream || !info.Mode().IsRegular()
		total += info.Size()
	}
	if stream {
		return -1, nil
	}
	return total, nil
}

// An indexWriter puts chunks into an engine, which it opens with the first good one. So input that
// is bad from the start leaves no index behind.
type indexWriter struct {
	dir      string
	options  *riffle.Options
	skipBad  bool
	one      bool // make it one segment at the end
	errw     io.Writer
	counts   func(field string) bool // fields that count as text
	progress *progress
	engine   *riffle.Engine
	total    summary

	last    *chunk // submitted, and not yet known to be durable
	pending *riffle.Pending
}

// load runs the whole input into the index and closes it.
func (w *indexWriter) load(ctx context.Context, l *loader) (s summary, err error) {
	defer func() {
		w.progress.finish()
		if w.engine != nil {
			closing(w.engine, &err)
		}
		if err != nil && w.total.Docs > 0 {
			err = fmt.Errorf("%w (documents added before that: %d)", err, w.total.Docs)
		}
	}()
	err = l.run(ctx, func(c *chunk) error { return w.apply(ctx, l, c) })
	if err = errors.Join(err, w.settle(ctx, l)); err != nil {
		return s, err
	}
	if err := w.open(); err != nil { // input without documents makes an index too
		return s, err
	}
	end := w.engine.Flush
	if w.one {
		end = w.engine.Compact
	}
	if err := end(ctx); err != nil {
		return s, err
	}
	st, err := w.sizes(w.engine)
	if err != nil {
		return s, err
	}
	w.total.By = (*writtenBy)(&st.Written)
	return w.total, nil
}

// sizes records the size of an index.
func (w *indexWriter) sizes(e *riffle.Engine) (*riffle.Stats, error) {
	st, err := e.Stats()
	if err == nil {
		w.total.IndexBytes, w.total.DiskBytes, w.total.Written, w.total.Segments = st.Store.SegmentBytes, st.Store.DiskBytes, st.Store.WrittenBytes, len(st.Segments)
	}
	return st, err
}

func (w *indexWriter) open() (err error) {
	if w.engine == nil {
		w.engine, err = riffle.Open(w.dir, w.options)
	}
	return err
}

// apply submits the documents of a chunk to the index. Then it waits for those of the chunk before:
// one is inverted while the other becomes durable.
func (w *indexWriter) apply(ctx context.Context, l *loader, c *chunk) error {
	for _, fault := range c.faults {
		if err := w.bad(fault); err != nil {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	pending, err := w.engine.Submit(ctx, &c.documents)
	settled := w.settle(ctx, l)
	w.last, w.pending = c, pending // also when the one before was interrupted: Close waits for both
	if settled != nil {
		return settled
	}
	var refused *riffle.DocumentError
	switch {
	case errors.As(err, &refused) && !w.skipBad:
		return c.refusal(c.lineOf(refused.ID), refused)
	case refused != nil:
		if err := w.applyEach(ctx, c); err != nil {
			return err
		}
		w.progress.update(w.total.Docs, w.total.TextBytes, c.inputBytes)
		l.recycle(c)
		return nil
	}
	return err
}

// settle waits for the chunk that was submitted last, if there is one.
func (w *indexWriter) settle(ctx context.Context, l *loader) error {
	c, pending := w.last, w.pending
	w.last, w.pending = nil, nil
	if pending == nil {
		return nil
	}
	err := pending.Wait(ctx)
	switch {
	case err == nil:
		w.total.Docs += c.documents.Len()
		w.total.TextBytes += c.textBytes
	case errors.Is(err, riffle.ErrPending): // Close waits for it
		w.total.Docs += c.documents.Len()
	}
	w.progress.update(w.total.Docs, w.total.TextBytes, c.inputBytes)
	if err == nil {
		l.recycle(c)
	}
	return err
}

// applyEach adds the documents of a batch one by one, after the engine has refused one of them.
func (w *indexWriter) applyEach(ctx context.Context, c *chunk) error {
	var reported []error
	for line, d := range c.each(&reported) {
		err := w.engine.Put(ctx, d.ID, d.Map())
		var refused *riffle.DocumentError
		switch {
		case errors.As(err, &refused):
			err = w.bad(c.refusal(line, refused))
		case err == nil:
			w.total.Docs++
			w.total.TextBytes += textBytes(d, w.counts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bad records a bad line, or ends the run with it.
func (w *indexWriter) bad(fault error) error {
	if !w.skipBad {
		return fault
	}
	w.total.Skipped++
	w.progress.interrupt()
	fmt.Fprintf(w.errw, "riffle: skipped %v\n", fault)
	return nil
}
