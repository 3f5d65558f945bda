//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package store

import "github.com/cockroachdb/pebble/v2/vfs"

// lockDirectory locks by path within the process, and writers against those of
// other processes by the file LOCK, where Pebble knows how to.
func lockDirectory(path string, shared bool) (dirLock, error) {
	return lockPath(vfs.Default, vfs.Default, path, shared)
}
