package riffle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/internal/search"
)

var (
	seedFlag = flag.Uint64("seed", 0, "`seed` of random tests; 0 picks one")
	opsFlag  = flag.Int("ops", 700, "`operations` of one metamorphic run")
)

// seedOf returns the seed of a random test, and prints the command that repeats the test if it
// fails.
func seedOf(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat: go test -run '^%s$' -seed %d -ops %d .", t.Name(), seed, *opsFlag)
		}
	})
	return seed
}

// brief reports whether to do less: with -short, and under the race detector, which makes
// everything ten times as slow.
func brief() bool { return testing.Short() || invariants.Enabled }

// A tuning is a set of options.
type tuning struct {
	name   string
	opts   Options
	memory int64 // replaces MemoryBytes, which may not be as small
	wide   bool  // many documents a batch, so that lists have several blocks and segments several tiles
}

// tinyMemory holds about ten documents, so that seals and merges run all the time.
const tinyMemory = 12 << 10

// tinyTables makes several tables of the stored documents of a merge.
var tinyTables = privateOptions{tableBytes: 500, codedBytes: 1}

var tunings = []tuning{
	{name: "defaults"},
	{name: "tiny", memory: tinyMemory, opts: Options{private: tinyTables, Merge: MergeOptions{SegmentsPerTier: 2}}},
	{name: "nosync", memory: tinyMemory, opts: Options{Durability: SyncNone, CacheBytes: 1, Merge: MergeOptions{SegmentsPerTier: 3}}},
	{name: "unmerged", memory: tinyMemory, opts: Options{Merge: MergeOptions{Disabled: true}}},
	{name: "byscore", memory: tinyMemory, opts: Options{
		Merge: MergeOptions{SegmentsPerTier: 2, Order: OrderByGlobalScore}, Rank: Rank{Field: "rank", Alpha: 0.3}}},
	{name: "byscore-unranked", memory: tinyMemory, opts: Options{
		Merge: MergeOptions{SegmentsPerTier: 4, Order: OrderByGlobalScore}, Similarity: &BM25{K1: 0.9, B: 0.4}}},
	{name: "bygraph", memory: tinyMemory, opts: Options{private: tinyTables, Merge: MergeOptions{SegmentsPerTier: 3, Order: OrderByGraph}}},
	{name: "byfield", memory: tinyMemory, opts: Options{Merge: MergeOptions{SegmentsPerTier: 2, Order: OrderByField, OrderField: "num"}}},
	{name: "changing", memory: tinyMemory}, // other options at every Open
	{name: "wide", wide: true, memory: 1 << 20, opts: Options{
		Merge: MergeOptions{SegmentsPerTier: 2, Order: OrderByGlobalScore}, Rank: Rank{Field: "rank", Alpha: 0.5}}},
}

func (tu tuning) open(dir string, fsys vfs.FS) (*Engine, error) {
	o := tu.opts
	if o.Schema == nil {
		o.Schema = modelSchema
	}
	o.AllowUnknownFields = true // documents of the model have random fields
	o.private.store.FS = fsys
	o.private.store.MemTableBytes = 256 << 10
	o.private.memoryBytes = tu.memory
	return Open(dir, &o)
}

// TestMetamorphic runs random operations on an engine and on a model of it, and compares everything
// that can be observed.
func TestMetamorphic(t *testing.T) {
	for _, tu := range tunings {
		t.Run(tu.name, func(t *testing.T) {
			t.Parallel()
			runMetamorphic(t, tu, seedOf(t))
		})
	}
}

func runMetamorphic(t *testing.T, tu tuning, seed uint64) {
	n := *opsFlag
	if brief() {
		n /= 5
	}
	if tu.wide {
		n /= 10
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &world{t: t, tuning: tu, modelQueries: modelQueries{rng}, fs: newCrashFS(), now: model{}, dates: versionsOf{}}
	w.opts.Listener = &Listener{
		Sealed: func(SealEvent) { w.seals.Add(1) },
		Merged: func(MergeEvent) { w.merges.Add(1) },
		Failed: func(err error) { t.Errorf("in the background: %v", err) },
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last operations:\n%s", strings.Join(w.trace[max(0, len(w.trace)-30):], "\n"))
		}
	})
	w.open()
	total := 0
	for _, op := range worldOps {
		total += op.weight
	}
	for range n {
		pick := w.IntN(total)
		for _, op := range worldOps {
			if pick -= op.weight; pick < 0 {
				w.log("%s", op.name)
				op.run(w)
				break
			}
		}
	}
	t.Logf("%d documents, %d seals, %d merges", len(w.now), w.seals.Load(), w.merges.Load())
	w.check()
	w.reopen()
	w.close()
	if !brief() && (w.seals.Load() == 0 || w.merges.Load() == 0) {
		t.Errorf("%d seals and %d merges: the run proved little", w.seals.Load(), w.merges.Load())
	}
}

// A world is an engine, its model, and what is needed to crash it.
type world struct {
	t *testing.T
	tuning
	modelQueries
	fs    *crashFS
	e     *Engine
	now   model
	maybe []model // with SyncNone: states to which a crash may return, oldest first
	dates versionsOf
	snaps []heldSnapshot
	saved int // checkpoints made
	trace []string

	seals, merges atomic.Int64
}

// A heldSnapshot is a snapshot, what it must show, and its earlier answers.
type heldSnapshot struct {
	s     *Snapshot
	want  model
	query Query
	hits  []Hit
}

const worldDir = "index"

var worldOps = []struct {
	name   string
	weight int
	run    func(*world)
}{
	{"put", 25, func(w *world) { w.apply(1, 0) }},
	{"delete", 6, func(w *world) { w.apply(1, 1) }},
	{"batch", 10, func(w *world) { w.apply(2+w.IntN(10), 0.3) }},
	{"bad batch", 2, (*world).badBatch},
	{"conflict", 2, (*world).conflict},
	{"by query", 3, (*world).byQuery},
	{"search", 14, (*world).search},
	{"get", 4, (*world).get},
	{"walk", 2, (*world).walk},
	{"take snapshot", 4, (*world).takeSnapshot},
	{"search snapshot", 6, (*world).searchSnapshot},
	{"close snapshot", 4, (*world).closeSnapshot},
	{"flush", 4, (*world).flush},
	{"compact", 2, (*world).compact},
	{"sync", 2, (*world).sync},
	{"checkpoint", 1, (*world).checkpoint},
	{"check", 1, (*world).check},
	{"reopen", 2, (*world).reopen},
	{"crash", 3, (*world).crash},
}

var ctx = context.Background()

func (w *world) log(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%4d  ", len(w.trace))+fmt.Sprintf(format, args...))
}

// must ends the test unless err is nil.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() {
	if w.name == "changing" {
		w.opts.Durability = Durability(w.IntN(2))
		w.opts.Codec = Codec(w.IntN(len(kinds)))
		w.opts.Merge = MergeOptions{SegmentsPerTier: 2 + w.IntN(3), Order: DocOrder(w.IntN(3)), Disabled: w.IntN(4) == 0}
		w.log("  %v, %v, %+v", w.opts.Durability, w.opts.Codec, w.opts.Merge)
	}
	e, err := w.tuning.open(worldDir, w.fs)
	w.must(err)
	w.e = e
	w.maybe = nil
}

// id returns an id from a small set, or in a wide world from 9,000.
func (w *world) id() string {
	if w.wide {
		return fmt.Sprintf("d%d", w.IntN(9000))
	}
	return w.modelQueries.id()
}

// apply applies a batch of n changes, of which a share are deletions.
func (w *world) apply(n int, deletions float64) {
	var b Batch
	next := maps.Clone(w.now)
	if w.wide {
		n *= 200
	}
	for i := range n {
		id := w.id()
		if w.Float64() < deletions {
			if i < 20 {
				w.log("  delete %.20q", id)
			}
			if version, known := w.versionIn(next, id); known && w.IntN(4) == 0 {
				b.DeleteIf(id, version)
			} else {
				b.Delete(id)
			}
			delete(next, id)
			continue
		}
		if w.IntN(3) == 0 {
			changes := w.changes()
			if i < 20 {
				w.log("  update %.20q %v", id, changes)
			}
			if version, known := w.versionIn(next, id); known && w.IntN(4) == 0 {
				b.UpdateIf(id, changes, version)
			} else {
				b.Update(id, changes)
			}
			if d, ok := next[id]; ok {
				next[id] = d.with(changes)
			}
			continue
		}
		d := w.doc()
		if i < 20 {
			w.log("  put %.20q %v", id, d)
		}
		if version, known := w.versionIn(next, id); known && w.IntN(4) == 0 {
			b.PutIf(id, map[string]any(d), version)
		} else {
			b.Put(id, map[string]any(d))
		}
		next[id] = d
	}
	w.must(w.e.Apply(ctx, &b))
	w.date(next)
	if w.opts.Durability == SyncNone {
		w.maybe = append(w.maybe, w.now)
	}
	w.now = next
}

// badBatch has one document that is refused, so nothing of it happens.
func (w *world) badBatch() {
	var b Batch
	b.Put(w.id(), map[string]any(w.doc()))
	b.Delete(w.id())
	b.Put("bad", map[string]any{"text": "w1", modelKeyword: 7})
	var de *DocumentError
	if err := w.e.Apply(ctx, &b); !errors.As(err, &de) || de.ID != "bad" || de.Field != modelKeyword {
		w.t.Fatalf("a number in a keyword field: %v", err)
	}
}

func (w *world) search() {
	s, err := w.e.Snapshot()
	w.must(err)
	defer s.Close()
	w.compare(s, w.now, w.query(2), w.randomOptions())
}

// randomOptions are options with what changes scores; compare adds the rest.
func (w *world) randomOptions() SearchOptions {
	var o SearchOptions
	if w.IntN(4) == 0 {
		o.Similarity = &BM25{K1: w.Float64() * 3, B: w.Float64()}
	}
	if w.opts.Rank.Field != "" && w.IntN(3) == 0 {
		o.Alpha = new(float64)
		*o.Alpha = float64(w.IntN(5)) / 4
	}
	return o
}

// compare compares everything that searches for q return with the model and with each other.
func (w *world) compare(s *Snapshot, m model, q Query, o SearchOptions) {
	w.t.Helper()
	w.log("  %v", q)
	if lenOf(w.t, s) != len(m) {
		w.t.Fatalf("%d documents, want %d", lenOf(w.t, s), len(m))
	}
	n, err := s.Count(ctx, q)
	w.must(err)
	if want := len(m.matches(q, DefaultK)); n != want {
		w.t.Fatalf("%v: count %d, want %d", q, n, want)
	}
	all := w.compareAlgorithms(s, m, q, o, MaxK)
	w.compareAlgorithms(s, m, q, o, 1+w.IntN(12))
	w.comparePages(s, q, o, all)
	w.compareExplanations(s, q, o, all)
	if match, ok := q.(Match); ok && len(match.Fields) == 0 {
		match.Mode = ModeAndOr
		w.compareAlgorithms(s, m, match, o, 1+w.IntN(6))
	}
}

// compareAlgorithms searches with every algorithm and returns the hits.
func (w *world) compareAlgorithms(s *Snapshot, m model, q Query, o SearchOptions, k int) []Hit {
	w.t.Helper()
	want := m.matches(q, k)
	var first []Hit
	for a := AlgorithmAuto; a <= AlgorithmBMM; a++ {
		o.K, o.ExactTotal = k, w.IntN(2) == 0
		o.Exec = &Exec{Algorithm: a, Grain: 1}
		o.Exec.baseline = Policy(w.IntN(int(cpuexec.DOCP) + 1))
		r, err := s.Search(ctx, q, &o)
		w.must(err)
		if r.Total > len(want) || r.Total < len(r.Hits) || r.TotalExact && r.Total != len(want) || o.ExactTotal && !r.TotalExact {
			w.t.Fatalf("%v, %v: total %d, exact %v, want %d", q, a, r.Total, r.TotalExact, len(want))
		}
		if len(r.Hits) != min(k, len(want)) {
			w.t.Fatalf("%v, %v, k %d: %d hits, want %d", q, a, k, len(r.Hits), min(k, len(want)))
		}
		w.compareOrder(q, a, r.Hits, want)
		if a == AlgorithmAuto {
			first = r.Hits
		} else if !reflect.DeepEqual(r.Hits, first) {
			w.t.Fatalf("%v, %v, k %d:\n got %v\nwant %v", q, a, k, r.Hits, first)
		}
	}
	return first
}

// compareOrder checks that hits are documents which match, the best first, and
// of equal ones the older in the index.
func (w *world) compareOrder(q Query, a Algorithm, hits []Hit, want []string) {
	w.t.Helper()
	var above, before uint32
	for i, h := range hits {
		if _, ok := slices.BinarySearch(want, h.ID); !ok {
			w.t.Fatalf("%v, %v: %q is a hit but does not match", q, a, h.ID)
		}
		doc, _, score, _ := search.Place(h.Cursor.at)
		if i > 0 && (score > above || score == above && doc <= before) {
			w.t.Fatalf("%v, %v: hits %d and %d are out of order: %v", q, a, i-1, i, hits[i-1:i+1])
		}
		above, before = score, doc
	}
}

// comparePages pages through the answer; together the pages must give all of it once.
func (w *world) comparePages(s *Snapshot, q Query, o SearchOptions, all []Hit) {
	w.t.Helper()
	if len(all) > 500 {
		return
	}
	o.K = max(1+w.IntN(12), len(all)/8)
	var pages []Hit
	for {
		o.Exec = &Exec{Algorithm: Algorithm(w.IntN(int(AlgorithmBMM) + 1))}
		r, err := s.Search(ctx, q, &o)
		w.must(err)
		pages = append(pages, r.Hits...)
		if len(pages) > len(all) || len(r.Hits) < o.K {
			break
		}
		o.After = r.Hits[len(r.Hits)-1].Cursor
	}
	if !sameHits(pages, all) {
		w.t.Fatalf("%v in pages of %d:\n got %v\nwant %v", q, o.K, pages, all)
	}
}

// compareExplanations checks that Explain, which uses no bounds, derives exactly the score of a
// hit, and reports that other documents do not match.
func (w *world) compareExplanations(s *Snapshot, q Query, o SearchOptions, all []Hit) {
	w.t.Helper()
	for range min(5, len(all)) {
		h := all[w.IntN(len(all))]
		x, err := s.Explain(ctx, q, h.ID, &o)
		w.must(err)
		if !x.Matches || x.Score != h.Score {
			w.t.Fatalf("%v: %q scores %v, explained as\n%v", q, h.ID, h.Score, x)
		}
	}
	id := w.id()
	isHit := slices.ContainsFunc(all, func(h Hit) bool { return h.ID == id })
	x, err := s.Explain(ctx, q, id, &o)
	if err == nil && x.Matches != isHit || err != nil && (isHit || !errors.Is(err, ErrNotFound)) {
		w.t.Fatalf("%v: %q is a hit: %v, explained as\n%v %v", q, id, isHit, x, err)
	}
}

func (w *world) get() {
	id := w.id()
	got, err := w.e.Get(ctx, id)
	want, ok := w.now[id]
	switch {
	case !ok && errors.Is(err, ErrNotFound):
	case err != nil || !ok:
		w.t.Fatalf("get %q: %v %v, want %v", id, got, err, want)
	case !reflect.DeepEqual(got, want.stored()):
		w.t.Fatalf("get %q: %v, want %v", id, got, want.stored())
	}
}

// walk compares every document.
func (w *world) walk() {
	s, err := w.e.Snapshot()
	w.must(err)
	defer s.Close()
	w.must(w.same(s, w.now))
	ids, from, next := []string{}, w.id(), []string{}
	for id, err := range s.IDs(from) {
		w.must(err)
		ids = append(ids, id)
	}
	for _, id := range w.now.ids() {
		if id >= from {
			next = append(next, id)
		}
	}
	if !slices.Equal(ids, next) {
		w.t.Fatalf("ids from %q: %q, want %q", from, ids, next)
	}
}

// sameDocuments reports a difference between a snapshot and a model, in stored fields or in columns.
func sameDocuments(s *Snapshot, m model) error {
	want := m.ids()
	for d, err := range s.Documents("") {
		switch {
		case err != nil:
			return err
		case len(want) == 0 || d.ID != want[0]:
			return fmt.Errorf("document %q, want the next of %q", d.ID, want)
		case !reflect.DeepEqual(d.Fields, m[d.ID].stored()):
			return fmt.Errorf("document %q: %v, want %v", d.ID, d.Fields, m[d.ID].stored())
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Errorf("documents are missing: %q", want)
	}
	return sameColumns(s, m.columns(s.e.Schema()))
}

func (w *world) takeSnapshot() {
	s, err := w.e.Snapshot()
	w.must(err)
	q := w.query(1)
	r, err := s.Search(ctx, q, &SearchOptions{K: 20, Load: []string{"*"}})
	w.must(err)
	w.snaps = append(w.snaps, heldSnapshot{s, w.now, q, r.Hits})
}

// searchSnapshot checks that a snapshot still shows the same.
func (w *world) searchSnapshot() {
	if len(w.snaps) == 0 {
		return
	}
	h := w.snaps[w.IntN(len(w.snaps))]
	w.must(w.same(h.s, h.want))
	r, err := h.s.Search(ctx, h.query, &SearchOptions{K: 20, Load: []string{"*"}})
	w.must(err)
	if !reflect.DeepEqual(r.Hits, h.hits) {
		w.t.Fatalf("a snapshot has changed its answer to %v:\n got %v\nwant %v", h.query, r.Hits, h.hits)
	}
	w.compare(h.s, h.want, w.query(2), w.randomOptions())
}

func (w *world) closeSnapshot() {
	if len(w.snaps) == 0 {
		return
	}
	i := w.IntN(len(w.snaps))
	w.snaps[i].s.Close()
	if _, err := w.snaps[i].s.Search(ctx, All{}, nil); !errors.Is(err, ErrClosed) {
		w.t.Fatalf("search of a closed snapshot: %v", err)
	}
	w.snaps = slices.Delete(w.snaps, i, i+1)
}

func (w *world) flush() {
	w.must(w.e.Flush(ctx))
	w.maybe = nil
}

func (w *world) sync() {
	w.must(w.e.Sync(ctx))
	w.maybe = nil
}

// compact leaves one segment without deleted documents, whose scores the model can compute.
func (w *world) compact() {
	w.must(w.e.Compact(ctx))
	w.maybe = nil
	st, err := w.e.Stats()
	w.must(err)
	if st.Deleted != 0 || len(st.Segments) > 1 || int(st.Docs) != len(w.now) {
		w.t.Fatalf("compacted %d documents to %+v", len(w.now), st)
	}
	s, err := w.e.Snapshot()
	w.must(err)
	defer s.Close()
	for range 4 {
		q, o := w.query(2), w.randomOptions()
		w.log("  %v", q)
		w.compareScores(s, q, o)
	}
}

// compareScores compares with BM25 computed in floats. Impacts have 16 bits and
// are rounded to nearest, so a score may be off by half a unit of each weight,
// and again by the rounding of the weights themselves.
func (w *world) compareScores(s *Snapshot, q Query, o SearchOptions) {
	w.t.Helper()
	sim, alpha := *s.e.opts.Similarity, w.opts.Rank.Alpha
	if o.Similarity != nil {
		sim = *o.Similarity
	}
	if o.Alpha != nil {
		alpha = *o.Alpha
	}
	st := w.now.stats(sim)
	weights := st.weights(q, 1, alpha > 0)
	o.K = MaxK
	r, err := s.Search(ctx, q, &o)
	w.must(err)
	for _, h := range r.Hits {
		_, want := w.now[h.ID].eval(q, st, 1)
		unit := weights
		if alpha > 0 {
			rank, _ := w.now[h.ID]["rank"].(float64)
			if weights > 0 {
				want *= (1 - alpha) / weights
			}
			want += alpha * rank
			unit = 1
		}
		if math.Abs(h.Score-want) > unit/65536+1e-6*want {
			x, err := s.Explain(ctx, q, h.ID, &o)
			w.t.Fatalf("%v: %q scores %v, want %v\n%v %v", q, h.ID, h.Score, want, x, err)
		}
	}
}

// checkpoint copies the index, changes the original, and opens the copy.
func (w *world) checkpoint() {
	w.saved++
	dir := fmt.Sprintf("checkpoint%d", w.saved)
	w.must(w.e.Checkpoint(ctx, dir))
	w.maybe = nil
	was := w.now
	w.apply(3, 0.5)
	ro := w.tuning
	ro.opts.ReadOnly = true
	e, err := ro.open(dir, w.fs)
	w.must(err)
	s, err := e.Snapshot()
	w.must(err)
	w.must(w.same(s, was))
	w.compare(s, was, w.query(2), w.randomOptions())
	s.Close()
	if err := e.Put(ctx, "x", map[string]any{}); !errors.Is(err, ErrReadOnly) {
		w.t.Fatalf("put into a read-only engine: %v", err)
	}
	w.must(e.Check(ctx, func(err error) { w.t.Fatal(err) }))
	w.must(e.Close())
	w.must(w.fs.RemoveAll(dir))
}

func (w *world) check() {
	w.must(w.e.Check(ctx, func(err error) { w.t.Errorf("check: %v", err) }))
}

// close closes engine and snapshots.
func (w *world) close() {
	for _, h := range w.snaps {
		if w.IntN(2) == 0 {
			h.s.Close()
		}
	}
	w.must(w.e.Close())
	for _, h := range w.snaps {
		if _, err := h.s.Search(ctx, All{}, nil); !errors.Is(err, ErrClosed) {
			w.t.Fatalf("search of a snapshot of a closed engine: %v", err)
		}
		h.s.Close()
	}
	w.snaps = nil
}

func (w *world) reopen() {
	w.close()
	w.open()
	w.walk()
}

// crash continues with what a crash leaves: what was synced, and a random part of the rest.
func (w *world) crash() {
	left := w.fs.crash(50*w.IntN(3), w.Rand)
	w.close()
	states := append(slices.Clone(w.maybe), w.now)
	w.fs = left
	w.open()
	s, err := w.e.Snapshot()
	w.must(err)
	defer s.Close()
	for i := len(states) - 1; i >= 0; i-- {
		if err = w.same(s, states[i]); err == nil {
			w.log("  to %d of %d states", i+1, len(states))
			w.now = states[i]
			return
		}
	}
	w.t.Fatalf("a crash left none of %d states; for the oldest, %v", len(states), err)
}
