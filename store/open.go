package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

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

// A Store keeps one index in one directory. Its methods are safe for concurrent
// use.
type Store struct {
	dir  string
	opts Options
	popt *pebble.Options // defaults filled in; sizes of the segments' tables come from here
	db   *pebble.DB
	lock *pebble.Lock // nil for a read-only store where none could be written
	log  *logger
	gate gate

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
	s := &Store{dir: dir, opts: o, log: l, popt: o.pebbleOptions(l), doomed: map[uint64]struct{}{}}
	s.gate.idle.L = &s.gate.mu
	if err := s.takeLock(); err != nil {
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
		var r result
		r.err = s.log.do(func() (err error) {
			r.db, err = pebble.Open(s.dir, s.popt)
			return err
		})
		opened <- r
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

// load checks the format and reads what is kept in memory. A store without a
// single key is a new one, also when a crash cut its creation short.
func (s *Store) load() error {
	first, err := s.firstKey(nil, nil)
	if err != nil {
		return err
	}
	if first == nil {
		return s.loadEmpty()
	}
	if err := s.checkFormat(first); err != nil {
		return err
	}
	if err := s.loadManifest(); err != nil {
		return err
	}
	if err := s.loadLogEnd(); err != nil {
		return err
	}
	return s.checkClosing()
}

func (s *Store) loadEmpty() error {
	if err := s.checkClosing(); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return notExist(s.dir)
	}
	return s.create()
}

// create writes the first two keys, which every store has from then on.
func (s *Store) create() error {
	m := Manifest{Next: 1, sums: map[string]uint32{}}
	b := s.db.NewBatch()
	defer b.Close()
	setSealed(b, metaKey(formatName), binary.AppendUvarint(nil, FormatVersion))
	s.manifestSum = setSealed(b, manifestKey, appendManifest(nil, &m))
	if err := s.apply(b); err != nil {
		return wrap(err, "create "+s.dir)
	}
	s.manifest, s.nextSeq, s.logStart = m, 1, 1
	return nil
}

// checkFormat reads the format version; first is the first key there is.
func (s *Store) checkFormat(first []byte) error {
	payload, _, err := s.getSealed(metaKey(formatName))
	if err != nil {
		return err
	}
	if payload == nil {
		if isOurs(first) {
			return corrupt.At(corrupt.New(-1, "there is none"), KeyString(metaKey(formatName)))
		}
		return fmt.Errorf("%w: %s is another program's Pebble database", ErrFormat, s.dir)
	}
	v, n := binary.Uvarint(payload)
	if n <= 0 {
		return corrupt.At(corrupt.New(1, "no version in %x", payload), KeyString(metaKey(formatName)))
	}
	if v > FormatVersion {
		return fmt.Errorf("%w: %s has version %d, this program knows up to %d", ErrFormat, s.dir, v, FormatVersion)
	}
	return nil
}

// loadManifest reads the manifest and makes sure that the segments it lists have
// keys: should Pebble have lost a table and not noticed, we do.
func (s *Store) loadManifest() error {
	payload, sum, err := s.getSealed(manifestKey)
	if err != nil {
		return err
	}
	if payload == nil {
		return corrupt.At(corrupt.New(-1, "there is none"), KeyString(manifestKey))
	}
	if s.manifest, err = decodeManifest(payload); err != nil {
		return corrupt.At(err, KeyString(manifestKey))
	}
	s.logStart, s.manifestSum = s.manifest.LogSeq+1, sum
	for _, g := range s.manifest.Segments {
		key, err := s.firstKey(segmentPrefix(g.Number), segmentEnd(g.Number))
		if err != nil {
			return err
		}
		if key == nil {
			return corrupt.At(corrupt.New(-1, "the manifest lists it, but it has no keys"), fmt.Sprintf("segment %d", g.Number))
		}
	}
	return nil
}

// loadLogEnd finds the number of the next log record.
func (s *Store) loadLogEnd() error {
	s.nextSeq = s.manifest.LogSeq + 1
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{spaceLog}, UpperBound: []byte{spaceLog + 1}})
	if err != nil {
		return wrap(err, "log")
	}
	defer it.Close()
	if it.Last() {
		last, ok := keyNumber(it.Key())
		if !ok {
			return corrupt.At(corrupt.New(-1, "no key of the log"), KeyString(it.Key()))
		}
		s.nextSeq = max(s.nextSeq, last+1)
	}
	return wrap(it.Error(), "log")
}

// firstKey returns the first key in [lower, upper), or nil.
func (s *Store) firstKey(lower, upper []byte) ([]byte, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, wrap(err, KeyString(lower))
	}
	defer it.Close()
	if it.First() {
		return append([]byte(nil), it.Key()...), nil
	}
	return nil, wrap(it.Error(), KeyString(lower))
}

// clean removes what an interrupted run left behind.
func (s *Store) clean() error {
	if err := s.removeClosing(); err != nil {
		return err
	}
	if err := s.opts.FS.RemoveAll(s.buildPath()); err != nil {
		return wrap(err, "remove "+s.buildPath())
	}
	orphans, err := s.orphans()
	if err != nil {
		return err
	}
	for _, n := range orphans {
		// Numbers are not used twice, not even those of orphans.
		s.manifest.Next = max(s.manifest.Next, n+1)
	}
	if len(orphans) == 0 {
		return nil
	}
	return s.DropSegments(context.Background(), orphans)
}

// orphans returns the segments that have keys, or deletions, but are not live.
func (s *Store) orphans() ([]uint64, error) {
	live, found := s.manifest.live(), []uint64(nil)
	for _, space := range []byte{spaceDeletions, spaceSegment} {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
		if err != nil {
			return nil, wrap(err, "segments")
		}
		for ok := it.First(); ok; {
			n, isNumbered := keyNumber(it.Key())
			if !isNumbered {
				return nil, errors.Join(corrupt.At(corrupt.New(-1, "no key of a segment"), KeyString(it.Key())), it.Close())
			}
			if !live[n] {
				found = append(found, n)
			}
			next := numbered(space, n+1)
			if n+1 == 0 {
				break
			}
			ok = it.SeekGE(next)
		}
		if err := it.Close(); err != nil {
			return nil, wrap(err, "segments")
		}
	}
	return found, nil
}

func (s *Store) buildPath() string { return s.opts.FS.PathJoin(s.dir, buildDir) }

// Close waits for calls in progress and closes the store. It returns an error,
// and the store stays open, while iterators are open. Log records that were
// appended without sync are durable after it.
func (s *Store) Close() error {
	iters, err := s.gate.shut()
	if err != nil {
		return err
	}
	if iters > 0 {
		return fmt.Errorf("store: close: %d iterators are still open", iters)
	}
	if !s.opts.ReadOnly && s.log.fail.Load() == nil {
		err = s.closing()
	}
	return errors.Join(err, s.release())
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

// resolve makes sure that dir exists, which for a read-only store means to
// complain when it does not, and returns the one path that it goes by: locks
// within a process are kept by path.
func resolve(dir string, o *Options) (string, error) {
	if o.ReadOnly {
		if _, err := o.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return "", notExist(dir)
		} else if err != nil {
			return "", wrap(err, dir)
		}
	} else if err := mkdirSynced(o.FS, dir); err != nil {
		return "", wrap(err, dir)
	}
	if o.FS != vfs.Default {
		return dir, nil
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, wrap(err, dir)
}

// mkdirSynced makes dir and those above it, and makes them durable.
func mkdirSynced(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent != dir {
		if err := mkdirSynced(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}
