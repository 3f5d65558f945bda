package store

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A countingFS knows which of its files are open.
type countingFS struct {
	vfs.FS
	open sync.Map // of *countedFile
}

type countedFile struct {
	vfs.File
	fs   *countingFS
	name string
}

func (f *countedFile) Close() error {
	f.fs.open.Delete(f)
	return f.File.Close()
}

func (c *countingFS) count(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	counted := &countedFile{f, c, name}
	c.open.Store(counted, nil)
	return counted, nil
}

func (c *countingFS) Create(name string, cat vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, cat)
	return c.count(name, f, err)
}

func (c *countingFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	return c.count(name, f, err)
}

func (c *countingFS) OpenDir(name string) (vfs.File, error) {
	f, err := c.FS.OpenDir(name)
	return c.count(name, f, err)
}

// leftOpen returns the names of the files that stay open. An abandoned Pebble closes its files in
// the background.
func (c *countingFS) leftOpen() (names []string) {
	for range 500 {
		names = nil
		for f := range c.open.Range {
			names = append(names, f.(*countedFile).name)
		}
		if len(names) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return names
}

// TestFailureLeavesNothingOpen makes each change of a file fail once, in Open and in Checkpoint. No
// file stays open when the store is closed.
func TestFailureLeavesNothingOpen(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 5
	}
	for k := 0; ; k += step {
		n, failed := 0, ""
		var mu sync.Mutex
		mem := &countingFS{FS: vfs.NewMem()}
		fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			changes := op.Kind.ReadOrWrite() == errorfs.OpIsWrite || op.Kind == errorfs.OpList || op.Kind == errorfs.OpOpenDir
			if n++; !changes || n != k {
				return nil
			}
			failed = fmt.Sprintf("kind %d of %s", op.Kind, op.Path)
			return errorfs.ErrInjected
		}))
		s, err := Open(damagedDir, &Options{FS: fsys})
		if err == nil {
			err = errors.Join(s.Checkpoint("copy"), s.Close())
		}
		if names := mem.leftOpen(); len(names) > 0 {
			t.Errorf("operation %d, %s, fails (%v): %q stay open", k, failed, err, names)
		}
		mu.Lock()
		all := n
		mu.Unlock()
		if k > all {
			break
		}
	}
}
