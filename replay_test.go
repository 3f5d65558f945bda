package riffle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/riffle-search/riffle/analysis"
)

// leaveLog applies batches without a seal and returns what a crash leaves: all of them in the log.
// tinyMemory holds a part of it.
func leaveLog(t *testing.T, states []model) *crashFS {
	t.Helper()
	mem := newCrashFS()
	e, err := tuning{}.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(states); i++ {
		if err := e.Apply(ctx, batchBetween(states[i-1], states[i])); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(e.probe().Disks()); n > 0 {
		t.Fatalf("%d segments are sealed", n)
	}
	left := mem.crash(0, rand.New(rand.NewPCG(1, 1)))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}

// replayStates are enough batches to fill tinyMemory several times.
func replayStates(t *testing.T) []model {
	return crashStates(modelQueries{rand.New(rand.NewPCG(seedOf(t), 3))})
}

// watchReplay opens an index with a small budget and returns the maximum memory in use meanwhile.
func watchReplay(tu tuning, fs *crashFS) (e *Engine, most int64, err error) {
	tu.opts.private.replayed = func(bytes int64) { most = max(most, bytes) }
	e, err = tu.open(worldDir, fs)
	return e, most, err
}

// TestReplayKeepsBudget opens an index whose log was written under a larger budget.
func TestReplayKeepsBudget(t *testing.T) {
	states := replayStates(t)
	last := states[len(states)-1:]
	left := leaveLog(t, states)

	e, all, err := watchReplay(tuning{opts: Options{ReadOnly: true}, memory: tinyMemory}, left.crash(100, rand.New(rand.NewPCG(1, 1))))
	if err != nil {
		t.Fatal(err)
	}
	if all < 2*tinyMemory || len(e.probe().Disks()) > 0 {
		t.Errorf("read-only: %d bytes in memory, %d segments sealed", all, len(e.probe().Disks()))
	}
	if _, err := findState(e, last); err != nil {
		t.Errorf("read-only: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	e, most, err := watchReplay(tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}}, left)
	if err != nil {
		t.Fatal(err)
	}
	const record = 8 << 10 // what the largest batch takes
	if most > tinyMemory+record {
		t.Errorf("memory held up to %d bytes under a budget of %d", most, tinyMemory)
	}
	if n := len(e.probe().Disks()); n < 2 {
		t.Errorf("%d segments are sealed", n)
	}
	st, err := e.Stats()
	if err != nil || st.LogRecords > uint64(len(states))/2 || st.MemoryBytes > tinyMemory {
		t.Errorf("%d records are left in the log, %d bytes in memory: %v", st.LogRecords, st.MemoryBytes, err)
	}
	if _, err := findState(e, last); err != nil {
		t.Error(err)
	}
	if err := errors.Join(checkAll(e), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestCrashInReplay stops the world before each write of an Open that seals as it replays. Every
// batch survives.
func TestCrashInReplay(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 4))
	states := replayStates(t)
	if brief() {
		states = states[:20]
	}
	last := len(states) - 1
	mem := leaveLog(t, states)
	var mu sync.Mutex
	var wrecks []wreck
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			percent := 50 * (len(wrecks) % 2)
			wrecks = append(wrecks, wreck{write: len(wrecks) + 1, op: opText(op), unsynced: percent, least: last, most: last, fs: mem.crash(percent, rng)})
		}
		return nil
	}))
	e, err := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	sealed := len(e.probe().Disks())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if sealed < 2 || len(wrecks) < 40 {
		t.Errorf("%d segments sealed, %d writes", sealed, len(wrecks))
	}
	for i := range wrecks {
		w := &wrecks[i]
		if brief() && i%5 != 0 {
			continue
		}
		if err := w.inspectOnce(states[last:], false); err != nil {
			t.Errorf("crash before write %d (%s), %d%% of unsynced data kept: %v", w.write, w.op, w.unsynced, err)
		}
	}
}

// TestReplayWithoutRoom opens an index while seals fail. The log stays in memory, and is sealed
// once there is room.
func TestReplayWithoutRoom(t *testing.T) {
	states := replayStates(t)
	mem := leaveLog(t, states)
	var broken atomic.Bool
	broken.Store(true)
	fsys := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.Contains(op.Path, "building/") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	var told atomic.Int64
	e, err := tuning{memory: tinyMemory, opts: Options{Listener: &Listener{Failed: func(error) { told.Add(1) }}}}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findState(e, states[len(states)-1:]); err != nil {
		t.Error(err)
	}
	if n := told.Load(); n != 1 {
		t.Errorf("the listener was told %d times", n)
	}
	broken.Store(false)
	if err := errors.Join(e.Flush(ctx), checkAll(e)); err != nil {
		t.Error(err)
	}
	if _, err := findState(e, states[len(states)-1:]); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// oneTerm is an analyzer that makes the same term of every text.
type oneTerm []byte

func (a oneTerm) Name() string { return "one-term" }

func (a oneTerm) Analyze(text []byte, emit func([]analysis.Token)) {
	emit([]analysis.Token{{Term: a, End: len(text)}})
}

// TestReplayNamesRecord opens an index whose log has a document that can no longer be indexed,
// because an analyzer has changed. The error names the record, and nothing is lost.
func TestReplayNamesRecord(t *testing.T) {
	open := func(term string) *Options {
		return &Options{Analyzers: map[string]analysis.Analyzer{"mine": oneTerm(term)}, Schema: &Schema{Fields: map[string]Field{"t": {Analyzer: "mine"}}}}
	}
	ix := newIndex(t, open("x"))
	ix.put("a", map[string]any{"n": 1})
	ix.put("b", map[string]any{"t": "text"})
	ix.must(ix.Close())
	_, err := Open(ix.dir, open(strings.Repeat("x", MaxTermBytes+1)))
	if err == nil || !strings.Contains(err.Error(), `log record 2: riffle: document "b": field "t": its analyzer made a term of 32767 bytes`) {
		t.Errorf("%v", err)
	}
	ix.open(open("x"))
	if got := ix.ids(Term{"t", "x"}); len(got) != 1 {
		t.Errorf("with the old analyzer: %v", got)
	}
}

// TestCloseFinishesSeal closes an engine while it seals. Close waits for the seal, so that the next
// Open need not read the documents back.
func TestCloseFinishesSeal(t *testing.T) {
	mem := newCrashFS()
	tu := tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}}
	e, err := tu.open(worldDir, mem)
	if err != nil {
		t.Fatal(err)
	}
	release := e.probe().HoldCommits() // blocks the seal before it writes anything
	want := model{}
	for sealing := false; !sealing; {
		id := fmt.Sprint(len(want))
		want[id] = modelDoc{"text": "w1 w2 " + id}
		if err := e.Put(ctx, id, map[string]any(want[id])); err != nil {
			t.Fatal(err)
		}
		sealing, _ = e.probe().Sealing()
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	<-e.probe().Closing() // Close has interrupted everything that it interrupts
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if e, err = (tuning{}).open(worldDir, mem); err != nil { // with a budget large enough that this Open does not seal
		t.Fatal(err)
	}
	defer e.Close()
	st, err := e.Stats()
	if err != nil || st.LogRecords > 0 || len(e.probe().Disks()) == 0 {
		t.Errorf("%d of %d records are in the log: %v", st.LogRecords, len(want), err)
	}
	if _, err := findState(e, []model{want}); err != nil {
		t.Error(err)
	}
}

// TestCloseSealsAfterFailure closes an engine whose last seal has failed, with little in the new
// memory segment. The documents of that seal count as well.
func TestCloseSealsAfterFailure(t *testing.T) {
	ix := newPacedIndex(t, tuning{memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}})
	ix.broken.Store(true)
	for ix.told.Load() == 0 {
		ix.puts++
		if err := ix.Put(ctx, fmt.Sprint(ix.puts), map[string]any{"text": "w1 w2 w3"}); err != nil {
			t.Fatal(err)
		}
		_ = ix.probe().AwaitSeal(ctx) // the Listener receives the error
	}
	ix.broken.Store(false)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if n := ix.probe().Unsealed(); n > 0 || len(ix.probe().Disks()) != 1 {
		t.Errorf("%d records are not sealed", n)
	}
}
