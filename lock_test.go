package riffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/store"
)

// childCommand runs one test of this binary in a process of its own. The test
// finds dir in the environment variable childDir, and skips without it.
func childCommand(test, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const childDir = "RIFFLE_TEST_CHILD_DIR"

// dirOfChild returns the directory that the parent has named.
func dirOfChild(t *testing.T) string {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as a child of another test")
	}
	return dir
}

// TestSecondOpen tries other paths of the directory, and another process.
func TestSecondOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	e, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	try := func(dir string, o *Options) error {
		e, err := Open(dir, o)
		if err == nil {
			err = e.Close()
		}
		return err
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Logf("no symbolic links here: %v", err)
		link = dir
	}
	for _, path := range []string{dir, dir + "/.", link} {
		for _, o := range []*Options{nil, {ReadOnly: true}} {
			if err := try(path, o); !errors.Is(err, ErrLocked) {
				t.Errorf("%s, read-only %v, while open: %v", path, o != nil, err)
			}
		}
	}
	out, err := childCommand("TestSecondOpenChild", dir).Output()
	if err != nil || !strings.Contains(string(out), "child: locked\n") {
		t.Errorf("another process, while open: %v\n%s", err, out)
	}
	// Refused opens have not taken the lock with them.
	if err := e.Put(ctx, "1", map[string]any{"text": "one"}); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	out, err = childCommand("TestSecondOpenChild", dir).Output()
	if err != nil || !strings.Contains(string(out), "child: opened\n") {
		t.Errorf("another process, after Close: %v\n%s", err, out)
	}
	if err := try(dir, nil); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

// TestSecondOpenChild reports whether the directory can be opened.
func TestSecondOpenChild(t *testing.T) {
	e, err := Open(dirOfChild(t), nil)
	switch {
	case errors.Is(err, ErrLocked):
		fmt.Println("child: locked")
	case err != nil:
		t.Fatal(err)
	default:
		fmt.Println("child: opened")
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewerFormat opens an index that a newer version of riffle has written, and a Pebble database
// that is not an index.
func TestNewerFormat(t *testing.T) {
	for _, c := range []struct {
		name       string
		key, value []byte
	}{
		{"newer version", []byte("Mformat"), sealedValue([]byte("Mformat"), []byte{store.FormatVersion + 1})},
		{"not ours", []byte("somebody's"), []byte("value")},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := vfs.NewMem()
			if c.name != "not ours" {
				e, err := tuning{}.open(worldDir, fsys)
				if err == nil {
					err = e.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			setBelow(t, fsys, c.key, c.value)
			for _, readOnly := range []bool{false, true} {
				e, err := tuning{opts: Options{ReadOnly: readOnly}}.open(worldDir, fsys)
				if err == nil {
					e.Close()
				}
				if !errors.Is(err, ErrFormat) {
					t.Errorf("read-only %v: %v", readOnly, err)
				}
			}
		})
	}
}

// sealedValue returns a value of the store in its format: version, payload, and a checksum that
// begins with the key.
func sealedValue(key, payload []byte) []byte {
	v := append([]byte{1}, payload...)
	table := crc32.MakeTable(crc32.Castagnoli)
	return binary.LittleEndian.AppendUint32(v, crc32.Update(crc32.Checksum(key, table), table, v))
}

// setBelow sets a key in Pebble, or removes it if value is nil, in a closed index.
func setBelow(t *testing.T, fsys vfs.FS, key, value []byte) {
	t.Helper()
	db, err := pebble.Open(worldDir, &pebble.Options{FS: fsys, Logger: quiet{}, FormatMajorVersion: pebble.FormatTableFormatV6})
	if err != nil {
		t.Fatal(err)
	}
	if value == nil {
		err = db.Delete(key, pebble.Sync)
	} else {
		err = db.Set(key, value, pebble.Sync)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
