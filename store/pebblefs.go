package store

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A pebbleFS is the file system that Pebble sees. It differs from the store's in seven things.
//
// A file that a marker names must exist before the marker. Pebble creates a MANIFEST, then the
// marker that names it, then syncs the directory once. If the two names reach the disk in the other
// order, a crash leaves a marker that names nothing and a database that does not open. Journals of
// most file systems keep the order, but POSIX does not promise it. The sync that does costs a
// fraction of a millisecond an Open.
//
// A directory that cannot be synced fails the store and nothing more. Pebble panics, which would
// end the process from its own goroutines.
//
// The Store itself takes the lock that Pebble would take; see takeLock.
//
// The directory that Checkpoint has made is hidden: Pebble insists on making it.
//
// Files that riffle has not written stay, whatever Pebble takes them for.
//
// Once the store's fence is down, changes succeed, but in memory only. They come from a Pebble that
// was given up. If they failed, it would retry forever, or park goroutines with its locks; this way
// it comes to an end.
//
// While Pebble opens a database for writing, a failed operation fails the store, too. Pebble's Open
// would return the error, and leave files open and goroutines behind that nothing can reach any
// more. So the error is hidden from Pebble, which continues in memory when the fence is down, and
// is then closed.
//
// The same holds for Pebble's log at all times. Pebble panics when it cannot write its log, and
// keeps the lock of the commits, or its main one, for good.
type pebbleFS struct {
	vfs.FS
	log     *logger
	hidden  *atomic.Pointer[string]          // a hidden directory, or nil
	foreign *atomic.Pointer[map[string]bool] // files that Pebble takes for its own
	opening *atomic.Bool                     // Pebble opens a database for writing
	copied  *sync.Map                        // open files below the hidden directory
	after   *vfs.MemFS                       // takes the changes after the store's fence was lowered
}

// settle returns the error of an operation. For a change of Pebble's log, and for any change while
// Pebble opens a database for writing, it instead returns the fence's refusal once the fence is
// down.
func (p pebbleFS) settle(err error) error { return p.settleOf(false, err) }

func (p pebbleFS) settleOf(log bool, err error) error {
	if err == nil || isFenced(err) || !p.opening.Load() && !log || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		return err
	}
	p.log.failed(err)
	<-p.log.over
	return errFenced
}

func (p pebbleFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(p.PathBase(name), "marker.") {
		if err := p.settle(syncDir(p.FS, p.PathDir(name))); err != nil && !isFenced(err) {
			return nil, err
		}
	}
	f, err := p.FS.Create(name, c)
	return p.opened(name, f, err)
}

func (p pebbleFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := p.FS.OpenReadWrite(name, c, opts...)
	return p.opened(name, f, err)
}

func (p pebbleFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.ReuseForWrite(from, to, c)
	return p.opened(to, f, err)
}

// opened wraps a file that was opened for writing, or makes it in memory.
func (p pebbleFS) opened(name string, f vfs.File, err error) (vfs.File, error) {
	log := strings.HasSuffix(name, ".log") && !p.isCopy(name)
	switch err = p.settleOf(log, err); {
	case err == nil:
		return p.noted(name, &pebbleFile{f, p, log}), nil
	case !isFenced(err):
		return nil, err
	}
	if err := p.after.MkdirAll(p.after.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return p.after.Create(name, vfs.WriteCategoryUnspecified)
}

func (p pebbleFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f, err := p.after.Open(name); err == nil {
		return f, nil
	}
	f, err := p.FS.Open(name, opts...)
	if isFenced(p.settle(err)) { // the store has failed; it may work in memory, so that Pebble comes up
		return p.FS.Open(name, opts...)
	}
	return f, err
}

func (p pebbleFS) List(dir string) ([]string, error) {
	names, err := p.FS.List(dir)
	if isFenced(p.settle(err)) {
		return p.FS.List(dir)
	}
	return names, err
}

func (p pebbleFS) Stat(name string) (vfs.FileInfo, error) {
	if hidden := p.hidden.Load(); hidden != nil && name == *hidden {
		return nil, &os.PathError{Op: "stat", Path: name, Err: os.ErrNotExist}
	}
	if info, err := p.after.Stat(name); err == nil {
		return info, nil
	}
	return p.FS.Stat(name)
}

func (p pebbleFS) Link(from, to string) error {
	return p.changed(p.FS.Link(from, to), func() error { return p.after.Link(from, to) })
}

func (p pebbleFS) Rename(from, to string) error {
	return p.changed(p.FS.Rename(from, to), func() error { return p.after.Rename(from, to) })
}

func (p pebbleFS) Remove(name string) error {
	if foreign := p.foreign.Load(); foreign != nil && (*foreign)[name] {
		return nil
	}
	return p.changed(p.FS.Remove(name), func() error { return p.after.Remove(name) })
}

func (p pebbleFS) RemoveAll(name string) error {
	return p.changed(p.FS.RemoveAll(name), func() error { return p.after.RemoveAll(name) })
}

func (p pebbleFS) MkdirAll(name string, perm os.FileMode) error {
	return p.changed(p.FS.MkdirAll(name, perm), func() error { return p.after.MkdirAll(name, perm) })
}

// changed returns the error of a change, unless the fence has refused it. Then the change is made
// in memory; a change to a missing file does nothing.
func (p pebbleFS) changed(err error, inMemory func() error) error {
	if err = p.settle(err); !isFenced(err) {
		return err
	}
	if err = inMemory(); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (p pebbleFS) OpenDir(name string) (vfs.File, error) {
	f, err := p.FS.OpenDir(name)
	if isFenced(p.settle(err)) {
		f, err = p.FS.OpenDir(name)
	}
	if err != nil {
		return nil, err
	}
	return p.noted(name, &directory{f, p}), nil
}

// noted records an open file below the hidden directory, until it is closed. Pebble leaves some
// open when its Checkpoint fails.
func (p pebbleFS) noted(name string, f vfs.File) vfs.File {
	if p.isCopy(name) {
		p.copied.Store(f, nil)
	}
	return f
}

// isCopy reports whether a name is that of the hidden directory or of a file in it.
func (p pebbleFS) isCopy(name string) bool {
	hidden := p.hidden.Load()
	return hidden != nil && (name == *hidden || p.PathDir(name) == *hidden)
}

func (pebbleFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find the underlying file system.
func (p pebbleFS) Unwrap() vfs.FS { return p.FS }

// A pebbleFile is a file that Pebble writes. Once the store's fence is down, its writes are
// dropped.
type pebbleFile struct {
	vfs.File
	fs  pebbleFS
	log bool // it is Pebble's log
}

func (f *pebbleFile) Close() error {
	f.fs.copied.Delete(f)
	return f.File.Close()
}

func (f *pebbleFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if err = f.settle(err); isFenced(err) {
		return len(b), nil
	}
	return n, err
}

func (f *pebbleFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(b, off)
	if err = f.settle(err); isFenced(err) {
		return len(b), nil
	}
	return n, err
}

// Preallocate does nothing: Pebble's log holds little, and a small index should be small on disk.
func (f *pebbleFile) Preallocate(off, n int64) error { return nil }

func (f *pebbleFile) Sync() error     { return f.settled(f.File.Sync()) }
func (f *pebbleFile) SyncData() error { return f.settled(f.File.SyncData()) }

func (f *pebbleFile) SyncTo(n int64) (bool, error) {
	full, err := f.File.SyncTo(n)
	return full, f.settled(err)
}

func (f *pebbleFile) settled(err error) error { return unlessFenced(f.settle(err)) }

func (f *pebbleFile) settle(err error) error { return f.fs.settleOf(f.log, err) }

func unlessFenced(err error) error {
	if isFenced(err) {
		return nil
	}
	return err
}

type directory struct {
	vfs.File
	fs pebbleFS
}

func (d *directory) Close() error {
	d.fs.copied.Delete(d)
	return d.File.Close()
}

func (d *directory) Sync() error {
	if err := unlessFenced(d.File.Sync()); err != nil {
		d.fs.log.Fatalf("directory sync failed: %w", err)
	}
	return nil
}
