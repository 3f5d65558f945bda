package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/hook"
)

// A world is a model and two indexes with different configurations, on which all of the API is
// used. Their answers must agree.
type world struct {
	seed   uint64
	number int
	rank   riffle.Rank
	sides  [2]*side
	now    model
	schema int
	held   []heldSnapshot
	copies int
	at     int
}

// A side is one of the indexes.
type side struct {
	number  int
	disk    *disk
	dir     string
	e       *riffle.Engine
	options *riffle.Options
	memory  int64
	largest int     // size of the largest batch so far
	maybe   []model // earlier states to which a crash may return
}

// A heldSnapshot is a snapshot of each side, and what it must show.
type heldSnapshot struct {
	of   [2]*riffle.Snapshot
	want model
}

// An action is one kind of step. It has a source of randomness of its own, so that steps can be
// left out of a list.
type action struct {
	name   string
	weight int
	do     func(w *world, rng random) error
}

var actions = []action{
	{"put", 20, func(w *world, rng random) error { return w.apply(rng, 1, 0) }},
	{"delete", 5, func(w *world, rng random) error { return w.apply(rng, 1, 1) }},
	{"batch", 12, func(w *world, rng random) error { return w.apply(rng, 2+rng.IntN(15), 0.3) }},
	{"update", 8, (*world).update},
	{"conditional", 3, (*world).conditional},
	{"by query", 3, (*world).byQuery},
	{"bad calls", 2, (*world).badCalls},
	{"cancelled calls", 2, (*world).cancelled},
	{"search while applying", 3, (*world).searchWhileApplying},
	{"search", 12, (*world).search},
	{"pages", 3, (*world).pages},
	{"explain", 3, (*world).explain},
	{"get", 4, (*world).get},
	{"walk", 2, (*world).walk},
	{"take snapshot", 3, (*world).take},
	{"look at snapshots", 4, (*world).lookAtHeld},
	{"let a snapshot go", 4, (*world).letGo},
	{"flush", 4, func(w *world, _ random) error {
		return w.both(func(s *side) error { return s.durably(s.e.Flush(background)) })
	}},
	{"sync", 2, func(w *world, _ random) error {
		return w.both(func(s *side) error { return s.durably(s.e.Sync(background)) })
	}},
	{"compact", 3, (*world).compact},
	{"check", 1, func(w *world, _ random) error { return w.both(func(s *side) error { return check(s.e) }) }},
	{"figures", 3, (*world).figures},
	{"checkpoint", 1, (*world).checkpoint},
	{"build", 1, (*world).build},
	{"reopen", 2, (*world).reopen},
	{"read-only", 1, (*world).readOnly},
	{"wider schema", 1, func(w *world, rng random) error {
		w.schema = min(w.schema+1, len(schemas)-1)
		return w.reopen(rng)
	}},
	{"crash", 3, (*world).crash},
}

// stepsPart runs random steps in worlds, and looks for the shortest list that fails.
func stepsPart(r *round) {
	const worlds, length = 25, 150
	for n := range worlds {
		var list []int
		for i := range length {
			list = append(list, i)
		}
		if r.only >= 0 && r.keep != nil {
			list = r.keep
		}
		if !r.wants(n) {
			continue
		}
		run := func(list []int) error { return caught(func() error { return runWorld(r, n, list) }) }
		var failed error
		r.do(n, fmt.Sprintf("%d steps", len(list)), func() error { failed = run(list); return nil })
		if failed == nil {
			continue
		}
		var keep []int
		if r.keep == nil {
			keep, failed = shorten(list, failed, run, 15*time.Second)
		}
		r.fail(n, fmt.Sprintf("%d steps", len(list)), failed, keep)
	}
}

// shorten drops steps from a list as long as the rest fails alike, and returns the remaining steps
// with their error.
func shorten(list []int, failed error, run func([]int) error, most time.Duration) ([]int, error) {
	until := time.Now().Add(most)
	for size := len(list) / 2; size > 0; size /= 2 {
		for from := 0; from < len(list) && time.Now().Before(until); {
			fewer := slices.Delete(slices.Clone(list), from, min(from+size, len(list)))
			if err := run(fewer); err != nil && kindOf(err) == kindOf(failed) {
				list, failed = fewer, err
			} else {
				from += size
			}
		}
	}
	return list, failed
}

// runWorld runs the steps of a list in a world.
func runWorld(r *round, number int, list []int) (err error) {
	rng := newRandom(r.seed, number)
	w := &world{seed: r.seed, number: number, now: model{}}
	if rng.IntN(2) == 0 {
		w.rank = riffle.Rank{Field: "rank", Alpha: 0.3}
	}
	defer func() {
		for _, h := range w.held {
			h.close()
		}
		for _, s := range w.sides {
			if s != nil && s.e != nil {
				err = errors.Join(err, s.e.Close())
			}
		}
	}()
	for i := range w.sides {
		w.sides[i] = &side{number: i, disk: newDisk(), dir: indexDir}
		if err := w.open(w.sides[i], rng); err != nil {
			return err
		}
		e := w.sides[i].e
		if err := errors.Join(e.Apply(background, &riffle.Batch{Position: w.now.position()}), e.Sync(background)); err != nil {
			return err
		}
	}
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	for _, i := range list {
		w.at = i
		rng := newRandom(r.seed, number, i)
		pick, a := rng.IntN(total), 0
		for pick -= actions[0].weight; pick >= 0; pick -= actions[a].weight {
			a++
		}
		if err := actions[a].do(w, rng); err != nil {
			return when(err, "step %d, %s", i, actions[a].name)
		}
		r.count("steps", 1)
	}
	return w.end()
}

// end closes the world and checks what is left of it.
func (w *world) end() error {
	if err := w.compact(newRandom(w.seed, w.number)); err != nil {
		return when(err, "the end")
	}
	for len(w.held) > 0 {
		w.held[0].close()
		w.held = w.held[1:]
	}
	return w.both(func(s *side) error {
		st, err := s.e.Stats()
		if err != nil {
			return err
		}
		err = s.e.Close()
		s.e = nil
		if err != nil {
			return when(err, "close")
		}
		if err := s.disk.allClosed(); err != nil {
			return err
		}
		return s.boundDisk(int64(st.Store.SegmentBytes))
	})
}

// Bounds of the space that an index takes on disk: a multiple of its live data, plus a constant for
// the log, Pebble's lists and options.
const (
	diskFactor = 3
	diskSlack  = 512 << 10
)

func (s *side) boundDisk(live int64) error {
	all := int64(0)
	for name, data := range s.disk.image() {
		if path.Dir(name) == s.dir || strings.HasPrefix(name, s.dir+"/") {
			all += int64(len(data))
		}
	}
	if most := diskFactor*live + s.memory + diskSlack; all > most {
		return fmt.Errorf("%d bytes on disk for %d bytes of segments, at most %d are allowed", all, live, most)
	}
	return nil
}

// both does something to both sides.
func (w *world) both(do func(*side) error) error {
	for _, s := range w.sides {
		if err := do(s); err != nil {
			return when(err, "side %d", s.number)
		}
	}
	return nil
}

// open opens a side with random options. Those that change scores are the same for both.
func (w *world) open(s *side, rng random) (err error) {
	s.memory = 16 << (10 + rng.IntN(4))
	o := &riffle.Options{
		Schema:             schemas[w.schema],
		AllowUnknownFields: true, // documents have random fields
		AlterSchema:        true,
		Durability:         riffle.Durability(rng.IntN(2)),
		Codec:              riffle.Codec(rng.IntN(4)),
		CacheBytes:         []int64{1, 1 << 20, 0}[rng.IntN(3)],
		Merge:              riffle.MergeOptions{SegmentsPerTier: 2 + rng.IntN(4), Order: riffle.DocOrder(rng.IntN(3)), Workers: 1 + rng.IntN(2), Disabled: rng.IntN(5) == 0},
		SearchWorkers:      1 + rng.IntN(3),
		Rank:               w.rank,
	}
	hook.SetPolicy(&o.Exec, cpuexec.Policy(rng.IntN(int(cpuexec.DOCP)+1)))
	o.Exec.Grain = 1 + rng.IntN(100)
	k := knobs(s.disk)
	k.MemoryBytes = s.memory
	hook.Set(o, k)
	s.options = o
	s.maybe = nil
	s.e, err = riffle.Open(s.dir, o)
	return when(err, "open")
}

func (s *side) durably(err error) error {
	if err == nil {
		s.maybe = nil
	}
	return err
}

// show shows a snapshot of each side.
func (w *world) show(look func(*side, *riffle.Snapshot) error) error {
	return w.both(func(s *side) error {
		snap, err := s.e.Snapshot()
		if err != nil {
			return err
		}
		defer snap.Close()
		return look(s, snap)
	})
}

// change makes a batch of n changes and the model that they lead to.
func (w *world) change(rng random, n int, deletions float64) (*riffle.Batch, model) {
	b, next := new(riffle.Batch), maps.Clone(w.now)
	for range n {
		if rng.IntN(4) == 0 {
			w.updateOne(rng, b, next)
			continue
		}
		id := rng.id(150)
		if rng.Float64() < deletions {
			b.Delete(id)
			delete(next, id)
			continue
		}
		d := rng.document()
		if id != plantedLoss {
			b.Put(id, map[string]any(d))
		}
		next[id] = d
	}
	b.Position = next.position()
	return b, next
}

func (s *side) apply(b *riffle.Batch, was model) error {
	s.largest = max(s.largest, b.Size())
	err := s.e.Apply(background, b)
	if err == nil && s.options.Durability == riffle.SyncNone {
		s.maybe = append(s.maybe, was)
	}
	return err
}
