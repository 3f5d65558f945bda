package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// An Edit is what one Commit changes. Its zero value changes nothing.
type Edit struct {
	// Ingest are finished segments that the manifest lists for the first time.
	Ingest []*SegmentWriter

	// Manifest replaces the manifest; nil keeps it. Files of the log without a record after its
	// LogSeq are removed. Next is ignored.
	Manifest *Manifest

	// Deletions replace the deletions of live segments as a whole. An empty value removes them.
	Deletions map[uint64][]byte

	// Updates replace the updates of columns of live segments. An empty value removes them.
	Updates map[UpdatesOf][]byte

	// Meta sets named values that belong to the caller ("schema", "options").
	Meta map[string][]byte

	// Drop are segments that the manifest no longer lists and that have no readers. Segments that
	// are still read are left out here; pass them to DropSegments when their last reader is done.
	Drop []uint64
}

// An UpdatesOf says of which column of which segment updates are.
type UpdatesOf struct {
	Segment uint64
	Field   string
}

// Commit carries out e. After a crash either all of it has happened or nothing.
//
// It first ingests the segments, under prefixes that nothing refers to yet. One atomic write then
// makes manifest, deletions, updates, meta values and the new start of the log durable. Last, it removes the
// keys of dropped segments. An error means that nothing has happened, unless it matches ErrFailed:
// then only the next Open can tell. Dropped keys that cannot be removed are no error; the next
// Commit and Open retry.
func (s *Store) Commit(ctx context.Context, e Edit) (err error) {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	m := s.next(&e)
	b := s.db.NewBatch()
	sum := s.fill(b, &e, m)
	if err := s.logError(s.wal.Announce(ctx, sum)); err != nil {
		return err
	}
	if err := s.ingest(ctx, e.Ingest); err != nil {
		return err
	}
	if len(e.Ingest) > 0 {
		s.renewIterators()
	}
	if err := s.apply(b); err != nil {
		return err
	}
	s.manifestSum = sum
	s.mu.Lock()
	m.Next = s.manifest.Next // another segment may have been begun since
	s.manifest = *m
	s.mu.Unlock()
	for _, n := range e.Drop {
		s.doomed[n] = struct{}{}
	}
	if err := s.confirm(); err != nil {
		return err
	}
	if len(s.doomed) > 0 {
		s.removeDoomed()
		s.renewIterators()
	}
	return nil
}

// next returns the manifest after e. An invalid e is a bug of the caller.
func (s *Store) next(e *Edit) *Manifest {
	s.mu.Lock()
	old := s.manifest.clone()
	s.mu.Unlock()
	m, was := &old, old.live()
	if e.Manifest != nil {
		c := e.Manifest.clone()
		c.Next = old.Next
		m = &c
	}
	fresh := make(map[uint64]bool)
	for _, w := range e.Ingest {
		fresh[w.number] = true
		must(w.state == finished, "segment %d is ingested, but %v", w.number, w.state)
		must(!was[w.number], "segment %d is ingested, but live already", w.number)
	}
	m.sums = maps.Clone(old.sums)
	is := m.live()
	must(len(is) == len(m.Segments), "a segment is listed twice: %v", m.Segments)
	for n := range is {
		must(was[n] || fresh[n], "segment %d is listed, but neither live nor ingested", n)
	}
	for n := range fresh {
		must(is[n], "segment %d is ingested, but not listed", n)
	}
	for n := range e.Deletions {
		must(is[n], "deletions of segment %d, which is not live", n)
	}
	for of := range e.Updates {
		must(is[of.Segment], "updates of segment %d, which is not live", of.Segment)
	}
	for _, n := range e.Drop {
		must(!is[n], "segment %d is dropped, but live", n)
	}
	must(m.LogSeq >= old.LogSeq, "the log's covered part shrinks from %d to %d", old.LogSeq, m.LogSeq)
	must(m.LogSeq < s.NextSeq(), "the log is covered up to %d, but ends before %d", m.LogSeq, s.NextSeq())
	return m
}

func must(ok bool, format string, args ...any) {
	if !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}

// ingest moves the tables of finished segments into Pebble. Their keys are new and sort after
// everything in the memtables, so no flush is forced. They go to the lowest level, where nothing
// ever rewrites them.
func (s *Store) ingest(ctx context.Context, ws []*SegmentWriter) error {
	var paths []string
	for _, w := range ws {
		paths = append(paths, w.paths()...)
	}
	if len(paths) == 0 {
		return nil
	}
	if err := s.log.write(func() error { return s.db.Ingest(ctx, paths) }); err != nil {
		return wrap(err, "ingest")
	}
	for _, w := range ws {
		w.state = ingested
	}
	return nil
}

// fill puts e into the batch. The manifest comes last because the rest changes it. fill returns the
// manifest's checksum.
func (s *Store) fill(b *pebble.Batch, e *Edit, m *Manifest) uint32 {
	set := func(key, value []byte) { m.sums[string(key)] = setSealed(b, key, value) }
	unset := func(key []byte) {
		delete(m.sums, string(key))
		remove(b, key)
	}
	for _, n := range slices.Sorted(maps.Keys(e.Deletions)) {
		if value := e.Deletions[n]; len(value) > 0 {
			set(deletionsKey(n), value)
		} else {
			unset(deletionsKey(n))
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(e.Updates), func(a, b UpdatesOf) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Field, b.Field))
	}) {
		if value := e.Updates[of]; len(value) > 0 {
			set(updatesKey(of.Segment, of.Field), value)
		} else {
			unset(updatesKey(of.Segment, of.Field))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Meta)) {
		must(name != formatName, "meta value %q belongs to the store", name)
		set(metaKey(name), e.Meta[name])
	}
	for _, n := range e.Drop {
		unset(deletionsKey(n))
		for _, field := range m.updated(n) {
			unset(updatesKey(n, field))
		}
	}
	return setSealed(b, manifestKey, appendManifest(nil, m))
}

// remove and deleteRange add to a batch in memory, which fails only when it exceeds 4 GiB.
func remove(b *pebble.Batch, key []byte) {
	if err := b.Delete(key, nil); err != nil {
		panic("BUG: " + err.Error())
	}
}

func deleteRange(b *pebble.Batch, lower, upper []byte) {
	if err := b.DeleteRange(lower, upper, nil); err != nil {
		panic("BUG: " + err.Error())
	}
}

// DropSegments removes the keys and the deletions of segments that the manifest does not list:
// those that still had readers at the Commit that removed them from the list. Later reads of them
// find nothing; open iterators are not affected.
func (s *Store) DropSegments(ctx context.Context, numbers []uint64) error {
	return s.Commit(ctx, Edit{Drop: numbers})
}

// removeDoomed excises the doomed segments from Pebble.
//
// An excise takes whole tables out of Pebble's list in one synced edit, and the files are free as
// soon as no iterator holds them. A range deletion would leave a tombstone to be flushed and
// compacted first. Its table, sharing a level with those of segments, would draw them into
// compactions, so a merge would be paid for a second time. An excise cannot be part of the atomic
// write, but it need not: a segment that no manifest lists is an orphan, and Open removes orphans.
func (s *Store) removeDoomed() {
	for _, n := range slices.Sorted(maps.Keys(s.doomed)) {
		if err := s.excise(n); err != nil {
			s.opts.Log(wrap(err, fmt.Sprintf("drop segment %d", n)).Error())
			continue
		}
		delete(s.doomed, n)
	}
}

func (s *Store) excise(segment uint64) error {
	keys := pebble.KeyRange{Start: segmentPrefix(segment), End: segmentEnd(segment)}
	// Not the caller's context: the clean-up must not stop halfway.
	return s.log.write(func() error { return s.db.Excise(context.Background(), keys) })
}

// Manifest returns a copy of the last committed manifest.
func (s *Store) Manifest() Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.manifest.clone()
}

// Deletions returns the deletions of a segment, or nil if it has none.
func (s *Store) Deletions(segment uint64) ([]byte, error) {
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	return s.getVouched(deletionsKey(segment))
}

// Updates returns the updates of the columns of a segment, by field; it is empty if there are none.
func (s *Store) Updates(segment uint64) (map[string][]byte, error) {
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	s.mu.Lock()
	fields := s.manifest.updated(segment)
	s.mu.Unlock()
	updates := make(map[string][]byte, len(fields))
	for _, field := range fields {
		value, err := s.getVouched(updatesKey(segment, field))
		if err != nil {
			return nil, err
		}
		if value != nil { // else a commit has removed it meanwhile
			updates[field] = value
		}
	}
	return updates, nil
}

// Meta returns a named value of the caller, or nil if there is none.
func (s *Store) Meta(name string) ([]byte, error) {
	must(name != formatName, "meta value %q belongs to the store", name)
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	return s.getVouched(metaKey(name))
}
