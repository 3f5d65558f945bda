//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package store

import "github.com/cockroachdb/pebble/v2/vfs"

// lockDirectory locks by path within the process. Against other processes it locks for writers by
// the file LOCK, where Pebble supports that.
func lockDirectory(path string, shared bool) (dirLock, error) {
	return lockPath(vfs.Default, vfs.Default, path, shared)
}
