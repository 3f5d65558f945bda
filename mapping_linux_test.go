package riffle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoMap looks for tables of the index among the mapped files of the process, after a search.
func TestNoMap(t *testing.T) {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(page)
	if err := unix.Madvise(page, unix.MADV_POPULATE_READ); err != nil {
		t.Skipf("before Linux 5.14 nothing is mapped: %v", err)
	}
	for _, noMap := range []bool{false, true} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		e, err := Open(dir, &Options{NoMap: noMap, Durability: SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		var batch Batch
		for i := range 2000 {
			batch.Put(fmt.Sprint(i), map[string]any{"text": "whale ship"})
		}
		if err := e.Apply(ctx, &batch); err != nil {
			t.Fatal(err)
		}
		if err := e.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		res, err := e.Search(ctx, Match{Field: "text", Text: "whale"}, nil)
		if err != nil || len(res.Hits) == 0 {
			t.Fatalf("%d hits, %v", len(res.Hits), err)
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip(err)
		}
		if mapped := strings.Contains(string(maps), dir); mapped == noMap {
			t.Errorf("NoMap is %v; a file of the index is mapped: %v", noMap, mapped)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
