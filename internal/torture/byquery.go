package main

import (
	"errors"
	"maps"

	"github.com/riffle-search/riffle"
)

// conditional changes a document on the condition that it has a version: first a wrong one, which
// changes nothing, then its own.
func (w *world) conditional(rng random) error {
	id := rng.id(150)
	d, next := rng.document(), maps.Clone(w.now)
	next[id] = d
	remove, update := rng.IntN(3) == 0, document(nil)
	switch old, exists := w.now[id]; {
	case remove:
		delete(next, id)
	case exists && rng.IntN(2) == 0:
		update = rng.update()
		next[id] = old.updated(update)
	}
	err := w.both(func(s *side) error {
		had, err := s.e.Document(background, id)
		if _, exists := w.now[id]; err != nil && (exists || !errors.Is(err, riffle.ErrNotFound)) {
			return err
		}
		for _, version := range []uint64{had.Version + 1, had.Version} {
			b := &riffle.Batch{Position: next.position()}
			switch {
			case remove:
				b.DeleteIf(id, version)
			case update != nil:
				b.UpdateIf(id, map[string]any(update), version)
			default:
				b.PutIf(id, map[string]any(d), version)
			}
			err := s.apply(b, w.now)
			var ce *riffle.ConflictError
			switch {
			case version == had.Version && err != nil:
				return err
			case version != had.Version && (!errors.As(err, &ce) || ce.ID != id || ce.Have != had.Version):
				return wrongf("%q has version %d; a change of version %d: %v", id, had.Version, version, err)
			}
		}
		now, err := s.e.Document(background, id)
		if !remove && (err != nil || now.Version <= had.Version) {
			return wrongf("%q has version %d, and had %d: %v", id, now.Version, had.Version, err)
		}
		return nil
	})
	w.now = next
	return err
}

// byQuery deletes or changes all documents that match a query. The batches of the call have no position:
// one that has nothing else follows.
func (w *world) byQuery(rng random) error {
	q, batch, num := rng.query(1), 1+rng.IntN(40), int64(rng.IntN(9))
	ids, next := w.now.matches(q), maps.Clone(w.now)
	remove := rng.IntN(3) == 0 && len(ids) < 40
	for _, id := range ids {
		if remove {
			delete(next, id)
			continue
		}
		d := maps.Clone(next[id])
		d["num"] = num
		delete(d, "flag")
		next[id] = d
	}
	change := func(riffle.Document) (map[string]any, error) { return map[string]any{"num": num, "flag": nil}, nil }
	err := w.both(func(s *side) (err error) {
		var done *riffle.ByQueryProgress
		o := &riffle.ByQueryOptions{BatchDocs: batch}
		if remove {
			done, err = s.e.DeleteByQuery(background, q, o)
		} else {
			done, err = s.e.UpdateByQuery(background, q, change, o)
		}
		if err != nil || done.Total != len(ids) || done.Changed != len(ids) {
			return wrongf("%v by query: %+v, %v, want %d documents", q, *done, err, len(ids))
		}
		err = s.e.Apply(background, &riffle.Batch{Position: next.position()})
		return s.durably(errors.Join(err, s.e.Sync(background)))
	})
	w.now = next
	return err
}
