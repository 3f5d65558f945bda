package riffle

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestSnapshotsPinLittle takes many snapshots between seals and keeps them all. The memory that
// they pin is counted and stays below three budgets; each gives the same answers as when it was
// taken.
func TestSnapshotsPinLittle(t *testing.T) {
	const slack = 4 << 10 // a batch, before a seal begins
	e, err := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 4}}}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	type held struct {
		*Snapshot
		want model
		hits []Hit
	}
	search := func(s *Snapshot) []Hit {
		t.Helper()
		res, err := s.Search(ctx, Match{Field: "text", Text: "w1 w2 w3"}, &SearchOptions{K: 50})
		if err != nil {
			t.Fatal(err)
		}
		return res.Hits
	}
	var all []held
	now, most := model{}, int64(0)
	for i := range 900 {
		id := fmt.Sprint(i % 400)
		now[id] = modelDoc{"text": fmt.Sprintf("w%d w%d w%d", i%5, i%7, i%3), "num": i}
		if err := e.Put(ctx, id, map[string]any(now[id])); err != nil {
			t.Fatal(err)
		}
		if i%15 == 0 {
			s, err := e.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, held{s, maps.Clone(now), search(s)})
		}
		st, err := e.Stats()
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, st.Pinned.MemoryBytes)
	}
	if most <= tinyMemory || most > 3*tinyMemory+slack {
		t.Errorf("%d snapshots pinned up to %d bytes of memory, the budget is %d", len(all), most, tinyMemory)
	}
	st, err := e.Stats()
	if p := st.Pinned; err != nil || p.Segments < 3 || p.Docs == 0 || p.DiskBytes == 0 {
		t.Errorf("pinned: %+v %v", p, err)
	}
	for i, h := range all {
		if err := sameDocuments(h.Snapshot, h.want); err != nil {
			t.Errorf("snapshot %d: %v", i, err)
		}
		if hits := search(h.Snapshot); !reflect.DeepEqual(hits, h.hits) {
			t.Errorf("snapshot %d: hits\n%v, at first\n%v", i, hits, h.hits)
		}
		h.Close()
	}
	if st, err = e.Stats(); err != nil || st.Pinned.MemoryBytes != 0 {
		t.Errorf("still pinned: %+v %v", st.Pinned, err)
	}
	if err := errors.Join(e.Compact(ctx), checkAll(e)); err != nil {
		t.Error(err)
	}
	if st, err = e.Stats(); err != nil || st.Pinned != (PinnedStats{}) {
		t.Errorf("still pinned: %+v %v", st.Pinned, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotBehindSeal takes a snapshot that has to seal while the previous seal is about to end:
// its segment is in the view, but the Listener call is still running.
func TestSnapshotBehindSeal(t *testing.T) {
	var blocks atomic.Bool
	inCall, goOn := make(chan struct{}), make(chan struct{})
	l := &Listener{Sealed: func(SealEvent) {
		if blocks.CompareAndSwap(true, false) {
			close(inCall)
			<-goOn
		}
	}}
	e, err := tuning{memory: tinyMemory, opts: Options{Listener: l, Merge: MergeOptions{Disabled: true}}}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	var all []*Snapshot
	docs := 0
	put := func() {
		t.Helper()
		if err := e.Put(ctx, fmt.Sprint(docs), map[string]any{"text": "w1 w2"}); err != nil {
			t.Fatal(err)
		}
		docs++
	}
	for pinned := int64(0); pinned <= tinyMemory; {
		put()
		s, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		st, err := e.Stats()
		if err != nil {
			t.Fatal(err)
		}
		pinned = st.Pinned.MemoryBytes
	}
	put()
	blocks.Store(true)
	flushed := make(chan error, 1)
	go func() { flushed <- e.Flush(ctx) }()
	<-inCall
	put()
	type result struct {
		s   *Snapshot
		err error
	}
	taken := make(chan result, 1)
	go func() {
		s, err := e.Snapshot()
		taken <- result{s, err}
	}()
	time.Sleep(20 * time.Millisecond) // it waits for the seal by now, or will find it ended
	close(goOn)
	r := <-taken
	if r.err != nil {
		t.Fatal(r.err)
	}
	if n, err := r.s.Len(); err != nil || n != docs {
		t.Errorf("the snapshot has %d documents of %d, %v", n, docs, err)
	}
	for _, s := range append(all, r.s) {
		s.Close()
	}
	if err := errors.Join(<-flushed, e.Close()); err != nil {
		t.Error(err)
	}
}

// TestSnapshotsWhileWriting takes snapshots and keeps them during batches of two documents and
// merges: no snapshot has half a batch.
func TestSnapshotsWhileWriting(t *testing.T) {
	e, err := tuning{memory: tinyMemory, opts: Options{Durability: SyncNone, Merge: MergeOptions{SegmentsPerTier: 2}}}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !stop.Load(); i++ {
			var b Batch
			for _, id := range []string{"left", "right", fmt.Sprint(i % 300)} {
				b.Put(id, map[string]any{"num": i, "text": strings.Repeat("w1 w2 ", 10)})
			}
			if err := e.Apply(ctx, &b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var all []*Snapshot
	sealed := 0 // snapshots without a document in memory
	for sealed < 10 && !t.Failed() {
		s, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		if s.e.probe().SealedInView(s.v) {
			sealed++
		}
	}
	stop.Store(true)
	writer.Wait()
	for i, s := range all {
		left, err1 := s.Get(ctx, "left")
		right, err2 := s.Get(ctx, "right")
		if lenOf(t, s) == 0 {
			continue // before the first batch
		}
		if err1 != nil || err2 != nil || left["num"] != right["num"] {
			t.Errorf("snapshot %d: %v %v, %v %v", i, left["num"], err1, right["num"], err2)
		}
		n := 0
		for _, err := range s.IDs("") {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != lenOf(t, s) {
			t.Errorf("snapshot %d: %d ids, Len is %d", i, n, lenOf(t, s))
		}
		s.Close()
	}
	if err := errors.Join(checkAll(e), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestSnapshotWithoutRoom takes a snapshot when others pin much and seals fail. It returns that
// error; searches and changes are not affected.
func TestSnapshotWithoutRoom(t *testing.T) {
	ix := newPacedIndex(t, tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}})
	put := func() {
		t.Helper()
		ix.puts++
		if err := ix.Put(ctx, fmt.Sprint(ix.puts), map[string]any{"text": "w1 w2 w3"}); err != nil {
			t.Fatal(err)
		}
	}
	var all []*Snapshot
	for pinned := int64(0); pinned <= tinyMemory; {
		put()
		s, err := ix.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		st, err := ix.Stats()
		if err != nil {
			t.Fatal(err)
		}
		pinned = st.Pinned.MemoryBytes
	}
	put()
	ix.broken.Store(true)
	if _, err := ix.Snapshot(); !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "riffle: snapshot: others hold ") {
		t.Errorf("%v", err)
	}
	put()
	ix.want("documents", lenOf(t, ix), ix.puts)
	ix.broken.Store(false)
	ix.clock.Add(1)
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	ix.want("documents of the snapshot", lenOf(t, s), ix.puts)
	for _, s := range append(all, s) {
		s.Close()
	}
}
