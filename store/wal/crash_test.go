package wal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// promises is what must be found after a crash.
type promises struct {
	mu      sync.Mutex
	acked   uint64 // last record acknowledged as durable
	covered uint64 // by the manifest in force
	is      uint32 // the manifest in force
	next    uint32 // and the one that may be
}

func (p *promises) set(change func(*promises)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// life is one life of a log: appends of all kinds, seals, an end, a second life.
func life(t *testing.T, fsys vfs.FS, w *tester, p *promises) {
	o := &Options{FileBytes: 3000}
	l, err := Create(fsys, testDir, NewID(), 1, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	w.l = l
	commit := func(sum uint32, covered uint64) {
		p.set(func(p *promises) { p.next = sum })
		if err := w.l.Announce(ctx, sum); err != nil {
			t.Fatal(err)
		}
		p.set(func(p *promises) { p.is, p.covered, p.acked = sum, covered, max(p.acked, covered) })
		if err := w.l.Confirm(ctx, sum, covered); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(sync bool, n, size int) {
		var rs [][]byte
		for range n {
			rs = append(rs, noise(rng, size))
		}
		w.append(sync, rs...)
		if sync {
			p.set(func(p *promises) { p.acked = w.l.NextSeq() - 1 })
		}
	}
	p.set(func(p *promises) { p.is, p.next = 1, 1 })
	if err := w.l.Confirm(ctx, 1, 0); err != nil {
		t.Fatal(err)
	}
	add(true, 3, 50)
	add(false, 2, 400)
	commit(2, 3)
	add(true, 1, 2000)
	w.l.Roll()
	add(false, 5, 700)
	add(true, 2, 10)
	add(false, 1, 600_000) // several frames
	commit(3, 6)
	commit(4, w.l.NextSeq()-1)
	add(false, 2, 10)
	if err := w.l.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	p.set(func(p *promises) { p.acked = w.l.NextSeq() - 1 })
	add(false, 2, 10)
	w.close()
	p.set(func(p *promises) { p.acked = w.l.NextSeq() - 1 })
	s, err := Scan(fsys, testDir, p.covered)
	if err == nil {
		w.l, err = s.Start(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.l.Roll() // the mark at the end of the file need not be durable
	add(true, 1, 10)
	add(false, 1, 10)
	commit(5, w.l.NextSeq()-2)
	add(true, 10, 500)
	w.close()
}

// newMem returns a file system with the durable folder of the store.
func newMem(t *testing.T) *vfs.MemFS {
	mem := vfs.NewCrashableMem()
	if err := errors.Join(mem.MkdirAll("index", 0o755), folder{mem, ""}.sync()); err != nil {
		t.Fatal(err)
	}
	return mem
}

// A stopped is what a machine that stopped before some write left on its disk.
type stopped struct {
	before   string
	disk     *vfs.MemFS
	promises promises
}

// stops runs a life and stops it, on copies, before every write.
func stops(seed uint64, mem *vfs.MemFS, p *promises, life func(vfs.FS)) (found []*stopped) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	life(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		s := &stopped{}
		p.set(func(p *promises) {
			s.promises.acked, s.promises.covered, s.promises.is, s.promises.next = p.acked, p.covered, p.is, p.next
		})
		kept := []int{0, 50, 100}[(uint64(len(found))+seed)%3]
		s.disk = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng})
		s.before = fmt.Sprintf("write %d, kind %d of %s, %d %% of unsynced data kept", len(found), op.Kind, op.Path, kept)
		found = append(found, s)
		return nil
	})))
	return found
}

// check verifies every promise.
func (s *stopped) check(fsys vfs.FS, w *tester) (err error) {
	p := &s.promises
	st, err := Scan(fsys, testDir, p.covered)
	if err != nil {
		if p.is == 0 {
			return nil // the log was not made yet
		}
		return err
	}
	if v := st.Vouch(); p.is != 0 && !v.Allows(p.is) && !(p.next != p.is && v.Allows(p.next)) {
		return fmt.Errorf("the log vouches for %+v; the manifest is %d or %d", v, p.is, p.next)
	}
	if st.next <= p.acked {
		return fmt.Errorf("the log ends before %d; %d was acknowledged", st.next, p.acked)
	}
	if st.next != w.nextOf(st.next) {
		return fmt.Errorf("the log ends before %d, in the middle of an append", st.next)
	}
	if err := w.check(st.Replay, p.covered+1, st.next); err != nil {
		return err
	}
	return goOn(st, w)
}

// nextOf returns n if an Append begins with it, or would; otherwise 0.
func (w *tester) nextOf(n uint64) uint64 {
	if slices.Contains(w.groups, n) || n == w.l.NextSeq() {
		return n
	}
	return 0
}

// TestCrash stops a log before every write of its life.
func TestCrash(t *testing.T) {
	for seed := range uint64(3) {
		var p promises
		w := &tester{t: t, records: map[uint64][]byte{}}
		all := stops(seed, newMem(t), &p, func(fsys vfs.FS) { life(t, fsys, w, &p) })
		for _, s := range all {
			if err := s.check(s.disk, w); err != nil {
				t.Fatalf("seed %d, crash before %s: %v", seed, s.before, err)
			}
		}
		if len(all) < 100 {
			t.Errorf("only %d writes: too few to prove anything", len(all))
		}
	}
}

// TestCrashInRecovery stops logs while they recover from a crash.
func TestCrashInRecovery(t *testing.T) {
	var p promises
	w := &tester{t: t, records: map[uint64][]byte{}}
	n, stride := 0, 1
	if testing.Short() {
		stride = 4
	}
	for i, s := range stops(1, newMem(t), &p, func(fsys vfs.FS) { life(t, fsys, w, &p) }) {
		if s.promises.is == 0 || i%stride != 0 {
			continue
		}
		// goOn adds a record, which is a promise of its own.
		end := w.l.NextSeq()
		again := stops(uint64(i), s.disk, &s.promises, func(fsys vfs.FS) {
			st, err := Scan(fsys, testDir, s.promises.covered)
			var l *Log
			if err == nil {
				l, err = st.Start(nil)
			}
			if err == nil {
				err = errors.Join(l.Confirm(context.Background(), s.promises.is, s.promises.covered), l.Close())
			}
			if err != nil {
				t.Fatalf("crash before %s: %v", s.before, err)
			}
		})
		for _, r := range again {
			if err := r.check(r.disk, w); err != nil {
				t.Fatalf("crash before %s, then, in recovery, before %s: %v", s.before, r.before, err)
			}
			n++
		}
		if w.l.NextSeq() != end {
			t.Fatal("BUG in the test")
		}
	}
	if n < 100/stride {
		t.Errorf("only %d writes in recovery: too few to prove anything", n)
	}
}
