package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A history drives a store and knows what must be found after a crash at any moment: the state
// after some commit, at least the last acknowledged one, and every acknowledged log record.
type history struct {
	t   *testing.T
	s   *Store
	mu  sync.Mutex // of what follows, which crashes read
	ack acked

	states []string          // states[i] is what the i-th commit left; the 0th is a new store
	dels   map[uint64][]byte // deletions, by segment
	meta   string
}

// acked is what has been promised so far.
type acked struct {
	commits int    // commits acknowledged
	seq     uint64 // last log record acknowledged as durable
}

func newHistory(t *testing.T) *history {
	return &history{t: t, states: []string{"log 0, meta \"\""}, dels: map[uint64][]byte{}}
}

func (h *history) acked() acked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ack
}

func (h *history) open(fsys vfs.FS) {
	h.t.Helper()
	var err error
	if h.s, err = Open(damagedDir, &Options{FS: fsys}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) append(n int, sync bool) {
	h.t.Helper()
	first := h.s.NextSeq()
	var records [][]byte
	for i := range n {
		records = append(records, logRecord(first+uint64(i)))
	}
	wait, err := h.s.Append(first, pack(h.t, records...), sync)
	if err == nil {
		err = wait(context.Background())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if sync {
		h.promise(func(a *acked) { a.seq = first + uint64(n) - 1 })
	}
}

func (h *history) promise(change func(*acked)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.ack)
}

// commit carries out an edit that has a manifest.
func (h *history) commit(e Edit) {
	h.t.Helper()
	for n, d := range e.Deletions {
		h.dels[n] = d
	}
	if m, ok := e.Meta["schema"]; ok {
		h.meta = string(m)
	}
	h.mu.Lock()
	h.states = append(h.states, describe(e.Manifest, h.dels, h.meta))
	h.mu.Unlock()
	if err := h.s.Commit(context.Background(), e); err != nil {
		h.t.Fatal(err)
	}
	h.promise(func(a *acked) {
		a.commits++
		a.seq = max(a.seq, e.Manifest.LogSeq)
	})
}

// describe prints what a manifest lists, with its deletions.
func describe(m *Manifest, dels map[uint64][]byte, meta string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log %d, meta %q", m.LogSeq, meta)
	for _, g := range m.Segments {
		fmt.Fprintf(&b, ", segment %d %s deletions %q", g.Number, g.Info, dels[g.Number])
	}
	return b.String()
}

// run is a life of a store: log, seal, delete, merge, drop late, flush, reopen.
func (h *history) run(fsys vfs.FS) {
	h.t.Helper()
	h.open(fsys)
	h.append(3, true)
	h.append(2, false)
	a := build(h.t, h.s, 3)
	h.commit(Edit{Ingest: []*SegmentWriter{a}, Manifest: h.manifest(4, a), Meta: map[string][]byte{"schema": []byte("v1")}})
	h.append(2, true)
	b, c := build(h.t, h.s, 2), build(h.t, h.s, 1)
	h.commit(Edit{Ingest: []*SegmentWriter{b, c}, Manifest: h.manifest(6, a, b, c), Deletions: map[uint64][]byte{a.Number(): []byte("few")}})
	h.append(1, false)
	if err := h.s.Compact(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	merged := build(h.t, h.s, 5)
	h.commit(Edit{Ingest: []*SegmentWriter{merged}, Manifest: h.manifest(6, merged, c), Drop: []uint64{a.Number()},
		Deletions: map[uint64][]byte{c.Number(): []byte("one"), merged.Number(): []byte("more")}})
	if err := h.s.DropSegments(context.Background(), []uint64{b.Number()}); err != nil {
		h.t.Fatal(err)
	}
	if err := build(h.t, h.s, 1).Abort(); err != nil {
		h.t.Fatal(err)
	}
	h.append(4, true)
	if err := h.s.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.promise(func(a *acked) { a.seq = h.s.NextSeq() - 1 })
	h.open(fsys)
	h.append(1, true)
	h.commit(Edit{Manifest: h.manifest(13, c), Drop: []uint64{merged.Number()}, Meta: map[string][]byte{"schema": []byte("v2")}})
	if err := h.s.Close(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) manifest(logSeq uint64, ws ...*SegmentWriter) *Manifest {
	m := &Manifest{LogSeq: logSeq}
	for _, w := range ws {
		m.Segments = append(m.Segments, Segment{Number: w.Number(), Info: fmt.Appendf(nil, "of %d keys", w.tables[0].keys)})
	}
	return m
}

// check opens what a crash left and compares it with the promises.
func (h *history) check(fsys vfs.FS, a acked) error {
	s, err := Open(damagedDir, &Options{FS: fsys})
	if err != nil {
		return err
	}
	defer s.Close()
	m := s.Manifest()
	dels := map[uint64][]byte{}
	for _, g := range m.Segments {
		if dels[g.Number], err = s.Deletions(g.Number); err != nil {
			return err
		}
		if err := wholeSegment(s, g); err != nil {
			return err
		}
	}
	meta, err := s.Meta("schema")
	if err != nil {
		return err
	}
	// The commit after the last acknowledged one may have been running.
	got, state := describe(&m, dels, string(meta)), -1
	for i := a.commits; i <= min(a.commits+1, len(h.states)-1); i++ {
		if h.states[i] == got {
			state = i
		}
	}
	if state < 0 {
		return fmt.Errorf("state %s\nis not that of the %d acknowledged commits: %s", got, a.commits, h.states[a.commits])
	}
	return errors.Join(wholeLog(s, a.seq), noOrphans(s, fsys))
}

// wholeSegment compares a segment's keys with what build wrote.
func wholeSegment(s *Store, g Segment) error {
	var want int
	if _, err := fmt.Sscanf(string(g.Info), "of %d keys", &want); err != nil {
		return err
	}
	it, err := s.Segment(g.Number).Scan(nil, nil)
	if err != nil {
		return err
	}
	n := 0
	for it.Next() {
		if v := segmentValue(g.Number, it.Key()); string(v) != string(it.Value()) {
			err = fmt.Errorf("segment %d: value %q, want %q", g.Number, it.Value(), v)
		}
		n++
	}
	if n != 2*want {
		err = fmt.Errorf("segment %d has %d keys, want %d", g.Number, n, 2*want)
	}
	return errors.Join(err, it.Err(), it.Close())
}

// wholeLog requires the records after the covered ones, without a gap, and at least up to the last
// acknowledged one.
func wholeLog(s *Store, acked uint64) error {
	last := s.Manifest().LogSeq
	err := s.Replay(last+1, func(seq uint64, r []byte) error {
		if string(r) != string(logRecord(seq)) {
			return fmt.Errorf("log record %d is %q", seq, r)
		}
		last = seq
		return nil
	})
	if err == nil && (last < acked || s.NextSeq() != last+1) {
		err = fmt.Errorf("the log ends at %d, and goes on with %d; acknowledged were %d", last, s.NextSeq(), acked)
	}
	return err
}

// noOrphans requires every key and file to belong to something.
func noOrphans(s *Store, fsys vfs.FS) error {
	orphans, err := s.orphans()
	if err != nil || len(orphans) > 0 {
		return fmt.Errorf("orphans %v, error %v", orphans, err)
	}
	if names, err := fsys.List(s.buildPath()); err == nil {
		return fmt.Errorf("left in the building folder: %q", names)
	}
	first, err := s.firstKey([]byte{spaceLog}, []byte{spaceLog + 1})
	if err != nil || first != nil {
		return fmt.Errorf("a record in Pebble: %s, error %v", KeyString(first), err)
	}
	if files, err := fsys.List(s.logPath()); err != nil || len(files) > 2 || s.LogBytes() > 2<<10 {
		return fmt.Errorf("log not truncated: files %q, %d bytes, error %v", files, s.LogBytes(), err)
	}
	return nil
}

// A crash is what a machine that stopped before some write left on its disk.
type crash struct {
	before string // the write that did not happen
	disk   *vfs.MemFS
	acked  acked
}

// A guardedFS is a file system in memory that can be cloned at any time. Pebble's own deadlocks if
// that happens during a Link or a ReuseForWrite (v2.1.7 locks cloneMu for reading twice), hence the
// mutex.
type guardedFS struct {
	*vfs.MemFS
	links sync.Mutex
}

func (f *guardedFS) Link(from, to string) error {
	f.links.Lock()
	defer f.links.Unlock()
	return f.MemFS.Link(from, to)
}

func (f *guardedFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.links.Lock()
	defer f.links.Unlock()
	return f.MemFS.ReuseForWrite(from, to, c)
}

func (f *guardedFS) crash(c vfs.CrashCloneCfg) *vfs.MemFS {
	f.links.Lock()
	defer f.links.Unlock()
	return f.CrashClone(c)
}

// crashes runs life on a file system and stops it, on copies, before every write, keeping a share
// of what was not synced.
func crashes(mem *vfs.MemFS, seed uint64, h *history, life func(vfs.FS)) []crash {
	var mu sync.Mutex
	var found []crash
	rng := rand.New(rand.NewPCG(seed, 0))
	guarded := &guardedFS{MemFS: mem}
	life(errorfs.Wrap(guarded, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		// The promises first: one made in between does not apply to this crash.
		a := h.acked()
		kept := []int{0, 50, 100}[len(found)%3]
		disk := guarded.crash(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng})
		found = append(found, crash{fmt.Sprintf("write %d, kind %d of %s, %d %% of unsynced data kept", len(found), op.Kind, op.Path, kept), disk, a})
		return nil
	})))
	return found
}

// TestCrash stops a store at every write of its life.
func TestCrash(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		h, mem := newHistory(t), vfs.NewCrashableMem()
		all := crashes(mem, seed, h, h.run)
		for _, c := range all {
			if err := h.check(c.disk, c.acked); err != nil {
				t.Fatalf("seed %d, crash before %s: %v", seed, c.before, err)
			}
			if err := h.check(c.disk, c.acked); err != nil { // what Open repaired stays repaired
				t.Fatalf("seed %d, crash before %s, second open: %v", seed, c.before, err)
			}
		}
		if len(all) < 100 {
			t.Errorf("only %d writes: the history is too short to prove anything", len(all))
		}
	}
}

// TestCrashInRecovery stops stores while they recover from a crash.
func TestCrashInRecovery(t *testing.T) {
	h, mem := newHistory(t), vfs.NewCrashableMem()
	n, stride := 0, 14
	if testing.Short() {
		stride = 28
	}
	for i, c := range crashes(mem, 1, h, h.run) {
		if i%stride != 0 {
			continue
		}
		fixed := &history{ack: c.acked}
		again := crashes(c.disk, uint64(i), fixed, func(fsys vfs.FS) {
			if err := h.check(fsys, c.acked); err != nil {
				t.Fatalf("crash before %s: %v", c.before, err)
			}
		})
		for _, r := range again {
			if err := h.check(r.disk, c.acked); err != nil {
				t.Fatalf("crash before %s, then, in recovery, before %s: %v", c.before, r.before, err)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("recovery wrote nothing: the test tests nothing")
	}
}
