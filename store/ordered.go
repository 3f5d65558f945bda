package store

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An orderedFS makes sure that a file that a marker names is there before the
// marker is. Pebble creates a MANIFEST, then the marker that names it, then syncs
// the directory once; where the two names reach the disk in another order, a
// crash leaves a marker that names nothing and a database that does not open.
// Journals of most file systems keep the order, but POSIX does not promise it,
// and the sync that does costs a fraction of a millisecond an Open.
type orderedFS struct{ vfs.FS }

func (o orderedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), "marker.") {
		if err := syncDir(o.FS, o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, category)
}

// Unwrap lets Pebble find what lies below.
func (o orderedFS) Unwrap() vfs.FS { return o.FS }
