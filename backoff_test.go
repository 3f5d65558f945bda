package riffle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A pacedIndex is an engine whose clock stands still and whose segments can be
// kept from being written.
type pacedIndex struct {
	*Engine
	t      *testing.T
	broken atomic.Bool
	clock  atomic.Int64 // seconds
	told   atomic.Int64 // failures that the Listener was told of
	puts   int
}

func newPacedIndex(t *testing.T, tu tuning) *pacedIndex {
	t.Helper()
	ix := &pacedIndex{t: t}
	fsys := errorfs.Wrap(newCrashFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if ix.broken.Load() && strings.Contains(op.Path, "building") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	tu.opts.private.now = func() time.Time { return time.Unix(ix.clock.Load(), 0) }
	tu.opts.Listener = &Listener{Failed: func(error) { ix.told.Add(1) }}
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	ix.Engine = e
	t.Cleanup(func() {
		ix.broken.Store(false)
		if err := errors.Join(checkAll(e), e.Close()); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return ix
}

// segments adds so many sealed segments of one document each.
func (ix *pacedIndex) addSegments(n int) {
	ix.t.Helper()
	for range n {
		ix.puts++
		if err := errors.Join(ix.Put(ctx, fmt.Sprint(ix.puts), map[string]any{"text": "w1"}), ix.Flush(ctx)); err != nil {
			ix.t.Fatal(err)
		}
	}
}

// merges carries out what is due and returns how many merges were tried.
func (ix *pacedIndex) merges() (tried int) {
	for ix.mergeNext() {
		tried++
	}
	return tried
}

func (ix *pacedIndex) want(what string, got, want int) {
	ix.t.Helper()
	if got != want {
		ix.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// TestMergeBacksOff lets merges fail. Each is tried again after a pause that grows,
// not at each kick; others go on, and Compact tries at once.
func TestMergeBacksOff(t *testing.T) {
	ix := newPacedIndex(t, tuning{opts: Options{Merge: MergeOptions{SegmentsPerTier: 2, Disabled: true}}})
	ix.addSegments(4)
	ix.broken.Store(true)
	ix.want("a first merge", ix.merges(), 1)
	for range 10 {
		ix.want("kicks in the pause", ix.merges(), 0)
	}
	ix.broken.Store(false)
	ix.addSegments(2)
	ix.want("a merge of other segments", ix.merges(), 1)
	ix.want("segments", len(ix.sealed()), 5)
	ix.broken.Store(true)
	ix.addSegmentsBroken(2)
	ix.want("another that fails", ix.merges(), 1)
	ix.want("told", int(ix.told.Load()), 2)

	ix.clock.Add(1)
	ix.want("both after a second", ix.merges(), 2)
	ix.clock.Add(1)
	ix.want("none after another one", ix.merges(), 0)
	ix.clock.Add(1)
	ix.want("both after two", ix.merges(), 2)
	ix.want("told", int(ix.told.Load()), 6)
	if next := ix.nextMerge(); next != time.Unix(ix.clock.Load()+4, 0) {
		t.Errorf("the next merge is due at %v", next)
	}
	if err := ix.Compact(ctx); !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "riffle: merge of segments ") {
		t.Errorf("compact meanwhile: %v", err)
	}
	ix.want("told of what Compact returned", int(ix.told.Load()), 6)
	ix.broken.Store(false)
	ix.clock.Add(4)
	ix.want("both succeed, and what they made is merged", ix.merges(), 3)
	ix.want("segments", len(ix.sealed()), 1)
	if next := ix.nextMerge(); !next.IsZero() || len(ix.aside) != 0 {
		t.Errorf("still set aside: %v, until %v", ix.aside, next)
	}
}

// addSegmentsBroken is addSegments for a while in which merges fail.
func (ix *pacedIndex) addSegmentsBroken(n int) {
	ix.broken.Store(false)
	ix.addSegments(n)
	ix.broken.Store(true)
}

// TestPausesAreCapped: a pause does not grow beyond its cap, nor overflow.
func TestPausesAreCapped(t *testing.T) {
	var b backoff
	now := time.Unix(0, 0)
	for i := range 100 {
		b.fail(now)
		want := mostPause
		if i < 10 {
			want = min(mostPause, leastPause<<i)
		}
		if b.next != now.Add(want) || b.due(now) || !b.due(now.Add(want)) {
			t.Fatalf("failure %d: until %v, want %v", i, b.next, want)
		}
	}
	if b.reset(); !b.due(now) || b.tries != 0 {
		t.Errorf("%+v after a reset", b)
	}
}

// TestMergeAroundDamage has one segment of many that cannot be read. The others are
// merged, it is left alone in the end.
func TestMergeAroundDamage(t *testing.T) {
	ix := newPacedIndex(t, tuning{opts: Options{Merge: MergeOptions{SegmentsPerTier: 4, Disabled: true}}})
	ix.addSegments(7)
	bad := ix.sealed()[2].s
	failed := 0
	for range 20 {
		ix.mergeMu.Lock()
		for inputs := ix.pickDue(ix.sealed()); inputs != nil; inputs = ix.pickDue(ix.sealed()) {
			var err error
			if slices.ContainsFunc(inputs, func(in mergeInput) bool { return in.s == bad }) {
				err = corrupt.New(0, "a flipped bit")
				failed++
			} else if err = ix.merge(ctx, inputs); err != nil {
				t.Fatal(err)
			}
			ix.aside.note(inputs, err, ix.now())
		}
		ix.mergeMu.Unlock()
		ix.clock.Add(int64(mostPause / time.Second))
	}
	ix.want("merges with the damaged segment", failed, 4) // of 7, 3, 2, 1
	all := ix.sealed()
	if len(all) > 4 || !slices.ContainsFunc(all, func(in mergeInput) bool { return in.s == bad }) {
		t.Errorf("%d segments are left", len(all))
	}
	if next := ix.nextMerge(); !next.IsZero() {
		t.Errorf("the damaged segment is tried again at %v", next)
	}
	ix.addSegments(4)
	ix.want("a merge of new segments", ix.merges(), 1)
	if err := ix.Compact(ctx); err != nil { // it is not really damaged
		t.Fatal(err)
	}
	ix.want("segments", len(ix.sealed()), 1)
}

// TestSealBacksOff lets seals fail until memory is full. Then Apply returns the
// error without writing the segment each time, memory stays bounded, Flush tries at
// once, and the background after a pause.
func TestSealBacksOff(t *testing.T) {
	ix := newPacedIndex(t, tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}})
	text := strings.Repeat("w1 w2 w3 ", 50)
	put := func() error {
		ix.puts++
		return ix.Put(ctx, fmt.Sprint(ix.puts), map[string]any{"text": text})
	}
	ix.broken.Store(true)
	var err error
	for err == nil {
		err = put()
	}
	held := ix.puts - 1
	for range 50 {
		if err := put(); !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "riffle: seal: ") {
			t.Fatalf("with memory full: %v", err)
		}
	}
	ix.want("attempts", int(ix.told.Load()), 1)
	ix.want("documents", ix.Len(), held)
	if st, err := ix.Stats(); err != nil || st.MemoryBytes > 3*tinyMemory {
		t.Errorf("memory has grown to %d bytes: %v", st.MemoryBytes, err)
	}
	for i, pause := range []int64{1, 2, 4} {
		ix.clock.Add(pause)
		for range 5 {
			if err := put(); !errors.Is(err, errorfs.ErrInjected) {
				t.Fatal(err)
			}
		}
		ix.want("attempts", int(ix.told.Load()), i+2)
	}
	if err := ix.Flush(ctx); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("flush: %v", err)
	}
	ix.want("attempts with that of Flush", int(ix.told.Load()), 5)

	ix.broken.Store(false)
	if err := put(); !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("in the pause: %v", err)
	}
	ix.clock.Add(16)
	ix.retrySeal()
	ix.mu.Lock()
	err = ix.awaitSeal(ctx)
	ix.mu.Unlock()
	if err := errors.Join(err, put(), ix.Flush(ctx)); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	ix.want("attempts that failed", int(ix.told.Load()), 5)
	ix.want("documents", ix.Len(), held+1)
}
