package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// TestStatsBesideCommits asks for figures while segments come and go. Pebble v2.1.7 caches sums of table sizes in a way
// that the race detector rejects (its pull request 5239 mends that, in no release yet), so Stats does not ask for those.
func TestStatsBesideCommits(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	done := make(chan struct{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.Stats(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var segments []Segment
	var size uint64
	for i := range 200 {
		w, err := s.NewSegment()
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			if err := w.Set(fmt.Appendf([]byte{1}, "%06d", n), []byte("value")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		size += w.Bytes()
		segments = append(segments, Segment{Number: w.Number()})
		if err := s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &Manifest{Segments: segments}}); err != nil {
			t.Fatalf("segment %d: %v", i, err)
		}
	}
	close(done)
	asking.Wait()
	if st, err := s.Stats(); err != nil || st.SegmentBytes != size {
		t.Errorf("segments have %d bytes, error %v; their writers said %d", st.SegmentBytes, err, size)
	}
}
