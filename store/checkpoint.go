package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/store/wal"
)

// unfinishedSuffix ends the name under which Checkpoint writes a copy.
const unfinishedSuffix = ".unfinished"

// Checkpoint writes a complete and durable copy of the current store into dir, which must not
// exist. Where the file system can, tables are hard links and cost no space until the store drops
// them. The copy is a store in its own right. Writers continue meanwhile; Commits wait.
//
// The copy is written next to dir, as "dir.unfinished", and gets its name when it is complete and
// synced. Until then it carries the file UNFINISHED, and Open refuses it with ErrUnfinished. The
// next Checkpoint to dir removes what a crash left under that name.
func (s *Store) Checkpoint(dir string) (err error) {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	dir = filepath.Clean(dir)
	if _, err := s.fs.Stat(dir); err == nil {
		return fmt.Errorf("store: checkpoint: %s: %w", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return wrap(err, "checkpoint")
	}
	tmp := dir + unfinishedSuffix
	lock, err := s.beginCopy(tmp)
	if err != nil {
		return wrap(err, "checkpoint")
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := s.copyTo(tmp); err != nil {
		return wrap(errors.Join(err, s.dropCopy(tmp)), "checkpoint")
	}
	if err := s.fs.Rename(tmp, dir); err != nil {
		return wrap(err, "checkpoint")
	}
	return wrap(syncDir(s.fs, s.fs.PathDir(dir)), "checkpoint")
}

// beginCopy makes a directory for a copy, empty except for its mark, and locks it.
func (s *Store) beginCopy(dir string) (_ dirLock, err error) {
	if _, err := mkdirs(s.fs, dir); err != nil {
		return nil, err
	}
	if err := syncParents(s.fs, dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(s.opts.FS, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	mark, err := readMark(s.fs, dir)
	if err != nil {
		return nil, err
	}
	names, err := s.fs.List(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case mark == markCheckpoint:
		return lock, removeOwn(s.fs, dir)
	case mark != "" || slices.ContainsFunc(names, func(n string) bool { return n != unfinishedFile+tmpSuffix }):
		return nil, fmt.Errorf("%s is in the way, and is no incomplete copy: remove or rename it: %w", dir, fs.ErrExist)
	}
	return lock, writeDurably(s.fs, dir, unfinishedFile, []byte(markCheckpoint))
}

// copyTo makes a complete copy in a directory that beginCopy has prepared.
func (s *Store) copyTo(dir string) error {
	if err := s.awaitManifest(); err != nil {
		return err
	}
	s.hidden.Store(&dir)
	defer s.hidden.Store(nil)
	if err := s.log.write(func() error { return s.db.Checkpoint(dir, pebble.WithFlushedWAL()) }); err != nil {
		return errors.Join(err, s.closeCopied())
	}
	end, err := s.copyLogTo(s.fs.PathJoin(dir, logDir))
	if err != nil {
		return err
	}
	if err := s.writeClosing(dir, end); err != nil {
		return err
	}
	return unmark(s.fs, dir)
}

// awaitManifest makes Pebble write a MANIFEST of its own. Pebble does so with the first change of
// its list of tables after it was opened. Before that its Checkpoint silently copies an empty one
// (2.1.7: the Size of a missing record.Writer is 0).
func (s *Store) awaitManifest() error {
	if s.log.hasManifest.Load() {
		return nil
	}
	flushed, err := s.log.startFlush(s.db.Flush)
	if err != nil {
		return err
	}
	return <-flushed
}

// closeCopied closes what Pebble has left open in a failed copy.
func (s *Store) closeCopied() (err error) {
	if s.log.fail.Load() != nil {
		return nil // Pebble may still be using it
	}
	for f := range s.copied.Range {
		err = errors.Join(err, f.(vfs.File).Close())
	}
	return err
}

// copyLogTo writes a log with the records that no segment has, all durable, and returns the number
// of the next one. The caller holds commitMu. The log is written anew, so it is neither long nor
// torn, and shares no file that is still written.
func (s *Store) copyLogTo(dir string) (next uint64, err error) {
	// The copy must not be ahead of what the store keeps after a crash.
	if err := s.logError(s.wal.Sync(context.Background())); err != nil {
		return 0, err
	}
	first := s.Manifest().LogSeq + 1
	l, err := wal.Create(s.fs, dir, s.logID, first, s.manifestSum, &wal.Options{FileBytes: s.opts.LogFileBytes})
	if err != nil {
		return 0, err
	}
	err = s.copyLog(l, first, s.wal.Replay)
	if err == nil {
		err = l.Confirm(context.Background(), s.manifestSum, first-1)
	}
	return l.NextSeq(), errors.Join(err, l.Close())
}

// dropCopy removes a failed copy. The mark goes last.
func (s *Store) dropCopy(dir string) error {
	if _, err := s.fs.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // Pebble has removed it
	}
	if err := removeOwn(s.fs, dir); err != nil {
		return err
	}
	if err := unmark(s.fs, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.fs.Remove(dir)
}

// Compact flushes and compacts everything but segments, which frees what a truncated log leaves
// behind. Segments are never compacted: their tables are dense and do not overlap, and dropped ones
// are excised at once.
//
// Pebble's own call waits until a full disk becomes free, and while its memtables are full it
// ignores ctx. This one gives up after several failures of Pebble, which continues to retry.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, err := s.log.startFlush(func() error { return s.db.Compact(ctx, []byte{0}, []byte{spaceSegment}, false) })
	if err == nil {
		err = <-done
	}
	return wrap(err, "compact")
}
