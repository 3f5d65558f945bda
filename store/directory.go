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

// unfinishedFile marks a directory whose content is not complete: an index that
// is being created, or a copy that Checkpoint is writing. It comes before all
// other files and goes after them, each durably. So a directory that has files
// of an index but neither this one nor all that an index must have is damaged;
// never is it new. A mark that lies in an index that was complete does not count, and
// the next Open for writing removes it.
const unfinishedFile = "UNFINISHED"

// What the file says.
const (
	markCreation   = "riffle: this index is being created. Open it to start over.\n"
	markCheckpoint = "riffle: this copy of an index is incomplete. Remove the directory, and make the copy again.\n"
)

// tmpSuffix ends the names of files that are not yet whole.
const tmpSuffix = ".tmp"

// Names that Pebble gives, those that the tables of segments have in the folder
// "building", and those that operating systems leave behind in any directory.
var (
	pebbleNames   = regexp.MustCompile(`^((MANIFEST|OPTIONS)-\d+|\d+\.(sst|blob)|\d+(-\d+)?\.log|marker\..*|(temporary|CURRENT)\.\d+\.dbtmp|REMOTE-OBJ-CATALOG-\d+)$`)
	numberedNames = regexp.MustCompile(`^(MANIFEST-|OPTIONS-|)(\d+)(\..*|)$`)
	tableNames    = regexp.MustCompile(`^\d+\.(compressed|plain|behind|run\d+)$`)
	systemNames   = regexp.MustCompile(`^(lost\+found|\.DS_Store|\._.*|\.nfs.*|\.fuse_hidden.*|Thumbs\.db|desktop\.ini|\.snapshot|System Volume Information)$`)
)

// isPartOfIndex reports whether only an index has a file of that name.
func isPartOfIndex(name string) bool {
	return name == closingFile || pebbleNames.MatchString(name)
}

// isOwn reports whether riffle gives files that name.
func isOwn(name string) bool {
	switch strings.TrimSuffix(name, tmpSuffix) {
	case lockFile, closingFile, unfinishedFile:
		return true
	}
	return isPartOfIndex(name)
}

// inspect looks at the names in the directory, and finds out whether it holds an
// index (or what is left of one), nothing yet, or something else.
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

// creationEnded reports whether the creation that the mark speaks of has ended, so
// that the mark should be gone. The removal of a file comes back when a disk loses
// a sync of its directory. The last step of a creation is that the log vouches for
// the manifest, and only a store that was complete is ever closed.
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

// checkMarkers makes sure that the files are there without which Pebble takes a
// directory for a new one.
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

// readMark returns what the file UNFINISHED says, and nothing when there is none
// that riffle wrote.
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

// removeOwn removes what riffle wrote into a directory, but for the lock and for
// the mark that says that it may be removed.
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

// A table that Pebble's list does not have is one that a crash left over, and
// Pebble removes it, unless somebody else gave it its name. A table of ours is
// complete and ends with Pebble's magic number, or it was being written when the
// crash came: then its number follows that of the OPTIONS, which are written when the
// database is opened, and exceeds those that are known by little.
const (
	tableMagic    = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tablesWritten = 64 // more than are ever being written at a time
)

// foreignTables returns the paths of files that Pebble would remove as tables of
// its own and that are none.
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

// removeBuilding removes the tables of segments that were begun and never
// ingested, and the folder when nothing else is in it.
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
