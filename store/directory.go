package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/store/wal"
)

// unfinishedFile marks a directory with incomplete content: an index that is being created, or a
// copy that Checkpoint is writing. It is created before all other files and removed after them,
// each durably. So a directory that has some files of an index, but neither this one nor all the
// required ones, is damaged; it is never taken for a new one. A mark in an index that was complete
// does not count, and the next Open for writing removes it.
const unfinishedFile = "UNFINISHED"

// Contents of the file.
const (
	markCreation   = "riffle: this index is being created. Open it to start over.\n"
	markCheckpoint = "riffle: this copy of an index is incomplete. Remove the directory, and make the copy again.\n"
)

// tmpSuffix ends the names of files that are not yet complete.
const tmpSuffix = ".tmp"

// File names: those of Pebble, those of segment tables in the folder "building", and those that
// operating systems leave in any directory.
var (
	pebbleNames   = regexp.MustCompile(`^((MANIFEST|OPTIONS)-\d+|\d+\.(sst|blob)|\d+(-\d+)?\.log|marker\..*|(temporary|CURRENT)\.\d+\.dbtmp|REMOTE-OBJ-CATALOG-\d+)$`)
	numberedNames = regexp.MustCompile(`^(MANIFEST-|OPTIONS-|)(\d+)(\..*|)$`)
	tableNames    = regexp.MustCompile(`^\d+\.(compressed|plain|behind|late|run\d+)$`)
	systemNames   = regexp.MustCompile(`^(lost\+found|\.DS_Store|\._.*|\.nfs.*|\.fuse_hidden.*|Thumbs\.db|desktop\.ini|\.snapshot|System Volume Information)$`)
)

// isPartOfIndex reports whether only an index has a file with this name.
func isPartOfIndex(name string) bool {
	return name == closingFile || pebbleNames.MatchString(name)
}

// isOwn reports whether riffle gives files this name.
func isOwn(name string) bool {
	switch strings.TrimSuffix(name, tmpSuffix) {
	case lockFile, closingFile, unfinishedFile:
		return true
	}
	return isPartOfIndex(name)
}

// inspect looks at the names in the directory. It finds out whether the directory holds an index
// (or part of one), is empty, or belongs to something else.
func (s *Store) inspect() error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return wrap(err, s.dir)
	}
	slices.Sort(names)
	mark, err := readMark(s.fs, s.dir)
	if err != nil {
		return err
	}
	switch mark {
	case "":
	case markCreation:
		if s.outlived, err = s.creationEnded(names); err != nil {
			return err
		}
		if !s.outlived {
			s.fresh = true
			return nil
		}
	default:
		return fmt.Errorf("%w: %s holds an incomplete copy: remove the directory, and make the copy again", ErrUnfinished, s.dir)
	}
	foreign := slices.IndexFunc(names, func(n string) bool { return (!isOwn(n) || n == unfinishedFile) && !systemNames.MatchString(n) })
	switch {
	case slices.ContainsFunc(names, isPartOfIndex):
		return s.checkMarkers(names)
	case slices.Contains(names, logDir) && wal.Present(s.fs, s.logPath()):
		return corrupt.At(corrupt.New(-1, "holds a log of documents and nothing else of an index; copy the whole directory again from where it is intact"), s.dir)
	case foreign >= 0:
		return fmt.Errorf("%w: %s holds no index but other files (%s); choose a directory that is empty or does not exist", ErrFormat, s.dir, names[foreign])
	}
	s.fresh = true
	return nil
}

// creationEnded reports whether the marked creation has ended, so that the mark should be gone. A
// removed file reappears when a disk loses a sync of its directory. In the last step of a creation
// the log vouches for the manifest, and only a complete store is ever closed.
func (s *Store) creationEnded(names []string) (bool, error) {
	if slices.Contains(names, closingFile) {
		return true, nil
	}
	vouch, err := wal.Last(s.fs, s.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return vouch.HasIs, wrap(err, unfinishedFile+" is there, but the log cannot be read")
}

// checkMarkers makes sure that the files exist without which Pebble would take a directory for a
// new one.
func (s *Store) checkMarkers(names []string) error {
	if slices.Contains(names, "CURRENT") {
		return fmt.Errorf("%w: %s is another program's database", ErrFormat, s.dir)
	}
	for _, marker := range []string{"marker.manifest.", "marker.format-version."} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, marker) }) {
			return corrupt.At(corrupt.New(-1, "missing, but there is %s; copy the whole directory again from where it is intact", firstPart(names)), s.fs.PathJoin(s.dir, marker+"*"))
		}
	}
	return s.checkManifestFile(names)
}

func firstPart(names []string) string { return names[slices.IndexFunc(names, isPartOfIndex)] }

// readMark returns the contents of the file UNFINISHED, or an empty string if riffle did not write
// one.
func readMark(fsys vfs.FS, dir string) (string, error) {
	f, err := fsys.Open(fsys.PathJoin(dir, unfinishedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", wrap(err, unfinishedFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", wrap(err, unfinishedFile)
	}
	if !strings.HasPrefix(string(data), "riffle: ") {
		return "", nil
	}
	return string(data), nil
}

// unmark removes the file UNFINISHED, durably.
func unmark(fsys vfs.FS, dir string) error {
	return errors.Join(fsys.Remove(fsys.PathJoin(dir, unfinishedFile)), syncDir(fsys, dir))
}

// removeOwn removes what riffle wrote into a directory, except the lock, and the mark that permits
// the removal.
func removeOwn(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == logDir {
			if err := wal.Remove(fsys, fsys.PathJoin(dir, name)); err != nil {
				return err
			}
			continue
		}
		if !isOwn(name) || name == lockFile || name == unfinishedFile {
			continue
		}
		if err := fsys.Remove(fsys.PathJoin(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Pebble removes a table that its list does not have as a leftover of a crash, even if another
// program wrote it. Of our tables, a complete one ends with Pebble's magic number. An incomplete
// one was being written at a crash: its number follows that of the OPTIONS, which are written when
// the database is opened, and exceeds the known numbers only by little.
const (
	tableMagic    = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tablesWritten = 64 // more than are ever being written at once
)

// foreignTables returns the paths of files that Pebble would remove as its own tables although they
// are not.
func (s *Store) foreignTables() (map[string]bool, error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, wrap(err, s.dir)
	}
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, wrap(err, s.dir)
	}
	known := map[uint64]bool{}
	last, opened := uint64(0), uint64(0)
	for _, level := range levels {
		for _, table := range level {
			known[uint64(table.BackingSSTNum)] = true
			last = max(last, uint64(table.BackingSSTNum))
		}
	}
	tables := map[string]uint64{}
	for _, name := range names {
		parts := numberedNames.FindStringSubmatch(name)
		if parts == nil || !pebbleNames.MatchString(name) {
			continue
		}
		n, err := strconv.ParseUint(parts[2], 10, 64)
		switch {
		case err != nil:
		case parts[3] != ".sst":
			last = max(last, n)
			if parts[1] == "OPTIONS-" {
				opened = max(opened, n)
			}
		case !known[n]:
			tables[name] = n
		}
	}
	foreign := map[string]bool{}
	for name, n := range tables {
		path := s.fs.PathJoin(s.dir, name)
		if (n <= opened || n > last+tablesWritten) && !endsWith(s.fs, path, tableMagic) {
			foreign[path] = true
		}
	}
	return foreign, nil
}

// endsWith reports whether a file can be read and ends with some bytes.
func endsWith(fsys vfs.FS, path, end string) bool {
	f, err := fsys.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() < int64(len(end)) {
		return false
	}
	got := make([]byte, len(end))
	_, err = f.ReadAt(got, st.Size()-int64(len(end)))
	return (err == nil || err == io.EOF) && string(got) == end
}

// removeBuilding removes the tables of segments that were begun and never ingested, and the folder
// if nothing else is in it.
func removeBuilding(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	left := 0
	for _, name := range names {
		if !tableNames.MatchString(name) {
			left++
			continue
		}
		if err := fsys.Remove(fsys.PathJoin(dir, name)); err != nil {
			return err
		}
	}
	if left > 0 {
		return nil
	}
	return fsys.Remove(dir)
}
