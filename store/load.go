package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/store/wal"
)

// load checks the format and reads what is kept in memory.
func (s *Store) load() error {
	first, err := s.firstKey(nil, nil)
	if err != nil {
		return err
	}
	if first == nil {
		return corrupt.At(corrupt.New(-1, "nothing, not even the format: the tables or logs that had it are lost"), s.dir)
	}
	if err := s.checkFormat(first); err != nil {
		return err
	}
	if err := s.loadManifest(); err != nil {
		return err
	}
	if err := s.loadLog(); err != nil {
		return err
	}
	return s.checkClosing()
}

// verify reads everything on which StartWriting and the caller's recovery rely, so that damage is
// found before anything is written.
func (s *Store) verify() error {
	for key := range s.manifest.sums {
		if _, err := s.getVouched([]byte(key)); err != nil {
			return err
		}
	}
	if _, err := s.orphans(); err != nil {
		return err
	}
	if s.found != nil {
		return nil // Scan has checked every frame
	}
	return s.Replay(s.manifest.LogSeq+1, func(uint64, []byte) error { return nil })
}

// create makes a new store. Until its first keys are durable the directory is marked as unfinished,
// and the next Open starts over.
func (s *Store) create() error {
	if err := syncParents(s.fs, append(s.made, s.dir)...); err != nil {
		return wrap(err, s.dir)
	}
	if err := writeDurably(s.fs, s.dir, unfinishedFile, []byte(markCreation)); err != nil {
		return wrap(err, "create "+s.dir)
	}
	if err := removeOwn(s.fs, s.dir); err != nil {
		return wrap(err, "create "+s.dir)
	}
	if err := s.openPebble(false); err != nil {
		return err
	}
	m := Manifest{Next: 1, sums: map[string]uint32{}}
	s.version, s.logID = FormatVersion, s.opts.logID
	b := s.db.NewBatch()
	setSealed(b, metaKey(formatName), formatPayload(s.logID))
	s.manifestSum = s.fill(b, &Edit{Meta: s.opts.NewMeta}, &m)
	var err error
	if s.wal, err = wal.Create(s.fs, s.logPath(), s.logID, 1, s.manifestSum, s.logOptions()); err != nil {
		return wrap(err, "create "+s.dir)
	}
	if err := s.apply(b); err != nil {
		return wrap(err, "create "+s.dir)
	}
	s.manifest, s.fresh = m, false
	if err := s.confirm(); err != nil {
		return wrap(err, "create "+s.dir)
	}
	return wrap(unmark(s.fs, s.dir), "create "+s.dir)
}

// checkFormat reads the format version; first is the first key in Pebble.
func (s *Store) checkFormat(first []byte) error {
	payload, _, err := s.getSealed(metaKey(formatName))
	if err != nil {
		return err
	}
	if payload == nil {
		if isOurs(first) {
			return corrupt.At(corrupt.New(-1, "there is none"), KeyString(metaKey(formatName)))
		}
		return fmt.Errorf("%w: %s is another program's Pebble database", ErrFormat, s.dir)
	}
	v, n := binary.Uvarint(payload)
	if n <= 0 {
		return corrupt.At(corrupt.New(1, "no version in %x", payload), KeyString(metaKey(formatName)))
	}
	if err := format.Store.Check(v); err != nil {
		return corrupt.At(err, KeyString(metaKey(formatName)))
	}
	rest := payload[n:]
	if v > 1 && len(rest) != 8 || v < 2 && len(rest) > 0 {
		return corrupt.At(corrupt.New(n, "%d bytes behind version %d", len(rest), v), KeyString(metaKey(formatName)))
	}
	if s.version = v; v > 1 {
		s.logID = binary.LittleEndian.Uint64(rest)
	}
	return nil
}

// loadManifest reads the manifest and makes sure that the segments it lists have keys: Pebble may
// have lost a table without noticing.
func (s *Store) loadManifest() error {
	payload, sum, err := s.getSealed(manifestKey)
	if err != nil {
		return err
	}
	if payload == nil {
		return corrupt.At(corrupt.New(-1, "there is none"), KeyString(manifestKey))
	}
	if s.manifest, err = decodeManifest(payload); err != nil {
		return corrupt.At(err, KeyString(manifestKey))
	}
	s.manifestSum = sum
	for _, g := range s.manifest.Segments {
		key, err := s.firstKey(segmentPrefix(g.Number), segmentEnd(g.Number))
		if err != nil {
			return err
		}
		if key == nil {
			return corrupt.At(corrupt.New(-1, "the manifest lists it, but it has no keys"), fmt.Sprintf("segment %d", g.Number))
		}
	}
	return nil
}

// firstKey returns the first key in [lower, upper), or nil.
func (s *Store) firstKey(lower, upper []byte) ([]byte, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, wrap(err, KeyString(lower))
	}
	defer it.Close()
	if it.First() {
		return append([]byte(nil), it.Key()...), nil
	}
	return nil, wrap(it.Error(), KeyString(lower))
}

// clean removes what an interrupted run left behind.
func (s *Store) clean() error {
	if err := removeBuilding(s.fs, s.buildPath()); err != nil {
		return wrap(err, "remove "+s.buildPath())
	}
	orphans, err := s.orphans()
	if err != nil {
		return err
	}
	for _, n := range orphans {
		// Numbers are not used twice, not even those of orphans.
		s.manifest.Next = max(s.manifest.Next, n+1)
	}
	if len(orphans) == 0 {
		return nil
	}
	return s.DropSegments(context.Background(), orphans)
}

// orphans returns the segments that have keys, deletions or updates, but are not live.
func (s *Store) orphans() ([]uint64, error) {
	live, found := s.manifest.live(), []uint64(nil)
	for _, space := range []byte{spaceDeletions, spaceSegment, spaceUpdates} {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
		if err != nil {
			return nil, wrap(err, "segments")
		}
		for ok := it.First(); ok; {
			n, isNumbered := keyNumber(it.Key())
			if !isNumbered {
				return nil, errors.Join(corrupt.At(corrupt.New(-1, "no key of a segment"), KeyString(it.Key())), it.Close())
			}
			if !live[n] {
				found = append(found, n)
			}
			next := numbered(space, n+1)
			if n+1 == 0 {
				break
			}
			ok = it.SeekGE(next)
		}
		if err := it.Close(); err != nil {
			return nil, wrap(err, "segments")
		}
	}
	return found, nil
}
