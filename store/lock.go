package store

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A dirLock is a lock on a directory.
type dirLock interface {
	// claim makes sure that the file LOCK exists and is locked. Writers call it after all checks of
	// the directory have passed; before that Open creates no file.
	claim() error

	// moved returns an error when the directory is no longer found under the
	// path by which it was locked.
	moved() error

	// Close releases the lock.
	Close() error
}

// heldError: a lock is not available because others hold it.
type heldError struct{ by string }

func (e heldError) Error() string { return "open for " + e.by }

const (
	byWriter  = "writing"
	byReaders = "reading"
)

// takeLock locks a directory, for one writer or shared by readers.
func takeLock(fsys vfs.FS, dir string, shared bool) (dirLock, error) {
	var l dirLock
	var err error
	if root := vfs.Root(fsys); root == vfs.Default {
		l, err = lockDirectory(dir, shared)
	} else {
		l, err = lockPath(root, fsys, dir, shared)
	}
	return l, lockError(err, dir)
}

func lockError(err error, dir string) error {
	var held heldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &held):
		return fmt.Errorf("%w: %s is %w, by another process or by this one; close it there, or open a copy made by Checkpoint", ErrLocked, dir, held)
	}
	return wrap(err, "lock "+dir)
}

// errMoved is the error of a lock whose directory has been renamed.
func errMoved(path string) error {
	return fmt.Errorf("%s was moved or replaced while it was open; close it and open it under its new name", path)
}

// processLocks holds locks within the process by path. They serve file systems other than the
// operating system's, which live and die with the process, and directories on which flock fails.
var processLocks struct {
	sync.Mutex
	holders map[any]int // readers, or -1 for a writer
}

// lockInProcess takes or shares the lock of key.
func lockInProcess(key any, shared bool) (release func(), err error) {
	processLocks.Lock()
	defer processLocks.Unlock()
	n := processLocks.holders[key]
	switch {
	case n < 0:
		return nil, heldError{byWriter}
	case n > 0 && !shared:
		return nil, heldError{byReaders}
	case processLocks.holders == nil:
		processLocks.holders = map[any]int{}
	}
	share := 1
	if !shared {
		share = -1
	}
	processLocks.holders[key] += share
	return func() {
		processLocks.Lock()
		defer processLocks.Unlock()
		if processLocks.holders[key] -= share; processLocks.holders[key] == 0 {
			delete(processLocks.holders, key)
		}
	}, nil
}

// A pathLock is the lock of a directory in a file system that the caller supplies.
type pathLock struct {
	fs      vfs.FS
	path    string
	release func()
	file    io.Closer // the lock of the file LOCK, once claimed
}

func lockPath(root, fsys vfs.FS, dir string, shared bool) (dirLock, error) {
	type rooted struct {
		fs   any
		path string
	}
	key := rooted{path: dir}
	if reflect.TypeOf(root).Comparable() {
		key.fs = root
	}
	release, err := lockInProcess(key, shared)
	if err != nil {
		return nil, err
	}
	return &pathLock{fs: fsys, path: dir, release: release}, nil
}

func (l *pathLock) claim() (err error) {
	if l.file == nil {
		l.file, err = l.fs.Lock(l.fs.PathJoin(l.path, lockFile))
	}
	return err
}

func (l *pathLock) moved() error { return nil }

func (l *pathLock) Close() error {
	defer l.release()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
