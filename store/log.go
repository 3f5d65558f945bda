package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// maxAppendBytes bounds one Append. Pebble's batches end at 4 GiB.
const maxAppendBytes = 1 << 30

// NextSeq returns the number of the next log record: the first is 1, and none is
// used twice.
func (s *Store) NextSeq() uint64 {
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	return s.nextSeq
}

// Append adds records to the log, the first of them with the number first, which
// must be NextSeq. They are all there after a crash, or a prefix of the log ends
// before them; never some of one Append.
//
// The records are in the log, and in Replay's sight, when Append returns; with
// sync they are durable once wait has returned nil. wait must be called, once,
// and may be called without the lock under which Append was: writers that wait
// together share one fsync. Without sync, wait returns nil at once.
//
// The records may be changed as soon as Append has returned. An error of either
// kind leaves it open whether the records are there after the next Open.
func (s *Store) Append(first uint64, records [][]byte, sync bool) (wait func() error, err error) {
	size := 0
	for _, r := range records {
		size += len(r)
	}
	if size > maxAppendBytes {
		return nil, fmt.Errorf("store: append of %d bytes, want at most %d", size, maxAppendBytes)
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	if first != s.nextSeq {
		panic(fmt.Sprintf("BUG: append of log record %d, want %d", first, s.nextSeq))
	}
	b := s.db.NewBatchWithSize(size + len(records)*(prefixLen+sealBytes+16))
	for i, r := range records {
		setSealed(b, logKey(first+uint64(i)), r)
	}
	if err := s.appendBatch(b, sync); err != nil {
		s.gate.leave()
		return nil, err
	}
	s.nextSeq += uint64(len(records))
	return func() error { return s.waitFor(b, sync) }, nil
}

func (s *Store) appendBatch(b *pebble.Batch, sync bool) error {
	err := s.log.write(func() error {
		if sync {
			return s.db.ApplyNoSyncWait(b, pebble.Sync)
		}
		return s.db.Apply(b, pebble.NoSync)
	})
	if err != nil {
		return s.log.failed(err)
	}
	return nil
}

func (s *Store) waitFor(b *pebble.Batch, sync bool) error {
	defer s.gate.leave()
	if sync {
		if err := s.log.write(b.SyncWait); err != nil {
			return s.log.failed(err)
		}
	}
	return b.Close()
}

// Sync makes every record appended so far durable.
func (s *Store) Sync() error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	return s.syncLog()
}

func (s *Store) syncLog() error {
	if err := s.log.write(func() error { return s.db.LogData(nil, pebble.Sync) }); err != nil {
		return s.log.failed(err)
	}
	return nil
}

// Replay calls fn for each log record from the number from on, in order. The
// record is lent until fn returns; an error of fn's ends the replay and is
// returned. A missing record between from and the end of the log is corruption.
func (s *Store) Replay(from uint64, fn func(seq uint64, record []byte) error) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	if s.db == nil {
		return nil // a new store
	}
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
