package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/hook"
)

func (w *world) apply(rng random, n int, deletions float64) error {
	b, next := w.change(rng, n, deletions)
	if err := w.both(func(s *side) error { return s.apply(b, w.now) }); err != nil {
		return err
	}
	w.now = next
	return nil
}

// badCalls are refused without any effect.
func (w *world) badCalls(rng random) error {
	before := w.now
	return w.both(func(s *side) error {
		b, _ := w.change(rng, 2, 0.5)
		b.Put("bad", map[string]any{keyword: 7})
		var de *riffle.DocumentError
		if err := s.e.Apply(background, b); !errors.As(err, &de) || de.ID != "bad" || de.Field != keyword {
			return wrongf("a number in a keyword field: %v", err)
		}
		b, _ = w.change(rng, 2, 0.5)
		b.Update("bad", map[string]any{price: 7, "text": "w1"})
		if err := s.e.Apply(background, b); !errors.As(err, &de) || de.ID != "bad" || de.Field != "text" {
			return wrongf("an update of a text: %v", err)
		}
		for _, id := range []string{"", strings.Repeat("x", riffle.MaxIDBytes+1)} {
			if err := s.e.Put(background, id, map[string]any{}); !errors.As(err, &de) {
				return wrongf("an id of %d bytes: %v", len(id), err)
			}
		}
		var qe *riffle.QueryError
		for _, q := range []riffle.Query{nil, riffle.Term{}, riffle.Boost{Query: riffle.All{}, By: -1}} {
			if _, err := s.e.Search(background, q, nil); !errors.As(err, &qe) {
				return wrongf("query %v: %v", q, err)
			}
		}
		if _, err := s.e.Search(background, riffle.All{}, &riffle.SearchOptions{K: riffle.MaxK + 1}); err == nil {
			return wrongf("a K that is too large is accepted")
		}
		if n, err := s.e.Len(); err != nil || n != len(before) {
			return wrongf("%d documents after calls that were refused, want %d: %v", n, len(before), err)
		}
		return nil
	})
}

// cancelled makes calls whose context ends before or while they run. They do nothing, or
// everything.
func (w *world) cancelled(rng random) error {
	if len(w.now) < 20 {
		return nil // a search that finds next to nothing ends before it checks its context
	}
	b, next := w.change(rng, 5, 0.3)
	ended, cancel := context.WithCancel(background)
	cancel()
	err := w.both(func(s *side) error {
		calls := map[string]error{
			"apply": s.e.Apply(ended, b), "flush": s.e.Flush(ended), "compact": s.e.Compact(ended), "sync": s.e.Sync(ended),
			"check": s.e.Check(ended, func(error) {}),
		}
		_, calls["search"] = s.e.Search(ended, riffle.Match{Field: "text", Text: "w1"}, nil)
		_, calls["get"] = s.e.Get(ended, "d1")
		for name, err := range calls {
			idle := err == nil && (name == "flush" || name == "compact" || name == "sync") // there may be nothing to do
			if !errors.Is(err, context.Canceled) && !idle {
				return wrongf("%s with a context that has ended: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = w.both(func(s *side) error {
		soon, cancel := context.WithTimeout(background, time.Duration(rng.IntN(2000))*time.Microsecond)
		defer cancel()
		for _, call := range []func(context.Context) error{s.e.Flush, s.e.Compact, func(ctx context.Context) error { return s.e.Check(ctx, func(error) {}) }} {
			if err := call(soon); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		}
		soon, cancelApply := context.WithTimeout(background, time.Duration(rng.IntN(2000))*time.Microsecond)
		defer cancelApply()
		if err := s.e.Apply(soon, b); err == nil {
			if s.options.Durability == riffle.SyncNone {
				s.maybe = append(s.maybe, w.now)
			}
			return nil
		} else if errors.Is(err, riffle.ErrPending) {
			return s.apply(b, w.now) // the cancelled batch is applied before this one
		} else if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		snap, err := s.e.Snapshot()
		if err != nil {
			return err
		}
		defer snap.Close()
		if err := errors.Join(sameDocuments(snap, w.now), samePosition(snap, w.now.position())); err != nil {
			return when(err, "a batch whose Apply was broken off")
		}
		return s.apply(b, w.now)
	})
	w.now = next
	return err
}

// searchWhileApplying searches while a batch is applied: all of it is visible, or nothing.
func (w *world) searchWhileApplying(rng random) error {
	b, next := w.change(rng, 10, 0.2)
	left := int64(1000 + w.at)
	for _, half := range []string{"left", "right"} {
		d := document{"num": left, "text": "w1 " + half}
		b.Put(half, map[string]any(d))
		next[half] = d
	}
	b.Position = next.position()
	before := len(w.now)
	err := w.both(func(s *side) error {
		done := make(chan struct{})
		var readers sync.WaitGroup
		var faults [2]error
		for i := range faults {
			readers.Go(func() {
				for {
					n, err := s.e.Count(background, riffle.Term{Field: "num", Value: left})
					all, lenErr := s.e.Len()
					if err = errors.Join(err, lenErr); err != nil || n != 0 && n != 2 || all != before && all != len(next) {
						faults[i] = wrongf("%d of 2 documents of a batch, %d in all, while it is applied to %d that become %d: %v", n, all, before, len(next), err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		err := s.apply(b, w.now)
		close(done)
		readers.Wait()
		return errors.Join(err, errors.Join(faults[:]...))
	})
	w.now = next
	return err
}

func (w *world) search(rng random) error {
	q := rng.query(2)
	exec := riffle.Exec{Grain: 1}
	hook.SetPolicy(&exec, cpuexec.Policy(rng.IntN(int(cpuexec.DOCP)+1)))
	k := 1 + rng.IntN(12)
	return w.show(func(s *side, snap *riffle.Snapshot) error {
		if err := sameAnswer(snap, w.now, q); err != nil {
			return err
		}
		var first []riffle.Hit
		for a := riffle.AlgorithmAuto; a <= riffle.AlgorithmBMM; a++ {
			exec.Algorithm = a
			r, err := snap.Search(background, q, &riffle.SearchOptions{K: k, Exec: &exec, ExactTotal: true})
			if err != nil {
				return err
			}
			if want := len(w.now.matches(q)); !r.TotalExact || r.Total != want {
				return wrongf("%v, %v: total %d, exact %v, want %d", q, a, r.Total, r.TotalExact, want)
			}
			if a == riffle.AlgorithmAuto {
				first = r.Hits
			} else if !reflect.DeepEqual(r.Hits, first) {
				return wrongf("%v, k %d, %v: %v, want %v", q, k, a, r.Hits, first)
			}
		}
		return nil
	})
}

// pages pages through an answer; together the pages must give all of it once.
func (w *world) pages(rng random) error {
	q, k := rng.query(1), 1+rng.IntN(12)
	return w.show(func(s *side, snap *riffle.Snapshot) error {
		whole, err := snap.Search(background, q, &riffle.SearchOptions{K: riffle.MaxK})
		if err != nil {
			return err
		}
		o := riffle.SearchOptions{K: k}
		var pages []riffle.Hit
		for len(pages) <= len(whole.Hits) {
			r, err := snap.Search(background, q, &o)
			if err != nil {
				return err
			}
			if len(r.Hits) == k {
				o.After = r.Hits[k-1].Cursor
			}
			pages = append(pages, r.Hits...)
			if len(r.Hits) < k {
				break
			}
		}
		for _, hits := range [...][]riffle.Hit{pages, whole.Hits} {
			for i := range hits {
				hits[i].Cursor = riffle.Cursor{} // differs between pages
			}
		}
		if len(pages) != len(whole.Hits) || len(pages) > 0 && !reflect.DeepEqual(pages, whole.Hits) {
			return wrongf("%v in pages of %d: %v, want %v", q, k, pages, whole.Hits)
		}
		return nil
	})
}

// explain derives the scores of hits, and of documents that are not hits.
func (w *world) explain(rng random) error {
	q, id := rng.query(2), rng.id(150)
	return w.show(func(s *side, snap *riffle.Snapshot) error {
		r, err := snap.Search(background, q, &riffle.SearchOptions{K: riffle.MaxK})
		if err != nil {
			return err
		}
		for _, h := range r.Hits[:min(3, len(r.Hits))] {
			if x, err := snap.Explain(background, q, h.ID, nil); err != nil || !x.Matches || x.Score != h.Score {
				return wrongf("%v: %q scores %v, explained as %v %v", q, h.ID, h.Score, x, err)
			}
		}
		x, err := snap.Explain(background, q, id, nil)
		d, there := w.now[id]
		if !there && errors.Is(err, riffle.ErrNotFound) {
			return nil
		}
		if err != nil || x.Matches != d.matches(q) {
			return wrongf("%v: %q, explained as %v %v", q, id, x, err)
		}
		return nil
	})
}

func (w *world) get(rng random) error {
	id := rng.id(150)
	return w.both(func(s *side) error {
		got, err := s.e.Get(background, id)
		want, ok := w.now[id]
		switch {
		case !ok && errors.Is(err, riffle.ErrNotFound):
			return nil
		case err != nil:
			return err
		case !ok || !reflect.DeepEqual(document(got), want):
			return wrongf("get %q: %v, want %v", id, got, want)
		}
		return nil
	})
}

// walk visits all documents, and ids from random starts on.
func (w *world) walk(rng random) error {
	from := rng.id(150)
	return w.show(func(s *side, snap *riffle.Snapshot) error {
		want := slices.DeleteFunc(w.now.ids(), func(id string) bool { return id < from })
		for id, err := range snap.IDs(from) {
			if err != nil {
				return err
			}
			if len(want) == 0 || id != want[0] {
				return wrongf("id %q from %q on, want the next of %.200q", id, from, want)
			}
			want = want[1:]
		}
		if len(want) > 0 {
			return wrongf("ids are missing from %q on: %.200q", from, want)
		}
		return agreesAt(snap, w.now)
	})
}

func (w *world) take(random) error {
	h := heldSnapshot{want: w.now}
	err := w.both(func(s *side) (err error) {
		h.of[s.number], err = s.e.Snapshot()
		return err
	})
	w.held = append(w.held, h)
	return err
}

func (w *world) lookAtHeld(rng random) error {
	if len(w.held) == 0 {
		return nil
	}
	h, q := w.held[rng.IntN(len(w.held))], rng.query(2)
	for i, s := range h.of {
		if err := errors.Join(sameDocuments(s, h.want), samePosition(s, h.want.position()), sameAnswer(s, h.want, q)); err != nil {
			return when(err, "a held snapshot of side %d", i)
		}
	}
	return nil
}

func (h heldSnapshot) close() {
	for _, s := range h.of {
		if s != nil {
			s.Close()
		}
	}
}

func (w *world) letGo(rng random) error {
	if len(w.held) == 0 {
		return nil
	}
	i := rng.IntN(len(w.held))
	w.held[i].close()
	for _, s := range w.held[i].of {
		if _, err := s.Search(background, riffle.All{}, nil); !errors.Is(err, riffle.ErrClosed) {
			return wrongf("search of a closed snapshot: %v", err)
		}
	}
	w.held = slices.Delete(w.held, i, i+1)
	return nil
}

// compact leaves segments without deleted documents, so that scores must be the same on both sides.
func (w *world) compact(rng random) error {
	err := w.both(func(s *side) error {
		if err := s.durably(s.e.Compact(background)); err != nil {
			return err
		}
		st, err := s.e.Stats()
		if err == nil && (st.Deleted != 0 || len(st.Segments) > 1 || int(st.Docs) != len(w.now)) {
			err = wrongf("compacted %d documents to %d in %d segments, %d deleted", len(w.now), st.Docs, len(st.Segments), st.Deleted)
		}
		return err
	})
	if err != nil {
		return err
	}
	for range 3 {
		q := rng.query(2)
		var scores [2]map[string]float64
		err := w.both(func(s *side) error {
			r, err := s.e.Search(background, q, &riffle.SearchOptions{K: riffle.MaxK})
			if err != nil {
				return err
			}
			scores[s.number] = map[string]float64{}
			for _, h := range r.Hits {
				scores[s.number][h.ID] = h.Score
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(scores[0], scores[1]) {
			return wrongf("%v: scores %v and %v", q, scores[0], scores[1])
		}
	}
	return nil
}

// figures compares statistics with what they count.
func (w *world) figures(random) error {
	return w.both(func(s *side) error {
		st, err := s.e.Stats()
		if err != nil {
			return err
		}
		if n, err := s.e.Len(); err != nil || int(st.Docs) != len(w.now) || n != len(w.now) {
			return wrongf("%d documents, want %d", st.Docs, len(w.now))
		}
		// One segment fills up while another is written; the last batch may exceed the limit.
		if most := (2*s.memory+4*int64(s.largest))*11/10 + 16<<10; st.MemoryBytes > most && len(w.held) == 0 {
			return fmt.Errorf("%d bytes of memory with a budget of %d, at most %d are allowed", st.MemoryBytes, s.memory, most)
		}
		_, err = s.e.Sizes(background)
		return err
	})
}

// checkpoint copies both indexes, changes the originals, checks the copies, and continues with one
// or the other.
func (w *world) checkpoint(rng random) error {
	w.copies++
	dir, was := fmt.Sprintf("checkpoint%d", w.copies), w.now
	if err := w.both(func(s *side) error { return s.durably(s.e.Checkpoint(background, dir)) }); err != nil {
		return err
	}
	if err := w.apply(rng, 3, 0.5); err != nil {
		return err
	}
	return w.both(func(s *side) error { return w.lookAtCopy(s, dir, was, rng) })
}

// lookAtCopy opens another index of a side, and continues with it, or removes it.
func (w *world) lookAtCopy(s *side, dir string, want model, rng random) error {
	o := *s.options
	o.ReadOnly = true
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return when(err, "open the copy")
	}
	snap, err := e.Snapshot()
	if err != nil {
		return errors.Join(err, e.Close())
	}
	err = errors.Join(agreesAt(snap, want), check(e))
	snap.Close()
	if perr := e.Put(background, "x", map[string]any{}); !errors.Is(perr, riffle.ErrReadOnly) {
		err = errors.Join(err, wrongf("put into a read-only engine: %v", perr))
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return when(err, "the copy")
	}
	if rng.IntN(2) == 0 || len(w.held) > 0 {
		return s.disk.RemoveAll(dir)
	}
	if err := s.e.Close(); err != nil {
		return err
	}
	old := s.dir
	s.dir = dir
	if err := errors.Join(w.open(s, rng), s.disk.RemoveAll(old)); err != nil {
		return err
	}
	return s.apply(difference(want, w.now), want)
}

// difference returns the batch that leads from one model to another.
func difference(from, to model) *riffle.Batch {
	b := &riffle.Batch{Position: to.position()}
	for _, id := range from.ids() {
		if _, ok := to[id]; !ok {
			b.Delete(id)
		}
	}
	for _, id := range to.ids() {
		if !reflect.DeepEqual(from[id], to[id]) {
			lead(b, id, from[id], to[id])
		}
	}
	return b
}

// build builds an index of the documents in bulk, on both sides.
func (w *world) build(rng random) error {
	w.copies++
	dir := fmt.Sprintf("built%d", w.copies)
	return w.both(func(s *side) error {
		o := &riffle.BuildOptions{Index: *s.options, Workers: 1 + rng.IntN(3), OneSegment: rng.IntN(2) == 0, Position: w.now.position()}
		hook.Set(o, knobs(s.disk))
		res, err := riffle.Build(background, dir, w.now.source(), o)
		if err != nil || res.Docs != len(w.now) {
			return fmt.Errorf("build of %d documents: %+v, %w", len(w.now), res, err)
		}
		if len(w.now) == 0 {
			return s.disk.RemoveAll(dir)
		}
		return w.lookAtCopy(s, dir, w.now, rng)
	})
}

// reopen closes both sides and opens them with other options.
func (w *world) reopen(rng random) error {
	err := w.both(func(s *side) error {
		if err := s.e.Close(); err != nil {
			return when(err, "close")
		}
		for _, h := range w.held {
			if _, err := h.of[s.number].Search(background, riffle.All{}, nil); !errors.Is(err, riffle.ErrClosed) {
				return wrongf("search of a snapshot of a closed engine: %v", err)
			}
		}
		return w.open(s, rng)
	})
	if err != nil {
		return err
	}
	for _, h := range w.held {
		h.close()
	}
	w.held = nil
	return w.show(func(s *side, snap *riffle.Snapshot) error { return agreesAt(snap, w.now) })
}

// readOnly reads both sides without changing anything.
func (w *world) readOnly(rng random) error {
	for _, h := range w.held {
		h.close()
	}
	w.held = nil
	return w.both(func(s *side) error {
		if err := s.e.Close(); err != nil {
			return when(err, "close")
		}
		before := s.disk.image()
		o := *s.options
		o.ReadOnly = true
		e, err := riffle.Open(s.dir, &o)
		if err != nil {
			return when(err, "open read-only")
		}
		snap, err := e.Snapshot()
		if err == nil {
			err = agreesAt(snap, w.now)
			snap.Close()
		}
		if err := errors.Join(err, check(e), e.Close()); err != nil {
			return err
		}
		if err := s.disk.image().changed(before); err != nil {
			return when(err, "opened read-only")
		}
		return w.open(s, rng)
	})
}

// crash continues with what a crash leaves of both sides, and brings them to the same state.
func (w *world) crash(rng random) error {
	for _, h := range w.held {
		h.close()
	}
	w.held = nil
	return w.both(func(s *side) error {
		left, states := s.disk.crash(50*rng.IntN(3), rng.Rand), append(slices.Clone(s.maybe), w.now)
		if err := s.e.Close(); err != nil {
			return when(err, "close")
		}
		s.disk = left
		if err := w.open(s, rng); err != nil {
			return err
		}
		snap, err := s.e.Snapshot()
		if err != nil {
			return err
		}
		defer snap.Close()
		for i := len(states) - 1; i >= 0; i-- {
			if err = sameDocuments(snap, states[i]); err == nil {
				if err := samePosition(snap, states[i].position()); err != nil {
					return when(err, "state %d of %d", i, len(states))
				}
				if i == len(states)-1 {
					return nil
				}
				return s.apply(difference(states[i], w.now), states[i])
			}
		}
		return when(err, "a crash left none of %d states", len(states))
	})
}
