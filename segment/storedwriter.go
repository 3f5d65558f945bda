package segment

import "context"

// A StoredWriter writes the stored documents of chunks, in the order in which they
// are added to a Bulk. It touches nothing of the Bulk and may run beside it.
type StoredWriter struct {
	tables *storedTables
	docs   uint32 // of the chunks before
	begun  bool
	closed bool
	err    error // of Close
}

// StoredOptions says how to write stored documents. The zero value is valid. It does not change what is written.
type StoredOptions struct {
	Workers    int // goroutines that compress and write, when the Sink is a TableSink; 0 stands for runtime.GOMAXPROCS
	TableBytes int // stored bytes that fill a table; 0 stands for defaultTableBytes
}

// NewStoredWriter returns a StoredWriter, which must be closed. An error, or the end of ctx, ends everything.
func NewStoredWriter(ctx context.Context, sink Sink, o StoredOptions) *StoredWriter {
	return &StoredWriter{tables: newStoredTables(ctx, sink, o.Workers, o.TableBytes)}
}

// Write writes the stored documents of the next chunk, or takes them away to be written. It waits while twice as many
// chunks as there are workers are on their way. As long as no document has stored bytes it writes nothing.
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

// End says that no chunk follows, so that the last table is completed while its caller does other things.
func (w *StoredWriter) End() { w.tables.end() }

// Close waits until everything is written and returns the first error. To call it again does nothing.
func (w *StoredWriter) Close() error {
	if !w.closed {
		w.closed, w.err = true, w.tables.close()
	}
	return w.err
}
