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
	"github.com/riffle-search/riffle/segment"
)

// A pacedIndex is an engine whose clock stands still and whose segments can be kept from being
// written.
type pacedIndex struct {
	*Engine
	t      *testing.T
	broken atomic.Bool
	clock  atomic.Int64 // seconds
	told   atomic.Int64 // failures reported to the Listener
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

// segments adds sealed segments of one document each.
func (ix *pacedIndex) addSegments(n int) {
	ix.t.Helper()
	for range n {
		ix.puts++
		if err := errors.Join(ix.Put(ctx, fmt.Sprint(ix.puts), map[string]any{"text": "w1"}), ix.Flush(ctx)); err != nil {
			ix.t.Fatal(err)
		}
	}
}

// merges carries out the merges that are due and returns how many were tried.
func (ix *pacedIndex) merges() (tried int) {
	for ix.probe().MergeNext() {
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

// TestMergeBacksOff makes merges fail. Each is retried after a growing pause, not at each kick.
// Others continue, and Compact retries at once.
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
	ix.want("segments", len(ix.probe().Disks()), 5)
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
	if next, _ := ix.probe().NextMerge(); next != time.Unix(ix.clock.Load()+4, 0) {
		t.Errorf("the next merge is due at %v", next)
	}
	if err := ix.Compact(ctx); !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "riffle: merge of segments ") {
		t.Errorf("compact meanwhile: %v", err)
	}
	ix.want("told of what Compact returned", int(ix.told.Load()), 6)
	ix.broken.Store(false)
	ix.clock.Add(4)
	ix.want("both succeed, and what they made is merged", ix.merges(), 3)
	ix.want("segments", len(ix.probe().Disks()), 1)
	if next, aside := ix.probe().NextMerge(); !next.IsZero() || aside != 0 {
		t.Errorf("still set aside: %d, until %v", aside, next)
	}
}

// addSegmentsBroken is addSegments for a while in which merges fail.
func (ix *pacedIndex) addSegmentsBroken(n int) {
	ix.broken.Store(false)
	ix.addSegments(n)
	ix.broken.Store(true)
}

// TestMergeAroundDamage has one unreadable segment among many. The others are merged, and it
// remains alone.
func TestMergeAroundDamage(t *testing.T) {
	ix := newPacedIndex(t, tuning{opts: Options{Merge: MergeOptions{SegmentsPerTier: 4, Disabled: true}}})
	ix.addSegments(7)
	bad := ix.probe().Disks()[2]
	failed := 0
	for range 20 {
		err := ix.probe().MergeDue(ctx, func(inputs []*segment.Disk) error {
			if !slices.Contains(inputs, bad) {
				return nil
			}
			failed++
			return corrupt.New(0, "a flipped bit")
		})
		if err != nil {
			t.Fatal(err)
		}
		ix.clock.Add(int64(10 * time.Minute / time.Second)) // the longest pause
	}
	ix.want("merges with the damaged segment", failed, 4) // of 7, 3, 2, 1
	all := ix.probe().Disks()
	if len(all) > 4 || !slices.Contains(all, bad) {
		t.Errorf("%d segments are left", len(all))
	}
	if next, _ := ix.probe().NextMerge(); !next.IsZero() {
		t.Errorf("the damaged segment is tried again at %v", next)
	}
	ix.addSegments(4)
	ix.want("a merge of new segments", ix.merges(), 1)
	if err := ix.Compact(ctx); err != nil { // it is not really damaged
		t.Fatal(err)
	}
	ix.want("segments", len(ix.probe().Disks()), 1)
}

// TestSealBacksOff makes seals fail until memory is full. Then Apply returns the error without
// writing the segment each time, and memory stays bounded. Flush retries at once, the background
// after a pause.
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
	ix.want("documents", lenOf(t, ix), held)
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
	ix.probe().RetrySeal()
	if err := errors.Join(ix.probe().AwaitSeal(ctx), put(), ix.Flush(ctx)); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	ix.want("attempts that failed", int(ix.told.Load()), 5)
	ix.want("documents", lenOf(t, ix), held+1)
}
