package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// childTask tells a child process what to do, as "task directory".
const childTask = "RIFFLE_STORE_CHILD"

// TestChild is the main function of child processes: it carries out one task, prints the result,
// and holds what it has until its input ends.
func TestChild(t *testing.T) {
	task, dir, ok := strings.Cut(os.Getenv(childTask), " ")
	if !ok {
		t.Skip("runs as a child of another test")
	}
	var held io.Closer
	var err error
	switch task {
	case "write":
		held, err = closer(Open(dir, nil))
	case "read":
		held, err = closer(Open(dir, &Options{ReadOnly: true}))
	case "old": // as versions before this one lock
		held, err = closer(pebble.LockDirectory(dir, vfs.Default))
	}
	switch {
	case errors.Is(err, ErrLocked):
		fmt.Println("child: locked")
	case err != nil:
		fmt.Println("child:", err)
	default:
		fmt.Println("child: open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// closer makes one closer of a value and an error, and no closer of an error.
func closer[T io.Closer](c T, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// child starts a child process and returns the result of its task. end ends it.
func child(t *testing.T, task, dir string, change ...func(*exec.Cmd)) (result string, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childTask+"="+task+" "+dir)
	cmd.Stderr = os.Stderr
	for _, f := range change {
		f(cmd)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var found bool
		if result, found = strings.CutPrefix(lines.Text(), "child: "); found {
			break
		}
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("child that should %s %s: %v", task, dir, err)
		}
	}
	t.Cleanup(end)
	return result, end
}

// tryChild runs a task to its end.
func tryChild(t *testing.T, task, dir string) string {
	t.Helper()
	result, end := child(t, task, dir)
	end()
	return result
}

func tryOpen(dir string, o *Options) error {
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// TestLockSurvivesReading reads every file of an open store, as a backup does. POSIX record locks
// would be lost that way.
func TestLockSurvivesReading(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	openTemp(t, dir, nil)
	copyOpen(t, filepath.Join(t.TempDir(), "copy"), dir)
	for _, task := range []string{"write", "read"} {
		if got := tryChild(t, task, dir); got != "locked" {
			t.Errorf("another process that wants to %s: %s", task, got)
		}
	}
	if err := tryOpen(dir, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("the same process: %v", err)
	}
}

// TestLockFollowsRename renames the directory of an open store.
func TestLockFollowsRename(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	s := openTemp(t, dir, nil)
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Skip("open directories cannot be renamed here:", err)
	}
	for _, readOnly := range []bool{false, true} {
		if err := tryOpen(dir+"2", &Options{ReadOnly: readOnly}); !errors.Is(err, ErrLocked) {
			t.Errorf("under its new name, read-only %v: %v", readOnly, err)
		}
	}
	if got := tryChild(t, "write", dir+"2"); got != "locked" {
		t.Errorf("under its new name, another process: %s", got)
	}
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadersShare opens a store for reading several times.
func TestReadersShare(t *testing.T) {
	for _, fsys := range []vfs.FS{vfs.Default, vfs.NewMem()} {
		dir := "db"
		if fsys == vfs.Default {
			dir = filepath.Join(t.TempDir(), "ix")
		}
		if err := tryOpen(dir, &Options{FS: fsys}); err != nil {
			t.Fatal(err)
		}
		readOnly := &Options{FS: fsys, ReadOnly: true}
		a, b := openTemp(t, dir, readOnly), openTemp(t, dir, readOnly)
		closed := func(readers ...*Store) {
			t.Helper()
			for _, r := range readers {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		writerFails := func() {
			t.Helper()
			err := tryOpen(dir, &Options{FS: fsys})
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "open for reading") {
				t.Errorf("%T: a writer beside readers: %v", fsys, err)
			}
		}
		writerFails()
		closed(a)
		writerFails()
		if fsys == vfs.Default {
			result, end := child(t, "read", dir)
			if result != "open" {
				t.Errorf("a reader in another process: %s", result)
			}
			closed(b)
			writerFails()
			end()
		} else {
			closed(b)
		}
		w := openTemp(t, dir, &Options{FS: fsys})
		err := tryOpen(dir, readOnly)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "open for writing") {
			t.Errorf("%T: a reader beside a writer: %v", fsys, err)
		}
		closed(w)
	}
}

// TestOldVersions excludes versions that lock only the file LOCK, and detects them.
func TestOldVersions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	s := openTemp(t, dir, nil)
	if got := tryChild(t, "old", dir); got == "open" {
		t.Error("an old version opens beside a writer")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := openTemp(t, dir, &Options{ReadOnly: true})
	if got := tryChild(t, "old", dir); got == "open" {
		t.Error("an old version opens beside a reader")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	result, end := child(t, "old", dir)
	if result != "open" {
		t.Fatalf("an old version: %s", result)
	}
	for _, readOnly := range []bool{false, true} {
		if err := tryOpen(dir, &Options{ReadOnly: readOnly}); !errors.Is(err, ErrLocked) {
			t.Errorf("beside an old version, read-only %v: %v", readOnly, err)
		}
	}
	end()
	if err := tryOpen(dir, nil); err != nil {
		t.Error(err)
	}
}
