package riffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/riffle-search/riffle/store"
)

// A crashFS is a file system in memory that can produce what a crash would leave. Pebble's own
// deadlocks if that is requested during a Link or a ReuseForWrite (v2.1.7 locks cloneMu for reading
// twice), hence the mutex.
type crashFS struct {
	*vfs.MemFS
	links sync.Mutex
}

func newCrashFS() *crashFS { return &crashFS{MemFS: vfs.NewCrashableMem()} }

func (f *crashFS) Link(from, to string) error {
	f.links.Lock()
	defer f.links.Unlock()
	return f.MemFS.Link(from, to)
}

func (f *crashFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.links.Lock()
	defer f.links.Unlock()
	return f.MemFS.ReuseForWrite(from, to, c)
}

// crash returns what was synced and, of the rest, about the given percentage of the blocks and
// directory entries.
func (f *crashFS) crash(percent int, rng *rand.Rand) *crashFS {
	f.links.Lock()
	defer f.links.Unlock()
	return &crashFS{MemFS: f.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})}
}

// A wreck is what a crash just before one write of the file system leaves, and
// what must be found in it.
type wreck struct {
	write    int    // which one, counted from 1
	op       string // what it was
	fs       *crashFS
	unsynced int // percentage of unsynced data that survived
	least    int // batches acknowledged by then
	most     int // batches begun by then
}

// TestCrashAtEveryWrite runs a workload once and stops the world before each of its writes. What
// opens then is the state after some batch, at least the last acknowledged one and at most the last
// one begun: nothing acknowledged is missing, and no batch is half applied.
func TestCrashAtEveryWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 1))
	states := crashStates(modelQueries{rng})
	wrecks := make(chan wreck, 16)
	var inspectors sync.WaitGroup
	for range 2 {
		inspectors.Go(func() {
			for w := range wrecks {
				if err := w.inspect(states); err != nil {
					t.Errorf("crash before write %d (%s), %d%% of unsynced data kept, batches %d to %d: %v", w.write, w.op, w.unsynced, w.least, w.most, err)
				}
			}
		})
	}
	writes := runCrashWorkload(t, states, rng, wrecks)
	close(wrecks)
	inspectors.Wait()
	t.Logf("%d writes, %d batches", writes, len(states)-1)
	if writes < 200 {
		t.Errorf("only %d writes: the injector is not in their way", writes)
	}
}

// crashBatches is the number of batches in the workload.
const crashBatches = 36

// crashStates makes the workload: state i is that after i batches. Every batch replaces two
// documents with a pair that has its number, adds a few, updates a few and deletes a few.
func crashStates(r modelQueries) []model {
	states := []model{{}}
	for i := 1; i <= crashBatches; i++ {
		next := maps.Clone(states[i-1])
		for _, half := range []string{"left", "right"} {
			next[half] = modelDoc{"num": i, "text": r.words(5)}
		}
		for range 1 + r.IntN(4) {
			next[fmt.Sprintf("d%d", r.IntN(30))] = r.doc()
		}
		for range r.IntN(5) {
			id := fmt.Sprintf("d%d", r.IntN(30))
			if d, ok := next[id]; ok {
				next[id] = d.with(r.changes())
			}
		}
		for range r.IntN(3) {
			delete(next, fmt.Sprintf("d%d", r.IntN(30)))
		}
		states = append(states, next)
	}
	return states
}

// position returns that of the batch that has led to a state of crashStates.
func (m model) position() []byte {
	if left := m["left"]; left != nil {
		return fmt.Append(nil, "batch ", left["num"])
	}
	return nil
}

// batchBetween makes the batch that leads from one state to the next, with its position.
func batchBetween(from, to model) *Batch {
	b := &Batch{Position: to.position()}
	for _, id := range from.ids() {
		if _, ok := to[id]; !ok {
			b.Delete(id)
		}
	}
	for _, id := range to.ids() {
		old, ok := from[id]
		changes, updates := changesOf(old, to[id])
		switch {
		case ok && updates && len(changes) > 0:
			b.Update(id, changes)
		case !ok || !updates:
			b.Put(id, map[string]any(to[id]))
		}
	}
	return b
}

// runCrashWorkload leads an engine through all states, with seals, merges, a
// compaction, a checkpoint and a reopening in between. It returns the number of
// writes.
func runCrashWorkload(t *testing.T, states []model, rng *rand.Rand, wrecks chan<- wreck) int {
	mem := newCrashFS()
	var acked, begun atomic.Int64
	var mu sync.Mutex
	stride := 4 // runs with other offsets cover the other writes
	if brief() {
		stride = 15
	}
	offset := rng.IntN(stride)
	writes := 0
	inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%stride != offset {
			return nil
		}
		for _, percent := range []int{0, 50} {
			// Acknowledged before the clone is made; begun after.
			w := wreck{write: writes, op: opText(op), unsynced: percent, least: int(acked.Load())}
			w.fs = mem.crash(percent, rng)
			w.most = int(begun.Load())
			wrecks <- w
		}
		return nil
	})
	fsys := errorfs.Wrap(mem, inj)
	tu := tuning{opts: Options{private: tinyTables, Merge: MergeOptions{SegmentsPerTier: 2}}}
	e, err := tu.open(worldDir, fsys)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	for i := 1; i < len(states); i++ {
		begun.Store(int64(i))
		must(e.Apply(ctx, batchBetween(states[i-1], states[i])))
		acked.Store(int64(i))
		switch {
		case i%12 == 0:
			must(e.Compact(ctx))
		case i%5 == 0:
			must(e.Flush(ctx))
		case i == 21:
			must(e.Checkpoint(ctx, "copy"))
		case i == 16:
			must(e.Close())
			e, err = tu.open(worldDir, fsys)
			must(err)
		}
	}
	must(e.Close())
	mu.Lock()
	defer mu.Unlock()
	return writes
}

func opText(op errorfs.Op) string {
	return fmt.Sprintf("kind %d on %s", op.Kind, filepath.Base(op.Path))
}

// inspect opens what a crash has left and checks everything in it. Now and then it does so again
// after a merge.
func (w *wreck) inspect(states []model) error {
	if err := w.inspectOnce(states[w.least:w.most+1], false); err != nil || w.write%10 != 0 {
		return err
	}
	if err := w.inspectOnce(states[w.least:w.most+1], true); err != nil {
		return fmt.Errorf("after a merge: %w", err)
	}
	return nil
}

func (w *wreck) inspectOnce(states []model, merge bool) (err error) {
	// Without background merges, which would add segments meanwhile.
	e, err := tuning{opts: Options{Merge: MergeOptions{Disabled: true}}}.open(worldDir, w.fs)
	if err != nil {
		return err
	}
	var live []store.Segment
	defer func() {
		if cerr := e.Close(); err == nil && cerr == nil {
			err = noOrphans(w.fs, live)
		} else {
			err = errors.Join(err, cerr)
		}
	}()
	if merge {
		if err := e.Compact(ctx); err != nil {
			return err
		}
	}
	live = e.probe().Store().Manifest().Segments
	if _, err := findState(e, states); err != nil {
		return err
	}
	return checkAll(e)
}

// findState finds out which of some states an engine has.
func findState(e *Engine, states []model) (int, error) {
	s, err := e.Snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var errs []error
	for i, m := range states {
		err := sameDocuments(s, m)
		if err == nil {
			return i, errors.Join(sameCounts(s, m), samePosition(s, m.position()))
		}
		errs = append(errs, fmt.Errorf("not state %d: %w", i, err))
	}
	return 0, errors.Join(errs...)
}

// samePosition compares the position of an Engine or a Snapshot.
func samePosition(x interface{ Position() ([]byte, error) }, want []byte) error {
	if got, err := x.Position(); err != nil || string(got) != string(want) {
		return fmt.Errorf("position %q, %v, want %q", got, err, want)
	}
	return nil
}

// sameCounts compares posting lists with documents.
func sameCounts(s *Snapshot, m model) error {
	for _, q := range []Query{All{}, Match{Field: "text", Text: "w1 w5"}, Match{Fields: []string{"title", "text"}, Text: "w2 w3", Mode: ModeAnd}, Term{"num", m["left"]["num"]}} {
		if q, ok := q.(Term); ok && q.Value == nil {
			continue
		}
		n, err := s.Count(ctx, q)
		if want := len(m.matches(q, DefaultK)); err != nil || n != want {
			return fmt.Errorf("count of %v: %d %v, want %d", q, n, err, want)
		}
	}
	return nil
}

// checkAll gathers the faults that Check reports.
func checkAll(e *Engine) error {
	var errs []error
	err := e.Check(ctx, func(err error) { errs = append(errs, err) })
	return errors.Join(append(errs, err)...)
}

// noOrphans checks the store for keys of segments that are not live, and the directory for files
// that do not belong to it.
func noOrphans(fsys vfs.FS, live []store.Segment) error {
	if names, err := fsys.List(worldDir + "/building"); err == nil && len(names) > 0 {
		return fmt.Errorf("files left behind: %s", strings.Join(names, " "))
	}
	return eachKey(fsys, worldDir, func(key, _ []byte) error {
		isLive := func(s store.Segment) bool { return s.Number == binary.BigEndian.Uint64(key[1:]) }
		if (key[0] == 'S' || key[0] == 'D' || key[0] == 'C') && !slices.ContainsFunc(live, isLive) {
			return fmt.Errorf("%s, which is not live, is still there", store.KeyString(key))
		}
		return nil
	})
}

// eachKey calls fn for every key of a closed index in Pebble.
func eachKey(fsys vfs.FS, dir string, fn func(key, value []byte) error) (err error) {
	db, err := pebble.Open(dir, &pebble.Options{FS: fsys, Logger: quiet{}, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// quiet is a Pebble logger that discards everything.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
