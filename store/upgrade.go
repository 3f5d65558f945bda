package store

import (
	"context"
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/store/wal"
)

// A store of version 1 keeps its log in Pebble, record by record, in the space 'L'. Reading leaves
// it unchanged. The first Open for writing upgrades it to version 2:
//
//  1. A log is made that has all records, durable, with no manifest in force.
//  2. One atomic write sets the version and the log's id and deletes the records
//     in Pebble.
//  3. The log confirms the manifest.
//
// Before step 2 the store has version 1, whatever is in the folder of the log, and the next upgrade
// removes that folder. After it the store has version 2, and older programs refuse it with
// ErrFormat.

// loadOldLog finds the number of the next record in Pebble.
func (s *Store) loadOldLog() error {
	vouch, err := wal.Last(s.fs, s.logPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return wrap(err, "log")
	case vouch.HasIs:
		err = corrupt.New(-1, "out of date: version 1, and there is the log of version 2")
		return corrupt.At(err, KeyString(metaKey(formatName)))
	}
	s.nextSeq = s.manifest.LogSeq + 1
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{spaceLog}, UpperBound: []byte{spaceLog + 1}})
	if err != nil {
		return wrap(err, "log")
	}
	defer it.Close()
	if it.Last() {
		last, ok := keyNumber(it.Key())
		if !ok {
			return corrupt.At(corrupt.New(-1, "no key of the log"), KeyString(it.Key()))
		}
		s.nextSeq = max(s.nextSeq, last+1)
	}
	return wrap(it.Error(), "log")
}

// replayOld is Replay for version 1.
func (s *Store) replayOld(from uint64, fn func(seq uint64, record []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: []byte{spaceLog + 1}})
	if err != nil {
		return wrap(err, "log")
	}
	defer s.closeRead(it)
	want := from
	for ok := it.First(); ok; ok = it.Next() {
		seq, isNumbered := keyNumber(it.Key())
		if !isNumbered || seq != want {
			return corrupt.At(corrupt.New(-1, "missing; the next one is %s", KeyString(it.Key())), KeyString(logKey(want)))
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return wrap(err, KeyString(it.Key()))
		}
		record, _, err := unseal(it.Key(), value)
		if err != nil {
			return corrupt.At(err, KeyString(it.Key()))
		}
		if err := fn(seq, record); err != nil {
			return err
		}
		want++
	}
	return wrap(it.Error(), "log")
}

// upgrade upgrades a store from version 1 to version 2.
func (s *Store) upgrade() error {
	if err := wal.Remove(s.fs, s.logPath()); err != nil {
		return wrap(err, "upgrade")
	}
	first := s.manifest.LogSeq + 1
	id := s.opts.logID
	l, err := wal.Create(s.fs, s.logPath(), id, first, s.manifestSum, s.logOptions())
	if err != nil {
		return wrap(err, "upgrade")
	}
	s.wal = l // so that Close closes it
	if err := s.copyLog(l, first, s.replayOld); err != nil {
		return wrap(err, "upgrade")
	}
	b := s.db.NewBatch()
	setSealed(b, metaKey(formatName), formatPayload(id))
	deleteRange(b, []byte{spaceLog}, []byte{spaceLog + 1})
	if err := s.apply(b); err != nil {
		return wrap(err, "upgrade")
	}
	s.version, s.logID = FormatVersion, id
	return s.confirm()
}

// copyBytes is how many bytes of records copyLog appends at once.
const copyBytes = 1 << 20

// copyLog appends the records of replay from first on, and makes them durable.
func (s *Store) copyLog(to *wal.Log, first uint64, replay func(uint64, func(uint64, []byte) error) error) error {
	var records [][]byte
	size := 0
	flush := func() error {
		b, err := wal.Pack(records)
		if err != nil {
			return err
		}
		wait, err := to.Append(to.NextSeq(), b, false)
		if err != nil {
			return err
		}
		records, size = records[:0], 0
		return wait(context.Background())
	}
	err := replay(first, func(_ uint64, record []byte) error {
		records = append(records, append([]byte(nil), record...))
		if size += len(record); size >= copyBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = to.Sync(context.Background())
	}
	return err
}
