package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// resolve makes sure that dir exists, which for a read-only store means to
// complain when it does not, and returns the one path that it goes by: locks
// within a process are kept by path.
func resolve(dir string, o *Options) (string, error) {
	if o.ReadOnly {
		if _, err := o.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return "", notExist(dir)
		} else if err != nil {
			return "", wrap(err, dir)
		}
	} else if err := mkdirSynced(o.FS, dir); err != nil {
		return "", wrap(err, dir)
	}
	if o.FS != vfs.Default {
		return dir, nil
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, wrap(err, dir)
}

// mkdirSynced makes dir and those above it, and makes them durable.
func mkdirSynced(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent != dir {
		if err := mkdirSynced(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}

// writeDurably makes a file appear in dir, whole.
func writeDurably(fsys vfs.FS, dir, name string, data []byte) error {
	path := fsys.PathJoin(dir, name)
	f, err := fsys.Create(path+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(path+".tmp", path); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
