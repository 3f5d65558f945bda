package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// TestCeil checks the first key at or after another, within and behind a segment, and that nobody
// else's key is found.
func TestCeil(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	var m Manifest
	var numbers []uint64
	for range 2 {
		w := build(t, s, 100)
		numbers = append(numbers, w.Number())
		m.Segments = append(m.Segments, Segment{Number: w.Number()})
		if err := s.Commit(context.Background(), Edit{Ingest: []*SegmentWriter{w}, Manifest: &m}); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Segment(numbers[0])
	var keys [][]byte
	it, err := r.Scan(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.Next() {
		keys = append(keys, append([]byte(nil), it.Key()...))
	}
	if err := it.Close(); err != nil || len(keys) == 0 {
		t.Fatal(len(keys), err)
	}
	end := []byte{0xff}
	for i, key := range keys {
		for _, from := range [][]byte{key, append(key[:len(key)-1:len(key)-1], key[len(key)-1]-1, 0xff)} {
			got, value, err := r.Ceil(from, end)
			if i > 0 && string(from) <= string(keys[i-1]) {
				continue
			}
			if err != nil || string(got) != string(key) || string(value) != string(segmentValue(numbers[0], key)) {
				t.Fatalf("from %x: %x, %q, %v, want %x", from, got, value, err, key)
			}
		}
		if got, value, err := r.Ceil(key, key); got != nil || value != nil || err != nil {
			t.Fatalf("[%x, %x): %x, %q, %v", key, key, got, value, err)
		}
	}
	last := append(keys[len(keys)-1], 0)
	if got, value, err := r.Ceil(last, end); got != nil || value != nil || err != nil {
		t.Fatalf("behind the last key: %x, %q, %v", got, value, err)
	}
}

// TestIteratorsFollowCommits checks that reads see the segments of the last Commit, whatever
// iterators earlier reads have left, and that none of those is left by then.
func TestIteratorsFollowCommits(t *testing.T) {
	s := openTemp(t, t.TempDir(), nil)
	ctx := context.Background()
	var m Manifest
	var live []uint64
	read := func() {
		for _, n := range live {
			key := []byte("k")
			r := s.Segment(n)
			if got, _, err := r.Ceil([]byte{0}, []byte{0xff}); err != nil || got == nil {
				t.Errorf("segment %d has no key: %v", n, err)
			} else {
				key = got
			}
			if value, err := r.Get(key); err != nil || string(value) != string(segmentValue(n, key)) {
				t.Errorf("segment %d, key %x: %q, %v", n, key, value, err)
			}
		}
	}
	for round := range 20 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(read)
		}
		wg.Wait()
		if n := len(s.iterators.free); n > maxFreeIterators || n == 0 && round > 0 {
			t.Errorf("%d free iterators", n)
		}
		w := build(t, s, 10)
		m.Segments = append(m.Segments, Segment{Number: w.Number()})
		e := Edit{Ingest: []*SegmentWriter{w}, Manifest: &m}
		if len(m.Segments) > 3 {
			e.Drop = []uint64{m.Segments[0].Number}
			m.Segments = m.Segments[1:]
		}
		held, age, err := s.takeIterator()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(ctx, e); err != nil {
			t.Fatal(err)
		}
		if err := s.putIterator(held, age); err != nil {
			t.Fatal(err)
		}
		if n := len(s.iterators.free); n > 0 {
			t.Errorf("%d iterators are older than the last commit", n)
		}
		live = live[:0]
		for _, seg := range m.Segments {
			live = append(live, seg.Number)
		}
		for _, n := range e.Drop {
			if got, _, err := s.Segment(n).Ceil([]byte{0}, []byte{0xff}); got != nil || err != nil {
				t.Errorf("dropped segment %s: %x, %v", fmt.Sprint(n), got, err)
			}
		}
	}
}
