package store

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A fence is the file system of one Store. All of the store's files are made and changed through
// it, including Pebble's. So it can guarantee two things.
//
// Nothing changes before Open has checked everything: until the fence is lifted it refuses every
// change.
//
// Nothing changes after Close: a lowered fence refuses every change and has waited for running
// ones. That holds even for a Pebble that has failed and cannot be stopped. So the directory can be
// unlocked and opened again.
type fence struct {
	vfs.FS
	lock dirLock

	mu    sync.Mutex
	state fenceState
	busy  int           // running changes
	idle  chan struct{} // closed when the fence is down and busy is 0
}

type fenceState uint8

const (
	checking fenceState = iota // nothing may be changed yet
	lifted                     // changes pass
	down                       // nothing may be changed any more
)

// errFenced is the error of a change after the fence was lowered.
var errFenced = fmt.Errorf("%w: its files can no longer be changed", ErrClosed)

func newFence(fsys vfs.FS, lock dirLock) *fence {
	return &fence{FS: fsys, lock: lock, idle: make(chan struct{})}
}

// lift lets changes through.
func (f *fence) lift() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = lifted
}

// lower refuses changes from now on. The returned channel is closed when the last running change
// has ended.
func (f *fence) lower() (idle <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != down {
		f.state = down
		if f.busy == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

// begin announces a change; end announces its end.
func (f *fence) begin(what, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.state {
	case checking:
		return fmt.Errorf("BUG: %s of %s while Open only checks", what, name)
	case down:
		return errFenced
	}
	f.busy++
	return nil
}

func (f *fence) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy--; f.busy == 0 && f.state == down {
		close(f.idle)
	}
}

// change carries out a change of the directory's entries. It fails when the directory has been
// renamed: its path may lead to another one.
func (f *fence) change(what, name string, op func() error) error {
	if err := f.begin(what, name); err != nil {
		return err
	}
	defer f.end()
	if err := f.lock.moved(); err != nil {
		return err
	}
	return op()
}

// open opens a file as a change.
func (f *fence) open(what, name string, op func() (vfs.File, error)) (file vfs.File, err error) {
	err = f.change(what, name, func() error {
		file, err = op()
		return err
	})
	if err != nil {
		return nil, err
	}
	return fencedFile{file, f, name}, nil
}

func (f *fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open("creation", name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open("opening for writing", name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f *fence) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open("reuse", from, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, c) })
}

func (f *fence) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return fencedFile{file, f, name}, nil
}

func (f *fence) Link(from, to string) error {
	return f.change("link", to, func() error { return f.FS.Link(from, to) })
}

func (f *fence) Remove(name string) error {
	return f.change("removal", name, func() error { return f.FS.Remove(name) })
}

func (f *fence) RemoveAll(name string) error {
	return f.change("removal", name, func() error { return f.FS.RemoveAll(name) })
}

func (f *fence) Rename(from, to string) error {
	return f.change("renaming", from, func() error { return f.FS.Rename(from, to) })
}

func (f *fence) MkdirAll(name string, perm os.FileMode) error {
	return f.change("creation", name, func() error { return f.FS.MkdirAll(name, perm) })
}

// Unwrap lets Pebble find the underlying file system.
func (f *fence) Unwrap() vfs.FS { return f.FS }

// A fencedFile is a file opened for writing through a fence, or a directory.
type fencedFile struct {
	vfs.File
	fence *fence
	name  string
}

func (t fencedFile) change(op func() error) error {
	if err := t.fence.begin("change", t.name); err != nil {
		return err
	}
	defer t.fence.end()
	return op()
}

func (t fencedFile) Write(p []byte) (n int, err error) {
	err = t.change(func() error { n, err = t.File.Write(p); return err })
	return n, err
}

func (t fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = t.change(func() error { n, err = t.File.WriteAt(p, off); return err })
	return n, err
}

func (t fencedFile) Preallocate(off, n int64) error {
	return t.change(func() error { return t.File.Preallocate(off, n) })
}

func (t fencedFile) Sync() error     { return t.change(t.File.Sync) }
func (t fencedFile) SyncData() error { return t.change(t.File.SyncData) }

func (t fencedFile) SyncTo(n int64) (full bool, err error) {
	err = t.change(func() error { full, err = t.File.SyncTo(n); return err })
	return full, err
}

// isFenced reports whether an error comes from a change after Close.
func isFenced(err error) bool { return errors.Is(err, errFenced) }
