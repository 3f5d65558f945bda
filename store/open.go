package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/store/wal"
)

// FormatVersion is the version of everything that this package writes: key spaces, seals, the
// manifest. A store of a higher version is refused with ErrFormat.
//
//	1  the first; the log is kept in Pebble, record by record
//	2  the log is kept in files of its own (package wal)
const FormatVersion = 2

// buildDir is the folder, below that of the store, in which segments' tables are written before
// they are ingested. Pebble leaves it alone and does not copy it into checkpoints.
const buildDir = "building"

// lockFile is the file that Pebble would lock; see takeLock.
const lockFile = "LOCK"

// A Store keeps one index in one directory. Its methods are safe for concurrent
// use.
type Store struct {
	dir  string
	opts Options
	fs   *fence          // all changes to files go through it
	popt *pebble.Options // defaults filled in; sizes of the segments' tables come from here
	db   *pebble.DB      // nil for a new store until StartWriting
	lock dirLock
	log  *logger
	gate gate

	iterators iteratorPool
	lent      lentPages

	hidden  atomic.Pointer[string]          // a directory that is hidden from Pebble
	foreign atomic.Pointer[map[string]bool] // files that Pebble must not remove

	opening atomic.Bool // Pebble opens the database for writing; see pebbleFS
	copied  sync.Map    // files that Pebble has open in a copy; see pebbleFS

	fresh    bool     // there is no index yet, or an interrupted creation of one
	outlived bool     // the mark of a creation remains after its end
	made     []string // directories that Open has made
	writing  bool     // StartWriting has succeeded
	stranded func()   // ends a Pebble that did not come up in time, once it is up

	closeOnce sync.Once
	closeErr  error // what Close returns

	version uint64     // of the format
	logID   uint64     // of the log, from version 2 on
	found   *wal.State // the log as Load found it; nil in version 1, and for a new store
	wal     *wal.Log   // nil until StartWriting
	nextSeq uint64     // of the next log record, until StartWriting

	// commitMu makes a Commit and a Checkpoint exclude each other. A checkpoint takes the list of
	// tables first and the WAL later. A Commit in between would put a manifest into the copy that
	// lists segments which the copy lacks.
	commitMu sync.Mutex
	doomed   map[uint64]struct{} // segments no longer live whose keys could not be removed yet

	manifestSum uint32 // checksum in the seal of the manifest value

	mu       sync.Mutex
	manifest Manifest // as last committed, except Next, which NewSegment advances
}

// Open opens the store in dir with opts: it is Load and, unless opts are read-only, StartWriting.
func Open(dir string, opts *Options) (*Store, error) {
	s, err := Load(dir, opts)
	if err != nil || s.opts.ReadOnly {
		return s, err
	}
	if err := s.StartWriting(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Load locks dir, checks its contents, and changes nothing: everything can be read, and writes
// return ErrReadOnly until StartWriting. It reads the log to its end and checks every record, and
// all values that the manifest vouches for. A missing or empty directory is a new, empty store,
// unless opts are read-only.
//
// Errors: ErrLocked, at once, when this or another process has dir open; fs.ErrNotExist when there
// is no store and opts are read-only; ErrFormat when the directory belongs to a newer version or
// holds something else; ErrUnfinished; corrupt.Err. After an error the directory is unchanged.
func Load(dir string, opts *Options) (_ *Store, err error) {
	o := opts.withDefaults()
	dir, made, err := resolve(dir, &o)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(o.FS, dir, o.ReadOnly)
	if err != nil {
		return nil, errors.Join(err, removeDirs(o.FS, made))
	}
	l := newLogger(o.Log, o.Failed)
	s := &Store{dir: dir, opts: o, fs: newFence(o.FS, lock), lock: lock, log: l, gate: newGate(), made: made, doomed: map[uint64]struct{}{}}
	s.lent.limit = o.LentBytes
	s.popt = o.pebbleOptions(pebbleFS{FS: s.fs, log: l, hidden: &s.hidden, opening: &s.opening, copied: &s.copied, foreign: &s.foreign, after: vfs.NewMem()}, l)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.inspect(); err != nil {
		return nil, err
	}
	if s.fresh {
		if o.ReadOnly {
			return nil, notExist(dir)
		}
		s.manifest, s.nextSeq = Manifest{Next: 1, sums: map[string]uint32{}}, 1
		return s, nil
	}
	if err := s.openPebble(true); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, s.verify()
}

// StartWriting makes a loaded store writable. No other call may run meanwhile.
//
// It removes what an interrupted run left behind: incomplete tables, segments that no manifest
// lists, deletions of segments that are gone. After an error the store must be closed.
func (s *Store) StartWriting() error {
	if s.opts.ReadOnly {
		return ErrReadOnly
	}
	must(!s.writing, "StartWriting is called twice")
	if err := lockError(s.lock.claim(), s.dir); err != nil {
		return err
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	s.fs.lift()
	start := s.reopen
	if s.fresh {
		start = s.create
	}
	if err := start(); err != nil {
		return err
	}
	if s.outlived {
		if err := unmark(s.fs, s.dir); err != nil {
			return wrap(err, unfinishedFile)
		}
	}
	// The file is removed before the first write, of which it knows nothing.
	if err := s.removeClosing(); err != nil {
		return err
	}
	if s.wal == nil {
		if err := s.startLog(); err != nil {
			return err
		}
	}
	s.writing = true
	if err := s.clean(); err != nil {
		s.writing = false // so that Close vouches for nothing
		return err
	}
	return nil
}

// leastRoom is how many bytes must be free to open an index for writing, in addition to what its
// logs may need when they are flushed. Pebble would notice a full disk, too, but only halfway.
const leastRoom = 256 << 10

// checkRoom makes sure that the disk is not full.
func (s *Store) checkRoom() error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return wrap(err, s.dir)
	}
	need := uint64(leastRoom)
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		if st, err := s.fs.Stat(s.fs.PathJoin(s.dir, name)); err == nil {
			need += uint64(st.Size())
		}
	}
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err == nil && usage.AvailBytes < need { // not every file system knows
		return fmt.Errorf("store: open %s: %d bytes are free on the disk, and %d are needed to begin with; make room: %w", s.dir, usage.AvailBytes, need, syscall.ENOSPC)
	}
	return nil
}

// reopen opens Pebble again, for writing this time.
func (s *Store) reopen() error {
	foreign, err := s.foreignTables()
	if err != nil {
		return err
	}
	s.foreign.Store(&foreign)
	s.renewIterators()
	err = s.db.Close()
	s.db = nil
	if err != nil {
		return wrap(err, s.dir)
	}
	if err := s.openPebble(false); err != nil {
		return err
	}
	sum, next := s.manifestSum, s.nextSeq
	if err := s.load(); err != nil {
		return err
	}
	if s.manifestSum != sum || s.nextSeq != next {
		return wrap(corrupt.New(-1, "it changed while it was being opened"), s.dir)
	}
	return nil
}

// openPebble opens the database itself.
func (s *Store) openPebble(readOnly bool) error {
	popt := *s.popt
	popt.ReadOnly, popt.ErrorIfNotExists = readOnly, !s.fresh
	s.opening.Store(!readOnly)
	var db *pebble.DB
	opened, err := s.log.startFlush(func() (err error) {
		db, err = pebble.Open(s.dir, &popt)
		return err
	})
	if err != nil {
		// The flush that Pebble's Open waits for keeps failing, or the MANIFEST cannot be written.
		s.log.failed(err)
		s.stranded = func() {
			if <-opened == nil {
				_ = db.Close()
			}
		}
		return wrap(err, "open "+s.dir)
	}
	if err := s.openError(<-opened); err != nil {
		return err
	}
	s.opening.Store(false)
	s.db = db
	return nil
}

// openError translates an error of Pebble's Open.
func (s *Store) openError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return notExist(s.dir)
	case isForeign(err):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	case errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "object size mismatch") || strings.Contains(err.Error(), "WALRecoveryDirs"):
		// A file that Pebble's own manifest lists is missing, or truncated; or its OPTIONS name
		// another directory for the log, which ours never do.
		return &corrupt.Error{Key: s.dir, Block: -1, Offset: -1, Cause: oneLine{err}}
	}
	return wrap(err, s.dir)
}

// isForeign reports whether a newer Pebble wrote the database, or a program that sorts or merges in
// another way. Pebble has no error values for either.
func isForeign(err error) bool {
	text := err.Error()
	return strings.Contains(text, "format major version") || strings.Contains(text, "name from file")
}

func notExist(dir string) error {
	return fmt.Errorf("store: no index in %s: %w", dir, fs.ErrNotExist)
}

func (s *Store) buildPath() string { return s.opts.FS.PathJoin(s.dir, buildDir) }

// Close waits for running calls and for open iterators, whose walks end with ErrClosed, and closes
// the store. Afterwards log records that were appended without sync are durable. Whatever error it
// returns, the store is closed and the directory can be opened again. Further calls wait for the
// first one and return the same error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.gate.shut()
		s.renewIterators()
		var err error
		if s.writing && s.log.fail.Load() == nil {
			err = s.closing()
		}
		s.closeErr = errors.Join(err, s.release())
		s.lent.giveBack() // the collector may find the readers much later
		if f := s.log.fail.Load(); f != nil && !errors.Is(s.closeErr, ErrFailed) {
			s.closeErr = errors.Join(f, s.closeErr)
		}
	})
	return s.closeErr
}

// release closes the database and releases the lock. Nothing of the store changes a file after
// that, whatever Pebble does.
func (s *Store) release() error {
	var err error
	if s.wal != nil && s.log.fail.Load() == nil {
		if err = s.wal.Close(); errors.Is(err, wal.ErrClosed) {
			err = nil
		}
	}
	if db := s.db; db != nil && s.log.fail.Load() == nil {
		err = errors.Join(err, s.log.write(db.Close))
		if s.log.fail.Load() != nil {
			s.db = nil // it is being closed
		}
	}
	if s.log.fail.Load() != nil {
		return s.giveUp()
	}
	if !s.writing && s.db == nil {
		err = errors.Join(err, removeDirs(s.opts.FS, s.made))
	}
	s.db = nil
	<-s.fs.lower()
	return wrap(errors.Join(err, s.lock.Close()), "close "+s.dir)
}

// hangTime is how long giveUp waits for running changes to files. They end when the operating
// system says so; on a full disk that is at once.
const hangTime = 10 * time.Second

// drainTime is how long giveUp waits for Pebble to finish, which takes milliseconds if it ever
// does. Meanwhile Pebble still reads the directory, and changes by the next owner confuse it.
const drainTime = time.Second

// giveUp releases the lock without closing Pebble, whose locks may be held for good, and which may
// retry forever what it cannot do.
//
// Pebble cannot be stopped, but it can be cut off. When the fence is down and the last change has
// ended, the directory is free. From then on all of Pebble's changes succeed, in memory (see
// pebbleFS), and the goroutines that Fatalf holds continue. So Pebble can be closed normally, and
// leaves nothing behind. If it still does not finish, its memory is lost until the process ends,
// and nothing else.
func (s *Store) giveUp() error {
	idle := s.fs.lower()
	finish := func() error {
		close(s.log.over)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			s.drain(s.db)
		}()
		select {
		case <-drained:
		case <-time.After(drainTime):
		}
		return wrap(s.lock.Close(), "close "+s.dir)
	}
	select {
	case <-idle:
		return finish()
	case <-time.After(hangTime):
		go func() {
			<-idle
			_ = finish()
		}()
		return fmt.Errorf("store: close %s: a write has not returned for %v; the directory stays locked until it does", s.dir, hangTime)
	}
}

// drain closes a Pebble that no longer reaches the disk.
func (s *Store) drain(db *pebble.DB) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Log(fmt.Sprintf("close of a failed store: %v", r))
		}
	}()
	if s.wal != nil {
		_ = s.wal.Close() // its remaining writes come too late
	}
	if s.stranded != nil {
		s.stranded()
	}
	s.log.calls.Wait() // Pebble cannot be closed during them
	if db != nil {
		_ = db.Close() // its errors no longer matter
	}
}
