package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// FormatVersion is the version of everything this package lays down: key spaces,
// seals, the manifest. A store of a higher version is refused with ErrFormat.
//
//	1  the first
const FormatVersion = 1

// buildDir is the folder, below that of the store, in which segments' tables are
// written before they are ingested. Pebble leaves it alone and does not copy it
// into checkpoints.
const buildDir = "building"

// lockFile is the file that Pebble would lock; see takeLock.
const lockFile = "LOCK"

// A Store keeps one index in one directory. Its methods are safe for concurrent
// use.
type Store struct {
	dir  string
	opts Options
	popt *pebble.Options // defaults filled in; sizes of the segments' tables come from here
	db   *pebble.DB
	lock dirLock
	log  *logger
	gate gate

	closeOnce sync.Once
	closeErr  error // what Close returns

	// appendMu orders the log: records get into the WAL in the order of their
	// sequence numbers, so that whatever a crash leaves has no gaps.
	appendMu sync.Mutex
	nextSeq  uint64 // of the next log record

	// commitMu makes a Commit and a Checkpoint one at a time. A checkpoint
	// takes the list of tables first and the WAL later; a Commit in between
	// would put a manifest into the copy that lists segments the copy lacks.
	commitMu sync.Mutex
	logStart uint64              // log records before this one are deleted
	doomed   map[uint64]struct{} // segments no longer live whose keys could not be removed yet

	manifestSum uint32 // checksum in the seal of the manifest value

	mu       sync.Mutex
	manifest Manifest // as last committed, but for Next, which NewSegment moves on
}

// Open opens the store in dir; unless opts say read-only, a directory that is
// missing or empty becomes a new store.
//
// What an interrupted run left behind goes: tables half written, segments that
// no manifest lists, deletions of segments that are gone.
//
// Errors: ErrLocked, at once, when this or another process has dir open;
// fs.ErrNotExist when there is no store and opts say read-only; ErrFormat;
// corrupt.Err.
func Open(dir string, opts *Options) (_ *Store, err error) {
	o := opts.withDefaults()
	if dir, err = resolve(dir, &o); err != nil {
		return nil, err
	}
	l := newLogger(o.Log)
	s := &Store{dir: dir, opts: o, log: l, popt: o.pebbleOptions(l), gate: newGate(), doomed: map[uint64]struct{}{}}
	if s.lock, err = takeLock(o.FS, dir, o.ReadOnly); err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		if r := s.release(); !errors.Is(r, ErrFailed) {
			err = errors.Join(err, r)
		}
	}()
	if !o.ReadOnly {
		if err := lockError(s.lock.claim(), dir); err != nil {
			return nil, err
		}
	}
	if err := s.openPebble(); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := s.clean(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openPebble opens the database itself.
func (s *Store) openPebble() error {
	type result struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		var db *pebble.DB
		err := s.log.do(func() (err error) {
			db, err = pebble.Open(s.dir, s.popt)
			return err
		})
		if err != nil {
			opened <- result{err: err} // db may still be written to
			return
		}
		opened <- result{db: db}
	}()
	select {
	case r := <-opened:
		s.db = r.db
		return s.openError(r.err)
	case err := <-s.log.stuck:
		// The flush that Pebble's Open waits for goes on failing. Should it
		// come to an end one day, the directory is free again.
		lock := s.lock
		s.lock = nil
		go func() {
			if r := <-opened; r.err == nil {
				_ = r.db.Close()
				_ = lock.Close()
			}
		}()
		return wrap(err, "open "+s.dir)
	}
}

// openError says what an error of Pebble's Open means.
func (s *Store) openError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return notExist(s.dir)
	case isForeign(err):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	case errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "object size mismatch"):
		// A file that Pebble's own manifest lists is missing, or cut.
		return &corrupt.Error{Key: s.dir, Block: -1, Offset: -1, Cause: oneLine{err}}
	}
	return wrap(err, s.dir)
}

// isForeign reports whether a database was written by a newer Pebble, or by a
// program that sorts or merges in another way. Pebble has no values for either.
func isForeign(err error) bool {
	text := err.Error()
	return strings.Contains(text, "format major version") || strings.Contains(text, "name from file")
}

func notExist(dir string) error {
	return fmt.Errorf("store: no index in %s: %w", dir, fs.ErrNotExist)
}

func (s *Store) buildPath() string { return s.opts.FS.PathJoin(s.dir, buildDir) }

// Close waits for calls in progress and for open iterators, whose walks end with
// ErrClosed, and closes the store. Log records that were appended without sync
// are durable after it. Whatever error it returns, the store is closed. Further
// calls wait for the first one and return the same error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.gate.shut()
		var err error
		if !s.opts.ReadOnly && s.log.fail.Load() == nil {
			err = s.closing()
		}
		s.closeErr = errors.Join(err, s.release())
	})
	return s.closeErr
}

// release closes the database and gives the lock back. A failed store keeps
// both: Pebble's locks are held for good and its background work may go on, so
// nobody else, nor we again, may open the directory before the process ends.
func (s *Store) release() error {
	if f := s.log.fail.Load(); f != nil {
		return f
	}
	var errs error
	if s.db != nil {
		errs = s.log.do(s.db.Close)
	}
	if s.lock != nil && s.log.fail.Load() == nil {
		errs = errors.Join(errs, s.lock.Close())
	}
	return wrap(errs, "close "+s.dir)
}
