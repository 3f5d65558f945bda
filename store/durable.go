package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// resolve makes sure that dir exists, or fails for a read-only store if it does not. It returns its
// canonical path, and the directories that it has made. They are not durable yet.
func resolve(dir string, o *Options) (path string, made []string, err error) {
	if o.ReadOnly {
		if _, err := o.FS.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return "", nil, notExist(dir)
		} else if err != nil {
			return "", nil, wrap(err, dir)
		}
	} else if made, err = mkdirs(o.FS, dir); err != nil {
		return "", nil, wrap(errors.Join(err, removeDirs(o.FS, made)), dir)
	}
	if o.FS != vfs.Default {
		return dir, made, nil
	}
	path, err = filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, made, wrap(err, dir)
}

// mkdirs makes dir and its parents, and returns those that were missing, from the top down.
func mkdirs(fsys vfs.FS, dir string) (made []string, err error) {
	_, err = fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if parent := fsys.PathDir(dir); parent != dir {
		if made, err = mkdirs(fsys, parent); err != nil {
			return made, err
		}
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// removeDirs removes the directories of mkdirs that are empty.
func removeDirs(fsys vfs.FS, made []string) error {
	for i := range made {
		dir := made[len(made)-1-i]
		if names, err := fsys.List(dir); err != nil || len(names) > 0 {
			return err
		}
		if err := fsys.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncParents makes the entries of directories in their parents durable.
func syncParents(fsys vfs.FS, dirs ...string) error {
	for _, dir := range dirs {
		if err := syncDir(fsys, fsys.PathDir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// writeDurably makes a complete file appear in dir.
func writeDurably(fsys vfs.FS, dir, name string, data []byte) error {
	path := fsys.PathJoin(dir, name)
	f, err := fsys.Create(path+tmpSuffix, vfs.WriteCategoryUnspecified)
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
	if err := fsys.Rename(path+tmpSuffix, path); err != nil {
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
