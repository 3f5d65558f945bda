package segment

import "context"

// A StoredWriter writes the stored documents of chunks, in the order in which they are added to a
// Bulk. It does not use the Bulk, so both may run concurrently.
type StoredWriter struct {
	tables *storedTables
	docs   uint32 // in earlier chunks
	begun  bool
	closed bool
	err    error // of Close
}

// StoredOptions says how to write stored documents. The zero value is valid. The options do not
// affect the content.
type StoredOptions struct {
	Workers    int // goroutines that compress and write, when the Sink is a TableSink; 0 means runtime.GOMAXPROCS
	TableBytes int // stored bytes that fill a table; 0 means defaultTableBytes
}

// NewStoredWriter returns a StoredWriter, which must be closed. An error, or the end of ctx, stops
// it.
func NewStoredWriter(ctx context.Context, sink Sink, o StoredOptions) *StoredWriter {
	return &StoredWriter{tables: newStoredTables(ctx, sink, o.Workers, o.TableBytes)}
}

// Write writes the stored documents of the next chunk, or takes them over for writing. It blocks
// while twice as many chunks as workers are pending. It writes nothing until a document has stored
// bytes.
func (w *StoredWriter) Write(c *Chunk) error {
	base := w.docs
	w.docs += c.docs
	if len(c.stored) == 0 {
		if !w.begun {
			return nil
		}
		return w.tables.addEmpty(base, w.docs)
	}
	if !w.begun {
		w.begun = true
		if err := w.tables.addEmpty(0, base); err != nil {
			return err
		}
	}
	b, err := w.tables.batch()
	if err != nil {
		return err
	}
	*b, c.packed = c.packed, *b
	b.base = base
	return w.tables.add(b)
}

// End announces that no chunk follows, so that the last table is completed while the caller does
// other work.
func (w *StoredWriter) End() { w.tables.endTable() }

// Close waits until everything is written and returns the first error. Further calls do nothing.
func (w *StoredWriter) Close() error {
	if !w.closed {
		w.closed, w.err = true, w.tables.close()
	}
	return w.err
}
