package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// takeLock locks the directory, before Pebble looks at any file of it.
func (s *Store) takeLock() error {
	lock, err := pebble.LockDirectory(s.dir, s.opts.FS)
	switch {
	case err == nil:
		s.lock, s.popt.Lock = lock, lock
		return nil
	case isHeld(err):
		return fmt.Errorf("%w: %s", ErrLocked, s.dir)
	case s.opts.ReadOnly && isUnwritable(err):
		// Nobody can write here, so there is nobody to be protected from.
		s.popt.FS = lockless{s.popt.FS}
		return nil
	}
	return wrap(err, "lock "+s.dir)
}

// windowsSharingViolation is ERROR_SHARING_VIOLATION.
const windowsSharingViolation = syscall.Errno(32)

// isHeld reports whether a lock could not be taken because somebody has it. The
// file being impossible to create is another matter, and comes as a PathError.
func isHeld(err error) bool {
	var path *fs.PathError
	if errors.As(err, &path) {
		return false
	}
	if runtime.GOOS == "windows" {
		return errors.Is(err, windowsSharingViolation)
	}
	const withinProcess = "lock held by current process" // vfs has no value for it
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || err.Error() == withinProcess
}

// isUnwritable reports whether the lock file could not be created at all.
func isUnwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// lockless is a file system without locks.
type lockless struct{ vfs.FS }

func (lockless) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find what lies below.
func (l lockless) Unwrap() vfs.FS { return l.FS }
