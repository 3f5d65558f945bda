package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint writes a complete and durable copy of the store, as it is now, into
// dir, which must not exist. Where the file system can, tables are hard links
// and cost no space until the store drops them. The copy is a store in its own
// right. Writers go on meanwhile; Commits wait.
func (s *Store) Checkpoint(dir string) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if _, err := s.opts.FS.Stat(dir); err == nil {
		return fmt.Errorf("store: checkpoint: %s: %w", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return wrap(err, "checkpoint")
	}
	end := s.NextSeq()
	if err := s.log.do(func() error { return s.db.Checkpoint(dir, pebble.WithFlushedWAL()) }); err != nil {
		return wrap(err, "checkpoint")
	}
	if err := s.writeClosing(dir, end); err != nil {
		return errors.Join(err, s.opts.FS.RemoveAll(dir))
	}
	return nil
}

// Compact flushes and compacts everything but segments, so that what the log
// leaves behind when it is truncated goes. Segments are never compacted: their
// tables are dense and do not overlap, and those of dropped ones go at once.
//
// Pebble's own call waits for as long as it takes a full disk to become free.
// This one gives up when Pebble has failed several times over; Pebble will go on
// trying.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	select {
	case <-s.log.stuck: // of another time
	default:
	}
	go func() {
		select {
		case err := <-s.log.stuck:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	err := s.log.do(func() error { return s.db.Compact(ctx, []byte{0}, []byte{spaceSegment}, false) })
	if err != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(ctx)
	}
	return wrap(err, "compact")
}
