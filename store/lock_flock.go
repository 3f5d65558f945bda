//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A directoryLock is the flock of a directory, and the lock of the file LOCK in it.
type directoryLock struct {
	path    string
	dir     *os.File // open for as long as the lock is held
	file    *os.File // LOCK; nil while it is not locked
	shared  bool
	release func() // releases the lock within the process, where flock does not work
}

func lockDirectory(path string, shared bool) (dirLock, error) {
	l := &directoryLock{path: path, shared: shared}
	for {
		err := l.lockDir()
		if err == nil {
			break
		}
		if !errors.Is(err, errReplaced) {
			return nil, err
		}
	}
	if err := l.lockFile(0); err != nil && !l.mayDoWithout(err) {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// errReplaced: the directory was replaced between its opening and its locking.
var errReplaced = errors.New("directory replaced")

func (l *directoryLock) lockDir() error {
	var err error
	if l.dir, err = os.Open(l.path); err != nil {
		return err
	}
	how := syscall.LOCK_EX
	if l.shared {
		how = syscall.LOCK_SH
	}
	err = flock(l.dir, how|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		by := byWriter
		if !l.shared && flock(l.dir, syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			by = byReaders
		}
		err = heldError{by}
	case hasNoFlock(err):
		l.release, err = lockInProcess(l.path, l.shared)
	}
	if err == nil && l.moved() != nil {
		err = errReplaced
	}
	if err != nil {
		_ = l.Close()
	}
	return err
}

// hasNoFlock reports whether an error says that a file system does not support flock, or not for
// directories.
func hasNoFlock(err error) bool {
	for _, e := range []error{syscall.ENOTSUP, syscall.ENOSYS, syscall.EINVAL, syscall.EBADF, syscall.ENOLCK, syscall.EISDIR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// mayDoWithout reports whether an Open may continue although LOCK could not be locked. A writer
// creates the file later, in claim. A reader without permission to open it continues if it could
// lock the directory.
func (l *directoryLock) mayDoWithout(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return l.shared && l.release == nil && (errors.Is(err, fs.ErrPermission) || hasNoFlock(err))
}

// lockFile locks LOCK as Pebble does, or shares it. flags may request that the file be created.
func (l *directoryLock) lockFile(flags int) error {
	typ := int16(syscall.F_RDLCK)
	if !l.shared {
		typ, flags = syscall.F_WRLCK, flags|os.O_RDWR
	}
	f, err := os.OpenFile(filepath.Join(l.path, lockFile), flags, 0o666)
	if err != nil {
		return err
	}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: typ, Whence: io.SeekStart})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = heldError{byWriter}
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	l.file = f
	return nil
}

func (l *directoryLock) claim() error {
	if l.file != nil {
		return nil
	}
	return l.lockFile(os.O_CREATE)
}

func (l *directoryLock) moved() error {
	was, err := l.dir.Stat()
	if err != nil {
		return err
	}
	is, err := os.Stat(l.path)
	if err != nil || !os.SameFile(was, is) {
		return errMoved(l.path)
	}
	return nil
}

func (l *directoryLock) Close() error {
	// A child that is just being started may have inherited the descriptor, and the lock would last
	// until the child ends. So it is unlocked first.
	err := flock(l.dir, syscall.LOCK_UN)
	if l.release != nil {
		l.release()
		err = nil
	}
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return errors.Join(err, l.dir.Close())
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
