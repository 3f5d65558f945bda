package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A TableWriter writes one table of a segment: an sstable, whose blocks are compressed on the
// goroutine that calls Set. One goroutine uses it at a time.
type TableWriter struct {
	s          *Store
	segment    uint64
	path       string
	compressed bool
	kind       byte            // first byte of all keys; 0 for any
	w          *sstable.Writer // nil before the first key and after Finish
	bytes      uint64          // size of the finished file
	keys       uint64
	err        error
	key        []byte // the last one, without the segment's prefix
}

// Set adds a key, which must sort after all earlier ones. Neither key nor value is retained. After
// an error the table is unusable.
func (t *TableWriter) Set(key, value []byte) error {
	if t.err != nil {
		return t.err
	}
	must(len(key) > 0 && (t.kind == 0 || key[0] == t.kind), "key %x for segment %d, in a run of %#x", key, t.segment, t.kind)
	t.key = append(t.key[:prefixLen], key...)
	if t.err = t.set(value); t.err != nil {
		t.err = wrap(t.err, KeyString(t.key))
	}
	return t.err
}

func (t *TableWriter) set(value []byte) error {
	if t.w == nil {
		f, err := t.s.fs.Create(t.path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		// Synced piecemeal, so that Finish does not wait for all of it at once.
		f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: t.s.popt.BytesPerSync})
		o := tableOptions(t.s.popt, t.s.db.TableFormat(), t.compressed)
		if t.kind != 0 {
			o.BlockSize, o.FilterPolicy = runBlockBytes, pebble.NoFilterPolicy
		}
		t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), o)
	}
	t.keys++
	return t.w.Set(t.key, value)
}

// last returns the first byte of the last key, or 0.
func (t *TableWriter) last() byte {
	if t.keys == 0 {
		return 0
	}
	return t.key[prefixLen]
}

// size returns the size of the file written so far.
func (t *TableWriter) size() uint64 {
	if t.w != nil {
		return t.w.Raw().EstimatedSize()
	}
	return t.bytes
}

// Finish completes the table and makes it durable. It returns the error of a failed Set. Calling it
// again does nothing.
func (t *TableWriter) Finish() error {
	if t.err == nil {
		t.err = wrap(t.finish(), fmt.Sprintf("finish segment %d", t.segment))
	}
	return t.err
}

func (t *TableWriter) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	if err := w.Close(); err != nil {
		return err
	}
	meta, err := w.Metadata()
	if err != nil {
		return err
	}
	t.bytes = meta.Size
	return nil
}

// abort removes the file.
func (t *TableWriter) abort() error {
	if t.w != nil {
		_ = t.w.Close() // the file goes, so its error does not matter
		t.w = nil
	}
	if t.keys == 0 {
		return nil
	}
	return t.s.fs.Remove(t.path)
}
