package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// A directoryLock is the file LOCK, opened with a share mode: exclusive for a writer, shared among
// readers. Windows does not rename a directory that contains an open file.
type directoryLock struct {
	path   string
	shared bool
	file   syscall.Handle
	open   bool
}

func lockDirectory(path string, shared bool) (dirLock, error) {
	l := &directoryLock{path: path, shared: shared}
	err := l.openFile(syscall.OPEN_EXISTING)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // a writer creates it in claim; until then it does not exist
	}
	return l, err
}

func (l *directoryLock) openFile(mode uint32) error {
	const sharingViolation = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	path := filepath.Join(l.path, lockFile)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	access, share := uint32(syscall.GENERIC_READ|syscall.GENERIC_WRITE), uint32(0)
	if l.shared {
		access, share = syscall.GENERIC_READ, syscall.FILE_SHARE_READ
	}
	l.file, err = syscall.CreateFile(name, access, share, nil, mode, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		l.open = true
		return nil
	case errors.Is(err, sharingViolation) && l.shared:
		return heldError{byWriter}
	case errors.Is(err, sharingViolation):
		return heldError{byWriter + " or reading"}
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

func (l *directoryLock) claim() error {
	if l.open {
		return nil
	}
	return l.openFile(syscall.OPEN_ALWAYS)
}

func (l *directoryLock) moved() error { return nil }

func (l *directoryLock) Close() error {
	if !l.open {
		return nil
	}
	return syscall.CloseHandle(l.file)
}
