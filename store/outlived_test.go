package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestMarkThatComesBack puts the mark of a creation into complete indexes: a closed one and one
// whose process was killed. A disk that loses a sync of the directory does so. Nothing may be lost.
func TestMarkThatComesBack(t *testing.T) {
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			h, mem := newHistory(t), vfs.NewCrashableMem()
			h.open(mem)
			h.append(3, true)
			w := build(t, h.s, 2)
			h.commit(Edit{Ingest: []*SegmentWriter{w}, Manifest: h.manifest(2, w), Meta: map[string][]byte{"schema": []byte("v1")}})
			left := mem.CrashClone(vfs.CrashCloneCfg{})
			if err := h.s.Close(); err != nil {
				t.Fatal(err)
			}
			if closed {
				left = mem
			}
			if err := writeDurably(left, damagedDir, unfinishedFile, []byte(markCreation)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(damagedDir, &Options{FS: left, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(wholeLog(s, 3), s.Close()); err != nil {
				t.Fatal(err)
			}
			if err := h.check(left, h.acked()); err != nil {
				t.Fatal(err)
			}
			if mark, err := readMark(left, damagedDir); mark != "" || err != nil {
				t.Errorf("the mark is still there: %q, %v", mark, err)
			}
		})
	}
}
