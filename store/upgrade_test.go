package store

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// oldStores are stores of version 1, which an earlier riffle wrote: a closed one and one whose
// process was killed. Records 5 to 10 are in the log, those to 7 of them in a table.
var oldStores = []string{"closed", "killed"}

// loadOld copies an old store into memory, durably.
func loadOld(t *testing.T, name string) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	err := mem.MkdirAll(damagedDir, 0o755)
	files, globErr := filepath.Glob(filepath.Join("testdata", "v1", name, "*"))
	if err = errors.Join(err, globErr); err != nil || len(files) < 8 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := mem.Create(mem.PathJoin(damagedDir, filepath.Base(file)), vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = io.Copy(f, strings.NewReader(string(data)))
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syncDir(mem, damagedDir), syncDir(mem, "")); err != nil {
		t.Fatal(err)
	}
	return mem
}

// oldContent is dump's output for an old store.
func oldContent(t *testing.T, fsys *vfs.MemFS) []string {
	t.Helper()
	before := fsys.String()
	lines, err := dump(fsys, true)
	if err != nil {
		t.Fatal(err)
	}
	if fsys.String() != before {
		t.Error("a read-only open of an old store changed it")
	}
	for _, want := range []string{`schema "v1"`, `deletions 1 "few"`, `log 5 "record 5"`, `log 10 "record 10"`} {
		if !slices.Contains(lines, want) {
			t.Fatalf("no line %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	return lines
}

// TestOldVersion reads, upgrades and continues with stores of version 1.
func TestOldVersion(t *testing.T) {
	for _, name := range oldStores {
		mem := loadOld(t, name)
		want := oldContent(t, mem)
		for i := range 2 {
			got, err := dump(mem, false)
			if err != nil {
				t.Fatalf("%s, open %d: %v", name, i, err)
			}
			if d := firstDifference(got, want); d != "none" {
				t.Errorf("%s, open %d: %s", name, i, d)
			}
		}
		h := newHistory(t)
		h.open(mem)
		if h.s.version != FormatVersion {
			t.Errorf("%s: version %d after an upgrade", name, h.s.version)
		}
		payload, _, err := h.s.getSealed(metaKey(formatName))
		if err != nil || payload[0] != 2 {
			t.Errorf("%s: format %x, %v: older programs would not refuse it", name, payload, err)
		}
		h.append(2, true)
		m := h.s.Manifest()
		m.LogSeq = 11
		if err := h.s.Commit(context.Background(), Edit{Manifest: &m}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(wholeLog(h.s, 12), noOrphans(h.s, mem), h.s.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUpgradeCrash stops an upgrade before every write. It leaves a complete store of either
// version, for readers and for the next writer.
func TestUpgradeCrash(t *testing.T) {
	for i, name := range oldStores {
		mem := loadOld(t, name)
		want := oldContent(t, mem)
		all := crashes(mem, uint64(i), &history{}, func(fsys vfs.FS) {
			if _, err := dump(fsys, false); err != nil {
				t.Fatal(err)
			}
		})
		for _, c := range all {
			for _, readOnly := range []bool{true, false, false} {
				got, err := dump(c.disk, readOnly)
				if err != nil {
					t.Fatalf("%s, crash before %s, then read-only %v: %v", name, c.before, readOnly, err)
				}
				if d := firstDifference(got, want); d != "none" {
					t.Fatalf("%s, crash before %s, then read-only %v: %s", name, c.before, readOnly, d)
				}
			}
		}
		if len(all) < 20 {
			t.Errorf("only %d writes: the test tests nothing", len(all))
		}
	}
}

// TestUpgradeFails: whatever operation of an upgrade fails, the store is complete.
func TestUpgradeFails(t *testing.T) {
	for k := 0; ; k++ {
		mem := loadOld(t, "killed")
		want := oldContent(t, mem)
		n, hit := 0, false
		_, err := dump(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !strings.Contains(op.Path, "/"+logDir) {
				return nil
			}
			if n++; n == k+1 {
				hit = true
				return errorfs.ErrInjected
			}
			return nil
		})), false)
		if !hit {
			if k < 8 {
				t.Errorf("only %d operations", k)
			}
			return
		}
		got, again := dump(mem, false)
		if again != nil || firstDifference(got, want) != "none" {
			t.Fatalf("operation %d failed (%v), then: %v, %s", k, err, again, firstDifference(got, want))
		}
	}
}
