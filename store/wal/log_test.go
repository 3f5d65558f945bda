package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const testDir = "index/log"

var ctx = context.Background()

// A tester writes a log and records what it wrote.
type tester struct {
	t       *testing.T
	l       *Log
	records map[uint64][]byte
	groups  []uint64 // the first record of each Append
}

func create(t *testing.T, fsys vfs.FS, o *Options) *tester {
	t.Helper()
	l, err := Create(fsys, testDir, NewID(), 1, 0xa, o)
	if err == nil {
		err = l.Confirm(ctx, 0xa, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &tester{t: t, l: l, records: map[uint64][]byte{}}
}

// append adds records; a sync waits.
func (w *tester) append(sync bool, records ...[]byte) {
	w.t.Helper()
	cut := chunkBytes
	if len(w.groups)%3 == 1 { // as earlier releases
		cut = maxChunkBytes
	}
	b, err := pack(records, cut)
	if err != nil {
		w.t.Fatal(err)
	}
	first := w.l.NextSeq()
	for i, r := range records {
		w.records[first+uint64(i)] = r
	}
	w.groups = append(w.groups, first)
	wait, err := w.l.Append(first, b, sync)
	if err == nil {
		err = wait(ctx)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *tester) close() {
	w.t.Helper()
	if err := w.l.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// check requires the records of a replay to be those in [from, to).
func (w *tester) check(replay func(uint64, func(uint64, []byte) error) error, from, to uint64) error {
	next := from
	err := replay(from, func(seq uint64, r []byte) error {
		if seq != next || !bytes.Equal(r, w.records[seq]) {
			return fmt.Errorf("record %d of %d bytes, want %d of %d", seq, len(r), next, len(w.records[next]))
		}
		next++
		return nil
	})
	if err == nil && next != to {
		err = fmt.Errorf("the replay ends before %d, want %d", next, to)
	}
	return err
}

func record(seq uint64) []byte { return fmt.Appendf(nil, "record %d", seq) }

// text compresses as text does.
func text(rng *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, "word%d ", rng.IntN(500)*rng.IntN(20))
	}
	return b[:n]
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestRoundTrip writes records of all sizes into several files and reads them
// while the log is written, afterwards, and from the middle.
func TestRoundTrip(t *testing.T) {
	fsys := vfs.NewMem()
	o := &Options{FileBytes: 600 << 10}
	w := create(t, fsys, o)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		var rs [][]byte
		for range rng.IntN(20) {
			rs = append(rs, text(rng, rng.IntN(100)), noise(rng, rng.IntN(2000)), nil)
		}
		switch i {
		case 10:
			rs = append(rs, noise(rng, 3<<20), text(rng, 5<<20), record(7))
		case 20:
			rs = nil
		case 30:
			for _, n := range []int{chunkBytes - 12, chunkBytes - 11, chunkBytes - 10, chunkBytes - 5, chunkBytes, 1, chunkBytes - 1, 2 * chunkBytes, maxChunkBytes - 11, maxChunkBytes - 10, maxChunkBytes} {
				rs = append(rs, noise(rng, n))
			}
		}
		w.append(i%3 == 0, rs...)
		if i == 40 {
			w.close()
			s, err := Scan(fsys, testDir, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !s.clean || s.Torn != nil {
				t.Errorf("after a clean end: clean %v, torn %v", s.clean, s.Torn)
			}
			if w.l, err = s.Start(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := w.l.NextSeq()
	for _, from := range []uint64{1, 2, end / 2, end - 1, end} {
		if err := w.check(w.l.Replay, from, end); err != nil {
			t.Errorf("replay from %d: %v", from, err)
		}
	}
	w.close()
	s, err := Scan(fsys, testDir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.parts) < 4 {
		t.Errorf("%d files, want several", len(s.parts))
	}
	size := int64(0)
	for _, p := range s.parts {
		st, err := fsys.Stat(s.path(p.number))
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if s.DiskBytes() > size || s.Bytes() > sum(s.parts) || s.Bytes() < size*8/9-int64(len(s.parts))*(5<<10) { // less zeroes written ahead
		t.Errorf("%d bytes, the files have %d", s.Bytes(), size)
	}
	if b := w.l.Bytes(); b != s.Bytes() {
		t.Errorf("%d bytes, found %d", b, s.Bytes())
	}
	for from := uint64(1); from <= end; from += 17 {
		if err := w.check(s.Replay, from, end); err != nil {
			t.Errorf("replay from %d: %v", from, err)
		}
	}
	stop := errors.New("enough")
	if err := s.Replay(3, func(uint64, []byte) error { return stop }); err != stop {
		t.Errorf("replay that is stopped: %v", err)
	}
}

// A syncs counts syncs of files, and can block them.
type syncs struct {
	n     atomic.Int64
	hold  atomic.Pointer[chan struct{}] // syncs wait for it
	begun chan struct{}
}

func (s *syncs) wrap(fsys vfs.FS) vfs.FS {
	return errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			s.n.Add(1)
			if c := s.hold.Load(); c != nil {
				s.begun <- struct{}{}
				<-*c
			}
		}
		return nil
	}))
}

// TestLargeWritesBringNoZeroes: the log of synced batches of a megabyte is hardly larger than they
// are, while small ones still find zeroes to write over. Written counts both.
func TestLargeWritesBringNoZeroes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	w := create(t, vfs.NewMem(), nil)
	written := func(n, times int) uint64 {
		before := w.l.Written()
		for range times {
			w.append(true, noise(rng, n))
		}
		return w.l.Written() - before
	}
	const mib = 1 << 20
	if got := written(mib, 30); got > 30*mib+30*mib/100 {
		t.Errorf("30 batches of 1 MiB are %d bytes", got)
	}
	if got := written(100, 60); got < mib/2 { // more than the rest of a block
		t.Errorf("60 small batches wrote %d bytes, want zeroes behind them", got)
	}
	if got := written(100, 500); got > 500*200 {
		t.Errorf("500 small batches wrote %d bytes, want them to lie where zeroes were", got)
	}
	w.close()
}

// TestGroupCommit: appends during a sync share the next sync.
func TestGroupCommit(t *testing.T) {
	s := &syncs{begun: make(chan struct{}, 100)}
	w := create(t, s.wrap(vfs.NewMem()), nil)
	defer w.close()
	hold := make(chan struct{})
	s.hold.Store(&hold)
	add := func() func(context.Context) error {
		b, err := Pack([][]byte{record(0)})
		if err != nil {
			t.Fatal(err)
		}
		wait, err := w.l.Append(w.l.NextSeq(), b, true)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	waits := []func(context.Context) error{add()}
	<-s.begun // the first sync is running
	before := s.n.Load()
	for range 50 {
		waits = append(waits, add())
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := waits[50](gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up, with the disk at work: %v", err)
	}
	if err := w.l.Sync(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a sync that was given up: %v", err)
	}
	s.hold.Store(nil)
	close(hold)
	var wg sync.WaitGroup
	for _, wait := range waits {
		wg.Go(func() {
			if err := wait(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.n.Load() - before; n != 1 {
		t.Errorf("50 appends took %d syncs, want 1", n)
	}
	if err := waits[0](gone); err != nil {
		t.Errorf("what is durable is durable, also for a context that has ended: %v", err)
	}
}

// TestQueueIsBounded: appends without sync wait for the disk if too much is queued, but no longer
// than their context lasts.
func TestQueueIsBounded(t *testing.T) {
	s := &syncs{begun: make(chan struct{}, 100)}
	w := create(t, s.wrap(vfs.NewMem()), &Options{QueueBytes: 10_000})
	hold := make(chan struct{})
	s.hold.Store(&hold)
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(sync bool) func(context.Context) error {
		b, err := Pack([][]byte{noise(rng, 4000)})
		if err != nil {
			t.Fatal(err)
		}
		wait, err := w.l.Append(w.l.NextSeq(), b, sync)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	first := add(true)
	<-s.begun
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := add(false)(gone); err != nil {
		t.Errorf("with little queued: %v", err)
	}
	over := add(false)
	if err := over(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("with much queued: %v", err)
	}
	s.hold.Store(nil)
	close(hold)
	if err := errors.Join(over(ctx), first(ctx)); err != nil {
		t.Error(err)
	}
	w.close()
}

// TestWriteFails: whatever operation fails once, its appends and all later ones fail. Acknowledged
// records survive a reopening of the log.
func TestWriteFails(t *testing.T) {
	failed := 0
	for k := int64(0); ; k++ {
		mem := vfs.NewMem()
		var left atomic.Int64
		left.Store(1 << 40)
		fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == -1 {
				return errorfs.ErrInjected
			}
			return nil
		}))
		var told, warned error
		w := create(t, fsys, &Options{FileBytes: 2000, Failed: func(err error) { told = err }, Warn: func(err error) { warned = err }})
		left.Store(k)
		acked, covered, err := uint64(0), uint64(0), error(nil)
		for i := range 40 {
			var rs [][]byte
			for range 5 {
				rs = append(rs, record(w.l.NextSeq()))
			}
			first := w.l.NextSeq()
			for i, r := range rs {
				w.records[first+uint64(i)] = r
			}
			b, perr := Pack(rs)
			if perr != nil {
				t.Fatal(perr)
			}
			var wait func(context.Context) error
			if wait, err = w.l.Append(first, b, i%2 == 0); err == nil {
				err = wait(ctx)
			}
			if err == nil && i%2 == 0 {
				acked = first + 4
			}
			if err == nil && i == 20 {
				if err = w.l.Announce(ctx, 0xb); err == nil {
					covered = acked
					err = w.l.Confirm(ctx, 0xb, covered)
				}
			}
			if err != nil {
				break
			}
		}
		if err == nil {
			err = w.l.Close()
		} else {
			if err := w.l.Sync(ctx); !errors.Is(err, errorfs.ErrInjected) {
				t.Fatalf("operation %d failed, then a sync: %v", k, err)
			}
			_ = w.l.Close()
		}
		if left.Load() >= 0 {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		failed++
		if err == nil && told == nil && warned == nil || err != nil && (!errors.Is(err, errorfs.ErrInjected) || told == nil) {
			t.Fatalf("operation %d failed: %v, told %v", k, err, told)
		}
		s, serr := Scan(mem, testDir, covered)
		if serr != nil {
			t.Fatalf("operation %d failed: %v, then scan: %v", k, err, serr)
		}
		if s.next <= acked {
			t.Fatalf("operation %d failed: %d acknowledged, the log ends before %d", k, acked, s.next)
		}
		l, serr := s.Start(nil)
		if serr == nil {
			serr = errors.Join(w.check(l.Replay, covered+1, s.next), l.Close())
		}
		if serr != nil {
			t.Fatalf("operation %d failed: %v, then start: %v", k, err, serr)
		}
	}
	if failed < 50 {
		t.Errorf("only %d operations: too few to prove anything", failed)
	}
}

// TestFilesGo: files without a needed record are removed at once, with or without a Roll, but not
// under a reader; small logs stay small.
func TestFilesGo(t *testing.T) {
	fsys := vfs.NewMem()
	w := create(t, fsys, nil)
	files := func() int {
		numbers, temps, err := w.l.numbers()
		if err != nil || len(temps) > 0 {
			t.Fatal(temps, err)
		}
		return len(numbers)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		w.append(false, noise(rng, 50_000))
		w.l.Roll()
		w.l.Roll() // nothing came in between
		w.append(false, record(2))
		covered := w.l.NextSeq() - 2
		before := w.l.Bytes()
		if err := errors.Join(w.l.Announce(ctx, uint32(i)), w.l.Confirm(ctx, uint32(i), covered)); err != nil {
			t.Fatal(err)
		}
		if n, size := files(), w.l.Bytes(); n != 1 || before < 50_000 || size > 1000 || w.l.DiskBytes() > 6<<10 {
			t.Fatalf("%d files with %d bytes, before %d", n, size, before)
		}
	}
	last := w.l.NextSeq() - 1
	err := w.l.Replay(last, func(seq uint64, r []byte) error {
		b, err := Pack([][]byte{r})
		if err == nil {
			_, err = w.l.Append(w.l.NextSeq(), b, false)
		}
		return errors.Join(err, w.l.Confirm(ctx, 7, seq))
	})
	if n := files(); err != nil || n != 1 {
		t.Errorf("%d files after a replay, %v", n, err)
	}
	if err := w.l.Confirm(ctx, 8, w.l.NextSeq()-1); err != nil {
		t.Fatal(err)
	}
	if n, size := files(), w.l.Bytes(); n != 1 || size > 0 || w.l.DiskBytes() > 200 {
		t.Errorf("%d files with %d bytes, of an empty log", n, size)
	}
	for i := range uint32(2000) {
		if err := w.l.Confirm(ctx, i, w.l.NextSeq()-1); err != nil {
			t.Fatal(err)
		}
	}
	if n, size := files(), w.l.DiskBytes(); n != 1 || size > 2*maxIdleBytes {
		t.Errorf("%d files with %d bytes, of marks", n, size)
	}
	w.close()
	for range 100 {
		s, err := Scan(fsys, testDir, w.l.NextSeq()-1)
		if err != nil {
			t.Fatal(err)
		}
		if w.l, err = s.Start(nil); err != nil {
			t.Fatal(err)
		}
		w.close()
	}
	if n, size := files(), w.l.DiskBytes(); n != 1 || size > 2*maxIdleBytes {
		t.Errorf("%d files with %d bytes after opening a hundred times", n, size)
	}
	if err := w.l.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if err := w.l.Sync(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("sync after close: %v", err)
	}
}

// TestVouch: the log's vouches survive new files and crashes.
func TestVouch(t *testing.T) {
	fsys := vfs.NewMem()
	w := create(t, fsys, nil)
	want := func(v Vouch) {
		t.Helper()
		if err := w.l.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		s, err := Scan(fsys, testDir, 0)
		if err != nil || s.Vouch() != v {
			t.Errorf("%+v, %v, want %+v", s.Vouch(), err, v)
		}
	}
	want(Vouch{Is: 0xa, HasIs: true})
	w.append(true, record(1))
	if err := w.l.Announce(ctx, 0xb); err != nil {
		t.Fatal(err)
	}
	both := Vouch{Is: 0xa, HasIs: true, Next: 0xb, HasNext: true}
	want(both)
	w.l.Roll()
	want(both)
	if !both.Allows(0xa) || !both.Allows(0xb) || both.Allows(0xc) || (Vouch{}).Allows(0) {
		t.Error("Allows is wrong")
	}
	if err := w.l.Confirm(ctx, 0xb, 0); err != nil {
		t.Fatal(err)
	}
	want(Vouch{Is: 0xb, HasIs: true})
	w.close()
}

func TestNoLog(t *testing.T) {
	fsys := vfs.NewMem()
	if _, err := Scan(fsys, testDir, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("scan of nothing: %v", err)
	}
	if err := fsys.MkdirAll(testDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Scan(fsys, testDir, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("scan of an empty folder: %v", err)
	}
}

// TestManyWriters has goroutines append at once, some with sync, on a real disk.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir() + "/log"
	l, err := Create(vfs.Default, dir, NewID(), 1, 0, &Options{FileBytes: 50_000, QueueBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	w := &tester{t: t, l: l, records: map[uint64][]byte{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range 100 {
				r := text(rng, rng.IntN(3000))
				b, err := Pack([][]byte{r})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				first := l.NextSeq()
				w.records[first] = r
				wait, err := l.Append(first, b, i%20 == 0)
				mu.Unlock()
				if err == nil {
					err = wait(ctx)
				}
				if err != nil {
					t.Error(err)
				}
				if i%25 == 24 && g == 0 {
					l.Roll()
				}
			}
		})
	}
	wg.Wait()
	if err := w.check(l.Replay, 1, 401); err != nil {
		t.Error(err)
	}
	w.close()
	s, err := Scan(vfs.Default, dir, 0)
	if err == nil {
		err = w.check(s.Replay, 1, 401)
	}
	if err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(s.parts, func(p part) bool { return p.bytes > 60_000 }) {
		t.Errorf("files %+v", s.parts)
	}
}
