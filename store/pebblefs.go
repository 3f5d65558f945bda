package store

import (
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A pebbleFS is the file system that Pebble sees. It corrects three things.
//
// A file that a marker names must be there before the marker is. Pebble creates
// a MANIFEST, then the marker that names it, then syncs the directory once; where
// the two names reach the disk in another order, a crash leaves a marker that
// names nothing and a database that does not open. Journals of most file systems
// keep the order, but POSIX does not promise it, and the sync that does costs a
// fraction of a millisecond an Open.
//
// A directory that cannot be synced is a failure of the store and nothing more.
// Pebble panics, which in its own goroutines would be the end of the process.
//
// The lock that Pebble takes is the Store's affair; see takeLock.
type pebbleFS struct {
	vfs.FS
	log *logger
}

func (p pebbleFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(p.PathBase(name), "marker.") {
		if err := syncDir(p.FS, p.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return p.FS.Create(name, category)
}

func (p pebbleFS) OpenDir(name string) (vfs.File, error) {
	f, err := p.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return directory{f, p.log}, nil
}

func (pebbleFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap lets Pebble find what lies below.
func (p pebbleFS) Unwrap() vfs.FS { return p.FS }

type directory struct {
	vfs.File
	log *logger
}

func (d directory) Sync() error {
	if err := d.File.Sync(); err != nil {
		d.log.Fatalf("directory sync failed: %w", err)
	}
	return nil
}
