package riffle

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var stressFlag = flag.Duration("stress", time.Second, "`duration` of each stress run")

// For each writer, the stress test knows what the index holds after its version v. The writer has a
// ring of slots. Version v fills or empties slot v mod stressSlots with a pair of documents, and
// every batch also replaces one document that names the version. So the version v determines
// everything else.
const (
	stressWriters = 2
	stressReaders = 8
	stressSlots   = 60
)

// stressDocs returns one writer's documents after its version v.
func stressDocs(writer, v int) model {
	m := model{}
	if v > 0 {
		m[fmt.Sprintf("%d.version", writer)] = modelDoc{"writer": writer, "version": v}
	}
	for u := max(1, v-stressSlots+1); u <= v; u++ {
		for id, d := range stressPair(writer, u) {
			if u < v {
				d = d.with(stressUpdate(u, d))
			}
			m[id] = d
		}
	}
	return m
}

// stressUpdate is what the version after v changes in one half of its pair.
func stressUpdate(v int, half modelDoc) map[string]any {
	return map[string]any{"sold": 3 * half["num"].(int), "mark": fmt.Sprint("mark ", v%50)}
}

// stressPair returns the pair of version v, whose numbers add up to zero; nothing if v is one that
// empties its slot.
func stressPair(writer, v int) model {
	if v/stressSlots%4 == 3 || v%7 == 0 {
		return nil
	}
	slot := v % stressSlots
	text := fmt.Sprintf("w1 w%d w%d w%d", v%3, v%11, slot%5)
	return model{
		fmt.Sprintf("%d.%d.left", writer, slot):  {"writer": writer, "num": v, "text": text},
		fmt.Sprintf("%d.%d.right", writer, slot): {"writer": writer, "num": -v, "text": text + " w2 w2"},
	}
}

// stressBatch makes the batch that leads to version v.
func stressBatch(writer, v int) *Batch {
	b := new(Batch)
	for id, half := range stressPair(writer, v-1) {
		if v > 1 {
			b.Update(id, stressUpdate(v-1, half))
		}
	}
	pair := stressPair(writer, v)
	for _, half := range []string{"left", "right"} {
		id := fmt.Sprintf("%d.%d.%s", writer, v%stressSlots, half)
		if d, ok := pair[id]; ok {
			b.Put(id, map[string]any(d))
		} else {
			b.Delete(id)
		}
		if half == "left" { // in the middle, to reveal half a batch
			b.Put(fmt.Sprintf("%d.version", writer), map[string]any{"writer": writer, "version": v})
		}
	}
	return b
}

// TestStress runs readers and writers on one engine, with constant seals and merges, and compares
// every snapshot with what it must be.
func TestStress(t *testing.T) {
	for _, tu := range []tuning{
		{name: "graph", memory: 3 * tinyMemory, opts: Options{Durability: SyncNone, Merge: MergeOptions{SegmentsPerTier: 3, Order: OrderByGraph}}},
		{name: "global-score", memory: 2 * tinyMemory, opts: Options{CacheBytes: 64 << 10, Merge: MergeOptions{SegmentsPerTier: 2, Order: OrderByGlobalScore}}},
	} {
		t.Run(tu.name, func(t *testing.T) { runStress(t, tu, *stressFlag) })
	}
}

func runStress(t *testing.T, tu tuning, d time.Duration) {
	s := &stress{t: t, dir: t.TempDir()}
	tu.opts.Schema = modelSchema
	tu.opts.Listener = &Listener{
		Sealed: func(SealEvent) { s.seals.Add(1) },
		Merged: func(MergeEvent) { s.merges.Add(1) },
		Failed: func(err error) { s.fail(fmt.Errorf("in the background: %w", err)) },
	}
	var err error
	if s.e, err = tu.open(filepath.Join(s.dir, "index"), nil); err != nil {
		t.Fatal(err)
	}
	seed := seedOf(t)
	s.end = time.Now().Add(d)
	var all sync.WaitGroup
	for i := range stressWriters {
		all.Go(func() { s.write(i) })
	}
	for i := range stressReaders {
		all.Go(func() { s.read(rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	all.Go(func() { s.disturb(rand.New(rand.NewPCG(seed, 100))) })
	all.Wait()
	if err := errors.Join(checkAll(s.e), s.e.Close()); err != nil {
		t.Error(err)
	}
	t.Logf("%d and %d batches, %d snapshots, %d searches, %d seals, %d merges", s.acked[0].Load(), s.acked[1].Load(),
		s.snapshots.Load(), s.searches.Load(), s.seals.Load(), s.merges.Load())
}

// A stress is one run of the test.
type stress struct {
	t   *testing.T
	dir string
	e   *Engine
	end time.Time // of the run, if enough has been done by then

	failed atomic.Bool

	acked [stressWriters]atomic.Int64 // versions acknowledged

	snapshots, searches, seals, merges atomic.Int64
}

// fail ends the run.
func (s *stress) fail(err error) {
	s.t.Error(err)
	s.failed.Store(true)
}

// running reports whether to continue: until the time is over, and on a slow machine until the run
// has proved something.
func (s *stress) running() bool {
	enough := s.seals.Load() > 2 && s.merges.Load() > 1 && s.searches.Load() > 100
	return !s.failed.Load() && (!enough || time.Now().Before(s.end))
}

func (s *stress) write(writer int) {
	for v := 1; s.running(); v++ {
		if err := s.e.Apply(ctx, stressBatch(writer, v)); err != nil {
			s.fail(err)
			return
		}
		s.acked[writer].Store(int64(v))
	}
}

// disturb occasionally reorders everything below the readers.
func (s *stress) disturb(rng *rand.Rand) {
	for i := 0; s.running(); i++ {
		var err error
		switch rng.IntN(8) {
		case 0:
			err = s.e.Compact(ctx)
		case 1:
			err = s.e.Flush(ctx)
		case 2:
			err = checkAll(s.e)
		case 3:
			_, err = s.e.Stats()
		case 4:
			err = s.e.Sync(ctx)
		case 5:
			err = s.copy(filepath.Join(s.dir, fmt.Sprint("copy", i)))
		}
		if err != nil {
			s.fail(err)
			return
		}
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
}

// copy makes a checkpoint and checks it.
func (s *stress) copy(dir string) error {
	var before [stressWriters]int
	for w := range before {
		before[w] = int(s.acked[w].Load())
	}
	if err := s.e.Checkpoint(ctx, dir); err != nil {
		return err
	}
	e, err := Open(dir, &Options{ReadOnly: true})
	if err != nil {
		return err
	}
	snap, err := e.Snapshot()
	if err != nil {
		return errors.Join(err, e.Close())
	}
	_, err = stressState(snap, before)
	snap.Close()
	return errors.Join(err, e.Close())
}

// read takes one snapshot after another. Versions never fall, and are never below
// what was acknowledged before the snapshot was taken.
func (s *stress) read(rng *rand.Rand) {
	q := modelQueries{rng}
	var seen [stressWriters]int
	for s.running() {
		for w := range seen {
			seen[w] = max(seen[w], int(s.acked[w].Load()))
		}
		snap, err := s.e.Snapshot()
		if err == nil {
			seen, err = s.readSnapshot(snap, q, seen)
			snap.Close()
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.snapshots.Add(1)
		// Readers never block; without a pause they would leave the writers little of a small
		// machine.
		time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
	}
}

// readSnapshot reads a snapshot a few times; it must not change meanwhile.
func (s *stress) readSnapshot(snap *Snapshot, q modelQueries, least [stressWriters]int) (versions [stressWriters]int, err error) {
	if versions, err = stressState(snap, least); err != nil {
		return versions, err
	}
	m := model{}
	for w, v := range versions {
		for id, d := range stressDocs(w, v) {
			m[id] = d
		}
	}
	for range 1 + q.IntN(4) {
		if err := stressSearch(snap, m, q); err != nil {
			return versions, fmt.Errorf("versions %v: %w", versions, err)
		}
		s.searches.Add(1)
	}
	return versions, sameDocuments(snap, m)
}

// stressState finds out which version of each writer a snapshot shows, and compares all documents
// with it.
func stressState(snap *Snapshot, least [stressWriters]int) (versions [stressWriters]int, err error) {
	m := model{}
	for w := range versions {
		doc, err := snap.Get(ctx, fmt.Sprintf("%d.version", w))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return versions, err
		}
		v, _ := doc["version"].(int64)
		if versions[w] = int(v); versions[w] < least[w] {
			return versions, fmt.Errorf("version %d of writer %d follows %d", v, w, least[w])
		}
		for id, d := range stressDocs(w, versions[w]) {
			m[id] = d
		}
	}
	if err := sameDocuments(snap, m); err != nil {
		return versions, fmt.Errorf("versions %v: %w", versions, err)
	}
	return versions, nil
}

// stressSearch compares one query under one algorithm with the model, and with
// exhaustive scoring.
func stressSearch(snap *Snapshot, m model, r modelQueries) error {
	q := Query(Match{Field: "text", Text: r.words(1 + r.IntN(4)), Mode: Mode(r.IntN(2))})
	switch r.IntN(7) {
	case 0:
		q = Bool{Must: []Query{q}, Filter: []Query{Term{"writer", r.IntN(stressWriters)}}}
	case 1:
		q = Bool{Should: []Query{q, Term{"writer", 1}}, MustNot: []Query{Match{Field: "text", Text: r.word()}}}
	case 2:
		q = Phrase{Field: "text", Text: r.words(2 + r.IntN(2))}
	case 3:
		q = Bool{Must: []Query{q, Phrase{Field: "text", Text: "w2 w2"}}}
	case 4:
		word := r.word()
		q = []Query{Prefix{"text", word[:2], false}, Wildcard{"text", "*" + word[1:], false}, Fuzzy{Field: "text", Term: word, Edits: 1}}[r.IntN(3)]
	}
	want := m.matches(q, MaxK)
	o := SearchOptions{K: 1000, Exec: &Exec{Algorithm: Algorithm(r.IntN(int(AlgorithmBMM) + 1))}, ExactTotal: true}
	all, err := snap.Search(ctx, q, &o)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, h := range all.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, want) || all.Total != len(want) {
		return fmt.Errorf("%v: %d hits %q, want %q", q, all.Total, ids, want)
	}
	o.K = 1 + r.IntN(10)
	some, err := snap.Search(ctx, q, &o)
	if err != nil {
		return err
	}
	o.Exec = &Exec{Algorithm: AlgorithmExhaustive}
	exact, err := snap.Search(ctx, q, &o)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(some.Hits, exact.Hits) {
		return fmt.Errorf("%v, %s:\n got %v\nwant %v", q, some.Executor, some.Hits, exact.Hits)
	}
	return nil
}
